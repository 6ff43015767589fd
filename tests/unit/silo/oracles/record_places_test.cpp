#include "silo/oracles/record_places.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "silo/oracles/secure_randomness.hpp"
#include "silo/oracles/test_randomness.hpp"

namespace undertone::silo {
namespace {

using Positions = releases::Slice::Positions;

TEST(RecordPlacesTest, ABinHoldsWhoeverDrewItsPositions) {
  // Record 1 drew position 0, record 3 position 1, records 0 and 2 position 2, nobody 3.
  const RecordPlaces places = RecordPlaces::binned({2, 0, 2, 1});
  const RecordPlaces::Rows third = places.bin({2, 3}, 4);
  EXPECT_EQ(third.counted, 2);
  EXPECT_EQ(third.records, (std::vector<std::int64_t>{0, 2, 1, 3}));
  const RecordPlaces::Rows first_two = places.bin({0, 2}, 3);
  EXPECT_EQ(first_two.counted, 2);
  EXPECT_EQ(first_two.records, (std::vector<std::int64_t>{1, 3, 0}));
  EXPECT_EQ(places.bin({3, 4}, 2).counted, 0);
}

TEST(RecordPlacesTest, WhatDoesNotFitIsLeftOut) {
  const RecordPlaces places = RecordPlaces::binned({1, 1, 1, 1});
  const RecordPlaces::Rows rows = places.bin({1, 2}, 3);
  EXPECT_EQ(rows.counted, 3);
  EXPECT_EQ(rows.records, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(RecordPlacesTest, RowsAreAsManyAndAllDifferentWhateverABinHolds) {
  // All 4^4 draws: nothing but `counted` tells them apart by number.
  for (std::int64_t code = 0; code < 256; ++code) {
    const RecordPlaces places = RecordPlaces::binned({code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6});
    std::int64_t counted = 0;
    for (std::int64_t from = 0; from < 4; ++from) {
      const RecordPlaces::Rows rows = places.bin({from, from + 1}, 4);
      EXPECT_EQ(rows.records.size(), 4U);
      EXPECT_EQ(std::set<std::int64_t>(rows.records.begin(), rows.records.end()).size(), 4U);
      counted += rows.counted;
    }
    EXPECT_EQ(counted, 4);  // every record is in one bin
  }
}

TEST(RecordPlacesTest, APermutationHasARecordAtEachPosition) {
  const RecordPlaces places = RecordPlaces::permuted({2, 0, 1});
  EXPECT_EQ(places.at(0), 2);
  EXPECT_EQ(places.at(2), 1);
  EXPECT_EQ(places.records(), 3);
  EXPECT_TRUE(RecordPlaces().empty());
}

TEST(RecordPlacesTest, PositionsOutOfTheBlockStopTheProcess) {
  EXPECT_DEATH((void)RecordPlaces::binned({0, 2}), "");
  const RecordPlaces places = RecordPlaces::binned({0, 1});
  EXPECT_DEATH((void)places.bin({0, 3}, 2), "");
  EXPECT_DEATH((void)places.bin({0, 1}, 3), "");
  EXPECT_DEATH((void)places.at(0), "");
}

/// How often each of the 3^3 joint outcomes of three records came up: uniform if and only if each record's draw is
/// uniform and independent of the others. 26 degrees of freedom: above 26 + 2 sqrt(26 x) + 2 x with probability below
/// e^-x; at x = 25 that is 127. Source: Laurent and Massart 2000, Lemma 1.
template <class Draw>
double chi_square(int runs, const Draw& draw) {
  std::array<int, 27> seen{};
  for (int i = 0; i < runs; ++i) {
    const std::vector<std::int64_t> bins = draw(i);
    ++seen.at(static_cast<std::size_t>(9 * bins.at(0) + 3 * bins.at(1) + bins.at(2)));
  }
  const double expected = static_cast<double>(runs) / 27.0;
  double sum = 0.0;
  for (const int count : seen) sum += (count - expected) * (count - expected) / expected;
  return sum;
}
constexpr double kChiSquareMax = 127.0;  // P < e^-25

PermutationName name_of(std::uint8_t run, const Digest& key) {
  return {RunId{sha256("job"), {run}}, releases::Block::Training, key};
}

TEST(RecordPlacesTest, SecureBinsAreUniformAndIndependent) {
  SecureRandomness randomness;
  const auto draw = [&](int i) { return randomness.bins(name_of(1, sha256("key " + std::to_string(i))), 3); };
  EXPECT_LT(chi_square(27'000, draw), kChiSquareMax);
}

TEST(RecordPlacesTest, SeededBinsAreUniformAndIndependent) {
  const SiloId silo = SiloId::create("clinic").value();
  const auto draw = [&](int i) { return TestRandomness(static_cast<std::uint64_t>(i), silo).bins(name_of(1, {}), 3); };
  EXPECT_LT(chi_square(27'000, draw), kChiSquareMax);
}

TEST(RecordPlacesTest, BinsAreTheSameAgainForTheSameKeyAndNoneOfAPermutation) {
  SecureRandomness randomness;
  const Digest key = sha256("key");
  EXPECT_EQ(randomness.bins(name_of(1, key), 50), SecureRandomness().bins(name_of(1, key), 50));
  EXPECT_NE(randomness.bins(name_of(1, key), 50), randomness.bins(name_of(1, sha256("other")), 50));
  const SiloId silo = SiloId::create("clinic").value();
  TestRandomness seeded(3, silo);
  EXPECT_EQ(seeded.bins(name_of(1, key), 50), TestRandomness(3, silo).bins(name_of(1, key), 50));
  EXPECT_NE(seeded.bins(name_of(1, key), 50), seeded.bins(name_of(2, key), 50));
  EXPECT_NE(seeded.bins(name_of(1, key), 50), seeded.permutation(name_of(1, key), 50));
}

}  // namespace
}  // namespace undertone::silo
