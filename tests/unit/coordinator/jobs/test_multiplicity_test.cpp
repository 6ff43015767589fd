#include "coordinator/jobs/test_multiplicity.hpp"

#include <gtest/gtest.h>

namespace undertone::coordinator {
namespace {

using Json = nlohmann::ordered_json;

Json rows(const std::vector<std::optional<double>>& values) {
  Json out = Json::array();
  for (const std::optional<double>& value : values)
    out.push_back({{"tests", {{{"name", "a test"}, {"p_value", value ? Json(*value) : Json(nullptr)}}}}});
  return out;
}
double holm(const Json& all, std::size_t row) { return all[row]["tests"][0]["p_value_holm"].get<double>(); }

TEST(TestMultiplicityTest, IsHolmsWhateverTheOrder) {
  Json all = rows({0.03, 0.005, 0.9, 0.02});
  put_multiplicity(all);
  EXPECT_DOUBLE_EQ(holm(all, 1), 0.02);  // 4 x .005
  EXPECT_DOUBLE_EQ(holm(all, 3), 0.06);  // 3 x .02
  EXPECT_DOUBLE_EQ(holm(all, 0), 0.06);  // 2 x .03, and not less than the one before
  EXPECT_DOUBLE_EQ(holm(all, 2), 0.9);
}

TEST(TestMultiplicityTest, ARefusedTestCountsAndNothingIsAboveOne) {
  Json all = rows({0.4, std::nullopt, 0.8});
  put_multiplicity(all);
  EXPECT_DOUBLE_EQ(holm(all, 0), 1.0);
  EXPECT_DOUBLE_EQ(holm(all, 2), 1.0);
  EXPECT_FALSE(all[1]["tests"][0].contains("p_value_holm"));
}

TEST(TestMultiplicityTest, OfOneTestThereIsNothingToAdd) {
  Json all = rows({0.03});
  all.push_back({{"statistic", "a mean"}});
  put_multiplicity(all);
  EXPECT_FALSE(all[0]["tests"][0].contains("p_value_holm"));
}

}  // namespace
}  // namespace undertone::coordinator
