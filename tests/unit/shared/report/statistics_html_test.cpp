#include "shared/report/statistics_html.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/report/statistics_figures.hpp"

namespace undertone::report {
namespace {

using nlohmann::json;

json result_with(const json& statistic) { return {{"statistics", json::array({statistic})}}; }

const json kHistogram = json::parse(R"({
  "statistic": "histogram of <age>", "silos": 2, "records": 30, "kind": "histogram", "column": "age", "confidence": 0.95,
  "estimates": [{"name": "[20, 30]", "value": -1.25, "noise_stddev": 2.0, "noise_interval": [0, 3]},
                {"name": "(30, 40]", "value": null, "noise_interval": [null, 9], "note": "refused: why"}],
  "by_silo": [{"silo": "a", "records": 10, "estimates": [
                {"name": "[20, 30]", "value": 1, "noise_interval": [0, 2]},
                {"name": "(30, 40]", "value": 2, "noise_interval": [0, 2]}]}]})");

TEST(StatisticsHtmlTest, ShowsEstimatesIntervalsAndBars) {
  config::Problems problems("result.json");
  const std::vector<ReportedStatistic> read = statistics_of(result_with(kHistogram), problems);
  ASSERT_TRUE(problems.none()) << problems.error().message;
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].estimates[0].value, -1.25);
  EXPECT_FALSE(read[0].estimates[1].value);
  EXPECT_FALSE(read[0].estimates[1].noise.low);
  ASSERT_EQ(read[0].by_silo.size(), 1U);
  const std::string html = statistics_html(read);
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("histogram of &lt;age&gt;"), std::string::npos);  // no text ends an element
  EXPECT_EQ(html.find("<age>"), std::string::npos);
  EXPECT_NE(html.find("-1.2"), std::string::npos);  // what is negative stays so
  EXPECT_NE(html.find("refused: why"), std::string::npos);
  EXPECT_TRUE(statistics_html({}).empty());
}

TEST(StatisticsHtmlTest, OfAFunctionItSaysHowItIsAsked) {
  const json function = json::parse(R"({
    "statistic": "logistic loss of <b>", "silos": 2, "records": 30, "kind": "loss", "confidence": 0.95, "estimates": [],
    "function": {"means": [0.5, 0.25, 0.125]}, "minimum": {"parameters": [1.5, -0.25], "risk": 0.4375}, "by_silo": []})");
  config::Problems problems("result.json");
  const std::vector<ReportedStatistic> read = statistics_of(result_with(function), problems);
  ASSERT_TRUE(problems.none()) << problems.error().message;
  const std::string html = statistics_html(read);
  EXPECT_NE(html.find("loss of &lt;b&gt;: a function of 3 numbers over 30 records of 2 silos"), std::string::npos)
      << html;
  EXPECT_NE(html.find("It is least, 0.4375, at (1.5, -0.25): as the least of noised numbers too low"),
            std::string::npos)
      << html;
  EXPECT_EQ(html.find("<table"), std::string::npos);
}

json survival_row() {
  return json::parse(R"json({
    "statistic": "survival by <event>", "silos": 1, "records": 100, "kind": "survival", "confidence": 0.95,
    "edges": [0, 6, 12], "groups": ["arm=old", "arm=<new>"], "at": [6, 12], "estimates_of_group": 4,
    "tests": [{"name": "log-rank of the event", "p_value": 0.0123, "statistic": 6.25, "degrees": 1, "p_value_holm": 0.0246},
              {"name": "another", "p_value": null, "note": "refused: too few"}],
    "estimates": [{"name": "arm=old: S(6)", "value": 0.8, "noise_interval": [0.7, 0.9]},
                  {"name": "arm=old: S(12)", "value": 0.5, "noise_interval": [0.4, 0.6], "population_interval": [0.3, 0.7]},
                  {"name": "arm=old: at risk after 6", "value": 37.2, "noise_interval": [30, 44]},
                  {"name": "arm=old: at risk after 12", "value": -1.4, "noise_interval": [0, 5]},
                  {"name": "arm=<new>: S(6)", "value": 0.9, "noise_interval": [0.8, 1]},
                  {"name": "arm=<new>: S(12)", "value": null, "noise_interval": [0, 1], "note": "refused: why"},
                  {"name": "arm=<new>: at risk after 6", "value": 41, "noise_interval": [35, 47]},
                  {"name": "arm=<new>: at risk after 12", "value": 3, "noise_interval": [0, 9]}],
    "by_silo": []})json");
}

