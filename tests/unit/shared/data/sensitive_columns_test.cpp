#include <fstream>
#include <gtest/gtest.h>

#include "shared/data/csv_reader.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/data/frame.hpp"
#include "shared/data/persons.hpp"
#include "shared/data/split.hpp"
#include "shared/jobs/schema_section.hpp"
#include "tests/support/temporary_folder.hpp"

/// Columns that say which group a record is in: read beside the features, and no feature.
namespace undertone::data {
namespace {

Result<Schema> read_schema(const std::string& sensitive, const std::string& more_features = "") {
  const config::JsonDocument document =
      config::parse_json(R"({"label":{"column":"sick","negative":"no","positive":"yes"},"features":[
        {"column":"age","min":0,"max":100})" +
                             more_features + R"(],"sensitive":)" + sensitive + "}",
                         "schema")
          .value();
  config::Problems problems("schema");
  Schema schema = jobs::parse_schema(config::Section(document.root, "", problems));
  if (!problems.none()) return problems.error();
  return schema;
}

constexpr const char* kTwoColumns = R"([{"column":"sex","categories":["f","m"],"missing":["?"]},
  {"column":"race","categories":["a","b","c","d"],"merged":[{"values":["b","d"]}]}])";

std::string refusal(const std::string& sensitive, const std::string& more_features = "") {
  const Result<Schema> schema = read_schema(sensitive, more_features);
  return schema ? "" : schema.error().message;
}

TEST(SensitiveColumnsTest, GroupsAreTheProductOfTheColumnsWithWhatIsMergedAsOne) {
  const Schema schema = read_schema(kTwoColumns).value();
  EXPECT_EQ(group_count(schema), 6U);
  EXPECT_EQ(group_names(schema), (std::vector<std::string>{"sex=f, race=a", "sex=f, race=b or d", "sex=f, race=c",
                                                           "sex=m, race=a", "sex=m, race=b or d", "sex=m, race=c"}));
  EXPECT_EQ(encoded_width(schema), 1U);  // no feature is made of them
  // As a file has it again.
  config::Problems problems("schema");
  const nlohmann::json again = nlohmann::json::parse(jobs::to_json(schema).dump());
  EXPECT_EQ(jobs::parse_schema(config::Section(again, "", problems)), schema);
}

TEST(SensitiveColumnsTest, EveryReaderGivesRecordsTheirGroups) {
  const Schema schema = read_schema(kTwoColumns).value();
  const CsvTable table{
      {"race", "age", "sick", "sex"},
      {{"a", "10", "no", "f"}, {"d", "20", "yes", "m"}, {"c", "30", "no", "?"}, {"b", "40", "yes", "m"}}};
  const std::vector<std::int32_t> wanted = {0, 4, models::Records::kUnknownGroup, 4};
  const models::Records of_table = to_records(table, schema, "table").value();
  EXPECT_EQ(of_table.groups, wanted);
  tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "f.csv";
  std::ofstream text(file);
  text << csv_line(table.header);
  for (const std::vector<std::string>& row : table.rows) text << csv_line(row);
  text.close();
  const TableRecords of_file = read_csv(file, schema, {}).value();
  EXPECT_EQ(of_file.records.groups, wanted);
  EXPECT_EQ(of_file.columns.size(), 4U);
  const Schema without = read_schema(R"([{"column":"sex","categories":["f","m","?"]}])").value();
  EXPECT_EQ(to_records(table, without, "table")->groups, (std::vector<std::int32_t>{0, 1, 2, 1}));
  // And they stay with their records when these are dealt to blocks.
  const Dataset parts = split(of_table, {0.5, 3, {}}).value();
  for (const models::Records* block : {&parts.training, &parts.holdout}) {
    ASSERT_EQ(block->groups.size(), static_cast<std::size_t>(block->rows()));
    for (Eigen::Index j = 0; j < block->rows(); ++j) {
      Eigen::Index from = 0;
      while (of_table.features(0, from) != block->features(0, j)) ++from;
      EXPECT_EQ(block->group_of(j), wanted[static_cast<std::size_t>(from)]);
    }
  }
}

TEST(SensitiveColumnsTest, AValueThatIsNotListedIsRefusedWithoutBeingSaid) {
  const Schema schema = read_schema(R"([{"column":"sex","categories":["f","m"]}])").value();
  const CsvTable table{{"age", "sick", "sex"}, {{"10", "no", "secret"}}};
  const Result<models::Records> records = to_records(table, schema, "table");
  ASSERT_FALSE(records);
  EXPECT_EQ(records.error().message, "table: record 1, column \"sex\": expected one of \"f\", \"m\"");
  EXPECT_NE(
      to_records(CsvTable{{"age", "sick"}, {{"10", "no"}}}, schema, "table").error().message.find("\"sex\" is missing"),
      std::string::npos);
}

TEST(SensitiveColumnsTest, AColumnIsAFeatureBesidesOnlyWhereTheSchemaSaysSo) {
  const std::string feature = R"(,{"column":"sex","categories":["f","m"]})";
  EXPECT_NE(refusal(R"([{"column":"sex","categories":["f","m"]}])", feature).find("also_feature"), std::string::npos);
  const Schema both = read_schema(R"([{"column":"sex","categories":["f","m"],"also_feature":true}])", feature).value();
  const models::Records records =
      to_records(CsvTable{{"age", "sick", "sex"}, {{"10", "no", "m"}}}, both, "table").value();
  EXPECT_EQ(records.groups, std::vector<std::int32_t>{1});
  EXPECT_EQ(records.features(2, 0), 1.0);
}

TEST(SensitiveColumnsTest, WhatMakesNoGroupsIsRefused) {
  EXPECT_NE(refusal(R"([{"column":"sick","categories":["no","yes"]}])").find("is the label"), std::string::npos);
  EXPECT_NE(refusal(R"([{"column":"s","categories":["a","b"]},{"column":"s","categories":["a"]}])").find("twice"),
            std::string::npos);
  EXPECT_NE(refusal(R"([{"column":"s","categories":["a","b"],"merged":[{"values":["a","z"]}]}])").find("\"z\""),
            std::string::npos);
  EXPECT_NE(
      refusal(R"([{"column":"s","categories":["a","b","c"],"merged":[{"values":["a","b"]},{"values":["b","c"]}]}])")
          .find("in one list"),
      std::string::npos);
  EXPECT_NE(refusal(R"([{"column":"s","categories":["a","b"],"missing":["b"]}])").find("is a category besides"),
            std::string::npos);
  std::string many;
  for (int i = 0; i < 40; ++i) many += fmt::format("{}\"v{}\"", i == 0 ? "" : ",", i);
  EXPECT_NE(refusal(fmt::format(R"([{{"column":"s","categories":[{0}]}},{{"column":"t","categories":[{0}]}}])", many))
                .find("more than 1024 groups"),
            std::string::npos);
}

}  // namespace
}  // namespace undertone::data
