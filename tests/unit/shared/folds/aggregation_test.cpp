#include "shared/folds/aggregation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "shared/base/random_source.hpp"

namespace undertone::folds {
namespace {

using Kind = Aggregation::Kind;

constexpr queries::WireLattice kWire{queries::ReplyType::I64, 0};

struct Weighted {
  std::vector<std::int64_t> values;
  std::uint64_t weight = 1;
};

Eigen::VectorXd fold(const Aggregation& aggregation, const std::vector<Weighted>& replies) {
  RoundFold out(aggregation, static_cast<Eigen::Index>(replies.front().values.size()), kWire);
  for (const Weighted& reply : replies) out.add(reply.values, reply.weight);
  EXPECT_EQ(out.replies(), static_cast<Eigen::Index>(replies.size()));
  return std::get<Mean>(out.value()).values;
}

std::vector<Weighted> drawn(std::uint64_t seed, std::size_t count, std::size_t dimension, std::uint64_t weight_most) {
  RandomSource random(seed);
  std::vector<Weighted> out(count);
  for (Weighted& reply : out) {
    for (std::size_t j = 0; j < dimension; ++j)
      reply.values.push_back(static_cast<std::int64_t>(random.below(2'000'001)) - 1'000'000);
    reply.weight = 1 + random.below(weight_most);
  }
  return out;
}

double distances(const std::vector<Weighted>& replies, const Eigen::VectorXd& from) {
  double sum = 0.0;
  for (const Weighted& reply : replies) {
    const Eigen::Map<const Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>> point(reply.values.data(), from.size());
    sum += static_cast<double>(reply.weight) * (point.cast<double>() - from).norm();
  }
  return sum;
}

/// Of two silos and three groups of two numbers: the groups' weighted means, then the middle of each coordinate. A
/// group that is far off moves nothing.
TEST(GroupsFoldTest, TakesTheMedianOfTheGroupsMeans) {
  RoundFold fold(GroupsFold(Aggregation{}, 2, 3, kWire));
  fold.add({1, 10, 5, -7, 1'000'000, 4}, 1);
  fold.add({4, 10, 5, 2, 1'000'000, 4}, 2);
  EXPECT_EQ(fold.replies(), 2);
  const Eigen::VectorXd median = std::get<Mean>(fold.value()).values;
  ASSERT_EQ(median.size(), 2);
  EXPECT_DOUBLE_EQ(median[0], 5.0);  // of 3, 5 and a million
  EXPECT_DOUBLE_EQ(median[1], 4.0);  // of 10, -1 and 4
}

/// Spec 9: the median moves by no more than one group does.
TEST(GroupsFoldTest, AMedianMovesNoFartherThanAGroup) {
  RandomSource random(5);
  for (int run = 0; run < 200; ++run) {
    std::vector<std::int64_t> values(15);
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random.below(2001)) - 1000;
    const auto median_of = [&] {
      RoundFold fold(GroupsFold(Aggregation{}, 3, 5, kWire));
      fold.add(values, 1);
      return std::get<Mean>(fold.value()).values;
    };
    const Eigen::VectorXd before = median_of();
    const std::size_t group = random.below(5);
    std::array<std::int64_t, 3> moved{};
    for (std::size_t j = 0; j < 3; ++j) {
      moved[j] = static_cast<std::int64_t>(random.below(100'000)) - 50'000;
      values[3 * group + j] += moved[j];
    }
    const Eigen::VectorXd after = median_of();
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_LE(std::abs(after[static_cast<Eigen::Index>(j)] - before[static_cast<Eigen::Index>(j)]),
                std::abs(static_cast<double>(moved[j])));
  }
}

TEST(AggregationTest, AnyOrderOfArrivalGivesTheSameToTheBit) {
  for (const Aggregation& aggregation : {Aggregation{}, Aggregation{Kind::Mean, 0.0, WholeCohort{100, 1'000'000}},
                                         Aggregation{Kind::TrimmedMean, 0.2}, Aggregation{Kind::GeometricMedian}}) {
    std::vector<Weighted> replies = drawn(1, 15, 4, 1000);
    replies[3].values = replies[8].values;  // of another weight
    const Eigen::VectorXd expected = fold(aggregation, replies);
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      std::vector<Weighted> shuffled;
      for (const std::size_t i : RandomSource(seed).permutation(replies.size())) shuffled.push_back(replies[i]);
      EXPECT_EQ(fold(aggregation, shuffled), expected) << to_string(aggregation);
    }
  }
}

TEST(AggregationTest, ATrimmedMeanIsThatOfTheRepliesInTheMiddleEachRepeatedByItsWeight) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const std::vector<Weighted> replies = drawn(seed, 1 + seed % 9, 3, 5);
    const double trim = 0.49 * RandomSource(seed + 1000).unit();
    const Eigen::VectorXd found = fold({Kind::TrimmedMean, trim}, replies);
    for (std::size_t j = 0; j < 3; ++j) {
      std::vector<double> repeated;
      for (const Weighted& reply : replies)
        repeated.insert(repeated.end(), reply.weight, static_cast<double>(reply.values[j]));
      std::sort(repeated.begin(), repeated.end());
      const auto off = static_cast<std::size_t>(trim * static_cast<double>(repeated.size()));
      double sum = 0.0;
      for (std::size_t i = off; i + off < repeated.size(); ++i) sum += repeated[i];
      EXPECT_DOUBLE_EQ(found[static_cast<Eigen::Index>(j)], sum / static_cast<double>(repeated.size() - 2 * off));
    }
  }
}