TEST(StatisticsHtmlTest, SurvivalIsDrawnWithItsBandsAndNumbersAtRisk) {
  config::Problems problems("result.json");
  const std::string html = statistics_html(statistics_of(result_with(survival_row()), problems));
  ASSERT_TRUE(problems.none()) << problems.error().message;
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = html.find(what); at != std::string::npos; at = html.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<path "), 2U);  // a curve a group
  EXPECT_EQ(count("<rect "), 3U);  // the refused edge has no band
  EXPECT_NE(html.find(">37</text>"), std::string::npos);
  EXPECT_NE(html.find(">-1</text>"), std::string::npos);  // noise is not cut
  EXPECT_EQ(html.find("<new>"), std::string::npos);
  EXPECT_NE(html.find("0.0246"), std::string::npos);
  EXPECT_NE(html.find("refused: too few"), std::string::npos);
}

TEST(StatisticsHtmlTest, SurvivalThatDoesNotFitItsEstimatesIsNotDrawn) {
  for (const json& wrong :
       {json{{"estimates_of_group", 5}}, json{{"at", json::array()}}, json{{"at", {12, 6}}}, json{{"at", {-3, 0}}},
        json{{"groups", {"a", "b", "c"}}}, json{{"estimates_of_group", 1}}}) {
    json row = survival_row();
    row.update(wrong);
    config::Problems problems("result.json");
    const std::string html = statistics_html(statistics_of(result_with(row), problems));
    EXPECT_EQ(html.find("<path "), std::string::npos) << wrong;
    EXPECT_NE(html.find("S(6)"), std::string::npos);  // the numbers are there all the same
  }
}

TEST(StatisticsHtmlTest, RefusesWhatIsNoStatistic) {
  const auto said_of = [](const json& statistic) {
    config::Problems problems("result.json");
    (void)statistics_of(result_with(statistic), problems);
    return problems.none() ? std::string("accepted") : problems.error().message;
  };
  json broken = kHistogram;
  broken["estimates"][0]["noise_interval"] = {1};
  EXPECT_NE(said_of(broken).find("/statistics/0/estimates/0/noise_interval: expected two numbers"), std::string::npos);
  broken = kHistogram;
  broken["estimates"][0]["value"] = "many";
  EXPECT_NE(said_of(broken).find("/statistics/0/estimates/0/value: expected a number or null"), std::string::npos);
  broken = kHistogram;
  broken["estimates"] = 1;
  EXPECT_NE(said_of(broken).find("/statistics/0/estimates: expected an array"), std::string::npos);
  broken = kHistogram;
  broken["function"] = 3;
  EXPECT_NE(said_of(broken).find("/statistics/0/function"), std::string::npos);
  // Rows of earlier results have a value alone: the page has nothing to draw of them.
  EXPECT_EQ(said_of({{"statistic", "count"}, {"value", 3}}), "accepted");
}

TEST(StatisticsFiguresTest, AForestHasALineForEachFiniteInterval) {
  const std::string forest = forest_figure(
      "x", {{"a", 1.0, {0.0, 2.0}}, {"b", std::nullopt, {std::nullopt, 3.0}}, {"all silos", -1.0, {-2.0, 0.5}}}, true);
  std::size_t circles = 0;
  for (std::size_t at = forest.find("<circle"); at != std::string::npos; at = forest.find("<circle", at + 1)) ++circles;
  EXPECT_EQ(circles, 2U);
  EXPECT_TRUE(forest_figure("x", {}, false).empty());
  EXPECT_TRUE(bar_figure("x", {}).empty());
  // More rows than are drawn: the rest is said to be in the table.
  EXPECT_NE(bar_figure("x", std::vector<FigureRow>(200, {"r", 1.0, {0.0, 2.0}})).find("72 more"), std::string::npos);
}

}  // namespace
}  // namespace undertone::report
