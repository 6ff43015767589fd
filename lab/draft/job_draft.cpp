#include "lab/draft/job_draft.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shared/jobs/initial_section.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/public_records.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFineStepLog2 = -40;

Json algorithm_of(const DraftChoice& choice) {
  Json out = {{"kind", "noisy_minibatch_sgd"},
              {"rounds", choice.rounds},
              {"step_size", choice.step_size()},
              {"averaging", choice.cosine ? "last" : "tail"}};
  if (!choice.cosine) out["tail"] = 0.5;
  out["draw_fraction"] = 1;
  if (choice.cosine) out["schedule"] = "cosine";
  if (choice.momentum > 0.0) out["server"] = {{"kind", "momentum"}, {"beta", choice.momentum}};
  return out;
}

/// Everybody, at a share of what is promised.
Json cohort_of(const DraftFacts& facts, double share) {
  Json out = Json::array();
  for (const DraftFacts::Member& member : facts.cohort) {
    // Rounded down, so that the shares of two jobs add up to no more than was asked.
    const auto part = [share](double whole) {
      return share == 1.0 ? whole : std::nextafter(std::nextafter(whole * share, 0.0), 0.0);
    };
    const bool persons = facts.person_records_max.has_value();
    out.push_back({{"silo", member.silo},
                   {persons ? "persons" : "records", member.records},
                   {persons ? "holdout_persons" : "holdout_records", member.holdout_records},
                   {"holdout_public", member.holdout_public},
                   {"epsilon", part(member.epsilon)},
                   {"delta", part(member.delta)}});
    if (member.public_records > 0) out.back()["public_records"] = member.public_records;
  }
  return out;
}

/// @param contribution how a person contributes to a model; null of statistics, to which she contributes a mean
Json privacy_of(const DraftFacts& facts, const char* contribution) {
  if (!facts.person_records_max) return {{"mode", "isrl"}, {"unit", "record"}, {"noise", "secure"}};
  Json person = {{"records_max", *facts.person_records_max}};
  if (contribution != nullptr) person["contribution"] = contribution;
  return {{"mode", "isrl"}, {"unit", "person"}, {"person", std::move(person)}, {"noise", "secure"}};
}

Json participation_of(const DraftFacts& facts) {
  return {{"quorum", drafted_quorum(facts.cohort.size())},
          {"join_deadline_ms", 604'800'000},
          {"round_deadline_ms", 600'000},
          {"resend_ms", 10'000}};
}

/// As if what is to be bought were nothing: for what does not depend on it.
Json without_blank(Json job) {
  if (job.contains("standardisation") && job["standardisation"].is_null()) job.erase("standardisation");
  return job;
}

/// The section "public"; null where nobody has public records.
Json public_of(const DraftFacts& facts, const DraftChoice& choice) {
  if (!facts.open_file && facts.public_records() == 0) return nullptr;
  Json out;
  if (facts.open_file)
    out = {{"file", facts.open_file->name},
           {"sha256", to_hex(facts.open_file->sha256)},
           {"records", facts.open_file->records}};
  if (facts.public_records() > 0) out["silos"] = true;
  if (!facts.open_file) out["weight"] = choice.silos_weight;
  return out;
}

/// The model that always says the public guess of the label's mean.
Eigen::VectorXd guessing_model(const DraftFacts& facts) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(data::encoded_width(facts.schema)) + 1);
  out[out.size() - 1] = data::scaled(std::get<data::NumericLabel>(facts.schema.label).column, *facts.label_guess);
  return out;
}

}  // namespace

std::int64_t DraftFacts::public_records() const noexcept {
  std::int64_t out = 0;
  for (const Member& member : cohort) out += member.public_records;
  return out;
}

double drafted_weight(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans) {
  double weights = 0.0;
  double rounds = 1.0;
  std::int64_t open = 0;
  for (const jobs::CohortMember& member : job.cohort) {
    weights += static_cast<double>(member.weight);
    open += member.facts.public_records;
  }
  double noise = 0.0;
  double sampling = 0.0;
  for (const jobs::CohortMember& member : job.cohort) {
    const planning::Plan& plan = plans.at(member.facts.silo);
    const double share = static_cast<double>(member.weight) / weights;
    noise += share * share * jobs::noise_of_gradient(plan.segments());
    sampling += share * share / static_cast<double>(member.facts.records);
    rounds = static_cast<double>(job.algorithm->extent().rounds);
  }
  const double square = job.clip().value() * job.clip().value();
  const double found = algorithms::best_weight(square / static_cast<double>(open), noise / rounds + square * sampling);
  return three_digits(found);
}

