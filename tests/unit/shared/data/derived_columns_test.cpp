#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>

#include "shared/data/csv_reader.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/data/frame.hpp"
#include "shared/data/schema_part.hpp"
#include "shared/jobs/schema_section.hpp"
#include "tests/support/temporary_folder.hpp"

/// Columns that no file holds: each record's value follows from its other cells by a public rule.
namespace undertone::data {
namespace {

constexpr const char* kSick = R"({"column":"sick","negative":"no","positive":"yes"})";

Result<Schema> schema_with(const std::string& derived, const std::string& features, const std::string& label = kSick,
                           const std::string& more = "") {
  const config::JsonDocument document =
      config::parse_json(
          fmt::format(R"({{"label":{},"features":[{}],"derived":[{}]{}}})", label, features, derived, more), "schema")
          .value();
  config::Problems problems("schema");
  Schema schema = jobs::parse_schema(config::Section(document.root, "", problems));
  if (!problems.none()) return problems.error();
  return schema;
}

std::string schema_refusal(const std::string& derived, const std::string& features) {
  const Result<Schema> schema = schema_with(derived, features);
  return schema ? "" : schema.error().message;
}

class DerivedColumnsTest : public ::testing::Test {
 protected:
  Result<TableRecords> read(const std::string& text, const Schema& schema, const CsvOptions& options = {}) {
    const std::filesystem::path file = folder_.path() / "f.csv";
    std::ofstream(file, std::ios::binary) << text;
    return read_csv(file, schema, options);
  }
  std::string problem(const std::string& text, const Schema& schema) {
    const Result<TableRecords> out = read(text, schema);
    return out ? "" : out.error().message;
  }
  tests::TemporaryFolder folder_;
};

constexpr const char* kAge = R"({"column":"age","how":"years_between","from":["born","seen"],"date":"YYYY-MM-DD"})";

TEST_F(DerivedColumnsTest, EveryRuleMakesItsValueFromTheRecordsOwnCells) {
  const Schema schema =
      schema_with(
          std::string(kAge) +
              R"(,{"column":"stay","how":"days_between","from":["seen","left"],"date":"YYYY-MM-DD"},
                  {"column":"year","how":"year","from":["seen"],"date":"YYYY-MM-DD"},
                  {"column":"month","how":"month","from":["seen"],"date":"YYYY-MM-DD"},
                  {"column":"day of week","how":"weekday","from":["seen"],"date":"YYYY-MM-DD"},
                  {"column":"log cost","how":"log","from":["cost"],"plus":1},
                  {"column":"age group","how":"bins","from":["age"],"edges":[18,65]},
                  {"column":"cancer","how":"merge","from":["icd"],"rest":"other","groups":[
                     {"name":"breast","prefixes":["C50"]},{"name":"cancer","prefixes":["C"],"values":["D05"]}]},
                  {"column":"bucket","how":"buckets","from":["icd"],"buckets":4})",
          R"({"column":"age","min":0,"max":100},{"column":"stay","min":0,"max":20},{"column":"year","min":2000,"max":2040},
             {"column":"month","categories":["1","2","3"],"others_allowed":true},
             {"column":"day of week","categories":["1","6","7"],"others_allowed":true},
             {"column":"log cost","min":0,"max":10},{"column":"age group","categories":"all"},
             {"column":"cancer","categories":"all"},{"column":"bucket","categories":"all"})")
          .value();
  EXPECT_EQ(encoded_width(schema), 3U + 3 + 3 + 1 + 3 + 3 + 4);
  const std::vector<std::string> names = encoded_names(schema);
  EXPECT_EQ(names[10], "age group=below 18");
  EXPECT_EQ(names[11], "age group=18 to below 65");
  EXPECT_EQ(names[12], "age group=65 or more");
  EXPECT_EQ(names[15], "cancer=other");
  // 2000-01-01 to 2018-01-01 are 6,575 days, 18.0014 years; the 2nd of March 2020 was a Monday.
  const TableRecords out = read(
                               "icd,left,cost,sick,born,seen\n"
                               "C50.1,2018-01-11,0,yes,2000-01-01,2018-01-01\n"
                               "C61,2020-03-02,1717.28182845904523,no,1950-03-02,2020-03-02\n"
                               "D05,2020-03-02,-5,no,2020-03-01,2020-03-02\n"
                               "I10,2020-03-02,9,no,2020-03-01,2020-03-02\n",
                               schema)
                               .value();
  const Eigen::MatrixXd& f = out.records.features;
  ASSERT_EQ(f.cols(), 4);
  EXPECT_DOUBLE_EQ(f(0, 0), 2.0 * (6575.0 / 365.25) / 100.0 - 1.0);
  EXPECT_DOUBLE_EQ(f(1, 0), 0.0);  // ten of twenty days
  EXPECT_DOUBLE_EQ(f(2, 0), 2.0 * 18.0 / 40.0 - 1.0);
  EXPECT_EQ(f.block(3, 0, 3, 1), Eigen::Vector3d(1, 0, 0));
  EXPECT_EQ(f.block(3, 1, 3, 1), Eigen::Vector3d(0, 0, 1));
  EXPECT_EQ(f.block(6, 0, 3, 1), Eigen::Vector3d(1, 0, 0));  // the 1st of January 2018 was a Monday, too
  EXPECT_DOUBLE_EQ(f(9, 0), -1.0);                           // log 1
  EXPECT_NEAR(f(9, 1), 2.0 * std::log(1718.28182845904523) / 10.0 - 1.0, 1e-15);
  EXPECT_DOUBLE_EQ(f(9, 2), -1.0);                            // below every bound
  EXPECT_EQ(f.block(10, 0, 3, 1), Eigen::Vector3d(0, 1, 0));  // an edge belongs to the bin above it
  EXPECT_EQ(f.block(10, 1, 3, 1), Eigen::Vector3d(0, 0, 1));
  EXPECT_EQ(f.block(10, 2, 3, 1), Eigen::Vector3d(1, 0, 0));
  EXPECT_EQ(f.block(13, 0, 3, 1), Eigen::Vector3d(1, 0, 0));  // the longer prefix
  EXPECT_EQ(f.block(13, 1, 3, 1), Eigen::Vector3d(0, 1, 0));
  EXPECT_EQ(f.block(13, 2, 3, 1), Eigen::Vector3d(0, 1, 0));
  EXPECT_EQ(f.block(13, 3, 3, 1), Eigen::Vector3d(0, 0, 1));
  for (Eigen::Index i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(f.block(16, i, 4, 1).sum(), 1.0);
  EXPECT_EQ(out.columns[0].name, "age");
  EXPECT_EQ(out.columns[5].clamped, 1);  // the negative cost
}

/// Others compute the same: printf I10 | sha256sum begins with f20ca1da1b8fd0da.
TEST_F(DerivedColumnsTest, ABucketIsAPublicHash) {
  EXPECT_EQ(bucket_of("", 1000), 0xe3b0c44298fc1c14U % 1000);
  EXPECT_EQ(bucket_of("abc", 1000), 0xba7816bf8f01cfeaU % 1000);
}

TEST_F(DerivedColumnsTest, EveryReaderDerivesTheSame) {
  const Schema schema =
      schema_with(
          std::string(kAge) + R"(,{"column":"old","how":"bins","from":["age"],"edges":[65],"names":["no","yes"]})",
          R"({"column":"age","min":0,"max":100})", R"({"column":"old","negative":"no","positive":"yes"})")
          .value();
  const CsvTable table{{"seen", "born"}, {{"2020-01-01", "2000-01-01"}, {"2020-01-01", "1940-01-01"}}};
  const models::Records of_table = to_records(table, schema, "table").value();
  EXPECT_EQ(of_table.targets, Eigen::Vector2d(-1, 1));
  const std::vector<std::int32_t> places = {0, 1};
  Frame frame;
  for (std::size_t c = 0; c < 2; ++c)
    frame.columns.push_back({table.header[c], Frame::Texts{places, {table.rows[0][c], table.rows[1][c]}}});
  const models::Records of_frame = to_records(frame, schema, "frame").value();
  EXPECT_EQ(of_frame.features, of_table.features);
  EXPECT_EQ(of_frame.targets, of_table.targets);
  EXPECT_EQ(read("seen,born\n2020-01-01,2000-01-01\n2020-01-01,1940-01-01\n", schema)->records.features,
            of_table.features);
  // A file to predict on needs only what features come from.
  CsvOptions options;
  options.with_label = false;
  EXPECT_TRUE(read("seen,born\n2020-01-01,2000-01-01\n", schema, options));
  EXPECT_EQ(columns_of_file(schema), (std::vector<std::string>{"born", "seen"}));
}

TEST_F(DerivedColumnsTest, WhatIsMissingStaysMissing) {
  const std::string age =
      R"({"column":"age","how":"years_between","from":["born","seen"],"date":"YYYY-MM-DD","missing":["","NA"]})";
  const Schema schema =
      schema_with(age + R"(,{"column":"age group","how":"bins","from":["age"],"edges":[18]})",
                  R"({"column":"age","min":0,"max":100,"missing":{"texts":[""],"value":50,"indicator":true}},
                     {"column":"age group","categories":"all","others_allowed":true})")
          .value();
  const TableRecords out =
      read("sick,born,seen\nno,NA,2020-01-01\nno,2000-01-01,2020-01-01\nyes,,NA\n", schema).value();
  EXPECT_EQ(out.records.features.col(0), Eigen::Vector4d(0, 1, 0, 0));
  EXPECT_EQ(out.records.features(1, 1), 0.0);
  EXPECT_EQ(out.records.features(3, 1), 1.0);
  EXPECT_EQ(out.records.features.col(2), Eigen::Vector4d(0, 1, 0, 0));
  EXPECT_EQ(out.columns[0].missing, 2);
  // Where the feature says nothing of missing values, it is told what it needs, and never the value.
  const Schema strict = schema_with(kAge, R"({"column":"age","min":0,"max":100})").value();
  const std::string told = problem("sick,born,seen\nno,,2020-01-01\nno,31.12.1999,2020-01-01\n", strict);
  EXPECT_NE(told.find("f.csv:2: column 3 \"seen\": expected a value of what the schema derives \"age\" from"),
            std::string::npos)
      << told;
  EXPECT_NE(
      told.find("f.csv:3: column 2 \"born\": expected a date YYYY-MM-DD or a text that means missing, of which the "
                "schema derives \"age\""),
      std::string::npos)
      << told;
  EXPECT_EQ(told.find("1999"), std::string::npos);
  EXPECT_EQ(told.find("f.csv:3: column 3"), std::string::npos) << "one fault is told once";
}

TEST_F(DerivedColumnsTest, ATableThatDoesNotFitIsToldSo) {
  const Schema schema = schema_with(kAge, R"({"column":"age","min":0,"max":100})").value();
  EXPECT_NE(
      problem("sick,born\nno,2000-01-01\n", schema).find("the column \"seen\" is missing, of which the schema derives"),
      std::string::npos);
  EXPECT_NE(problem("sick,born,seen,seen\n", schema).find("\"seen\" stands twice"), std::string::npos);
  EXPECT_NE(problem("sick,born,seen,age\n", schema).find("the table has one of this name"), std::string::npos);
}

TEST_F(DerivedColumnsTest, ReplacingOneRecordChangesNoOther) {
  const Schema schema =
      schema_with(
          std::string(kAge) + R"(,{"column":"bucket","how":"buckets","from":["icd"],"buckets":3})",
          R"({"column":"age","min":0,"max":100,"missing":{"texts":[""],"value":1}},{"column":"bucket","categories":"all","others_allowed":true})")
          .value();
  const std::string last = "no,2000-01-01,2020-01-01,I10\n";
  const Eigen::VectorXd usual =
      read("sick,born,seen,icd\nyes,1999-01-01,2010-01-01,C50\n" + last, schema)->records.features.col(1);
  for (const char* other : {"yes,,,\n", "no,0001-01-01,9999-12-31,x\n", "yes,2020-01-01,,I10\n"})
    EXPECT_EQ(read("sick,born,seen,icd\n" + std::string(other) + last, schema)->records.features.col(1), usual);
}

TEST_F(DerivedColumnsTest, AFileWritesItAgainAsItWasRead) {
  const Schema schema =
      schema_with(std::string(kAge) +
                      R"(,{"column":"w","how":"weekday","from":["seen"],"date":"DD.MM.YYYY","missing":["","-"]},
                  {"column":"l","how":"log","from":["age"],"plus":0.5},
                  {"column":"b","how":"bins","from":["l"],"edges":[1,2],"names":["x","y","z"]},
                  {"column":"m","how":"merge","from":["b"],"groups":[{"name":"p","values":["x"],"prefixes":["y"]}]},
                  {"column":"h","how":"buckets","from":["m"],"buckets":5})",
                  R"({"column":"h","categories":"all"},{"column":"w","categories":["1"],"others_allowed":true})", kSick,
                  R"(,"sensitive":[{"column":"b","categories":["x","y","z"],"missing":["?"],"also_feature":true}])")
          .value();
  const nlohmann::json again = nlohmann::json::parse(jobs::to_json(schema).dump());
  config::Problems problems("schema");
  EXPECT_EQ(jobs::parse_schema(config::Section(again, "", problems)), schema);
  EXPECT_TRUE(problems.none());
}

TEST_F(DerivedColumnsTest, ASensitiveColumnMayBeDerived) {
  const Schema schema =
      schema_with(
          std::string(kAge) + R"(,{"column":"group","how":"bins","from":["age"],"edges":[18,65]})",
          R"({"column":"x","min":0,"max":1})", kSick,
          R"(,"sensitive":[{"column":"group","categories":["below 18","18 to below 65","65 or more"],"missing":["?"]}])")
          .value();
  const TableRecords out = read(
                               "sick,x,born,seen\nno,0,2000-01-01,2010-01-01\nno,1,1940-01-01,2010-01-01\n"
                               "no,1,,2010-01-01\n",
                               schema)
                               .value();
  EXPECT_EQ(out.records.groups, (std::vector<std::int32_t>{0, 2, models::Records::kUnknownGroup}));
}

/// A job may ask about some of a data set's columns.
TEST_F(DerivedColumnsTest, APartOfASchemaReadsTheSameNumbers) {
  const std::string derived = std::string(kAge) + R"(,{"column":"group","how":"bins","from":["age"],"edges":[18]},
      {"column":"bucket","how":"buckets","from":["icd"],"buckets":3})";
  const std::string icd = R"({"column":"icd","categories":["C50","I10"],"others_allowed":true})";
  const std::string age = R"({"column":"age","min":0,"max":100,"missing":{"texts":[""],"value":1,"indicator":true}})";
  const std::string bucket = R"({"column":"bucket","categories":"all"})";
  const Schema own =
      schema_with(derived,
                  icd + "," + age + R"(,{"column":"group","categories":"all","others_allowed":true},)" + bucket, kSick,
                  R"(,"sensitive":[{"column":"ward","categories":["a","b"]}])")
          .value();
  const std::string text =
      "sick,born,seen,icd,ward\nyes,1999-01-01,2010-01-01,C50,a\nno,,2010-01-01,I10,b\nno,1950-01-01,2010-01-01,x,b\n";
  const models::Records all = read(text, own)->records;
  const auto same = [&](const Schema& asked) {
    const std::optional<std::vector<Eigen::Index>> part = part_of(asked, own);
    if (!part) return false;
    const Dataset chosen = with_features({all, {}, {}}, *part);
    const models::Records alone = read(text, asked)->records;
    return chosen.training.features == alone.features && chosen.training.targets == alone.targets &&
           chosen.training.groups == all.groups;
  };
  EXPECT_TRUE(same(own));
  EXPECT_TRUE(same(schema_with(std::string(kAge), age).value()));
  Schema reversed = own;
  std::reverse(reversed.features.begin(), reversed.features.end());
  EXPECT_TRUE(same(reversed));
  reversed.features.pop_back();
  EXPECT_TRUE(same(reversed));
  // What is another column, another rule, or another label is no part.
  const auto is_part = [&](const std::string& rules, const std::string& features, const std::string& label = kSick) {
    return part_of(schema_with(rules, features, label).value(), own).has_value();
  };
  EXPECT_TRUE(is_part(derived, bucket + "," + icd));
  EXPECT_FALSE(is_part(kAge, R"({"column":"age","min":0,"max":101})"));
  EXPECT_FALSE(is_part(kAge, R"({"column":"born","min":0,"max":100})"));
  EXPECT_FALSE(is_part(kAge, R"({"column":"age","min":0,"max":100})"));
  EXPECT_FALSE(is_part(R"({"column":"age","how":"years_between","from":["seen","born"],"date":"YYYY-MM-DD"})", age));
  EXPECT_FALSE(is_part(R"({"column":"bucket","how":"buckets","from":["ward"],"buckets":3})", bucket));
  EXPECT_FALSE(is_part(derived, icd, R"({"column":"sick","negative":"yes","positive":"no"})"));
  Schema undeclared = own;  // the data set derives the age, and the job would read it from the file
  undeclared.derived.clear();
  undeclared.features = {own.features[1]};
  EXPECT_FALSE(part_of(undeclared, own));
  Schema other_groups = own;
  other_groups.sensitive.front().categories.emplace_back("c");
  EXPECT_FALSE(part_of(other_groups, own));
  other_groups.sensitive.clear();
  EXPECT_TRUE(part_of(other_groups, own));
}

