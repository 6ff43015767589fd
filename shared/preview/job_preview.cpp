#include "shared/preview/job_preview.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/joint_promise_of.hpp"
#include "shared/jobs/part_choices.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/jobs/statistics_widths.hpp"
#include "shared/jobs/vertex_choices.hpp"
#include "shared/planning/answer_work.hpp"
#include "shared/preview/fair_plan.hpp"
#include "shared/preview/planned_releases.hpp"
#include "shared/preview/predicted_excess.hpp"
#include "shared/preview/public_worth.hpp"
#include "shared/preview/regression_plan.hpp"
#include "shared/preview/shuffler_worth.hpp"
#include "shared/preview/starting_point.hpp"
#include "shared/preview/weight_noise.hpp"
#include "shared/releases/choice_time.hpp"
#include "shared/sealed/round_layout.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::preview {
namespace {

using Json = nlohmann::ordered_json;

/// A job that is good as far as can be told without data, or the error that says what is not.
Result<jobs::Job> good_job(const std::string& text, const std::filesystem::path& file) {
  Result<jobs::Job> job = jobs::parse_job(text, file.string());
  if (!job) return job.error();
  if (const Result<jobs::PlausibleCohort> planned = jobs::PlausibleCohort::of(*job, file.string()); !planned)
    return planned.error();
  return job;
}

/// Payload bytes of a silo's replies and of the coordinator's queries to it, without framing. What goes to several
/// shufflers counts once for each.
/// @return an error where a shuffled message would be longer than any may be
Result<std::pair<std::uint64_t, std::uint64_t>> bytes_of(const jobs::Job& job, const planning::Plan& plan) {
  const std::uint64_t reply_width = job.reply_lattice.type == queries::ReplyType::I32 ? 4 : 8;
  const std::uint64_t point_width = job.point_type == queries::PointType::F32 ? 4 : 8;
  std::uint64_t sent = 0;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const queries::ReplyType type = jobs::round_spec(job, segment.release.ask).lattice.type;
    const std::uint64_t width = segment.release.ask.reports() != nullptr && type == queries::ReplyType::I32 ? 4
                                : type == queries::ReplyType::I64                                           ? 8
                                                                  : reply_width;
    std::uint64_t reply = width * static_cast<std::uint64_t>(segment.release.answer_size());
    if (job.shuffle && !segment.release.is_public()) {
      UNDERTONE_TRY(const sealed::RoundLayout layout,
                    sealed::RoundLayout::create(*job.shuffle, segment.release, job.reply_lattice, job.cohort.size()));
      reply = layout.message_bytes() * layout.shufflers();
    }
    sent += segment.rounds * reply;
  }
  std::uint64_t received = 0;
  for (const planning::Plan::Segment& segment : plan.segments())
    received += segment.rounds * point_width *
                static_cast<std::uint64_t>(segment.release.ask.point_size(job.model ? job.model->dimension() : 0));
  return std::pair(sent, received);
}

std::uint64_t plan_rounds(const jobs::Job& job) {
  std::uint64_t rounds = 0;
  for (const planning::ScheduledRounds& part : jobs::schedule_of(job)) rounds += part.rounds;
  return rounds;
}

Json optional_json(const jobs::Job& job, const std::optional<double>& value) {
  return value && !job.projection ? Json(*value) : Json(nullptr);
}

using Plans = std::map<SiloId, planning::Plan>;

/// L as the model and its public bounds prove it, in the norm l_q that the algorithm bounds gradients in: a record has
/// as many numbers of at most 1 as the square of its l2 norm says, so that its l_q norm is that one's (2/q)-th power.
std::optional<double> proven_lipschitz(const jobs::Job& job) {
  if (job.projection) return std::nullopt;
  const double norm = jobs::record_norm(*job.model, job.schema);
  return job.model->constants(std::pow(norm, 2.0 / job.algorithm->traits().clip_exponent)).lipschitz;
}

