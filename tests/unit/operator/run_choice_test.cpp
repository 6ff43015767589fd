#include "operator/run_choice.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

/// A run of the list, whose id is `digit` twelve times.
Json listed(char digit, const std::string& name, const std::string& state) {
  const std::string id(12, digit);
  return {{"run", std::string(64, 'f') + id + std::string(20, '0')}, {"id", id}, {"name", name}, {"state", state}};
}

Result<std::string> choose(const std::string& word, Prefer prefer, const std::vector<Json>& newest_first) {
  RunChoice choice(word, prefer);
  for (const Json& run : newest_first) {
    if (choice.look(run)) break;
  }
  return choice.chosen();
}

const std::vector<Json> kRuns = {listed('1', "lakes", "running"), listed('2', "lakes", "failed"),
                                 listed('3', "lakes", "succeeded"), listed('4', "lakes", "succeeded"),
                                 listed('5', "hills", "failed")};

TEST(RunChoiceTest, TakesTheNewestOfAName) {
  EXPECT_EQ(choose("lakes", Prefer::Newest, kRuns).value(), kRuns[0]["run"]);
}

TEST(RunChoiceTest, PrefersTheNewestThatSucceeded) {
  EXPECT_EQ(choose("lakes", Prefer::Succeeded, kRuns).value(), kRuns[2]["run"]);
}

TEST(RunChoiceTest, TakesTheNewestWhereNoneSucceeded) {
  EXPECT_EQ(choose("hills", Prefer::Succeeded, kRuns).value(), kRuns[4]["run"]);
}

TEST(RunChoiceTest, TakesTheBeginningOfAnIdWhateverItsState) {
  EXPECT_EQ(choose("2222", Prefer::Succeeded, kRuns).value(), kRuns[1]["run"]);
  EXPECT_EQ(choose("222", Prefer::Newest, kRuns).error().code, ErrorCode::UnknownRun);
}

TEST(RunChoiceTest, RefusesTheBeginningOfSeveralIds) {
  EXPECT_EQ(choose("ffff", Prefer::Newest, kRuns).error().code, ErrorCode::InvalidArgument);
}

TEST(RunChoiceTest, ANameComesBeforeTheBeginningOfAnId) {
  const std::vector<Json> runs = {listed('c', "hills", "running"), listed('1', "cccc", "failed")};
  EXPECT_EQ(choose("cccc", Prefer::Newest, runs).value(), runs[1]["run"]);
}

}  // namespace
}  // namespace undertone::operators
