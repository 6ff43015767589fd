#include "shared/fairness/fair_blocks.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/base/random_source.hpp"

namespace undertone::fairness {
namespace {

constexpr Notion kEveryNotion[] = {Notion::DemographicParity, Notion::EqualisedOdds, Notion::EqualOpportunity};

Eigen::VectorXd probabilities(Eigen::Index classes, RandomSource& random) {
  Eigen::VectorXd out(classes);
  for (double& number : out) number = random.chance(0.3) ? 0.0 : std::pow(random.unit(), 4.0);
  if (!(out.sum() > 0.0)) out[0] = 1.0;
  return out / out.sum();
}

TEST(FairBlocksTest, NoRecordIsFartherFromTheCentreThanTheReachSays) {
  RandomSource random(1);
  double closest = 0.0;
  for (int i = 0; i < 40'000; ++i) {
    const Grouping grouping{kEveryNotion[random.below(3)], 2 + static_cast<Eigen::Index>(random.below(5)),
                            2 + static_cast<Eigen::Index>(random.below(4)), 1};
    FairTerms terms;
    terms.grouping = grouping;
    terms.share_floor = (0.01 + 0.99 * random.unit()) / static_cast<double>(grouping.groups);
    Eigen::VectorXd numbers(grouping.weights() + grouping.cells());
    for (double& number : numbers) number = 20.0 * random.unit() - 10.0;
    numbers.tail(grouping.cells()) = probabilities(grouping.cells(), random) * random.unit();
    const FairBlocks blocks(terms, numbers);
    Eigen::VectorXd part(grouping.weights());
    const bool counts = random.chance(0.9);
    const auto bucket =
        counts ? std::optional(static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(grouping.buckets()))))
               : std::optional<Eigen::Index>();
    Eigen::VectorXd predicted = probabilities(grouping.classes, random);
    if (random.chance(0.5)) {
      predicted.setZero();
      predicted[static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(grouping.classes)))] = 1.0;
    }
    blocks.adversary_part(bucket, static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(grouping.groups))),
                          predicted, part);
    ASSERT_LE(part.norm(), 1.0) << i;
    closest = std::max(closest, part.norm());
  }
  EXPECT_GT(closest, 0.999);
}

TEST(FairBlocksTest, MakesWhateverIsAskedSound) {
  FairTerms terms;
  terms.share_floor = 0.1;
  Eigen::VectorXd numbers(6);
  numbers << 1e9, 0.0, 0.0, 0.0, 0.001, 0.5;
  const FairBlocks far(terms, numbers);
  EXPECT_NEAR(far.weights(0).norm(), terms.radius(), 1e-9);
  EXPECT_NEAR(far.shares(0)[0], 0.1, 1e-12);
  EXPECT_GE(far.weight(), 1.0);
  numbers.setConstant(std::numeric_limits<double>::quiet_NaN());
  const FairBlocks none(terms, numbers);
  EXPECT_EQ(none.weights(0).norm(), 0.0);
  EXPECT_EQ(none.shares(0)[1], 0.5);
  EXPECT_TRUE(std::isfinite(none.reach()) && none.reach() > 0.0);
  numbers.setConstant(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(FairBlocks(terms, numbers).reach()));
  numbers.setConstant(std::numeric_limits<double>::max());
  EXPECT_TRUE(std::isfinite(FairBlocks(terms, numbers).reach()));
}

TEST(FairBlocksTest, MissingGroupsAndOtherLabelsAreWeighedFor) {
  FairTerms terms;
  Eigen::VectorXd numbers = Eigen::VectorXd::Zero(6);
  numbers.tail(2) << 0.5, 0.3;  // a fifth of the records counts for nothing
  const FairBlocks blocks(terms, numbers);
  EXPECT_NEAR(blocks.weight(), 1.25, 1e-12);
  EXPECT_NEAR(blocks.shares(0)[0], 0.625, 1e-12);
  // At W = 0 the model's part has nothing of the group in it.
  EXPECT_EQ(blocks.coefficients(0).norm(), 0.0);
}

TEST(FairBlocksTest, TheCentreSavesWhatItShould) {
  // The widest distance of two records' parts at W = 0 is (2 w) sqrt(1 / p_r + 1 / p_r'); a ball has at least half.
  FairTerms terms;
  Eigen::VectorXd numbers = Eigen::VectorXd::Zero(6);
  numbers.tail(2) << 0.67, 0.33;
  const FairBlocks blocks(terms, numbers);
  const double widest = 2.0 * std::sqrt(2.0 / 0.33);
  EXPECT_GE(2.0 * blocks.reach(), widest);
  EXPECT_LE(2.0 * blocks.reach(), 1.25 * widest);
}

}  // namespace
}  // namespace undertone::fairness