/// Public constants of the method and its set.
Json numbers_of(const jobs::Job& job) {
  Json out = Json::object();
  for (const auto& [name, value] : job.algorithm->numbers()) out[name] = value;
  return out;
}

const std::string& rate_measure_of(const theorems::TheoremChoice& theorem) {
  return theorem.rate_measure.empty() ? theorem.measure : theorem.rate_measure;
}

Json parameters_of(const jobs::Job& job) {
  if (!job.theorem) return {{"by", "hand"}, {"numbers", numbers_of(job)}};
  Json reasons = Json::array();
  for (const theorems::TheoremChoice::Reason& reason : job.theorem->reasons)
    reasons.push_back({{"name", reason.name}, {"value", reason.value}, {"why", reason.why}});
  return {{"by", job.theorem->source},       {"algorithm", std::string(job.algorithm->name())},
          {"measure", job.theorem->measure}, {"rate_measure", rate_measure_of(*job.theorem)},
          {"rate", job.theorem->rate},       {"numbers", numbers_of(job)},
          {"reasons", std::move(reasons)}};
}

/// This says what a job's bound on a moment buys, and what the same bound would buy if it were known of another order.
/// @param noise_stddev per coordinate of a round's mean
Json moments_of(const jobs::Job& job, double noise_stddev) {
  if (!job.moments || !(noise_stddev > 0.0)) return nullptr;
  const jobs::MomentClip& moments = *job.moments;
  const double dimension = static_cast<double>(job.model->dimension());
  const theorems::MeanOracle& oracle = moments.oracle;
  const theorems::MomentBound& bound = oracle.moment();
  // Of groups it is what the median leaves.
  const double signal = 2.0 * oracle.reach(moments.clip) * std::sqrt(oracle.noise_growth()) / noise_stddev;
  Json out = {{"order", bound.order},
              {"bound", bound.bound},
              {"of", oracle.coordinates() ? "coordinates" : "norm"},
              {"source", moments.source},
              {oracle.coordinates() ? "threshold" : "clip_norm", moments.clip},
              {"shortest_clip", moments.shortest},
              {"bias", moments.bias},
              {"noise", std::sqrt(dimension) * noise_stddev},
              {"others", Json::array()}};
  if (const std::optional<theorems::CoordinateMeans>& means = oracle.coordinates()) {
    out["influence"] = statistics::to_string(means->influence);
    out["groups"] = means->groups;
  }
  if (moments.shortest < moments.clip) {  // clips of phases follow from more than one mean's error
    out["noise"] = nullptr;
    return out;
  }
  for (const double order : {2.0, 4.0, 8.0}) {
    if (order == bound.order) continue;
    const theorems::MeanOracle other = oracle.with({order, bound.bound});
    const double clip = other.balanced_threshold(signal);
    out["others"].push_back(
        {{"order", order},
         {oracle.coordinates() ? "threshold" : "clip_norm", clip},
         {"bias", other.bias(clip)},
         {"noise", std::sqrt(dimension * other.noise_growth()) * 2.0 * other.reach(clip) / signal}});
  }
  return out;
}

void print_moments(const jobs::Job& job, double noise_stddev) {
  const Json said = moments_of(job, noise_stddev);
  fmt::print("{} {}\n", job.moments->oracle.coordinates() ? "threshold" : "clip norm", jobs::described(*job.moments));
  if (said.is_null()) return;
  if (said["noise"].is_null()) {
    fmt::print("    phases clip to {:.4g} and less: to the shortest, {:.4g}, a round's mean is off by {:.4g} at most\n",
               job.moments->clip, job.moments->shortest, said["bias"].get<double>());
    return;
  }
  const bool groups = said.contains("groups") && said["groups"].get<std::uint32_t>() > 1;
  fmt::print("    a {} mean is off by {:.4g} at most for being {}, and {}by {:.4g} for the noise{}\n",
             groups ? "group's" : "round's", said["bias"].get<double>(), said.contains("threshold") ? "cut" : "clipped",
             groups ? "the median of all groups " : "", said["noise"].get<double>(),
             groups ? ". Where tails are on one side the median of groups is off by more: no bound is claimed" : "");
  for (const Json& other : said["others"])
    fmt::print("    if the same bound held at order {:.4g}: {} {:.4g}, {:.4g} and {:.4g}\n",
               other["order"].get<double>(), said.contains("threshold") ? "threshold" : "clip",
               other[said.contains("threshold") ? "threshold" : "clip_norm"].get<double>(), other["bias"].get<double>(),
               other["noise"].get<double>());
}

