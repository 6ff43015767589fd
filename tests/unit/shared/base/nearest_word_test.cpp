#include "shared/base/nearest_word.hpp"

#include <gtest/gtest.h>

namespace undertone {
namespace {

const std::vector<std::string> kCommands = {"submit", "status", "simulate", "plan", "plots"};

TEST(NearestWordTest, CountsLettersPutInLeftOutAndReplaced) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("plan", ""), 4U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);  // k to s, e to i, g at the end
  EXPECT_EQ(edit_distance("sumbit", "submit"), 2U);   // two letters changed places
}

TEST(NearestWordTest, NamesTheNearestWordOrNone) {
  EXPECT_EQ(nearest_word("sumbit", kCommands), "submit");
  EXPECT_EQ(nearest_word("stats", kCommands), "status");
  EXPECT_EQ(nearest_word("pla", kCommands), "plan");
  EXPECT_EQ(nearest_word("frobnicate", kCommands), "");
  EXPECT_EQ(nearest_word("", kCommands), "");
  EXPECT_EQ(nearest_word(std::string(65, 's'), {std::string(64, 's')}), "");
}

}  // namespace
}  // namespace undertone
