#include "shared/data/frame.hpp"

#include <gtest/gtest.h>
#include <limits>

#include "shared/data/csv_table.hpp"

namespace undertone::data {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Schema mixed_schema() {
  NumericColumn dose;
  dose.name = "dose";
  dose.min = -1.0;
  dose.max = 3.0;
  dose.missing = MissingRule{{"NA"}, 1.0, true};
  CategoricalColumn sex{"sex", {"f", "m"}, true};
  return {BinaryLabel{"sick", "no", "yes"}, {dose, sex}};
}

TEST(FrameTest, ATableInMemoryGivesTheRecordsOfItsFile) {
  const std::vector<double> dose = {0.1, kNone, 1e9, -0.3333333333333333};
  const std::vector<std::int32_t> sex = {0, 1, -1, 1};
  const std::vector<std::int32_t> sick = {1, 0, 1, 1};
  const Frame frame{{{"sick", Frame::Texts{sick, {"no", "yes"}}},
                     {"dose", Frame::Numbers(dose)},
                     {"sex", Frame::Texts{sex, {"f", "m"}}},
                     {"unread", Frame::Numbers(dose)}}};
  const models::Records from_memory = to_records(frame, mixed_schema(), "table").value();
  const CsvTable file =
      parse_csv("sick,dose,sex\nyes,0.1,f\nno,NA,m\nyes,1e9,\nyes,-0.3333333333333333,m\n", "f.csv").value();
  const models::Records from_file = to_records(file, mixed_schema(), "f.csv").value();
  EXPECT_EQ(from_memory.features, from_file.features);
  EXPECT_EQ(from_memory.targets, from_file.targets);
  EXPECT_EQ(from_memory.targets, Eigen::Vector4d(1.0, -1.0, 1.0, 1.0));
}

TEST(FrameTest, WhatIsWrongIsSaidWithRecordAndColumnAndWithoutTheValue) {
  const std::vector<std::int32_t> labels = {0, 2};
  const std::vector<double> dose = {0.0, std::numeric_limits<double>::infinity()};
  const std::vector<std::int32_t> sex = {0, 0};
  const auto problem = [&](const std::vector<std::int32_t>& sick, const std::vector<double>& doses) {
    const Frame frame{{{"sick", Frame::Texts{sick, {"no", "yes", "4711"}}},
                       {"dose", Frame::Numbers(doses)},
                       {"sex", Frame::Texts{sex, {"f"}}}}};
    const Result<models::Records> records = to_records(frame, mixed_schema(), "table");
    return records ? std::string() : records.error().message;
  };
  EXPECT_EQ(problem({0, 1}, {0.0, 1.0}), "");
  EXPECT_NE(problem(labels, {0.0, 1.0}).find("table: record 2, column \"sick\": expected"), std::string::npos);
  EXPECT_EQ(problem(labels, {0.0, 1.0}).find("4711"), std::string::npos);
  EXPECT_NE(problem({0, 1}, dose).find("record 2, column \"dose\""), std::string::npos);
  EXPECT_NE(problem({0, -1}, {0.0, 1.0}).find("record 2, column \"sick\""), std::string::npos);
}

TEST(FrameTest, AMissingNumberIsRefusedWhereTheSchemaHasNone) {
  NumericColumn age;
  age.name = "age";
  age.min = 0.0;
  age.max = 1.0;
  const Schema strict{BinaryLabel{"sick", "no", "yes"}, {age}};
  const std::vector<double> values = {kNone};
  const std::vector<std::int32_t> sick = {1};
  const Frame frame{{{"age", Frame::Numbers(values)}, {"sick", Frame::Texts{sick, {"no", "yes"}}}}};
  const Result<models::Records> records = to_records(frame, strict, "table");
  ASSERT_FALSE(records);
  EXPECT_NE(records.error().message.find("\"missing\""), std::string::npos) << records.error().message;
  EXPECT_EQ(to_records(Frame{}, strict, "table").has_value(), false);
}

}  // namespace
}  // namespace undertone::data