/// By which choice a step of Frank-Wolfe errs least; null of other algorithms.
Json vertex_choices_of(const jobs::Job& job) {
  Json out = Json::array();
  for (const jobs::PlannedChoice& choice : jobs::compare_vertex_choices(job))
    out.push_back({{"choice", choice.choice}, {"step_error", choice.step_error}, {"of_job", choice.of_job}});
  return out.empty() ? Json(nullptr) : out;
}

void print_vertex_choices(const Json& choices) {
  for (const Json& choice : choices) {
    fmt::print("vertices by {}: a step errs by at most {:.4g}, in expectation{}\n", choice["choice"].get<std::string>(),
               choice["step_error"].get<double>(), choice["of_job"].get<bool>() ? "; the job's own" : "");
  }
}

/// What a pass would take if its records came to their parts otherwise; null of methods without parts.
Json parts_of(const jobs::Job& job) {
  Json out = Json::array();
  for (const jobs::PlannedParts& one : jobs::compare_parts(job)) {
    using Assignment = releases::Slice::Assignment;
    out.push_back({{"parts", one.assignment == Assignment::Bins                ? "bins"
                             : one.assignment == Assignment::SecretPermutation ? "secret_permutation"
                                                                               : "permutation"},
                   {"noise", one.noise},
                   {"of_job", one.of_job}});
  }
  return out.empty() ? Json(nullptr) : out;
}

void print_parts(const Json& parts) {
  for (const Json& one : parts) {
    const std::string name = one["parts"].get<std::string>();
    fmt::print("parts by {}: {:.3g} times the noise of parts that are told{}{}\n", name, one["noise"].get<double>(),
               name == "bins"                 ? "; who is in which, and how many, stays with the silo"
               : name == "secret_permutation" ? "; who is in which stays with the silo"
                                              : "",
               one["of_job"].get<bool>() ? "; the job's own" : "");
  }
}

const char* noise_by(const jobs::NoiseChoice& choice) {
  switch (choice.by) {
    case jobs::NoiseChoice::By::Accountant:
      return "the accountant: the least that keeps the promise";
    case jobs::NoiseChoice::By::Theorem:
      return "the theorem's closed form; the accountant charges what it costs";
    case jobs::NoiseChoice::By::Hand:
      return "by hand; the accountant charges what it costs";
  }
  return "";
}

/// What its author should look at once more, a sentence each.
std::vector<std::string> warnings_of(const planning::Plan& plan) {
  std::vector<std::string> out;
  if (std::string bare = planning::delta_warning(plan); !bare.empty()) out.push_back(std::move(bare));
  return out;
}

