#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "operator/moment_bound_command.hpp"

/// A bound on a moment, from the counts of gradients' lengths that a run released.
namespace undertone::operators {
namespace {

using Json = nlohmann::json;

Json result_of(const std::vector<double>& counts, double noise) {
  Json estimates = Json::array();
  for (const double count : counts)
    estimates.push_back({{"name", "a cell"}, {"value", count}, {"noise_stddev", noise}});
  return {{"run", "0123456789abcdef"},
          {"statistics",
           {{{"kind", "mean"}},
            {{"kind", "gradient_norms"},
             {"loss", "squared"},
             {"intercept", true},
             {"point", {0, 0}},
             {"records", 1000},
             {"edges", {0, 1, 2, 4, 8}},
             {"estimates", estimates}}}}};
}

Result<BoughtBound> bought(const std::vector<double>& counts, double noise, double order) {
  return bought_bound(result_of(counts, noise).dump(), "result.json", order);
}

TEST(MomentBoundCommandTest, CountsOfUpperEdgesMakeTheMoment) {
  // (600 + 300 4 + 90 16 + 10 64)/1000 = 3.88, and its root 1.9698, rounded up to four digits.
  const BoughtBound second = bought({600, 300, 90, 10}, 0.0, 2.0).value();
  EXPECT_NEAR(second.bound, 1.970, 1e-9);
  EXPECT_EQ(second.longest, 8.0);
  EXPECT_EQ(second.beyond, 0.0);
  const BoughtBound fourth = bought({600, 300, 90, 10}, 0.0, 4.0).value();
  EXPECT_NEAR(fourth.bound, std::pow(0.6 + 0.3 * 16.0 + 0.09 * 256.0 + 0.01 * 4096.0, 0.25), 1e-3);
  EXPECT_GT(fourth.bound, second.bound);
  EXPECT_NE(second.source.find("run 0123456789ab"), std::string::npos);
}

TEST(MomentBoundCommandTest, LongCellsThatTheNoiseHidesAreLeftOutAndSaid) {
  const BoughtBound bound = bought({600, 300, 90, 10}, 6.0, 2.0).value();  // 10 < 2 x 6
  EXPECT_EQ(bound.longest, 4.0);
  EXPECT_NEAR(bound.bound, std::sqrt(0.6 + 1.2 + 1.44), 1e-3);
  EXPECT_NEAR(bound.beyond, 0.01, 1e-12);
  // A shorter cell counts whatever hides it, but a count below 0 is noise.
  EXPECT_NEAR(bought({600, 10, 390, -2}, 20.0, 2.0).value().bound, std::sqrt(0.6 + 0.04 + 6.24), 1e-3);
  EXPECT_NEAR(bought({600, -30, 390, -2}, 20.0, 2.0).value().bound, std::sqrt(0.6 + 6.24), 1e-3);
}

TEST(MomentBoundCommandTest, WhatHoldsNoBoundIsRefusedInWords) {
  const Result<BoughtBound> hidden = bought({1, 2, 1, 0}, 50.0, 2.0);
  ASSERT_FALSE(hidden);
  EXPECT_NE(hidden.error().message.find("the noise hides every count"), std::string::npos);
  for (const char* text : {"", "[]", "{}", R"({"statistics": [{"kind": "mean"}]})", R"({"statistics": 3})"}) {
    const Result<BoughtBound> none = bought_bound(text, "result.json", 2.0);
    ASSERT_FALSE(none) << text;
    EXPECT_NE(none.error().message.find("gradient_norms"), std::string::npos) << none.error().message;
  }
  Json short_of_one = result_of({1, 2, 3}, 0.0);
  EXPECT_FALSE(bought_bound(short_of_one.dump(), "result.json", 2.0));
  const auto changed = [](const char* key, const Json& value) {
    Json out = result_of({600, 300, 90, 10}, 1.0);
    out["statistics"][1][key] = value;
    return bought_bound(out.dump(), "result.json", 2.0).has_value();
  };
  EXPECT_TRUE(changed("records", 1000));
  EXPECT_FALSE(changed("records", 1e-320));
  EXPECT_FALSE(changed("records", -5));
  EXPECT_FALSE(changed("edges", {0, 1, 2, 4, -8}));
  EXPECT_FALSE(changed("edges", {1, 2, 3, 4, 8}));
  EXPECT_FALSE(changed("edges", {0, 1e300, 2e300, 4e300, 8e300}));  // no job takes such a bound
  Json negative = result_of({600, 300, 90, 10}, -1.0);
  EXPECT_FALSE(bought_bound(negative.dump(), "result.json", 2.0));
  Json text = result_of({600, 300, 90, 10}, 0.0);
  text["statistics"][1]["estimates"][0]["value"] = "many";
  EXPECT_FALSE(bought_bound(text.dump(), "result.json", 2.0));
}

}  // namespace
}  // namespace undertone::operators
