#include <cmath>
#include <gtest/gtest.h>

#include "shared/algorithms/fair/dp_fermi.hpp"
#include "shared/base/random_source.hpp"
#include "shared/fairness/fermi.hpp"
#include "simulation/direct_cohort.hpp"

/// Federated descent-ascent without noise, against the same of all records in one place.
namespace undertone::simulation {
namespace {

using fairness::Notion;

constexpr Eigen::Index kRecords = 240;
constexpr Eigen::Index kGroups = 3;
constexpr std::uint64_t kSteps = 25;

fairness::GroupedRecords pooled_records() {
  RandomSource random(12);
  fairness::GroupedRecords out{Eigen::MatrixXd::Ones(4, kRecords), {}, {}, 2, kGroups};
  for (Eigen::Index j = 0; j < kRecords; ++j) {
    out.groups.push_back(static_cast<Eigen::Index>(random.below(kGroups)));
    for (Eigen::Index f = 0; f < 3; ++f) out.features(f, j) = 2.0 * random.unit() - 1.0;
    const double score = out.features(0, j) + 0.5 * static_cast<double>(out.groups.back()) - 0.3;
    out.labels.push_back(random.unit() < 1.0 / (1.0 + std::exp(-2.0 * score)) ? 1 : 0);
  }
  return out;
}

/// Silos of some records each, in the order that is given.
std::vector<data::Dataset> dealt(const fairness::GroupedRecords& pooled, const std::vector<Eigen::Index>& order,
                                 const std::vector<Eigen::Index>& sizes) {
  std::vector<data::Dataset> out;
  std::size_t next = 0;
  for (const Eigen::Index size : sizes) {
    models::Records records{Eigen::MatrixXd(3, size), Eigen::VectorXd(size)};
    for (Eigen::Index j = 0; j < size; ++j) {
      const Eigen::Index from = order[next++];
      records.features.col(j) = pooled.features.col(from).head(3);
      records.targets[j] = pooled.labels[static_cast<std::size_t>(from)] == 1 ? 1.0 : -1.0;
      records.groups.push_back(static_cast<std::int32_t>(pooled.groups[static_cast<std::size_t>(from)]));
    }
    out.push_back({std::move(records), {}});
  }
  return out;
}

/// Releases on a lattice so fine that it does not matter.
std::vector<planning::Plan::Segment> fine_releases(const planning::Schedule& schedule, Eigen::Index records) {
  std::vector<planning::Plan::Segment> out;
  for (const planning::ScheduledRounds& part : schedule) {
    mechanisms::GaussianLattice lattice;
    lattice.lattice = {std::int64_t{1} << 44U, std::ldexp(part.ask.clip().value(), -44)};
    lattice.log2_stddev = 16;
    out.push_back({{part.ask, records, records, lattice, records, {0, records}}, part.rounds});
  }
  return out;
}

algorithms::DpFermiSettings settings_of(Notion notion, bool attribute_alone, double clip) {
  algorithms::DpFermiSettings settings;
  settings.problem.dimension = 4;
  settings.problem.groups = kGroups;
  settings.problem.classes = 2;
  settings.rounds = kSteps;
  settings.step_size = 0.6;
  settings.terms = {{notion, kGroups, 2, 1}, 2.0, clip, 0.5, 0.05, attribute_alone, 2.0};
  settings.weights_step_size = 0.2;
  return settings;
}

Eigen::VectorXd federated(const algorithms::DpFermiSettings& settings, const std::vector<data::Dataset>& silos) {
  const algorithms::Method method = settings;
  const releases::Bound bound = releases::L2Bound{releases::ClipNorm::create(settings.terms.clip).value()};
  std::vector<DirectCohort::Member> members;
  for (std::size_t i = 0; i < silos.size(); ++i) {
    const Eigen::Index records = silos[i].training.count();
    members.push_back({SiloId::create(fmt::format("silo-{}", i)).value(), &silos[i],
                       fine_releases(method->schedule({bound}), records), static_cast<std::uint64_t>(records), 1});
  }
  DirectCohort cohort = DirectCohort::create({models::LinearModel(models::Loss::Logistic, 3, true),
                                              {queries::ReplyType::I64, -46},
                                              {},
                                              1,
                                              SimulatedNoise::None},
                                             std::move(members))
                            .value();
  return cohort.train(*method->make().value()).value().vectors.at("weights");
}

TEST(SimulatedFairnessTest, WithoutNoiseAnyDealOfTheRecordsGivesTheModelOfAllOfThemTogether) {
  const fairness::GroupedRecords pooled = pooled_records();
  std::vector<Eigen::Index> order(kRecords);
  for (Eigen::Index j = 0; j < kRecords; ++j) order[static_cast<std::size_t>(j)] = j;
  std::vector<Eigen::Index> by_group = order;
  std::stable_sort(by_group.begin(), by_group.end(), [&](Eigen::Index a, Eigen::Index b) {
    return pooled.groups[static_cast<std::size_t>(a)] < pooled.groups[static_cast<std::size_t>(b)];
  });
  for (const Notion notion : {Notion::DemographicParity, Notion::EqualisedOdds, Notion::EqualOpportunity}) {
    const auto objective = fairness::FairObjective::create(pooled, notion, 2.0).value();
    // A model of two scores moves twice as far as one of their difference.
    const fairness::FairObjective::Point together = fairness::fermi(objective, {kSteps, 0.3, 0.2, 0, 1}).value();
    const Eigen::VectorXd wanted = (together.model.row(1) - together.model.row(0)).transpose();
    for (const bool alone : {false, true}) {
      // Long enough that nothing is clipped, and not 1: scales have to be undone.
      const algorithms::DpFermiSettings settings = settings_of(notion, alone, alone ? 12.0 : 40.0);
      for (const auto& deal : {dealt(pooled, order, {kRecords}), dealt(pooled, order, {100, 90, 50}),
                               dealt(pooled, by_group, {60, 60, 60, 60})}) {
        const Eigen::VectorXd got = federated(settings, deal);
        EXPECT_LT((got - wanted).norm(), 1e-6 * wanted.norm())
            << fairness::to_string(notion) << " " << alone << " " << deal.size();
      }
    }
  }
}

TEST(SimulatedFairnessTest, SharesThatAreSomewhatOffLeaveTheFairPointWhereItIs) {
  const fairness::GroupedRecords pooled = pooled_records();
  std::vector<Eigen::Index> order(kRecords);
  for (Eigen::Index j = 0; j < kRecords; ++j) order[static_cast<std::size_t>(j)] = j;
  algorithms::DpFermiSettings settings = settings_of(Notion::DemographicParity, false, 40.0);
  settings.terms.lambda = 200.0;  // what is left of the gap falls as 1 / lambda
  settings.weights_step_size = 0.0025;
  settings.step_size = 0.02;
  settings.rounds = 12'000;
  const auto gap_of = [&](const Eigen::VectorXd& weights) {
    Eigen::VectorXd likely = Eigen::VectorXd::Zero(kGroups);
    Eigen::VectorXd counts = Eigen::VectorXd::Zero(kGroups);
    for (Eigen::Index j = 0; j < kRecords; ++j) {
      const Eigen::Index group = pooled.groups[static_cast<std::size_t>(j)];
      likely[group] += 1.0 / (1.0 + std::exp(-weights.dot(pooled.features.col(j))));
      counts[group] += 1.0;
    }
    likely.array() /= counts.array();
    return likely.maxCoeff() - likely.minCoeff();
  };
  const auto silos = dealt(pooled, order, {kRecords});
  const double exact = gap_of(federated(settings, silos));
  settings.shares = {0.2, 0.5, 0.3};
  EXPECT_LT(exact, 0.01);
  EXPECT_LT(gap_of(federated(settings, silos)), 0.01);
}

}  // namespace
}  // namespace undertone::simulation