/// A sensitive attribute that a model must not read is not read under another name either.
TEST_F(DerivedColumnsTest, WhatASensitiveColumnComesFromIsNoFeatureInDisguise) {
  const auto told = [](const std::string& derived, const std::string& features, const std::string& sensitive,
                       const std::string& label = kSick) {
    const Result<Schema> schema = schema_with(derived, features, label, R"(,"sensitive":[)" + sensitive + "]");
    return schema ? std::string() : schema.error().message;
  };
  const std::string copy =
      R"({"column":"copy","how":"merge","from":["sex"],"groups":[{"name":"A","values":["F"]}],"rest":"B"})";
  const std::string sex = R"({"column":"sex","categories":["F","M"]})";
  const std::string bins = R"({"column":"group","how":"bins","from":["age"],"edges":[18]})";
  const std::string group = R"({"column":"group","categories":["below 18","18 or more"]})";
  const std::string age = R"({"column":"age","min":0,"max":100})";
  const std::string x = R"({"column":"x","min":0,"max":1})";
  EXPECT_NE(told(copy, R"({"column":"copy","categories":"all"})", sex).find("models would read it"), std::string::npos);
  EXPECT_NE(told(bins, age, group).find("models would read it"), std::string::npos);
  EXPECT_EQ(told(bins, age, R"({"column":"group","categories":["below 18","18 or more"],"also_feature":true})"), "");
  EXPECT_NE(told(copy, x, sex, R"({"column":"copy","negative":"A","positive":"B"})").find("the label comes from"),
            std::string::npos);
  EXPECT_EQ(told(copy + "," + bins, x, sex + "," + group), "");
}