double three_digits(double value) { return std::stod(fmt::format("{:.3g}", value)); }

double DraftChoice::step_size() const {
  return three_digits(path * (1.0 - momentum) / (clip * static_cast<double>(rounds)));
}

Eigen::VectorXd expected_origin(const data::Schema& schema, double centre) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(data::encoded_width(schema)));
  Eigen::Index at = 0;
  for (const data::FeatureColumn& column : schema.features) {
    const auto* numeric = std::get_if<data::NumericColumn>(&column);
    if (numeric != nullptr && !numeric->date) {  // a date's zero means nothing
      if (numeric->min >= 0.0) out[at] = centre;
      if (numeric->max <= 0.0) out[at] = -centre;
    }
    at += static_cast<Eigen::Index>(data::encoded_width(column));
  }
  return out;
}

std::size_t bought_columns(const data::Schema& schema) {
  return static_cast<std::size_t>(std::count_if(
      schema.features.begin(), schema.features.end(),
      [](const data::FeatureColumn& column) { return std::holds_alternative<data::NumericColumn>(column); }));
}

Json moments_job_of(const DraftFacts& facts, double share) {
  UNDERTONE_CHECK(share > 0.0 && share < 1.0);
  Json questions = Json::array();
  for (const data::FeatureColumn& column : facts.schema.features)
    if (std::holds_alternative<data::NumericColumn>(column))
      questions.push_back({{"kind", "variance"}, {"column", data::name_of(column)}});
  return {{"format", "undertone.job/1"},
          {"name", facts.name + "-moments"},
          {"data", facts.data},
          {"statistics", {{"questions", std::move(questions)}}},
          {"privacy", privacy_of(facts, nullptr)},
          {"cohort", cohort_of(facts, share)},
          {"participation", participation_of(facts)}};
}

Json bound_job_of(const DraftFacts& facts, double share) {
  UNDERTONE_CHECK(share > 0.0 && share < 1.0);
  Json question = {{"kind", "gradient_norms"}, {"loss", "squared"}, {"intercept", true}, {"bins", 12}};
  if (facts.label_guess) {
    const Eigen::VectorXd point = guessing_model(facts);
    question["point"] = std::vector<double>(point.begin(), point.end());
  }
  return {{"format", "undertone.job/1"},
          {"name", facts.name + "-bound"},
          {"data", facts.data},
          {"statistics", {{"questions", Json::array({std::move(question)})}}},
          {"privacy", privacy_of(facts, nullptr)},
          {"cohort", cohort_of(facts, share)},
          {"participation", participation_of(facts)}};
}

Json regression_job_of(const DraftFacts& facts) {
  Json columns = Json::array();
  for (const data::FeatureColumn& column : facts.schema.features) columns.push_back(data::name_of(column));
  return {
      {"format", "undertone.job/1"},
      {"name", facts.name},
      {"data", facts.data},
      {"statistics",
       {{"questions",
         {{{"kind", "regression"}, {"response", data::label_column(facts.schema)}, {"columns", std::move(columns)}}}}}},
      {"privacy", privacy_of(facts, nullptr)},
      {"cohort", cohort_of(facts, 1.0)},
      {"participation", participation_of(facts)}};
}

std::size_t drafted_quorum(std::size_t silos) { return (2 * silos + 2) / 3; }

double drafted_delta(std::int64_t records) {
  const double most = 0.01 / static_cast<double>(records);
  const double unit = std::pow(10.0, std::floor(std::log10(most) + 1e-12));
  const double digit = std::clamp(std::floor(most / unit + 1e-9), 1.0, 9.0);
  return std::stod(fmt::format("{:.0e}", digit * unit));
}