Json warnings_of(const jobs::Job& job) {
  Json out = Json::array();
  const bool mean = !job.aggregation.robust() && !job.aggregation.scaled_to;
  const bool weighed = job.algorithm->traits().bounded_in != algorithms::MethodTraits::BoundedIn::ItsMap;
  if (weighed && !weighed_alike(job) && !job.shuffle && mean && job.participation.quorum < job.cohort.size()) {
    const bool gradients = job.algorithm->traits().local_steps == 0 && job.model->moments() == nullptr;
    out.push_back(fmt::format(
        "silos have unequal weights, and {} of {} are enough for a round: its mean divides by the weights of "
        "those that answer, so with silos missing it estimates the gradient of no fixed objective. A quorum of "
        "{} or equal weights would{}",
        job.participation.quorum, job.cohort.size(), job.cohort.size(),
        gradients ? "; so would \"aggregation\": {\"kind\": \"mean\", \"missing_silos\": \"scaled\"}, where any "
                    "silos are as likely to be missing as any others"
                  : ""));
  }
  if (!job.theorem) return out;
  const theorems::TheoremFacts& facts = job.theorem->facts;
  if (const std::optional<double> longest = proven_lipschitz(job);
      longest && !job.moments && *longest > facts.lipschitz) {
    out.push_back(fmt::format(
        "the theorem's L is the clip norm {:.6g}, and a record within the public bounds may have a gradient of length "
        "{:.6g}: what the theorem says holds where no record's is longer than the clip norm",
        facts.lipschitz, *longest));
  }
  if (facts.heterogeneity_assumed && job.participation.quorum < job.cohort.size()) {
    out.push_back(fmt::format(
        "{} of {} silos are enough for a round, and the theorem reckons with {:.6g} that are alike: where some are "
        "missing, what silos differ by is part of a round's variance. `answering` and `heterogeneity` say so",
        job.participation.quorum, job.cohort.size(), facts.answering));
  }
  return out;
}

/// About what the dearest answer takes of a silo's processor, in seconds.
double answer_seconds(const jobs::Job& job, const planning::Plan& plan) {
  double products = 0.0;
  for (const planning::Plan::Segment& segment : plan.segments())
    products = std::max(products, planning::products_of_answer(segment.release, data::encoded_width(job.schema)));
  return products / planning::kProductsASecond;
}

/// Whether policies take the job only with an interval for its answers.
bool answers_are_held(const jobs::Job& job, const planning::Plan& plan) {
  return job.parts != releases::Slice::Assignment::Permutation ||
         std::any_of(plan.segments().begin(), plan.segments().end(), [](const planning::Plan::Segment& segment) {
           return releases::needs_interval(segment.release.ask);
         });
}

/// What one silo would do and pay.
struct SiloPlan {
  SiloId silo;
  std::int64_t units = 0;  // of its training block: records, or persons
  const planning::Plan* plan = nullptr;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  double answer_seconds = 0.0;
  bool answers_are_held = false;
};

Result<std::vector<SiloPlan>> silo_plans(const jobs::Job& job, const Plans& plans) {
  std::vector<SiloPlan> out;
  for (const jobs::CohortMember& member : job.cohort) {
    const planning::Plan& plan = plans.at(member.facts.silo);
    UNDERTONE_TRY(const auto bytes, bytes_of(job, plan));
    out.push_back({member.facts.silo, member.facts.records, &plan, bytes.first, bytes.second, answer_seconds(job, plan),
                   answers_are_held(job, plan)});
  }
  return out;
}

Json to_json(const std::vector<SiloPlan>& silos) {
  Json out = Json::array();
  for (const SiloPlan& one : silos) {
    const planning::Plan& plan = *one.plan;
    Json releases = Json::array();
    for (const PlannedRelease& release : releases_of(plan)) releases.push_back(to_json(release));
    out.push_back({{"silo", one.silo.name()},
                   {"records", one.units},
                   {"epsilon", plan.epsilon().value_rounded_up()},
                   {"delta", plan.delta().value_rounded_up()},
                   {"rounds", plan.rounds()},
                   {"bytes_sent", one.bytes_sent},
                   {"bytes_received", one.bytes_received},
                   {"releases", std::move(releases)},
                   {"warnings", warnings_of(plan)}});
    if (plan.parts_credit()) out.back()["secret_parts"] = to_json(secret_parts_of(plan));
    out.back()["answer_seconds"] = one.answer_seconds;
    out.back()["answers_are_held"] = one.answers_are_held;
  }
  return out;
}

