#include "coordinator/jobs/statistics_result.hpp"

#include <cmath>
#include <utility>

#include "shared/algorithms/one_round/statistics.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/jobs/released_exits.hpp"
#include "shared/jobs/released_function.hpp"
#include "shared/jobs/stated_json.hpp"
#include "shared/jobs/stated_regression.hpp"
#include "shared/jobs/stated_statistics.hpp"
#include "shared/jobs/stated_survival.hpp"
#include "shared/jobs/stated_vectors.hpp"

namespace undertone::coordinator {
namespace {

using Json = nlohmann::ordered_json;

void put_regression(const jobs::StatedQuestion& stated, Json& out) {
  if (stated.rho) out["rho"] = jobs::end_json(*stated.rho);
  if (stated.residual_variance) out["residual_variance"] = *stated.residual_variance;
}

void put_tests(const jobs::StatedQuestion& stated, Json& out) {
  if (!stated.tests.empty()) out["tests"] = jobs::tests_json(stated);
}

/// What a question was of, as far as its estimates' names do not say.
void put_shape(const algorithms::StatisticAsked& asked, Json& out) {
  std::visit(Overloaded{[&](const algorithms::HistogramAsked& what) {
                          out["edges"] = what.edges;
                          if (!what.gradients) return;
                          out["loss"] = std::string(statistics::to_string(what.gradients->loss));
                          out["intercept"] = what.gradients->intercept;
                          out["point"] = what.gradients->point;
                        },
                        [&](const algorithms::QuantilesAsked& what) {
                          out["edges"] = what.cells.edges;
                          out["probabilities"] = what.probabilities;
                        },
                        [&](const algorithms::TableAsked& what) {
                          out["axes"] = Json::array();
                          for (const algorithms::TableAxis& axis : what.axes)
                            out["axes"].push_back({{"column", axis.column}, {"values", axis.values}});
                        },
                        [&](const algorithms::SurvivalAsked& what) {
                          out["edges"] = what.edges;
                          out["groups"] = jobs::combinations_of(what.by);
                          if (what.causes.size() > 1) out["causes"] = what.causes;
                          std::vector<double> at;
                          for (const std::size_t edge : what.at) at.push_back(what.edges[edge]);
                          out["at"] = at;
                          out["estimates_of_group"] = jobs::estimates_of_group(what);
                        },
                        [&](const algorithms::RegressionAsked& what) { out["response"] = what.response.name; },
                        [&](const algorithms::GroupMeansAsked& what) {
                          out["axes"] = Json::array();
                          out["axes"].push_back({{"column", what.by.column}, {"values", what.by.values}});
                        },
                        [](const auto& /*named*/) {}},
             asked.what);
}

/// How one silo's totals are hidden.
Json noise_of_release(const planning::Release& release) {
  const releases::Cost cost = release.cost_of_draw();
  Json out;
  if (const auto* reports = std::get_if<mechanisms::LocalReports>(&release.mechanism)) {
    out = {{"law", releases::what_leaves(release.ask)}};
    if (reports->kind() == releases::Randomiser::Gaussian) {
      out["mu"] = std::sqrt(cost.gaussian.value_rounded_up());
    } else {
      out["epsilon"] = cost.pure.value_rounded_up();
    }
    if (const auto* bit = std::get_if<mechanisms::OneBit>(&reports->randomiser)) out["contrast"] = bit->contrast();
    out["stddev_of_mean_max"] = release.noise_stddev_of_mean();
    return out;
  }
  if (release.is_public()) return {{"law", "none: public records"}};
  if (std::holds_alternative<mechanisms::Selection>(release.mechanism))
    return {{"law", "exponential mechanism"}, {"epsilon", cost.ranged.value_rounded_up()}};
  if (std::holds_alternative<mechanisms::LaplaceLattice>(release.mechanism)) {
    out = {{"law", "discrete Laplace"}, {"epsilon", cost.pure.value_rounded_up()}};
  } else {
    out = {{"law", "Gaussian"}, {"mu", std::sqrt(cost.gaussian.value_rounded_up())}};
  }
  if (const auto* map = std::get_if<releases::FeaturesMap>(&release.ask.map)) {
    const releases::PairDistance apart = releases::pair_distance(*map, release.ask.records.persons);
    out["sensitivity_l1"] = apart.l1;
    out["sensitivity_l2"] = std::sqrt(apart.l2_squared);
  }
  out["stddev_of_total"] = mechanisms::noise_stddev_of_sum(release.mechanism, release.records_drawn);
  return out;
}

void put_combined(const jobs::CombinedMean& combined, Json& out) {
  out["combined"] = {{"by", combined.by},
                     {"public_records", combined.public_records},
                     {"weight_of_public", combined.weight_of_public},
                     {"spread", combined.spread},
                     {"expected_error", combined.expected_error},
                     {"error_of_public", combined.error_of_public}};
}

/// The question's statement with the public records that the one before it asked for.
Result<jobs::StatedQuestion> with_public(const algorithms::VectorMeanAsked& mean,
                                         const algorithms::StatisticsSettings& settings,
                                         const std::vector<jobs::SiloTotals>& own, std::uint64_t round,
                                         const std::vector<algorithms::Estimate>& estimates,
                                         const ReleaseOf& release_of) {
  UNDERTONE_TRY(const statistics::Confidence confidence, statistics::Confidence::create(settings.confidence));
  std::vector<jobs::SiloTotals> open;
  for (const algorithms::Estimate& estimate : estimates) {
    if (estimate.round != round) continue;
    for (const auto& [silo, totals] : estimate.answers) {
      UNDERTONE_TRY(const planning::Release* const release, release_of(silo, {round}));
      open.push_back({release->records_drawn, release, &totals});
    }
  }
  return jobs::state_with_public(mean, own, open, confidence);
}

}  // namespace

Error damaged_run(const SiloId& silo) {
  return {ErrorCode::StorageFailed,
          fmt::format("the store has an answer of \"{}\" that the job does not ask for: the store is damaged",
                      silo.name())};
}

Status put_answers(const jobs::Job& job, const algorithms::Estimate& estimate,
                   const std::vector<algorithms::Estimate>& estimates, const ReleaseOf& release_of, Json& out) {
  const auto* settings = job.algorithm.as<algorithms::StatisticsSettings>();
  UNDERTONE_CHECK(settings != nullptr && estimate.round < settings->questions.size());
  const algorithms::StatisticAsked& asked = settings->questions[estimate.round];
  std::vector<std::pair<const jobs::CohortMember*, jobs::SiloTotals>> silos;
  std::vector<jobs::SiloTotals> all;
  for (const auto& [silo, totals] : estimate.answers) {
    const jobs::CohortMember* member = job.member(silo);
    if (member == nullptr) return damaged_run(silo);
    UNDERTONE_TRY(const planning::Release* const release, release_of(silo, {estimate.round}));
    silos.emplace_back(member, jobs::SiloTotals{release->records_drawn, release, &totals});
    all.push_back(silos.back().second);
  }
  UNDERTONE_TRY(jobs::StatedQuestion together, jobs::state_question(asked, *settings, all));
  if (const auto* mean = std::get_if<algorithms::VectorMeanAsked>(&asked.what);
      mean != nullptr && mean->beside_public) {
    UNDERTONE_TRY(together, with_public(*mean, *settings, all, estimate.round - 1, estimates, release_of));
  }
  out["kind"] = std::string(algorithms::kind_of(asked));
  out["confidence"] = settings->confidence;
  if (!asked.column.empty()) out["column"] = asked.column;
  put_shape(asked, out);
  if (algorithms::is_single(asked)) {
    out["noise_interval"] = jobs::interval_json(together.estimates.front().stated.noise);
  }
  out["estimates"] = jobs::estimates_json(together);
  put_tests(together, out);
  put_regression(together, out);
  if (together.combined) put_combined(*together.combined, out);
  if (std::holds_alternative<algorithms::FunctionAsked>(asked.what)) {
    UNDERTONE_TRY(const jobs::ReleasedFunction function, jobs::release_function(asked, all));
    out["function"] = jobs::to_json(function);
    if (const Result<jobs::ReleasedMinimum> least = jobs::least_risk(function))
      out["minimum"] = {{"parameters", std::vector<double>(least->parameters.begin(), least->parameters.end())},
                        {"risk", least->risk}};
  }
  if (const auto* survival = std::get_if<algorithms::SurvivalAsked>(&asked.what)) {
    UNDERTONE_TRY(const jobs::ReleasedExits exits, jobs::release_exits(*survival, settings->sampling, all));
    out["exits"] = jobs::to_json(exits);
  }
  out["by_silo"] = Json::array();
  for (const auto& [member, own] : silos) {
    UNDERTONE_TRY(const jobs::StatedQuestion alone, jobs::state_question(asked, *settings, {own}, false));
    Json one = {{"silo", member->facts.silo.name()},
                {"records", member->facts.records},
                {"noise", noise_of_release(*own.release)},
                {"estimates", jobs::estimates_json(alone)}};
    put_regression(alone, one);
    out["by_silo"].push_back(std::move(one));
  }
  return {};
}

Json regression_row(const jobs::Job& job, const algorithms::FoundRegression& found) {
  constexpr double kConfidence = 0.95;
  const jobs::StatedQuestion stated = jobs::state_regression(job, found, *statistics::Confidence::create(kConfidence));
  const std::string label = data::label_column(job.schema);
  const auto* binary = std::get_if<data::BinaryLabel>(&job.schema.label);
  const bool log_link = found.terms.link == statistics::ScoreLink::Log;
  Json out = {{"statistic", fmt::format("{} regression of {}", log_link ? "Poisson" : "logistic",
                                        binary == nullptr ? label : fmt::format("{}={}", label, binary->positive))},
              {"silos", found.silos},
              {"records", found.records},
              {"kind", log_link ? "poisson_regression" : "logistic_regression"},
              {"confidence", kConfidence},
              {"response", label},
              {"estimates", jobs::estimates_json(stated)}};
  if (found.terms.exposure) {
    for (const algorithms::Problem::Number& number : jobs::numbers_of(job.schema))
      if (number.coordinate == found.terms.exposure->coordinate) out["exposure"] = number.name;
  }
  put_tests(stated, out);
  put_regression(stated, out);
  out["by_silo"] = Json::array();
  return out;
}

}  // namespace undertone::coordinator
