#include "shared/data/sized_partition.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <set>

namespace undertone::data {
namespace {

/// 0, 1, ..., classes - 1, 0, 1, ...
std::vector<int> in_turn(int classes, int count_of_each) {
  std::vector<int> labels(static_cast<std::size_t>(classes * count_of_each));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int>(i) % classes;
  return labels;
}

void expect_dealt(const Partition& silos, const std::vector<std::size_t>& sizes, std::size_t count) {
  ASSERT_EQ(silos.size(), sizes.size());
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < silos.size(); ++i) {
    EXPECT_EQ(silos[i].size(), sizes[i]);
    for (const std::size_t record : silos[i]) {
      EXPECT_LT(record, count);
      EXPECT_TRUE(seen.insert(record).second) << record;
    }
  }
}

std::size_t records_of_class(const std::vector<int>& labels, const Indices& silo, int label) {
  return static_cast<std::size_t>(
      std::count_if(silo.begin(), silo.end(), [&](std::size_t i) { return labels[i] == label; }));
}

TEST(DealByLabelTest, ASiloHoldsOneClassAndSilosOfAClassShareNoRecord) {
  const std::vector<int> labels = in_turn(3, 20);
  const std::vector<std::size_t> sizes = {12, 20, 5, 8};  // the first and the last hold class 0, all of it
  RandomSource source(1);
  const Partition silos = deal_by_label(labels, 3, sizes, source).value();
  expect_dealt(silos, sizes, labels.size());
  for (std::size_t i = 0; i < silos.size(); ++i)
    EXPECT_EQ(records_of_class(labels, silos[i], static_cast<int>(i % 3)), sizes[i]);
}

TEST(DealByLabelTest, SaysWhichClassHasTooFew) {
  const std::vector<int> labels = in_turn(3, 20);
  RandomSource source(1);
  const auto refused = deal_by_label(labels, 3, {12, 20, 5, 9}, source);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("silo 3: expected at most 8 records, as are left of class 0, found 9"),
            std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(deal_by_label(labels, 2, {1}, source));  // a label that is none of two
  EXPECT_FALSE(deal_by_label(labels, 0, {1}, source));
  EXPECT_FALSE(deal_by_label(labels, 3, {}, source));
  EXPECT_FALSE(deal_by_label(labels, 3, {0}, source));
}

TEST(DealByDirichletTest, GivesTheSizesAskedForAndTheLessAlikeTheLessTheConcentration) {
  const std::vector<int> labels = in_turn(5, 400);
  const std::vector<std::size_t> sizes(10, 100);
  const auto largest_share = [&](double concentration) {
    double sum = 0.0;
    RandomSource source(3);
    const Partition silos = deal_by_dirichlet(labels, 5, sizes, concentration, source).value();
    expect_dealt(silos, sizes, labels.size());
    for (const Indices& silo : silos) {
      std::size_t most = 0;
      for (int label = 0; label < 5; ++label) most = std::max(most, records_of_class(labels, silo, label));
      sum += static_cast<double>(most) / 1000.0;
    }
    return sum;
  };
  // Of 100 records of five equal classes the commonest has 20 and some, of one class alone it has all.
  EXPECT_LT(largest_share(1e6), 0.35);
  EXPECT_GT(largest_share(0.01), 0.9);
}

TEST(DealByDirichletTest, ATableThatIsDealtWholeLeavesNobodyShort) {
  const std::vector<int> labels = in_turn(4, 25);
  const std::vector<std::size_t> sizes = {50, 30, 20};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource source(seed);
    expect_dealt(deal_by_dirichlet(labels, 4, sizes, 1e-3, source).value(), sizes, labels.size());
  }
}

TEST(DealByDirichletTest, TheMixOfASiloIsTheSeedsAndNotTheTables) {
  const std::vector<int> small = in_turn(3, 1000);
  const std::vector<int> large = in_turn(3, 3000);
  RandomSource a(9);
  RandomSource b(9);
  const std::vector<std::size_t> sizes(4, 200);
  const Partition one = deal_by_dirichlet(small, 3, sizes, 0.5, a).value();
  const Partition other = deal_by_dirichlet(large, 3, sizes, 0.5, b).value();
  for (std::size_t silo = 0; silo < 4; ++silo) {
    for (int label = 0; label < 3; ++label) {
      // The same proportion, of 200 draws each: 6 standard deviations of the difference are at most 6 sqrt(200 / 2).
      const auto difference = static_cast<double>(records_of_class(small, one[silo], label)) -
                              static_cast<double>(records_of_class(large, other[silo], label));
      EXPECT_LE(std::abs(difference), 60.0);
    }
  }
}

TEST(DealByDirichletTest, RefusesWhatItCannotDeal) {
  const std::vector<int> labels = in_turn(2, 10);
  RandomSource source(1);
  EXPECT_FALSE(deal_by_dirichlet(labels, 2, {21}, 1.0, source));
  EXPECT_FALSE(deal_by_dirichlet(labels, 2, {5, 0}, 1.0, source));
  EXPECT_FALSE(deal_by_dirichlet(labels, 0, {5}, 1.0, source));
  for (const double bad : {0.0, -1.0, 1e7, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FALSE(deal_by_dirichlet(labels, 2, {5}, bad, source)) << bad;
}

TEST(DealSortedTest, SlicesFollowTheTargets) {
  std::vector<double> targets(30);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<double>(i * 7 % 30);
  const std::vector<std::size_t> sizes = {4, 10, 6};
  RandomSource source(2);
  const Partition silos = deal_sorted(targets, sizes, source).value();
  expect_dealt(silos, sizes, targets.size());
  double last = -1.0;
  for (const Indices& silo : silos) {
    for (const std::size_t record : silo) {
      EXPECT_GT(targets[record], last);
      last = targets[record];
    }
  }
  targets[3] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(deal_sorted(targets, sizes, source));
}

}  // namespace
}  // namespace undertone::data