/// A month may be a number for the model and a group besides.
TEST_F(DerivedColumnsTest, ADerivedNumberThatIsASensitiveColumnBesidesHasItsGroups) {
  const Schema schema =
      schema_with(R"({"column":"month","how":"month","from":["seen"],"date":"YYYY-MM-DD"})",
                  R"({"column":"month","min":1,"max":12})", kSick,
                  R"(,"sensitive":[{"column":"month","categories":["1","2","3"],"also_feature":true}])")
          .value();
  EXPECT_EQ(read("sick,seen\nno,2020-01-05\nno,2020-03-05\nno,2020-02-05\n", schema)->records.groups,
            (std::vector<std::int32_t>{0, 2, 1}));
  EXPECT_NE(problem("sick,seen\nno,2020-07-05\n", schema).find("expected one of \"1\", \"2\", \"3\""),
            std::string::npos);
}

TEST_F(DerivedColumnsTest, AListMayNameWhatIsMissing) {
  const Schema schema = schema_with(R"({"column":"g","how":"bins","from":["age"],"edges":[18],"limits":"bound"})",
                                    R"({"column":"g","categories":["below 18","","18 or more"]})")
                            .value();
  const Eigen::MatrixXd features = read("sick,age\nno,17\nno,\nno,>=18\n", schema)->records.features;
  EXPECT_EQ(features, Eigen::Matrix3d::Identity());
}

