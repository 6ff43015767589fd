#include "operator/query_command.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/report/result_csv.hpp"
#include "shared/service/exit_code.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

/// A result with a table of exits of one silo and two arms, and a count.
Json result_of_run() {
  const Json estimate = {
      {"name", "=SUM(A1)"}, {"value", 3.5}, {"noise_interval", {1.5, nullptr}}, {"note", "a, \"b\""}};
  const Json count = {{"statistic", "count of x"},
                      {"estimates", Json::array({estimate})},
                      {"by_silo", Json::array({{{"silo", "north"}, {"estimates", Json::array({estimate})}}})}};
  const Json exits = {
      {"grid", {0, 6, 12, 18}},
      {"causes", {"status"}},
      {"by", Json::array({{{"column", "arm"}, {"values", {"old", "new"}}, {"whole", true}}})},
      {"at", {6, 12, 18}},
      {"probabilities", {0.5}},
      {"times", "continuous"},
      {"silos", "standardised"},
      {"test", "log_rank"},
      {"sampling_intervals", true},
      {"tables", Json::array({{{"records", 2000},
                               {"noise", {{"law", "laplace"}, {"scale", 2}, {"step", 1}}},
                               {"cells", {200, 100, 0, 350, 349, 0, 1, 0, 300, 150, 0, 275, 274, 0, 1, 0}}}})}};
  const Json survival = {{"statistic", "survival"},
                         {"unit", "person"},
                         {"confidence", 0.9},
                         {"estimates", Json::array({estimate})},
                         {"exits", exits}};
  const Json twin = {{"statistic", "twin"}, {"estimates", Json::array({3, {{"name", "\n=1+1"}, {"value", "3"}}})}};
  return {{"statistics", Json::array({count, survival, twin, twin})}};
}

/// The exit code and what was printed.
std::pair<int, std::string> asked(ResultQuery query) {
  const tests::TemporaryFolder folder;
  query.result = folder.path() / "result.json";
  std::ofstream(query.result) << result_of_run().dump();
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = query_result(query);
  std::string out = testing::internal::GetCapturedStdout();
  out += testing::internal::GetCapturedStderr();
  return {code, out};
}

TEST(QueryCommandTest, ATableOfExitsIsAskedAgain) {
  const auto [code, lines] = asked({.times = "12", .quantiles = "0.25", .against = "arm=new"});
  EXPECT_EQ(code, service::kDone) << lines;
  EXPECT_NE(lines.find("arm=old less arm=new: S(12): "), std::string::npos) << lines;
  EXPECT_NE(lines.find("arm=old: quantile 0.25 of the time: "), std::string::npos) << lines;
  EXPECT_EQ(lines.find("S(6)"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("more in result.json"), std::string::npos) << lines;
  EXPECT_NE(lines.find("of 2000 persons of 1 silos"), std::string::npos) << lines;
  EXPECT_NE(lines.find("Each interval holds by itself at 90 %."), std::string::npos) << lines;
  const auto [json_code, json] = asked({.test = "gehan", .json = true});
  EXPECT_EQ(json_code, service::kDone);
  EXPECT_EQ(Json::parse(json)["tests"][0]["name"], "Gehan of the event");
  EXPECT_EQ(Json::parse(json)["confidence"], 0.9);
}

// The lines once failed where too few records reach the last time of a table.
TEST(QueryCommandTest, WhatIsRefusedIsSaidAmongTheOthers) {
  const auto [code, lines] = asked({.confidence = 0.95});
  EXPECT_EQ(code, service::kDone) << lines;
  EXPECT_NE(lines.find("arm=old: S(18): refused: beyond 12 too few are at risk"), std::string::npos) << lines;
  EXPECT_NE(lines.find("at 95 %"), std::string::npos) << lines;
}

TEST(QueryCommandTest, WhatCannotBeAskedIsRefusedInWords) {
  const auto refused = [](ResultQuery query, const char* words) {
    const auto [code, said] = asked(std::move(query));
    EXPECT_NE(code, service::kDone);
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  refused({.minimum = true}, "it has no question of kind marginals, kernels or loss, of which that is asked");
  refused({.minimum = true, .times = "12"}, "are asked of survival, and the others of a function");
  refused({.times = "12,x"}, "expected a number, got \"x\"");
  refused({.times = "7"}, "the table knows the times 6, 12, 18, got 7");
  refused({.test = "t"}, "expected the test log_rank or gehan, got \"t\"");
  refused({.statistic = "count of x"}, "is none of the statistics that can answer, expected 1 (\"survival\")");
  refused({.csv = true}, "several statistics: expected --statistic");
  refused({.statistic = "twin", .csv = true},
          "several statistics have the name \"twin\": expected the number of one of");
  refused({.statistic = "0", .times = "12", .csv = true}, "\"0\" is none of the statistics that can answer");
  refused({.json = true, .csv = true}, "expected --csv or --json");
  refused({.test = "gehan", .csv = true}, "--csv has the rows of estimates, and no tests");
  refused({.statistic = "0", .confidence = 0.9, .csv = true}, "at the run's confidence");
  refused({.times = "12", .confidence = 0.9999}, "a confidence is expected from 0.5 to 0.999");
}

TEST(QueryCommandTest, RowsAreATableThatASpreadsheetReads) {
  const auto [code, rows] = asked({.statistic = "count of x", .csv = true});
  EXPECT_EQ(code, service::kDone);
  EXPECT_EQ(rows,
            "silo,estimate,value,noise_low,noise_high,population_low,population_high,confidence,method,note\r\n"
            ",'=SUM(A1),3.5,1.5,inf,,,,,\"a, \"\"b\"\"\"\r\n"
            "north,'=SUM(A1),3.5,1.5,inf,,,,,\"a, \"\"b\"\"\"\r\n");
  const auto [mangled_code, mangled] = asked({.statistic = "2", .csv = true});
  EXPECT_EQ(mangled_code, service::kDone);
  EXPECT_NE(mangled.find(",,,,,,,,,\r\n,' =1+1,,,,,,,,\r\n"), std::string::npos) << mangled;
  const auto [later_code, later] = asked({.statistic = "1", .times = "6", .csv = true});
  EXPECT_EQ(later_code, service::kDone);
  EXPECT_NE(later.find("\r\n,arm=old: S(6),"), std::string::npos) << later;
}

}  // namespace
}  // namespace undertone::operators
