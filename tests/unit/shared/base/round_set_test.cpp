#include "shared/base/round_set.hpp"

#include <gtest/gtest.h>
#include <random>
#include <set>

namespace undertone {
namespace {

TEST(RoundSetTest, CountsWhatASetCounts) {
  std::mt19937 draw(7);
  for (int repeat = 0; repeat < 50; ++repeat) {
    RoundSet rounds;
    std::set<std::uint64_t> plain;
    for (std::uint64_t round = 0; round < 60; ++round) {
      if (draw() % 3 == 0) continue;
      rounds.append(RoundIndex{round});
      plain.insert(round);
    }
    for (std::uint64_t from = 0; from <= 61; ++from) {
      for (std::uint64_t to = from; to <= 62; ++to) {
        const auto counted = std::distance(plain.lower_bound(from), plain.lower_bound(to));
        ASSERT_EQ(rounds.count(from, to), static_cast<std::uint64_t>(counted)) << from << " " << to;
      }
    }
  }
}

TEST(RoundSetTest, AnEmptySetHasNone) {
  EXPECT_TRUE(RoundSet().empty());
  EXPECT_EQ(RoundSet().count(0, 100), 0U);
}

}  // namespace
}  // namespace undertone