/// A short text may not stand for very long lists.
TEST_F(DerivedColumnsTest, ASchemaTakesWorkAsItsTextIsLong) {
  std::string many;
  for (int i = 0; i < 4000; ++i) many += std::string(i == 0 ? "" : ",") + R"({"column":"x","categories":"all"})";
  const std::string told = schema_refusal(R"({"column":"x","how":"buckets","from":["a"],"buckets":4096})", many);
  EXPECT_NE(told.find("stands twice"), std::string::npos);
  // After 24 lists no more are made: all of them would take 500 MB.
  EXPECT_NE(told.find("/features/24/categories: expected at most 100000 encoded features"), std::string::npos) << told;
}

TEST_F(DerivedColumnsTest, RulesThatCannotHoldAreRefused) {
  const std::string age = R"({"column":"age","min":0,"max":100})";
  const auto has = [&](const std::string& derived, const std::string& features, const std::string& part) {
    const std::string told = schema_refusal(derived, features);
    EXPECT_NE(told.find(part), std::string::npos) << derived << "\n" << told;
  };
  has(std::string(kAge) + "," + kAge, age, "stands twice");
  has(R"({"column":"age","how":"days_between","from":["born"],"date":"YYYY-MM-DD"})", age, "from");
  has(R"({"column":"age","how":"days_between","from":["born","born"],"date":"YYYY-MM-DD"})", age, "from");
  has(R"({"column":"age","how":"sum","from":["a"]})", age, "how");
  has(R"({"column":"age","how":"log","from":["age"]})", age, "cannot come from itself");
  has(R"({"column":"age","how":"log","from":["b"]},{"column":"b","how":"log","from":["x"]})", age, "derived after");
  has(R"({"column":"b","how":"buckets","from":["x"],"buckets":2},{"column":"age","how":"log","from":["b"]})", age,
      "expected a number");
  has(std::string(kAge) + R"(,{"column":"y","how":"year","from":["age"],"date":"YYYY-MM-DD"})", age,
      "expected a date of the file");
  has(std::string(kAge) + R"(,{"column":"y","how":"buckets","from":["age"],"buckets":2})", age, "expected a text");
  has(R"({"column":"age","how":"bins","from":["x"],"edges":[2,1]})", R"({"column":"age","categories":"all"})",
      "ascending");
  has(R"({"column":"age","how":"bins","from":["x"],"edges":[]})", R"({"column":"age","categories":"all"})",
      "ascending");
  has(R"({"column":"age","how":"bins","from":["x"],"edges":[1],"names":["a","b","c"]})",
      R"({"column":"age","categories":"all"})", "one more than edges");
  has(R"({"column":"age","how":"bins","from":["x"],"edges":[1]})", age, "derived as a text");
  has(kAge, R"({"column":"age","categories":["1"]})", "derived as a number");
  has(R"({"column":"age","how":"bins","from":["x"],"edges":[1]})", R"({"column":"age","categories":["young"]})",
      "never has the value \"young\"");
  has(kAge, R"({"column":"sex","categories":"all"})", "expected a list");
  has(R"({"column":"age","how":"buckets","from":["x"],"buckets":5000})", age, "buckets");
  has(R"({"column":"age","how":"merge","from":["x"],"groups":[{"name":"a"}]})", age, "values or prefixes");
  has(R"({"column":"age","how":"merge","from":["x"],"groups":[{"name":"a","values":["1"]},{"name":"b","values":["1"]}]})",
      age, "in another group");
  has(R"({"column":"age","how":"merge","from":["x"],"rest":"a","groups":[{"name":"a","values":["1"]}]})", age, "rest");
  std::string many;  // as many buckets as a schema may list, and more
  for (int i = 0; i < 30; ++i)
    many += fmt::format(R"({}{{"column":"b{}","how":"buckets","from":["x"],"buckets":4096}})", i == 0 ? "" : ",", i);
  has(many, age, "at most 100000 values");
}

