#include "shared/service/suggestion.hpp"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace undertone::service {
namespace {

const std::vector<std::string> kCommands = {"submit", "status", "simulate", "plan", "plots"};

TEST(SuggestionTest, CountsLettersPutInLeftOutAndReplaced) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("plan", ""), 4U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);  // k to s, e to i, g at the end
  EXPECT_EQ(edit_distance("sumbit", "submit"), 2U);   // two letters changed places
}

TEST(SuggestionTest, NamesTheNearestWordOrNone) {
  EXPECT_EQ(nearest_word("sumbit", kCommands), "submit");
  EXPECT_EQ(nearest_word("stats", kCommands), "status");
  EXPECT_EQ(nearest_word("pla", kCommands), "plan");
  EXPECT_EQ(nearest_word("frobnicate", kCommands), "");
  EXPECT_EQ(nearest_word("", kCommands), "");
  EXPECT_EQ(nearest_word(std::string(65, 's'), {std::string(64, 's')}), "");
}

TEST(SuggestionTest, SpeaksOnlyWhereTheCommandIsUnknown) {
  CLI::App app;
  app.add_subcommand("submit");
  const char* wrong[] = {"undertone", "sumbit", "job.json"};
  const char* right[] = {"undertone", "submit", "job.json"};
  EXPECT_EQ(suggestion(app, 3, wrong), "there is no command \"sumbit\"; do you mean \"submit\"?");
  EXPECT_EQ(suggestion(app, 3, right), "");
  EXPECT_EQ(suggestion(app, 1, right), "");
}

}  // namespace
}  // namespace undertone::service
