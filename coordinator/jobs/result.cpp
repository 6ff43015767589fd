#include "coordinator/jobs/result.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "coordinator/jobs/metrics_json.hpp"
#include "coordinator/jobs/shown_tables.hpp"
#include "coordinator/jobs/statistics_result.hpp"
#include "coordinator/jobs/test_multiplicity.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/algorithms/one_round/statistics.hpp"
#include "shared/base/files.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/jobs/model_section.hpp"
#include "shared/jobs/projection_section.hpp"
#include "shared/jobs/schema_section.hpp"

namespace undertone::coordinator {
namespace {

constexpr std::size_t kNoisesMax = 16;  // kinds of releases that are listed

using Json = nlohmann::ordered_json;

/// Plans of a cohort, and what parts of them cost, each computed once for silos that are alike.
class Costs {
 public:
  explicit Costs(const RunReport& report) : report_(&report) {}

  [[nodiscard]] Result<const planning::Plan*> plan(const jobs::CohortMember& member) {
    const auto found = plans_.find(jobs::planned_facts(member.facts));
    if (found != plans_.end()) return &found->second;
    UNDERTONE_TRY(planning::Plan plan, report_->planner(report_->job, member));
    return &plans_.emplace(jobs::planned_facts(member.facts), std::move(plan)).first->second;
  }
  [[nodiscard]] double epsilon(const planning::Plan& plan, const RoundSet& made) {
    const auto [known, is_new] = spent_.try_emplace(std::pair(&plan, made), 0.0);
    if (is_new) known->second = plan.epsilon_of(made);
    return known->second;
  }

