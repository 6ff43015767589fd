#include "shared/fairness/fermi.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

#include "shared/base/random_source.hpp"
#include "shared/fairness/ermi.hpp"
#include "shared/fairness/group_outcomes.hpp"

namespace undertone::fairness {
namespace {

double normal(RandomSource& source) {
  return std::sqrt(-2.0 * std::log(1.0 - source.unit())) * std::cos(2.0 * std::numbers::pi * source.unit());
}

/// The invented records "SF-A" of spec fair-learning 4.3.
GroupedRecords invented(std::size_t count, std::uint64_t seed) {
  RandomSource source(seed);
  GroupedRecords out{Eigen::MatrixXd(6, static_cast<Eigen::Index>(count)), {}, {}, 2, 2};
  for (std::size_t i = 0; i < count; ++i) {
    const Eigen::Index group = source.chance(1.0 / 3.0) ? 1 : 0;
    auto x = out.features.col(static_cast<Eigen::Index>(i));
    x[0] = normal(source) + (group == 0 ? 0.5 : -0.5);
    for (Eigen::Index j = 1; j < 5; ++j) x[j] = normal(source);
    x[5] = 1.0;
    const double score = 1.2 * x[0] + x[1] - 0.5 * x[2] - 1.0;
    out.labels.push_back(source.chance(1.0 / (1.0 + std::exp(-score))) ? 1 : 0);
    out.groups.push_back(group);
    if (x.norm() > 4.0) x *= 4.0 / x.norm();
  }
  return out;
}

GroupOutcomes tested(const Eigen::MatrixXd& model, const GroupedRecords& test) {
  GroupOutcomes out(test.classes, test.group_count);
  const Eigen::MatrixXd scores = model * test.features;
  for (std::size_t i = 0; i < test.labels.size(); ++i) {
    Eigen::Index predicted = 0;
    scores.col(static_cast<Eigen::Index>(i)).maxCoeff(&predicted);
    out.add(test.labels[i], test.groups[i], predicted);
  }
  return out;
}

/// The step of two scores a class is half of that of the one score that the reference has.
FermiSettings settings_of(double lambda, std::uint64_t steps) {
  return {steps, 0.25, 0.2 / std::max(1.0, lambda), 0, 1};
}

TEST(GroupOutcomes, GapsOfATableByHand) {
  GroupOutcomes out(2, 2);
  EXPECT_TRUE(std::isnan(out.error()));
  out.add(0, 0, 0, 30);
  out.add(0, 0, 1, 10);
  out.add(1, 0, 1, 40);
  out.add(0, 1, 0, 15);
  out.add(1, 1, 0, 3);
  out.add(1, 1, 1, 2);
  EXPECT_NEAR(out.error(), 13.0 / 100.0, 1e-15);
  // Group 0 is given class 1 in 50 of 80, group 1 in 2 of 20, all in 52 of 100.
  EXPECT_NEAR(out.parity().between_groups, 0.625 - 0.1, 1e-15);
  EXPECT_NEAR(out.parity().from_all, 0.52 - 0.1, 1e-15);
  EXPECT_NEAR(out.parity().from_all, 0.8 * out.parity().between_groups, 1e-15) << "two groups, two classes";
  EXPECT_NEAR(out.opportunity(1).between_groups, 1.0 - 0.4, 1e-15);
  EXPECT_NEAR(out.odds().between_groups, 0.6, 1e-15);
  GroupOutcomes lonely(2, 2);
  lonely.add(1, 0, 1);
  EXPECT_EQ(lonely.parity().between_groups, 0.0) << "one group alone cannot be unlike another";
}

TEST(Fermi, ReachesTheReferenceRunsOfInventedRecords) {
  const GroupedRecords test = invented(20'000, 1000);
  struct Expected {
    double lambda;
    double error;
    double gap;
  };
  for (const Expected& expected : {Expected{0.0, 0.229, 0.240}, {2.0, 0.239, 0.180}, {5.0, 0.259, 0.121}}) {
    double error = 0.0;
    double gap = 0.0;
    constexpr std::uint64_t kSeeds = 3;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const GroupedRecords train = invented(4000, seed);
      Result<FairObjective> objective = FairObjective::create(train, Notion::DemographicParity, expected.lambda);
      ASSERT_TRUE(objective);
      const Result<FairObjective::Point> found = fermi(*objective, settings_of(expected.lambda, 1500));
      ASSERT_TRUE(found);
      const GroupOutcomes outcomes = tested(found->model, test);
      error += outcomes.error() / kSeeds;
      gap += outcomes.parity().between_groups / kSeeds;
    }
    EXPECT_NEAR(error, expected.error, 0.008) << expected.lambda;
    EXPECT_NEAR(gap, expected.gap, 0.03) << expected.lambda;
  }
}

TEST(Fermi, SettlesAtAStationaryPointOfLossAndErmi) {
  const GroupedRecords train = invented(1000, 5);
  Result<FairObjective> objective = FairObjective::create(train, Notion::DemographicParity, 2.0);
  ASSERT_TRUE(objective);
  const auto slope = [&](std::uint64_t steps) {
    const Result<FairObjective::Point> found = fermi(*objective, settings_of(2.0, steps));
    EXPECT_TRUE(found);
    const FairObjective::Point best{found->model,
                                    {best_weights(objective->joint(found->model, 0), objective->shares(0))}};
    return objective->gradient(best).model.norm();
  };
  EXPECT_LT(slope(3000), 1e-3);
  EXPECT_LT(slope(3000), 0.1 * slope(30));
}

TEST(Fermi, OneRecordAStepReachesWhatAllReach) {
  const GroupedRecords train = invented(20'000, 7);
  const GroupedRecords test = invented(20'000, 1000);
  Result<FairObjective> objective = FairObjective::create(train, Notion::DemographicParity, 1.0);
  ASSERT_TRUE(objective);
  const Result<FairObjective::Point> one = fermi(*objective, {60'000, 0.0025, 0.01, 1, 3});
  ASSERT_TRUE(one);
  const GroupOutcomes outcomes = tested(one->model, test);
  EXPECT_NEAR(outcomes.error(), 0.232, 0.01);
  EXPECT_NEAR(outcomes.parity().between_groups, 0.206, 0.035);
}

TEST(Fermi, OddsAreEvenedOutWhereTheyAreAskedFor) {
  const GroupedRecords train = invented(4000, 11);
  const GroupedRecords test = invented(20'000, 1000);
  const auto gap = [&](double lambda) {
    Result<FairObjective> objective = FairObjective::create(train, Notion::EqualisedOdds, lambda);
    EXPECT_TRUE(objective);
    const Result<FairObjective::Point> found = fermi(*objective, settings_of(lambda, 1500));
    EXPECT_TRUE(found);
    return tested(found->model, test).odds().between_groups;
  };
  EXPECT_NEAR(gap(0.0), 0.233, 0.04);
  EXPECT_LT(gap(2.0), gap(0.0) - 0.02);
}

TEST(Fermi, RefusesStepsThatDoNotSettleAndBatchesThatAreNotThere) {
  const GroupedRecords train = invented(100, 13);
  Result<FairObjective> objective = FairObjective::create(train, Notion::DemographicParity, 10.0);
  ASSERT_TRUE(objective);
  EXPECT_FALSE(fermi(*objective, {10, 0.1, 0.06, 0, 1})) << "1 / (2 lambda) is .05";
  EXPECT_FALSE(fermi(*objective, {10, 0.0, 0.01, 0, 1}));
  EXPECT_FALSE(fermi(*objective, {10, 0.1, 0.01, 101, 1}));
  EXPECT_TRUE(fermi(*objective, {10, 0.1, 0.05, 100, 1}));
}

}  // namespace
}  // namespace undertone::fairness