void print_silos(const jobs::Job& job, const std::vector<SiloPlan>& silos) {
  for (const SiloPlan& one : silos) {
    const planning::Plan& plan = *one.plan;
    fmt::print("{}: {} {}s; epsilon {:.6g}, delta {:.3g} for {}; {} answers, {} bytes out, {} in\n", one.silo.name(),
               one.units, job.unit == releases::Unit::Person ? "person" : "record", plan.epsilon().value_rounded_up(),
               plan.delta().value_rounded_up(),
               job.unit == releases::Unit::SensitiveAttribute ? "the group of each, and for nothing else" : "each",
               plan.rounds(), one.bytes_sent, one.bytes_received);
    for (const std::string& warning : warnings_of(plan)) fmt::print("    WARNING: {}\n", warning);
    for (const PlannedRelease& release : releases_of(plan)) fmt::print("    {}\n", describe(release));
    if (plan.parts_credit()) fmt::print("    {}\n", describe(secret_parts_of(plan)));
    if (one.answers_are_held) {
      fmt::print(
          "    its answers are held to multiples of policy.release_interval_ms, since how long one takes depends on "
          "the records: the dearest takes about {:.2g} ms, and an answer that overruns its interval tells that it "
          "did\n",
          std::max(1.0, 1000.0 * one.answer_seconds));
    } else if (one.answer_seconds > 1.0) {
      fmt::print("    its dearest answer takes about {:.2g} s of a processor\n", one.answer_seconds);
    }
  }
  if (job.unit == releases::Unit::Person)
    fmt::print("together: {}\n", jobs::describe(job, jobs::joint_promise_of(job)));
}

/// What silos promise a person together; null of a job of records.
Json joint_of(const jobs::Job& job) {
  const std::optional<planning::JointPromise> joint = jobs::joint_promise_of(job);
  if (!joint) return nullptr;
  return {{"silos", joint->silos}, {"epsilon", joint->epsilon}, {"delta", joint->delta}};
}

Json statistics_plan(const jobs::Job& job, const Plans& plans, const std::vector<SiloPlan>& silos,
                     const std::vector<jobs::PlannedWidth>& widths) {
  Json statistics = Json::array();
  for (const jobs::PlannedWidth& width : widths) {
    statistics.push_back({{"statistic", width.statistic},
                          {"noise", width.law},
                          {"half_width", width.half_width},
                          {"of", width.of},
                          {"warnings", width.warnings}});
    if (width.as_sum) statistics.back()["half_width_as_sum"] = *width.as_sum;
    if (width.as_reports) statistics.back()["half_width_as_reports"] = *width.as_reports;
  }
  return {{"job", job.name},
          {"accountant", plans.begin()->second.accountant()},
          {"silos", to_json(silos)},
          {"joint", joint_of(job)},
          {"statistics", std::move(statistics)}};
}

/// What a job without a model would cost, and how wide its intervals will be.
void print_statistics_plan(const jobs::Job& job, const std::vector<SiloPlan>& silos,
                           const std::vector<jobs::PlannedWidth>& widths) {
  fmt::print("\"{}\": {} statistics, {} silos, nothing has been sent yet\n", job.name, plan_rounds(job),
             job.cohort.size());
  print_silos(job, silos);
  fmt::print("intervals for the {} themselves, whose only error is noise{}, over all silos:\n",
             releases::plural_of(job.unit),
             job.person ? fmt::format(" and which {} of somebody's records were drawn", job.person->records_max) : "");
  for (const jobs::PlannedWidth& width : widths) {
    fmt::print("    {}: +- {:.4g}, of {} ({}{})\n", width.statistic, width.half_width, width.of, width.law,
               width.as_sum ? "" : " noise");
    if (width.as_sum) {
      fmt::print(
          "        as one noised total of each silo, at the same epsilon: +- {:.4g}, {:.3g} times narrower; each "
          "record then trusts its silo\n",
          *width.as_sum, width.half_width / *width.as_sum);
    }
    if (width.as_reports) {
      fmt::print("        from a report of each record instead, which trusts no silo: +- {:.4g}, {:.3g} times wider\n",
                 *width.as_reports, *width.as_reports / width.half_width);
    }
    for (const std::string& warning : width.warnings) fmt::print("        WARNING: {}\n", warning);
  }
}