TEST_F(DerivedColumnsTest, ALimitCountsAsABoundWhereTheSchemaSaysSo) {
  const auto schema = [](const char* limits) {
    return schema_with(kAge, fmt::format(R"({{"column":"crp","min":0,"max":10{}}})", limits)).value();
  };
  const std::string text = "sick,crp\nno,<0.5\nno,>= 5\nno,\u22642.5\nyes,> 200\n";
  const TableRecords out = read(text, schema(R"(,"limits":"bound")")).value();
  EXPECT_EQ(Eigen::VectorXd(out.records.features.row(0)), Eigen::Vector4d(-0.9, 0.0, -0.5, 1.0));
  EXPECT_EQ(out.columns[0].clamped, 1);
  EXPECT_FALSE(read(text, schema("")));
  for (const char* odd : {"<", "<<1", "<=", "< 1e", "=5", "<>1", "<NA", "<inf", "<\u22641"})
    EXPECT_FALSE(read(fmt::format("sick,crp\nno,{}\n", odd), schema(R"(,"limits":"bound")"))) << odd;
  CsvOptions comma;
  comma.dialect.separator = ';';
  comma.dialect.numbers.decimal_comma = true;
  EXPECT_EQ(read("sick;crp\nno;<0,5\n", schema(R"(,"limits":"bound")"), comma)->records.features(0, 0), -0.9);
}

}  // namespace
}  // namespace undertone::data