 private:
  const RunReport* report_;
  std::map<jobs::PlannedFacts, planning::Plan> plans_;
  std::map<std::pair<const planning::Plan*, RoundSet>, double> spent_;
};

/// Of all private releases, each once.
std::string mechanisms_of(const planning::Plan& plan) {
  if (plan.shuffling() && plan.shuffling()->binomial) return "binomial vector sum, shuffled";
  std::string out;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const std::string_view one = mechanisms::name_of(segment.release.mechanism);
    if (segment.release.is_public() || out.find(one) != std::string::npos) continue;
    out += fmt::format("{}{}", out.empty() ? "" : "; ", one);
  }
  return out.empty() ? "Gaussian, exactly rounded to a lattice" : out;
}

Json privacy_of(const RunReport& report, const jobs::CohortMember& member, const planning::Plan* plan, Costs& costs) {
  const SiloId& silo = member.facts.silo;
  const auto answer = report.answers.find(silo);
  RoundSet made;
  std::uint64_t replies = 0;
  for (const RoundRecord& round : report.rounds) {
    if (!round.accepted.contains(silo)) continue;
    ++replies;
    made.append(round.round);
  }
  const bool accepted = answer != report.answers.end() && !answer->second;
  const bool took_part = accepted || replies > 0;
  const double odometer = costs.epsilon(*plan, made);
  Json out;
  out["silo"] = silo.name();
  out["took_part"] = took_part;
  if (answer != report.answers.end() && answer->second) out["refusal"] = std::string(wire::to_string(*answer->second));
  out["epsilon"] = took_part ? plan->epsilon().value_rounded_up() : 0.0;
  out["delta"] = took_part ? plan->delta().value_rounded_up() : 0.0;
  out["epsilon_odometer"] = odometer;
  out["replies_accepted"] = replies;
  out["unit"] = releases::to_string(report.job.unit);
  out["adjacency"] = "replace_one";
  out["mechanism"] = mechanisms_of(*plan);
  if (plan->shuffling()) {
    Json trusted = Json::array();
    for (const jobs::Shuffle::Party& party : report.job.shuffle->shufflers) trusted.push_back(party.name);
    out["shuffled"] = {{"form", jobs::to_string(report.job.shuffle->form)},
                       {"trusted_shufflers", std::move(trusted)},
                       {"honest_silos", plan->shuffling()->honest_silos}};
  }
  out["accountant"] = plan->accountant();
  Json noise = Json::array();
  for (const planning::Plan::Segment& segment : plan->segments()) {
    const std::string kind(releases::to_string(segment.release.ask.kind()));
    const std::int64_t records = segment.release.records_drawn;
    const auto same = [&](const Json& known) { return known["kind"] == kind && known["records"] == records; };
    if (std::any_of(noise.begin(), noise.end(), same)) continue;
    noise.push_back({{"kind", kind},
                     {"records", records},
                     {"stddev_of_mean", segment.release.noise_stddev_of_mean()},
                     {"public_records", segment.release.is_public()}});
    if (segment.release.ask.beside_public) noise.back()["beside_public_records"] = segment.release.public_records;
    if (noise.size() == kNoisesMax) break;
  }
  out["noise"] = std::move(noise);
  const bool valid = report.mode == "tcp" && report.job.noise == crypto::NoiseKind::Secure;
  std::string statement = valid ? "as planned from public facts; the statement that counts is the silo's own, from its "
                                  "ledger"
                                : "VOID: this run's noise was seeded or absent; nothing here is private";
  if (report.job.simulation && report.job.simulation->shared) statement += fmt::format("; {}", jobs::kSharedRecords);
  out["statement"] = std::move(statement);
  return out;
}

/// The evaluations, each with what is known of its noise: a direct simulation closes no rounds, and knows nothing.
std::vector<algorithms::MetricsRow> evaluations_of(const RunReport& report) {
  if (!report.outcome || !report.job.model) return {};
  std::vector<algorithms::MetricsRow> out = report.outcome->metrics;
  auto row = out.begin();
  for (const RoundRecord& round : report.rounds) {
    if (!round.metrics || row == out.end() || round.metrics->steps != row->steps) continue;
    row->noise_stddev = round.metrics->noise_stddev;
    ++row;
  }
  return out;
}

/// What the coordinator held and what cannot be claimed of the result, where it is no mean.
std::string aggregation_of(const jobs::Job& job) {
  if (!job.aggregation.robust()) return folds::to_string(job.aggregation);
  return fmt::format("{}: the coordinator held the {} answers of each round; the source's rates are not claimed",
                     folds::to_string(job.aggregation), job.cohort.size());
}

/// What a record's contribution is bounded in, as a job says it.
void put_bound(const releases::Bound& bound, Json& out) {
  std::visit(
      Overloaded{[&](const releases::L2Bound& l2) { out["clip_norm"] = l2.clip.value(); },
                 [&](const releases::MaxBound& max) { out["coordinate_bound"] = max.bound.value(); },
                 [&](const releases::DualBound& dual) {
                   out["clip_norm"] = dual.clip().value();
                   out["clip_in"] = releases::norm_name(dual.exponent());
                 },
                 [&](const releases::InfluenceBound& influence) {
                   out["coordinate_threshold"] = influence.threshold();
                   out["influence"] = statistics::to_string(influence.influence());
                   if (influence.groups() > 1) out["groups"] = influence.groups();
                 },
                 [](const releases::RangeBound& /*public columns*/) {}, [](const releases::PairBound& /*the same*/) {}},
      bound);
}

Json settings_of(const RunReport& report) {
  const jobs::Job& job = report.job;
  const char* noise = report.noise_absent ? "none" : job.noise == crypto::NoiseKind::Secure ? "secure" : "test";
  Json out;
  if (job.model) {
    const algorithms::Problem& problem = job.algorithm->problem();
    out = {{"model", std::string(job.model->name())},
           {"dimension", job.model->dimension()},
           {"algorithm", std::string(job.algorithm->name())},
           {"algorithm_source", job.algorithm->source()},
           {"domain", std::string(problem.domain.name())},
           {"regulariser", std::string(problem.regulariser.name())},
           {"l1", problem.regulariser.l1()},
           {"l2", problem.regulariser.l2()},
           {"draw_fraction", job.draw_fraction},
           {"sampling", job.with_replacement ? "with_replacement" : "without_replacement"}};
    put_bound(job.bound, out);
    out["aggregation"] = aggregation_of(job);
  } else {
    out["algorithm"] = std::string(job.algorithm->name());
    out["algorithm_source"] = job.algorithm->source();
  }
  out["quorum"] = job.participation.quorum;
  out["noise"] = noise;
  out["mode"] = report.mode;
  if (job.model) {
    const algorithms::Problem& problem = job.algorithm->problem();
    if (const models::LinearModel* linear = job.model->linear()) out["intercept"] = linear->intercept();
    if (const auto* ball = std::get_if<geometry::L2Ball>(&problem.domain.set())) out["domain_radius"] = ball->radius();
    if (job.initial) out["initial"] = jobs::to_string(*job.initial);
    if (job.public_terms) {
      if (job.public_terms->file) {
        out["public_records"] = job.public_terms->file->records;
        out["public_file_sha256"] = to_hex(job.public_terms->file->sha256);
      }
      out["public_records_of_silos"] = job.public_terms->at_silos;
      out["public_use"] = std::string(algorithms::name_of(job.public_terms->use));
      const auto* mixed = std::get_if<algorithms::MixedGradients>(&job.public_terms->use);
      if (job.public_side) {
        out["weight_of_silos"] = job.public_side->weight;
      } else if (mixed != nullptr && mixed->weight) {
        out["weight_of_silos"] = *mixed->weight;
      }
      if (mixed != nullptr && mixed->weight_end) out["weight_of_silos_end"] = *mixed->weight_end;
    }
  }
  for (const auto& [name, value] : job.algorithm->numbers()) out[name] = value;
  return out;
}

/// What a job without a model found, each number with the deviation of all its noise. @param out an array
Status put_statistics(const RunReport& report, Costs& costs, Json& out) {
  const auto* settings = report.job.algorithm.as<algorithms::StatisticsSettings>();
  UNDERTONE_CHECK(settings != nullptr);
  const ReleaseOf release_of = [&](const SiloId& silo, RoundIndex round) -> Result<const planning::Release*> {
    const jobs::CohortMember* member = report.job.member(silo);
    if (member == nullptr) return damaged_run(silo);
    UNDERTONE_TRY(const planning::Plan* const plan, costs.plan(*member));
    const planning::Release* release = plan->release(round);
    if (release == nullptr) return damaged_run(silo);
    return release;
  };
  for (const algorithms::Estimate& estimate : report.outcome->statistics) {
    double variance = 0.0;  // of the total, in real units of the releases
    for (const RoundRecord& round : report.rounds) {
      if (round.round.value != estimate.round) continue;
      for (const auto& [silo, digest] : round.accepted) {
        UNDERTONE_TRY(const planning::Release* const release, release_of(silo, round.round));
        const double own = mechanisms::noise_stddev_of_sum(release->mechanism, release->records_drawn);
        variance += own * own;
      }
    }
    Json one = {{"statistic", estimate.name}};
    if (algorithms::is_single(settings->questions.at(estimate.round))) {
      one["value"] = estimate.value;
      // Without the rounds, as in a direct simulation, nobody knows who answered.
      if (!report.rounds.empty()) one["noise_stddev"] = std::sqrt(variance) * std::abs(estimate.per_unit);
    }
    one["silos"] = estimate.replies;
    one["records"] = estimate.records;
    if (settings->unit != releases::Unit::Record) one["unit"] = releases::to_string(settings->unit);
    if (!estimate.answers.empty())
      UNDERTONE_TRY(put_answers(report.job, estimate, report.outcome->statistics, release_of, one));
    out.push_back(std::move(one));
  }
  put_shown_tables(*settings, out);
  put_multiplicity(out);
  return {};
}

Json model_of(const RunReport& report) {
  const jobs::Job& job = report.job;
  const Eigen::VectorXd& weights = report.outcome->vectors.at("weights");
  Json out = {{"format", "undertone.model/2"},
              {"kind", std::string(job.model->name())},
              {"job", job.name},
              {"run", report.run.hex()},
              {"data", jobs::to_json(job.schema)}};
  if (job.standardised) {
    out["standardisation"] = jobs::standardisation_to_json(*job.projection);
  } else if (job.projection) {
    out["projection"] = jobs::to_json(*job.projection);
  }
  const models::Network* network = job.model->network();
  if (network != nullptr || job.model->moments() != nullptr) {
    if (network != nullptr && !network->is_linear()) out.update(jobs::to_json(network->shape()));
    out["weights"] = std::vector<double>(weights.begin(), weights.end());
    return out;
  }
  out["weights"] = Json::array();
  const std::vector<std::string> names = jobs::feature_names(job);
  for (std::size_t f = 0; f < names.size(); ++f)
    out["weights"].push_back({{"feature", names[f]}, {"weight", weights[static_cast<Eigen::Index>(f)]}});
  out["intercept"] = job.model->linear()->intercept() ? weights[job.model->features()] : 0.0;
  if (report.outcome->regression && report.outcome->regression->terms.exposure)
    out["exposure"] = names.at(report.outcome->regression->terms.exposure->coordinate);
  return out;
}

}  // namespace