/// What a plan says of a job that trains a model, beside its silos.
struct TrainingPlan {
  double variance = 0.0;  // of the noise of a round's mean, per coordinate
  std::optional<algorithms::RiskBound> prediction;
  Json warnings;
  double record_norm = 0.0;
  models::Model::Constants constants;
  Json shuffler;
  Json by_weights;
  Json open_records;
  Json vertex_choices;
  Json parts;
  std::optional<FairPlan> fair;
  std::optional<RegressionPlan> regression;
  std::uint64_t held = 0;        // bytes of a round that the coordinator holds
  double signal_to_noise = 0.0;  // of a gradient of the clip's length
};

TrainingPlan training_plan(const jobs::Job& job, const std::string& text, const std::filesystem::path& file,
                           const Plans& plans) {
  TrainingPlan out;
  out.variance = mean_noise_variance(job, plans, releases::QuestionKind::Gradient);
  out.prediction = predicted_excess(job, plans);
  out.warnings = warnings_of(job);
  if (out.prediction) {
    if (std::string idle = idle_bound_warning(text, file, job, *out.prediction); !idle.empty())
      out.warnings.push_back(std::move(idle));
  }
  out.record_norm = jobs::record_norm(*job.model, job.schema);
  out.constants = job.model->constants(out.record_norm);
  // All silos of a shuffled job are alike.
  const jobs::CohortMember& first = job.cohort.front();
  out.shuffler = shuffler_worth(job, plans.at(first.facts.silo), first.facts);
  out.by_weights = weight_noise(job, plans);
  out.open_records = public_worth(job, plans, file.parent_path());
  out.vertex_choices = vertex_choices_of(job);
  out.parts = parts_of(job);
  out.fair = fair_plan(job, plans);
  out.regression = regression_plan(job, plans);
  const double dimension = static_cast<double>(job.model->dimension());
  if (job.aggregation.robust()) out.held = job.cohort.size() * static_cast<std::uint64_t>(job.model->dimension()) * 8;
  if (const releases::ClipNorm* clip = releases::l2_clip_of(job.bound))
    out.signal_to_noise = clip->value() / std::sqrt(dimension * std::max(out.variance, 1e-300));
  return out;
}

Json to_json(const jobs::Job& job, const Plans& plans, const TrainingPlan& plan, const std::vector<SiloPlan>& silos) {
  const std::optional<algorithms::RiskBound>& prediction = plan.prediction;
  return {
      {"job", job.name},
      {"accountant", plans.begin()->second.accountant()},
      {"mean_noise_stddev", std::sqrt(plan.variance)},
      {"mean_noise_by_weights", plan.by_weights},
      {"record_norm_max", plan.constants.smoothness ? optional_json(job, plan.record_norm) : Json(nullptr)},
      {"gradient_norm_max", optional_json(job, plan.constants.lipschitz)},
      {"smoothness", optional_json(job, plan.constants.smoothness)},
      {"parameters", parameters_of(job)},
      {"noise_chosen_by", noise_by(job.noise_choice)},
      {"initial", job.initial ? Json(jobs::to_string(*job.initial)) : Json(nullptr)},
      {"public_records", plan.open_records},
      {"moments", moments_of(job, std::sqrt(plan.variance))},
      {"warnings", plan.warnings},
      {"aggregation", folds::to_string(job.aggregation)},
      {"bytes_held_of_a_round", plan.held},
      {"shuffler", plan.shuffler},
      {"vertex_choices", plan.vertex_choices},
      {"parts", plan.parts},
      {"fair", plan.fair ? to_json(*plan.fair) : Json(nullptr)},
      {"regression", plan.regression ? to_json(*plan.regression) : Json(nullptr)},
      {"predicted_excess_risk",
       prediction && prediction->measure == "excess risk" ? Json(prediction->bound) : Json(nullptr)},
      {"prediction",
       prediction ? Json{{"measure", prediction->measure}, {"bound", prediction->bound}, {"source", prediction->source}}
                  : Json(nullptr)},
      {"silos", to_json(silos)},
      {"joint", joint_of(job)}};
}

