#include "shared/service/suggestion.hpp"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace undertone::service {
namespace {

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
