#include "shared/data/partition.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>

#include "shared/data/dirichlet.hpp"

namespace undertone::data {
namespace {

/// The labels of a table with `count` records of each class, in turn.
std::vector<int> labels_of(int classes, int count) {
  std::vector<int> labels(static_cast<std::size_t>(count * classes));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int>(i) % classes;
  return labels;
}

/// How many silos hold each index.
std::map<std::size_t, int> uses(const Partition& silos) {
  std::map<std::size_t, int> out;
  for (const Indices& silo : silos) {
    for (const std::size_t index : silo) ++out[index];
  }
  return out;
}

bool none_twice(const Partition& silos) {
  const auto all = uses(silos);
  return std::all_of(all.begin(), all.end(), [](const auto& use) { return use.second == 1; });
}

std::ptrdiff_t count_of(const std::vector<int>& labels, const Indices& indices, int label) {
  const std::vector<int> held = picked(labels, indices);
  return std::count(held.begin(), held.end(), label);
}

template <class T>
std::string message(const Result<T>& result) {
  return result ? "" : result.error().message;
}

TEST(SplitByLabelTest, EachClassKeepsItsShare) {
  std::vector<int> labels = labels_of(3, 40);
  labels.insert(labels.end(), 30, 1);  // 40, 70 and 40
  RandomSource source(1);
  const TrainTest split = split_by_label(labels, 0.8, source).value();
  EXPECT_EQ(count_of(labels, split.train, 0), 32);
  EXPECT_EQ(count_of(labels, split.train, 1), 56);
  EXPECT_EQ(count_of(labels, split.train, 2), 32);
  EXPECT_EQ(split.train.size() + split.test.size(), labels.size());
  EXPECT_TRUE(none_twice({split.train, split.test}));
  EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
  EXPECT_TRUE(std::is_sorted(split.test.begin(), split.test.end()));
}

TEST(SplitByLabelTest, IsAFunctionOfTheSeed) {
  const std::vector<int> labels = labels_of(2, 50);
  RandomSource first(1);
  RandomSource same(1);
  RandomSource other(2);
  const Indices train = split_by_label(labels, 0.5, first).value().train;
  EXPECT_EQ(split_by_label(labels, 0.5, same).value().train, train);
  EXPECT_NE(split_by_label(labels, 0.5, other).value().train, train);
}

TEST(SplitByLabelTest, RefusesAFractionThatLeavesAPartEmpty) {
  RandomSource source(1);
  for (const double fraction : {0.0, 1.0, -0.5, 1.5, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(split_indices(10, fraction, source)) << fraction;
  EXPECT_FALSE(split_indices(0, 0.5, source));
  EXPECT_FALSE(split_by_label({}, 0.5, source));
  EXPECT_EQ(message(split_by_label({0, 0, 0, 7}, 0.5, source)),
            "class 7: 1 records at train fraction 0.5: expected both parts to hold some, found 1 in training");
}

TEST(PartitionIidTest, SilosHaveTheirSizesAndNothingInCommon) {
  RandomSource source(3);
  const Partition silos = partition_iid(20, {4, 9, 5}, source).value();
  ASSERT_EQ(silos.size(), 3U);
  EXPECT_EQ(silos[0].size(), 4U);
  EXPECT_EQ(silos[1].size(), 9U);
  EXPECT_EQ(silos[2].size(), 5U);
  EXPECT_TRUE(none_twice(silos));
  EXPECT_LT(uses(silos).rbegin()->first, 20U);
}

TEST(PartitionIidTest, RefusesWhatCannotBeDealt) {
  RandomSource source(3);
  EXPECT_EQ(message(partition_iid(20, {}, source)), "partition: expected one silo or more, found 0");
  EXPECT_EQ(message(partition_iid(20, {15, 6}, source)),
            "silo 1: expected 1 to 5 records, as are left of 20, found 6 asked for");
  EXPECT_FALSE(partition_iid(20, {15, 0}, source));
  const std::size_t huge = std::numeric_limits<std::size_t>::max();
  EXPECT_FALSE(partition_iid(20, {huge, huge}, source));
}

TEST(PartitionByLabelTest, SiloIHoldsClassIAloneAndAllAreOfTheSmallestsSize) {
  std::vector<int> labels = labels_of(3, 10);
  labels.insert(labels.end(), 7, 0);
  RandomSource source(4);
  const Partition silos = partition_by_label(labels, 3, std::nullopt, source).value();
  ASSERT_EQ(silos.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(silos[static_cast<std::size_t>(i)].size(), 10U);
    EXPECT_EQ(count_of(labels, silos[static_cast<std::size_t>(i)], i), 10);
  }
  EXPECT_TRUE(none_twice(silos));
  EXPECT_EQ(partition_by_label(labels, 3, 4, source).value()[2].size(), 4U);
}

TEST(PartitionByLabelTest, RefusalsNameTheClassAndBothNumbers) {
  const std::vector<int> labels = labels_of(3, 10);
  RandomSource source(4);
  EXPECT_EQ(message(partition_by_label(labels, 3, 11, source)),
            "class 0: expected 1 to 10 records to be drawn, as it has, found 11");
  EXPECT_EQ(message(partition_by_label(labels, 3, 0, source)),
            "class 0: expected 1 to 10 records to be drawn, as it has, found 0");
  EXPECT_EQ(message(partition_by_label(labels, 4, std::nullopt, source)), "class 3: expected records, found none");
  EXPECT_EQ(message(partition_by_label(labels, 2, 1, source)), "record 2: expected a label of 0 to 1, found another");
  EXPECT_FALSE(partition_by_label({0, -1}, 2, 1, source));
  EXPECT_FALSE(partition_by_label(labels, 0, 1, source));
  EXPECT_FALSE(partition_by_label({}, 3, std::nullopt, source));
}

TEST(PartitionByLabelPairTest, SharedImagesSitInExactlyFiveSilos) {
  const std::vector<int> labels = labels_of(10, 30);
  RandomSource source(5);
  const PairPartition out = partition_by_label_pair(labels, 12, Sharing::Shared, source).value();
  ASSERT_EQ(out.silos.size(), 25U);
  EXPECT_EQ(out.uses_per_index, 5U);
  const auto held = uses(out.silos);
  EXPECT_EQ(held.size(), 120U);  // 12 of each digit
  for (const auto& [index, silos] : held) EXPECT_EQ(silos, 5) << index;
  for (std::size_t silo = 0; silo < 25; ++silo) {
    SCOPED_TRACE(silo);
    EXPECT_EQ(out.silos[silo].size(), 24U);
    EXPECT_EQ(count_of(labels, out.silos[silo], 2 * static_cast<int>(silo / 5)), 12);
    EXPECT_EQ(count_of(labels, out.silos[silo], 2 * static_cast<int>(silo % 5) + 1), 12);
    EXPECT_TRUE(none_twice({out.silos[silo]}));
  }
}

TEST(PartitionByLabelPairTest, DisjointSilosHoldAFifthOfADigitEach) {
  const std::vector<int> labels = labels_of(10, 60);
  RandomSource source(5);
  const PairPartition out = partition_by_label_pair(labels, 12, Sharing::Disjoint, source).value();
  EXPECT_EQ(out.uses_per_index, 1U);
  EXPECT_TRUE(none_twice(out.silos));
  EXPECT_EQ(uses(out.silos).size(), 600U);
  for (std::size_t silo = 0; silo < 25; ++silo) {
    EXPECT_EQ(count_of(labels, out.silos[silo], 2 * static_cast<int>(silo / 5)), 12);
    EXPECT_EQ(count_of(labels, out.silos[silo], 2 * static_cast<int>(silo % 5) + 1), 12);
  }
}

TEST(PartitionByLabelPairTest, TestImagesOfASplitThatCameFirstAreNobodysTrainingImages) {
  const std::vector<int> labels = labels_of(10, 50);
  RandomSource source(6);
  const TrainTest split = split_by_label(labels, 0.8, source).value();
  const auto of_part = [&](const Indices& part, std::size_t images) {
    Partition silos = partition_by_label_pair(picked(labels, part), images, Sharing::Shared, source).value().silos;
    for (Indices& silo : silos) silo = picked(part, silo);
    return silos;
  };
  const Partition train = of_part(split.train, 40);
  const auto tested = uses(of_part(split.test, 10));
  for (const auto& [index, silos] : uses(train)) EXPECT_FALSE(tested.contains(index)) << index;
  EXPECT_EQ(count_of(labels, train[7], 2), 40);  // silo 7 is (2, 5), in the whole table's indices too
  EXPECT_EQ(count_of(labels, train[7], 5), 40);
}

TEST(PartitionByLabelPairTest, RefusesMoreThanAClassHas) {
  std::vector<int> labels = labels_of(10, 50);
  std::replace(labels.begin(), labels.begin() + 10, 3, 4);
  RandomSource source(5);
  EXPECT_EQ(message(partition_by_label_pair(labels, 50, Sharing::Shared, source)),
            "class 3: expected 1 to 49 records to be drawn, as it has, found 50");
  EXPECT_EQ(message(partition_by_label_pair(labels, 10, Sharing::Disjoint, source)),
            "class 3: expected 1 to 49 records to be drawn, as it has, found 50");
  EXPECT_FALSE(partition_by_label_pair(labels, 0, Sharing::Shared, source));
  EXPECT_FALSE(partition_by_label_pair({0, 10}, 1, Sharing::Shared, source));
  const std::size_t wraps = std::numeric_limits<std::size_t>::max() / 5 + 2;  // five times this is 4
  EXPECT_FALSE(partition_by_label_pair(labels, wraps, Sharing::Disjoint, source));
}

TEST(PartitionSortedTest, SlicesAreOrderedAndTheLastIsWhatIsLeft) {
  const Partition silos = partition_sorted({5, 1, 4, 1, 3, 9, 2}, 3).value();
  // In order: 1 (index 1), 1 (3), 2 (6) | 3 (4), 4 (2), 5 (0) | 9 (5); ceil(7 / 3) = 3.
  EXPECT_EQ(silos, (Partition{{1, 3, 6}, {4, 2, 0}, {5}}));
}

TEST(PartitionSortedTest, RefusesNoSilosAnEmptySiloAndNaN) {
  EXPECT_FALSE(partition_sorted({1, 2, 3}, 0));
  EXPECT_FALSE(partition_sorted({}, 1));
  EXPECT_FALSE(partition_sorted({1, 2, 3}, 4));
  EXPECT_EQ(message(partition_sorted({1, 2, 3, 4}, 3)),  // two, two and none
            "4 records in slices of 2: expected some for each of 3 silos, found none for the last");
  EXPECT_EQ(message(partition_sorted({1, std::nan(""), 3}, 2)), "record 1: expected a finite target");
  EXPECT_FALSE(partition_sorted({1, std::numeric_limits<double>::infinity(), 3}, 2));
}

TEST(PartitionDirichletTest, DealsEveryRecordOnceAndIsAFunctionOfTheSeed) {
  const std::vector<int> labels = labels_of(4, 25);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource source(seed);
    const Partition silos = partition_dirichlet(labels, 4, 7, 0.1, source).value();
    EXPECT_EQ(silos.size(), 7U);
    EXPECT_EQ(uses(silos).size(), labels.size());
    EXPECT_TRUE(none_twice(silos));
    RandomSource same(seed);
    EXPECT_EQ(partition_dirichlet(labels, 4, 7, 0.1, same).value(), silos);
  }
}

TEST(PartitionDirichletTest, AHighConcentrationMakesTheSilosAlike) {
  const std::vector<int> labels = labels_of(4, 100);
  RandomSource source(8);
  for (const Indices& silo : partition_dirichlet(labels, 4, 5, 1e6, source).value()) {
    for (int label = 0; label < 4; ++label) EXPECT_NEAR(static_cast<double>(count_of(labels, silo, label)), 20, 2);
  }
}

TEST(PartitionDirichletTest, RefusesConcentrationsAndSilosThatMeanNothing) {
  const std::vector<int> labels = labels_of(2, 10);
  RandomSource source(9);
  for (const double alpha : {0.0, -1.0, 1e-300, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(partition_dirichlet(labels, 2, 3, alpha, source)) << alpha;
  EXPECT_FALSE(partition_dirichlet(labels, 2, 0, 1.0, source));
  EXPECT_FALSE(partition_dirichlet({0, 2}, 2, 3, 1.0, source));
  EXPECT_FALSE(dirichlet_proportions(0, 1.0, source));
}

TEST(DirichletTest, MeansAndSecondMomentsAreThoseOfTheDistribution) {
  // Over T independent draws the mean of a quantity in [0, 1] is off by t with probability at most 2 exp(-2 T t^2)
  // (Hoeffding). For 5 means and a sum of squares at 4 concentrations, 24 in all, at a false-alarm probability of 1e-9:
  // t = sqrt(ln(2 * 24 / 1e-9) / (2 T)) = 0.0248 with T = 20000.
  // E p_i = 1 / 5; E sum p_i^2 = (alpha + 1) / (5 alpha + 1). Caught: without the step for shapes below 1 the latter is
  // 2.3 / 7.5 = 0.307 at 0.3, not 0.52; with half the concentration, 2.5 / 8.5 = 0.294 at 3, not 0.25.
  constexpr int kDraws = 20'000;
  constexpr std::size_t kParts = 5;
  const double threshold = std::sqrt(std::log(2 * 24 / 1e-9) / (2.0 * kDraws));
  RandomSource source(10);
  for (const double alpha : {0.05, 0.3, 1.0, 3.0}) {
    SCOPED_TRACE(alpha);
    std::vector<double> means(kParts, 0.0);
    double squares = 0.0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const std::vector<double> proportions = dirichlet_proportions(kParts, alpha, source).value();
      double sum = 0.0;
      for (std::size_t i = 0; i < kParts; ++i) {
        ASSERT_GE(proportions[i], 0.0);
        sum += proportions[i];
        means[i] += proportions[i] / kDraws;
        squares += proportions[i] * proportions[i] / kDraws;
      }
      ASSERT_NEAR(sum, 1.0, 1e-14);
    }
    for (const double mean : means) EXPECT_NEAR(mean, 1.0 / kParts, threshold);
    EXPECT_NEAR(squares, (alpha + 1) / (kParts * alpha + 1), threshold);
  }
}

TEST(DirichletTest, TheEndsOfTheRangeAreNumbersStill) {
  RandomSource source(11);
  for (int draw = 0; draw < 1000; ++draw) {
    for (const double alpha : {kConcentrationMin, kConcentrationMax}) {
      for (const double value : dirichlet_proportions(6, alpha, source).value()) ASSERT_TRUE(value >= 0 && value <= 1);
    }
  }
}

}  // namespace
}  // namespace undertone::data