void print_training_plan(const jobs::Job& job, const TrainingPlan& plan, const std::vector<SiloPlan>& silos) {
  fmt::print("\"{}\": {} model of {} numbers, {} silos, nothing has been sent yet\n", job.name, job.model->name(),
             job.model->dimension(), job.cohort.size());
  if (job.theorem) {
    fmt::print("parameters chosen by {}, of {}; its rate of the {}, constants dropped: {:.4g}\n", job.theorem->source,
               job.algorithm->name(), rate_measure_of(*job.theorem), job.theorem->rate);
    for (const theorems::TheoremChoice::Reason& reason : job.theorem->reasons)
      fmt::print("    {} = {:.6g}: {}\n", reason.name, reason.value, reason.why);
  } else {
    fmt::print("parameters as they stand in the job\n");
    for (const auto& [name, value] : job.algorithm->numbers()) fmt::print("    {} = {:.6g}\n", name, value);
  }
  if (job.moments) print_moments(job, std::sqrt(plan.variance));
  if (!job.projection && (plan.constants.lipschitz || plan.constants.smoothness)) {
    fmt::print(
        "from public bounds: records of norm at most {:.6g}; of a record's loss {} and {}\n", plan.record_norm,
        plan.constants.lipschitz ? fmt::format("L = {:.6g}", *plan.constants.lipschitz) : "no L that holds everywhere",
        plan.constants.smoothness ? fmt::format("beta = {:.6g}", *plan.constants.smoothness) : "no beta");
  }
  fmt::print("noise chosen by {}\n", noise_by(job.noise_choice));
  if (job.initial) fmt::print("starts from {}\n", jobs::to_string(*job.initial));
  fmt::print("{}", describe_public_worth(plan.open_records));
  for (const Json& warning : plan.warnings) fmt::print("WARNING: {}\n", warning.get<std::string>());
  fmt::print("{}", describe_worth(plan.shuffler));
  if (job.aggregation.scaled_to) {
    fmt::print(
        "aggregation: {}: an unbiased estimate of the weighted mean where any silos are as likely to be missing as any "
        "others\n",
        folds::to_string(job.aggregation));
  }
  if (plan.held > 0) {
    fmt::print(
        "aggregation: {}. The coordinator holds the {} answers of a round, {} bytes. It withstands silos that lie; it "
        "is no unbiased estimate of the mean where silos differ, and the rates above are not claimed\n",
        folds::to_string(job.aggregation), job.cohort.size(), plan.held);
  }
  print_silos(job, silos);
  if (plan.variance > 0.0)
    fmt::print(
        "noise of the {}weighted mean gradient: {:.4g} a coordinate; a gradient of the clip's length is {:.3g} times "
        "the noise's norm\n",
        job.aggregation.robust() ? "plain " : "", std::sqrt(plan.variance), plan.signal_to_noise);
  if (plan.fair) fmt::print("{}", describe(*plan.fair));
  if (plan.regression) fmt::print("{}", describe(*plan.regression));
  fmt::print("{}", describe_weight_noise(plan.by_weights));
  print_vertex_choices(plan.vertex_choices);
  print_parts(plan.parts);
  if (const auto& prediction = plan.prediction) {
    fmt::print("predicted {}: at most {:.4g} ({}; where its conditions hold and {})\n", prediction->measure,
               prediction->bound, prediction->source,
               job.moments ? "the moment's bound is true" : "no gradient is longer than the clip norm");
  } else {
    fmt::print(
        "predicted excess risk: none is stated for this algorithm, averaging, aggregation, sampling, noise, weights, "
        "participation, domain or model\n");
  }
}

}  // namespace