Result<ResultTexts> result_texts(const RunReport& report) {
  Json result;
  result["format"] = "undertone.result/1";
  result["job"] = {{"name", report.job.name}, {"sha256", to_hex(report.run.job)}};
  result["run"] = report.run.hex();
  result["succeeded"] = report.outcome.has_value();
  if (!report.outcome) result["failure"] = report.outcome.error().message;
  result["settings"] = settings_of(report);
  result["rounds"] = report.rounds.size();
  result["metrics"] = Json::array();
  const std::vector<algorithms::MetricsRow> evaluations = evaluations_of(report);
  for (const algorithms::MetricsRow& row : evaluations) result["metrics"].push_back(metrics_json(report.job, row));
  if (!evaluations.empty()) put_verdicts(report.job, evaluations.back(), result);
  result["privacy"] = Json::array();
  Costs costs(report);
  for (const jobs::CohortMember& member : report.job.cohort) {
    UNDERTONE_TRY(const planning::Plan* const plan, costs.plan(member));
    result["privacy"].push_back(privacy_of(report, member, plan, costs));
  }
  result["participation"] = Json::array();
  for (const RoundRecord& round : report.rounds) {
    Json answered = Json::array();
    Json missing = Json::array();
    for (const auto& [silo, digest] : round.accepted) answered.push_back(silo.name());
    for (const SiloId& silo : round.missing) missing.push_back(silo.name());
    result["participation"].push_back(
        {{"round", round.round.value}, {"answered", std::move(answered)}, {"missing", std::move(missing)}});
  }
  if (report.outcome && !report.job.model) {
    result["statistics"] = Json::array();
    UNDERTONE_TRY(put_statistics(report, costs, result["statistics"]));
  }
  if (report.outcome && report.outcome->regression) {
    result["statistics"] = Json::array({regression_row(report.job, *report.outcome->regression)});
    put_multiplicity(result["statistics"]);
    if (report.outcome->regression->fit.carries == statistics::Carries::Nothing)
      result["verdicts"].push_back(
          "the regression is refused: what model.json holds is where the iteration stood, and no estimate");
  }
  ResultTexts out{result.dump(2) + "\n", ""};
  if (report.outcome && report.job.model) out.model = model_of(report).dump(2) + "\n";
  return out;
}

Status write_results(const std::filesystem::path& folder, const RunReport& report) {
  UNDERTONE_TRY(const ResultTexts texts, result_texts(report));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", folder.string(), error.message())};
  if (!texts.model.empty()) UNDERTONE_TRY(write_file_atomically(folder / "model.json", texts.model));
  return write_file_atomically(folder / "result.json", texts.result);
}

}  // namespace undertone::coordinator