TEST(AggregationTest, WithoutATrimItIsTheMeanAlsoOfTheLargestValuesAndWeights) {
  std::vector<Weighted> replies;
  for (int i = 0; i < 7; ++i)
    replies.push_back({{(std::int64_t{1} << 62) - i, -(std::int64_t{1} << 62)}, LatticeFold::kWeightMax});
  EXPECT_EQ(fold({Kind::TrimmedMean, 0.0}, replies), fold({}, replies));
  EXPECT_EQ(fold({Kind::TrimmedMean, 0.4}, replies)[1], -0x1p62);
}

TEST(AggregationTest, AGeometricMedianHasTheLeastSumOfDistances) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Weighted> replies = drawn(seed, 3 + seed % 10, 3, 4);
    const Eigen::VectorXd found = fold({Kind::GeometricMedian}, replies);
    const double least = distances(replies, found);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (int k = 0; k < 300; ++k) {
      Eigen::VectorXd other = found;
      const double scale = std::pow(10.0, static_cast<double>(k % 50) / 10.0);
      for (double& x : other) x += scale * normal(random);
      EXPECT_GE(distances(replies, other), least * (1.0 - 1e-10));
    }
  }
}

TEST(AggregationTest, AGeometricMedianByHand) {
  // Of three corners of an equilateral triangle its centre; of a point with more than half the weight that point.
  const Eigen::VectorXd centre = fold({Kind::GeometricMedian}, {{{0, 0}}, {{2'000'000, 0}}, {{1'000'000, 1'732'051}}});
  EXPECT_NEAR(centre[0], 1e6, 1.0);
  EXPECT_NEAR(centre[1], 577'350.0, 1.0);
  const Eigen::VectorXd heavy = fold({Kind::GeometricMedian}, {{{0, 0}, 5}, {{900, 10}, 2}, {{-7, 800}, 2}});
  EXPECT_EQ(heavy, Eigen::Vector2d::Zero());
  const Eigen::VectorXd same = fold({Kind::GeometricMedian}, {{{5, -6}}, {{5, -6}}});
  EXPECT_EQ(same, Eigen::Vector2d(5, -6));
}

TEST(AggregationTest, AGeometricMedianCountsWeightsWhereManyAgreeWhoWeighLittle) {
  // Half of the replies are at one place, with a fiftieth of the weight.
  const std::vector<Weighted> replies = {{{0, 0}},         {{0, 0}},         {{0, 0}},
                                         {{1000, 0}, 100}, {{0, 1000}, 100}, {{-900, -800}, 100}};
  const Eigen::VectorXd found = fold({Kind::GeometricMedian}, replies);
  EXPECT_GT(found.norm(), 1.0);
  EXPECT_LT(distances(replies, found), distances(replies, Eigen::Vector2d::Zero()) - 1.0);
}

TEST(AggregationTest, LiarsMoveTheMeanAndNotTheOthers) {
  std::vector<Weighted> replies = drawn(5, 11, 3, 1);
  const Eigen::VectorXd honest = fold({}, replies);
  for (int i = 0; i < 3; ++i) replies[static_cast<std::size_t>(i)].values.assign(3, std::int64_t{1} << 60);
  EXPECT_GT((fold({}, replies) - honest).norm(), 1e17);
  EXPECT_LT((fold({Kind::TrimmedMean, 0.3}, replies) - honest).norm(), 2e6);
  EXPECT_LT((fold({Kind::GeometricMedian}, replies) - honest).norm(), 2e6);
}

TEST(AggregationTest, AMeanScaledToTheCohortDividesByAllWeightsAndCountsWhoIsMissing) {
  const Aggregation scaled{Kind::Mean, 0.0, WholeCohort{4, 16}};
  // (4/2) (9 * 8 + 1 * (-8)) / 16 = 2 * 64 / 16
  EXPECT_EQ(fold(scaled, {{{8}, 9}, {{-8}, 1}})[0], 8.0);
  // (4/1) * 9 * 8 / 16, where the mean of one reply is the reply.
  EXPECT_EQ(fold(scaled, {{{8}, 9}})[0], 18.0);
  EXPECT_EQ(fold(Aggregation{}, {{{8}, 9}})[0], 8.0);
}

TEST(AggregationTest, WithEverybodyAnsweringAScaledMeanIsTheMeanToTheBit) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<Weighted> replies = drawn(seed, 7, 3, 1'000'000);
    WholeCohort cohort{replies.size(), 0};
    for (const Weighted& reply : replies) cohort.weights += reply.weight;
    EXPECT_EQ(fold(Aggregation{Kind::Mean, 0.0, cohort}, replies), fold(Aggregation{}, replies));
  }
}