Status check_job(const std::string& text, const std::filesystem::path& file) {
  UNDERTONE_TRY(good_job(text, file));
  return {};
}

Result<std::string> plan_of_job(const std::string& text, const std::filesystem::path& file) {
  UNDERTONE_TRY(const jobs::Job job, good_job(text, file));
  UNDERTONE_TRY(const Plans plans, jobs::plans_of(job));
  UNDERTONE_TRY(const std::vector<SiloPlan> silos, silo_plans(job, plans));
  if (job.model) return to_json(job, plans, training_plan(job, text, file, plans), silos).dump(2);
  UNDERTONE_TRY(const std::vector<jobs::PlannedWidth> widths, jobs::planned_widths(job, plans));
  return statistics_plan(job, plans, silos, widths).dump(2);
}

int validate_job(const std::filesystem::path& file, bool json, bool full) {
  const Result<std::string> text = read_file(file, jobs::kJobBytesMax);
  const Result<jobs::Job> job = text ? good_job(*text, file) : Result<jobs::Job>(text.error());
  if (json) {
    Json problems = Json::array();
    if (!job) {
      const std::string message = job.error().message;
      std::string_view rest = message;
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        problems.push_back(std::string(rest.substr(0, end)));
        rest.remove_prefix(std::min(rest.size(), end + 1));
      }
    }
    fmt::print("{}\n", Json{{"valid", job.has_value()}, {"problems", std::move(problems)}}.dump(2));
    return job ? service::kDone : service::kRefused;
  }
  if (!job) return service::fail(job.error());
  if (full) {
    const Result<std::string> bytes = read_file(file, jobs::kJobBytesMax);
    const Result<std::string> whole = bytes ? jobs::full_job(*bytes, file.string()) : bytes;
    if (!whole) return service::fail(whole.error());
    fmt::print("{}", *whole);
    return service::kDone;
  }
  const std::string digest = to_hex(sha256(*read_file(file, jobs::kJobBytesMax)));
  fmt::print("{}: good. \"{}\": {} silos, {} features, {} rounds. SHA-256 {}\n", file.string(), job->name,
             job->cohort.size(),
             job->model ? static_cast<std::size_t>(job->model->features())
                        : static_cast<std::size_t>(data::encoded_width(job->schema)),
             plan_rounds(*job), digest);
  return service::kDone;
}

int plan_job(const std::filesystem::path& file, bool json) {
  const Result<std::string> text = read_file(file, jobs::kJobBytesMax);
  if (!text) return service::fail(text.error());
  if (json) {
    const Result<std::string> plan = plan_of_job(*text, file);
    if (!plan) return service::fail(plan.error());
    fmt::print("{}\n", *plan);
    return service::kDone;
  }
  const Result<jobs::Job> job = good_job(*text, file);
  if (!job) return service::fail(job.error());
  const Result<Plans> plans = jobs::plans_of(*job);
  if (!plans) return service::fail(plans.error());
  const Result<std::vector<SiloPlan>> silos = silo_plans(*job, *plans);
  if (!silos) return service::fail(silos.error());
  if (job->model) {
    print_training_plan(*job, training_plan(*job, *text, file, *plans), *silos);
    return service::kDone;
  }
  const Result<std::vector<jobs::PlannedWidth>> widths = jobs::planned_widths(*job, *plans);
  if (!widths) return service::fail(widths.error());
  print_statistics_plan(*job, *silos, *widths);
  return service::kDone;
}

}  // namespace undertone::preview
