#include "operator/statistic_lines.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

Json estimate(const char* name, const Json& value) {
  return {{"name", name}, {"value", value}, {"noise_interval", {0.5, 1.5}}, {"note", value.is_null() ? "refused" : ""}};
}

// A silo alone may state fewer numbers than all do: what stands at one's place is another's.
TEST(StatisticLinesTest, WhatSilosSayIsFoundByItsName) {
  const Json statistics = Json::array(
      {{{"statistic", "survival"},
        {"records", 100},
        {"silos", 2},
        {"estimates",
         {estimate("median", nullptr), estimate("survival to 5", 0.75),
          estimate("hazard ratio, within silos", nullptr)}},
        {"by_silo",
         {{{"silo", "north"},
           {"estimates", {estimate("survival to 5", 0.25), estimate("median", 7.0), estimate("hazard ratio", 2.0)}}},
          {{"silo", "south"}, {"estimates", Json::array()}}}}}});
  EXPECT_EQ(statistic_lines(statistics, 10),
            "survival, of 100 records of 2 silos\n"
            "  median: refused\n"
            "    north: 7, 0.5 to 1.5 with the noise\n"
            "  survival to 5: 0.75, 0.5 to 1.5 with the noise\n"
            "  hazard ratio, within silos: refused\n"
            "    north: 2, 0.5 to 1.5 with the noise\n");
}

TEST(StatisticLinesTest, SmallPValuesAreBounds) {
  const auto said = [](double p_value) {
    const Json statistics = Json::array({{{"statistic", "regression"},
                                          {"records", 100},
                                          {"silos", 2},
                                          {"estimates", Json::array()},
                                          {"tests",
                                           {{{"name", "age has no effect"},
                                             {"statistic", 4.5},
                                             {"degrees", 1},
                                             {"p_value", p_value},
                                             {"p_value_holm", p_value}}}}}});
    return statistic_lines(statistics, 10);
  };
  EXPECT_NE(said(0.034).find("p = 0.034, 0.034 by Holm"), std::string::npos) << said(0.034);
  EXPECT_NE(said(1e-9).find("p < 0.0001, < 0.0001 by Holm"), std::string::npos) << said(1e-9);
}

}  // namespace
}  // namespace undertone::operators