TEST(AggregationTest, OverAllWaysToMissSilosTheScaledMeanIsTheCohortsAndTheRenormalisedOneIsNot) {
  // Weights 9, 4, 3 of 16; any two of the three answer. The cohort's mean is (9 * 16 + 4 * 32 - 3 * 48) / 16 = 8.
  const std::vector<Weighted> all = {{{16}, 9}, {{32}, 4}, {{-48}, 3}};
  const auto expectation = [&](const Aggregation& aggregation) {
    double sum = 0.0;
    for (std::size_t missing = 0; missing < all.size(); ++missing) {
      std::vector<Weighted> answered = all;
      answered.erase(answered.begin() + static_cast<std::ptrdiff_t>(missing));
      sum += fold(aggregation, answered)[0];
    }
    return sum / 3.0;
  };
  EXPECT_NEAR(expectation({Kind::Mean, 0.0, WholeCohort{3, 16}}), 8.0, 1e-12);
  // -16/7, 0 and 272/13: their mean is 6.2125.
  EXPECT_NEAR(expectation({}), (-16.0 / 7.0 + 0.0 + 272.0 / 13.0) / 3.0, 1e-12);
}

TEST(TallyFoldTest, VotesAddUpInAnyOrder) {
  const std::vector<std::pair<std::int64_t, std::uint64_t>> votes{{3, 2}, {0, 5}, {3, 4}, {7, 1}};
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    RoundFold fold{TallyFold(8)};
    for (const std::size_t i : RandomSource(seed).permutation(votes.size()))
      fold.add({votes[i].first}, votes[i].second);
    EXPECT_EQ(fold.replies(), 4);
    EXPECT_EQ(std::get<Tally>(fold.value()).votes, (std::map<Eigen::Index, double>{{0, 5.0}, {3, 6.0}, {7, 1.0}}));
  }
}

TEST(TallyFoldTest, AVoteForNobodyStopsTheProcess) {
  TallyFold fold(8);
  EXPECT_DEATH(fold.add({8}, 1), "");
  EXPECT_DEATH(fold.add({-1}, 1), "");
  EXPECT_DEATH(fold.add({1, 2}, 1), "");
}

}  // namespace
}  // namespace undertone::folds