Json job_of(const DraftFacts& facts, const DraftChoice& choice, int reply_step_log2) {
  const bool binary = std::holds_alternative<data::BinaryLabel>(facts.schema.label);
  const bool alike = std::all_of(facts.cohort.begin(), facts.cohort.end(), [&](const DraftFacts::Member& member) {
    return member.records == facts.cohort.front().records;
  });
  Json out = {{"format", "undertone.job/1"}, {"name", facts.name}, {"data", facts.data}};
  const Eigen::VectorXd origin = expected_origin(facts.schema, choice.centre);
  if (choice.bought > 0.0) {
    out["standardisation"] = nullptr;
  } else if ((origin.array() != 0.0).any()) {
    out["standardisation"] = {{"origin", std::vector<double>(origin.begin(), origin.end())},
                              {"scale", std::vector<double>(static_cast<std::size_t>(origin.size()), 1.0)}};
  }
  if (std::holds_alternative<data::ClassLabel>(facts.schema.label)) {
    out["model"] = {{"kind", "softmax"}};
  } else {
    out["model"] = {{"kind", binary ? "logistic" : "least_squares"}, {"intercept", true}};
  }
  out["domain"] = {{"kind", "l2_ball"}, {"radius", choice.radius}};
  out["regulariser"] =
      choice.strength > 0.0 ? Json{{"kind", "l2"}, {"strength", choice.strength}} : Json{{"kind", "none"}};
  // Where bounds are wide, most labels are far from their middle. A model that began there would find its way to them
  // through noise.
  if (choice.bought_bound > 0.0 && facts.label_guess) out["initial"] = jobs::initial_of_weights(guessing_model(facts));
  out["algorithm"] = algorithm_of(choice);
  const bool classes = std::holds_alternative<data::ClassLabel>(facts.schema.label);
  out["privacy"] = privacy_of(facts, classes ? "mean_of_clipped" : "clipped_mean");
  out["privacy"]["clip_norm"] = choice.clip;
  if (Json open = public_of(facts, choice); !open.is_null()) out["public"] = std::move(open);
  const std::size_t quorum = drafted_quorum(facts.cohort.size());
  if (quorum < facts.cohort.size() && !alike) out["aggregation"] = {{"kind", "mean"}, {"missing_silos", "scaled"}};
  out["cohort"] = cohort_of(facts, 1.0 - choice.bought - choice.bought_bound);
  out["participation"] = participation_of(facts);
  const bool exact = std::all_of(facts.cohort.begin(), facts.cohort.end(),
                                 [](const DraftFacts::Member& member) { return member.holdout_public; });
  out["evaluation"] = {{"every", 0}, {"metrics", exact ? "detailed" : "basic"}};  // of public records it costs nothing
  const bool fine = reply_step_log2 == kFineStepLog2;
  out["wire"] = {{"points", "f64"}, {"replies", fine ? "i64" : "i32"}, {"reply_step_log2", reply_step_log2}};
  return out;
}

Result<std::string> drafted_job(const DraftFacts& facts, const DraftChoice& tuned) {
  DraftChoice choice = tuned;
  UNDERTONE_TRY(const jobs::Job fine,
                jobs::parse_job(without_blank(job_of(facts, choice, kFineStepLog2)).dump(), "the draft"));
  UNDERTONE_TRY(const auto plans, jobs::plans_of(fine));
  double noise = std::numeric_limits<double>::infinity();
  for (const auto& [silo, plan] : plans) {
    for (const planning::Plan::Segment& segment : plan.segments()) {
      if (!segment.release.is_public()) noise = std::min(noise, segment.release.noise_stddev_of_mean());
    }
  }
  if (facts.public_records() > 0 && !facts.open_file) choice.silos_weight = drafted_weight(fine, plans);
  const int coarsest = std::clamp(static_cast<int>(std::floor(std::log2(noise / 32.0))), kFineStepLog2, 20);
  // Metrics of public records have no noise in which a coarse step would be lost. A finer one costs nothing, as long as
  // 32 bits hold what is told.
  constexpr int kMetricStepLog2 = -22;
  for (int step = std::min(coarsest, kMetricStepLog2);; step = std::min(step + 2, coarsest)) {
    const Json made = job_of(facts, choice, step);
    UNDERTONE_TRY(const jobs::Job job, jobs::parse_job(without_blank(made).dump(), "the draft"));
    const auto planned = jobs::plans_of(job);
    if (planned) return made.dump(2) + "\n";
    if (step == coarsest) return planned.error();
  }
}

}  // namespace undertone::lab
