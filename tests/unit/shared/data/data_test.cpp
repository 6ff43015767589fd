#include <gtest/gtest.h>

#include "shared/data/csv_table.hpp"
#include "shared/data/split.hpp"

namespace undertone::data {
namespace {

NumericColumn number(const std::string& name, double min, double max) {
  NumericColumn column;
  column.name = name;
  column.min = min;
  column.max = max;
  return column;
}

Schema schema() { return {BinaryLabel{"sick", "no", "yes"}, {number("age", 0.0, 100.0), number("dose", -1.0, 1.0)}}; }

Result<models::Records> read(const std::string& text) {
  const Result<CsvTable> table = parse_csv(text, "f.csv");
  if (!table) return table.error();
  return to_records(*table, schema(), "f.csv");
}

TEST(CsvTest, ReadsQuotedCellsAndIgnoresOtherColumns) {
  const models::Records records = read("id,\"age\",sick,dose\r\n1,50,\"yes\",1\n\"a,\"\"b\"\"\",25,no,-0.5").value();
  ASSERT_EQ(records.count(), 2);
  EXPECT_EQ(records.features(0, 0), 0.0);   // 50 in [0, 100]
  EXPECT_EQ(records.features(0, 1), -0.5);  // 25
  EXPECT_EQ(records.features(1, 1), -0.5);
  EXPECT_EQ(records.targets, Eigen::Vector2d(1.0, -1.0));
}

TEST(CsvTest, ValuesOutsideThePublicBoundsAreClamped) {
  const models::Records records = read("age,sick,dose\n1e9,yes,-7\n").value();
  EXPECT_EQ(records.features(0, 0), 1.0);
  EXPECT_EQ(records.features(1, 0), -1.0);
}

TEST(CsvTest, ATextOfSomebodyElseIsNoFormulaAndANumberStays) {
  for (const char* text :
       {"=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "  =1", "-inf", "+-1", "-1 ", "-"})
    EXPECT_EQ(csv_text_cell(text), csv_cell(std::string("'") + text)) << text;
  for (const char* text : {"", "yes", "a=b", "-1", "+1", "-2.5e-3", "1", "'=1", "  accuracy 0.9"})
    EXPECT_EQ(csv_text_cell(text), csv_cell(text)) << text;
  EXPECT_EQ(csv_text_cell("=a\",\"=b"), "\"'=a\"\",\"\"=b\"");  // one cell, whatever is in it
}

TEST(CsvTest, ErrorsGivePlaceAndExpectationAndNeverAValue) {
  struct Case {
    const char* text;
    const char* problem;
  };
  const Case cases[] = {
      {"", "f.csv:1: expected a header"},
      {"age,sick\n1,yes\n", "f.csv:1: the schema's column \"dose\" is missing"},
      {"age,sick,dose,age\n1,yes,0,2\n", "f.csv:1: the column \"age\" stands twice"},
      {"age,sick,dose\n1,yes\n", "f.csv: record 1: expected 3 cells as in the header, found 2"},
      {"age,sick,dose\n1,yes,0\n7319x,no,0\n", "f.csv: record 2, column \"age\": expected a finite number"},
      {"age,sick,dose\n7319,no,nan\n", "f.csv: record 1, column \"dose\": expected a finite number"},
      {"age,sick,dose\n7319,no,inf\n", "expected a finite number"},
      {"age,sick,dose\n7319,no,\n", "expected a finite number"},
      {"age,sick,dose\n1,7319,0\n", "f.csv: record 1, column \"sick\": expected one of \"no\", \"yes\""},
      {"age,sick,dose\n1,\"y\"es,0\n", "f.csv:2: a quotation mark where none may stand"}};
  for (const Case& c : cases) {
    const Result<models::Records> records = read(c.text);
    ASSERT_FALSE(records) << c.text;
    EXPECT_NE(records.error().message.find(c.problem), std::string::npos) << records.error().message;
    EXPECT_EQ(records.error().message.find("7319"), std::string::npos) << records.error().message;
  }
}

TEST(CsvTest, ClassesAndCategoriesAreThoseOfTheSchemaAlone) {
  const Schema classes{ClassLabel{"grade", {"low", "middle", "high"}}, {CategoricalColumn{"sex", {"f", "m"}, false}}};
  const auto of = [&](const std::string& text) {
    return to_records(parse_csv(text, "f.csv").value(), classes, "f.csv");
  };
  const models::Records records = of("sex,grade\nm,high\nf,low\n").value();
  EXPECT_EQ(records.targets, Eigen::Vector2d(2.0, 0.0));
  EXPECT_EQ(records.features.col(0), Eigen::Vector2d(0.0, 1.0));
  EXPECT_EQ(of("sex,grade\nm,high\nf,highest\n").error().message,
            "f.csv: record 2, column \"grade\": expected one of \"low\", \"middle\", \"high\"");
  EXPECT_EQ(of("sex,grade\nx,low\n").error().message, "f.csv: record 1, column \"sex\": expected one of \"f\", \"m\"");
  EXPECT_FALSE(of("sex,grade\nm,\n"));
  EXPECT_FALSE(of("sex,grade\nm,2\n"));
}

models::Records numbered(Eigen::Index count) {
  models::Records records{Eigen::MatrixXd(1, count), Eigen::VectorXd(count)};
  for (Eigen::Index i = 0; i < count; ++i) records.features(0, i) = records.targets[i] = static_cast<double>(i);
  return records;
}

TEST(SplitTest, BlocksAreDisjointCompleteAndSetByPositionAlone) {
  const models::Records records = numbered(50);
  const Dataset first = split(records, {0.2, 3, std::nullopt}).value();
  EXPECT_EQ(first.holdout.count(), 10);
  EXPECT_EQ(first.training.count(), 40);
  std::vector<bool> seen(50, false);
  for (const models::Records* block : {&first.training, &first.holdout}) {
    for (Eigen::Index i = 0; i < block->count(); ++i) seen[static_cast<std::size_t>(block->targets[i])] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 50);
  // Replacing a record moves no other: the neighbour's blocks agree everywhere else.
  models::Records neighbour = records;
  neighbour.targets[17] = -1e9;
  const Dataset second = split(neighbour, {0.2, 3, std::nullopt}).value();
  EXPECT_EQ((first.training.targets - second.training.targets).cwiseAbs().count() +
                (first.holdout.targets - second.holdout.targets).cwiseAbs().count(),
            1);
}

TEST(SplitTest, APublishedCountLeavesTheRestOut) {
  const Dataset used = split(numbered(50), {0.2, 3, 40}).value();
  EXPECT_EQ(used.training.count(), 32);  // 40 published: nothing about the other 10 can be told from the sizes
  EXPECT_EQ(used.holdout.count(), 8);
  EXPECT_FALSE(split(numbered(50), {0.2, 3, 51}));
}

TEST(DealTest, PartsAreDisjointAndAFunctionOfTheSeed) {
  const auto parts = deal(10, {4, 3, 3}, 5).value();
  std::vector<std::size_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(all[i], i);
  EXPECT_EQ(deal(10, {4, 3, 3}, 5).value(), parts);
  EXPECT_FALSE(deal(9, {4, 3, 3}, 5));
}

}  // namespace
}  // namespace undertone::data
