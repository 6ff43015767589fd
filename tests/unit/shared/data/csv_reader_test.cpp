#include "shared/data/csv_reader.hpp"

#include <bit>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <random>

#include "shared/data/column_name.hpp"
#include "shared/jobs/schema_difference.hpp"
#include "shared/jobs/schema_section.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::data {
namespace {

Schema parse(const std::string& json) {
  const config::JsonDocument document = config::parse_json(json, "schema").value();
  config::Problems problems("schema");
  Schema schema = jobs::parse_schema(config::Section(document.root, "", problems));
  EXPECT_TRUE(problems.none()) << problems.error().message;
  return schema;
}

constexpr const char* kSchema = R"({"label": {"column": "sick", "negative": "no", "positive": "yes"},
  "features": [{"column": "age", "min": 0, "max": 100, "missing": {"texts": ["", "NA"], "value": 50, "indicator": true}},
               {"column": "born", "date": "YYYY-MM-DD", "min": "1970-01-01", "max": "1970-01-11", "outside": "refuse"},
               {"column": "sex", "categories": ["female", "male"], "others_allowed": true},
               {"column": "ward", "categories": ["a", "b"]}]})";

class CsvReaderTest : public ::testing::Test {
 protected:
  Result<TableRecords> read(const std::string& text, const CsvOptions& options = {}) {
    const std::filesystem::path file = folder_.path() / "f.csv";
    std::ofstream(file, std::ios::binary) << text;
    Result<TableRecords> out = read_csv(file, parse(kSchema), options);
    if (out) return out;
    std::string message = out.error().message;  // without the folder
    for (std::size_t at = 0; (at = message.find(folder_.path().string() + "/")) != std::string::npos;)
      message.erase(at, folder_.path().string().size() + 1);
    return Error{out.error().code, message};
  }
  std::string problem(const std::string& text) {
    const Result<TableRecords> out = read(text);
    return out ? "" : out.error().message;
  }
  tests::TemporaryFolder folder_;
};

constexpr const char* kHeader = "sick,age,born,sex,ward\n";

TEST_F(CsvReaderTest, EncodesNumbersDatesCategoriesAndMissingValuesFromPublicFactsAlone) {
  const TableRecords read_records =
      read(std::string("\xef\xbb\xbf") + kHeader + "yes,25,1970-01-06,male,b\r\nno,NA,1970-01-01,other,a\r\n").value();
  const models::Records& records = read_records.records;
  ASSERT_EQ(records.count(), 2);
  // age, age missing, born, sex=female, sex=male, ward=a, ward=b
  Eigen::VectorXd first(7);
  Eigen::VectorXd second(7);
  first << -0.5, 0, 0, 0, 1, 0, 1;   // 25 in [0, 100]; five of ten days
  second << 0.0, 1, -1, 0, 0, 1, 0;  // 50 in place of what is missing; neither female nor male
  EXPECT_EQ(records.features.col(0), first);
  EXPECT_EQ(records.features.col(1), second);
  EXPECT_EQ(records.targets, Eigen::Vector2d(1, -1));
  EXPECT_EQ(encoded_names(parse(kSchema)),
            (std::vector<std::string>{"age", "age missing", "born", "sex=female", "sex=male", "ward=a", "ward=b"}));
  EXPECT_EQ(read_records.columns[0].missing, 1);
  EXPECT_EQ(read_records.columns[2].clamped, 1);
}

TEST_F(CsvReaderTest, ReplacingOneRecordChangesNoOther) {
  const models::Records before =
      read(std::string(kHeader) + "yes,25,1970-01-06,male,b\nno,30,1970-01-02,male,a\n").value().records;
  const models::Records after =
      read(std::string(kHeader) + "no,1e9,1970-01-11,female,a\nno,30,1970-01-02,male,a\n").value().records;
  EXPECT_EQ(before.features.col(1), after.features.col(1));
}

TEST_F(CsvReaderTest, ErrorsGiveLineColumnAndExpectationAndNeverAValue) {
  const std::string good = "yes,25,1970-01-06,male,b\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "f.csv:1: expected a header, found nothing"},
      {kHeader, "expected records, found none"},
      {"sick,age,born,sex\nyes,1,1970-01-01,male\n", "f.csv:1: the schema's column \"ward\" is missing"},
      {"sick,age,born,sex,ward,ward\n", "f.csv:1: the column \"ward\" stands twice"},
      {kHeader + good + "yes,7319x,1970-01-06,male,b\n",
       "f.csv:3: column 2 \"age\": expected a finite number or a text"},
      {kHeader + good + "\n\nyes,25,1970-02-7319,male,b\n", "f.csv:5: column 3 \"born\": expected a date YYYY-MM-DD"},
      {kHeader + std::string("yes,25,1999-01-01,male,b\n"), "expected a date from 1970-01-01 to 1970-01-11"},
      {kHeader + std::string("yes,25,1970-02-30,male,b\n"), "expected a date YYYY-MM-DD"},
      {kHeader + std::string("yes,25,1970-01-06,male,7319\n"),
       "f.csv:2: column 5 \"ward\": expected one of \"a\", \"b\""},
      {kHeader + std::string("maybe7319,25,1970-01-06,male,a\n"), "column 1 \"sick\": expected one of \"no\", \"yes\""},
      {kHeader + good + "yes,25\n", "f.csv:3: expected 5 cells as in the header, found 2"},
      {kHeader + std::string("yes,25,\"1970\"7319\",male,b\n"), "f.csv:2: a quotation mark where none may stand"},
      {kHeader + std::string("yes,25,1970-01-06,male,\"b\n"), "a quotation mark is not closed"},
      {kHeader + std::string("yes,25,1970-01-06,m\xe4nnlich,b\n"), "f.csv:2: column 4 \"sex\": expected UTF-8 text"},
      {std::string("\xff\xfes\0i\0", 6), "f.csv:1: expected UTF-8 text, found UTF-16"},
      {kHeader + std::string("yes,2\0,", 7), "found a zero byte"}};
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(expected);
    EXPECT_NE(problem(text).find(expected), std::string::npos) << problem(text);
    EXPECT_EQ(problem(text).find("7319"), std::string::npos) << problem(text);
  }
}

TEST_F(CsvReaderTest, SeveralProblemsAreToldAtOnceAndNotAllOfThousands) {
  std::string text = kHeader;
  text += "yes,x,1970-01-06,male,b\nyes,y,1970-01-06,male,c\n";
  const std::string two = problem(text);
  EXPECT_NE(two.find("f.csv:2:"), std::string::npos);
  EXPECT_NE(two.find("f.csv:3: column 5"), std::string::npos);
  for (int i = 0; i < 5000; ++i) text += "yes,x,1970-01-06,male,b\n";
  EXPECT_LT(problem(text).size(), 4000U);
}

TEST_F(CsvReaderTest, LineNumbersCountLineFeedsInsideCellsAndEveryKindOfLineEnd) {
  EXPECT_NE(problem("id,sick,age,born,sex,ward\r\n\"a\nb\",yes,1,1970-01-01,male,a\r\n1,no,x,1970-01-01,male,a\r\n")
                .find("f.csv:4: column 3"),
            std::string::npos);
  EXPECT_NE(problem("sick,age,born,sex,ward\ryes,1,1970-01-01,male,a\rno,x,1970-01-01,male,a\r").find("f.csv:3:"),
            std::string::npos);
}

TEST_F(CsvReaderTest, ALineWithoutEndIsRefusedAfterAFewMegabytes) {
  std::uint64_t seen = 0;
  CsvOptions options;
  options.bytes = [&](std::string_view bytes) { seen += bytes.size(); };
  const Result<TableRecords> refused = read(kHeader + std::string(std::size_t{32} << 20U, 'x'), options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a line of more than"), std::string::npos);
  EXPECT_LT(seen, std::uint64_t{8} << 20U);  // what a longer line costs no more than
}

TEST_F(CsvReaderTest, AMissingValueThatTheSchemaDoesNotKnowIsToldWithTheKeyThatItNeeds) {
  const std::string needs =
      R"(; for values that are missing the schema's column needs "missing": how they are written )"
      "and what stands for them";
  for (const char* cell : {"", "NA", " ? ", "null", "missing", ".", "#N/A"}) {
    EXPECT_EQ(problem(std::string(kHeader) + "yes,1," + cell + ",male,a\n"),
              "f.csv:2: column 3 \"born\": expected a date YYYY-MM-DD" + needs)
        << cell;
  }
  EXPECT_EQ(problem(std::string(kHeader) + "yes,1,soon,male,a\n"),
            "f.csv:2: column 3 \"born\": expected a date YYYY-MM-DD");
  // Where the schema has it, another text is a mistake of its own.
  EXPECT_EQ(problem(std::string(kHeader) + "yes,?,1970-01-06,male,a\n"),
            "f.csv:2: column 2 \"age\": expected a finite number or a text that means missing");
}

TEST_F(CsvReaderTest, AnotherSeparatorIsRecognisedInAHeaderOfOneCell) {
  EXPECT_EQ(
      problem("sick;age;born;sex;ward\nyes;25;1970-01-06;male;b\n"),
      "f.csv:1: the schema's column \"age\" is missing; the header is one cell that holds semicolons: is that what "
      "separates the file's cells?");
  EXPECT_NE(problem("sick\tage\n").find("that holds tabs"), std::string::npos);
  EXPECT_EQ(
      problem("\"sick\";\"age\"\n\"yes\";25\n"),
      "f.csv:1: a quotation mark where none may stand; semicolons follow them in the header: is that what separates "
      "the file's cells?");
  EXPECT_EQ(problem("\"sick\"x,\"age\",\"born\"\n"), "f.csv:1: a quotation mark where none may stand");
  EXPECT_EQ(problem(std::string(kHeader) + "\"yes\";25,1970-01-06,male,b\n"),
            "f.csv:2: a quotation mark where none may stand");  // of a record nothing is said
  EXPECT_EQ(problem("sick\n"), "f.csv:1: the schema's column \"age\" is missing");
  EXPECT_EQ(problem("sick,agee,born,sex,ward\n"),
            "f.csv:1: the schema's column \"age\" is missing; of the file's columns the schema does not name \"agee\"");
  EXPECT_EQ(problem("sick,a,b,c,d,e,f\n"), "f.csv:1: the schema's column \"age\" is missing");  // too many to help
}

TEST_F(CsvReaderTest, AFileThatCannotBeReadIsToldWithTheReason) {
  const auto reason = [&](const std::string& file) {
    return read_csv(folder_.path() / file, parse(kSchema), {}).error().message;
  };
  EXPECT_EQ(reason("nothing.csv"),
            (folder_.path() / "nothing.csv").string() + ": cannot be read: No such file or directory");
  EXPECT_TRUE(reason("").ends_with(": cannot be read: Is a directory"));
  std::filesystem::create_symlink("/dev/zero", folder_.path() / "endless.csv");
  EXPECT_TRUE(reason("endless.csv").ends_with(": expected a file, and no pipe or device"));
}

TEST_F(CsvReaderTest, ReadsSemicolonsTabsAndDecimalCommasOnceTold) {
  CsvOptions options;
  options.dialect = {';', {true}};
  const TableRecords semicolons =
      read("sick;age;born;sex;ward\nyes;12,5;1970-01-06;male;b\nno;NA;1970-01-01;\"a;b\";a\n", options).value();
  ASSERT_EQ(semicolons.records.count(), 2);
  EXPECT_EQ(semicolons.records.features(0, 0), -0.75);  // 12.5 in [0, 100]
  EXPECT_EQ(semicolons.columns[0].missing, 1);
  const Result<TableRecords> point = read("sick;age;born;sex;ward\nyes;12.5;1970-01-06;male;b\n", options);
  ASSERT_FALSE(point);
  EXPECT_NE(point.error().message.find("column 2 \"age\": expected a finite number with a decimal comma"),
            std::string::npos)
      << point.error().message;
  EXPECT_FALSE(read("sick;age;born;sex;ward\nyes;1,2,5;1970-01-06;male;b\n", options));
  EXPECT_FALSE(read("sick;age;born;sex;ward\nyes;12,5;1970-01-06;male;b\n"));  // not told
  options.dialect = {'\t'};
  const TableRecords tabs =
      read("sick\tage\tborn\tsex\tward\nyes\t\t1970-01-06\tmale\tb\nno\t25\t1970-01-01\tx\ta\n", options).value();
  EXPECT_EQ(tabs.columns[0].missing, 1);  // an empty cell between tabs is one
  EXPECT_EQ(tabs.records.features(0, 1), -0.5);
}

TEST_F(CsvReaderTest, ReadsOtherEncodingsAndTheLineOfTheSeparator) {
  CsvOptions options;
  options.dialect.encoding = TextEncoding::Windows1252;
  const std::string row = "yes,25,1970-01-06,male,b\n";
  EXPECT_EQ(read("sick,age,born,sex,ward,Gr\xf6\xdf"
                 "e\nyes,25,1970-01-06,male,b,\x80\n",
                 options)
                ->records.count(),
            1);
  EXPECT_FALSE(read(kHeader + row + "yes,25,1970-01-06,m\x81,b\n", options));  // no character there
  options.dialect.encoding = TextEncoding::Utf16;
  std::string wide = "\xff\xfe";
  for (const char c : "sep=,\n" + std::string(kHeader) + row) wide += {c, '\0'};
  EXPECT_EQ(read(wide, options)->records.count(), 1);
  EXPECT_FALSE(read(wide + "x", options));  // half of a character
  EXPECT_NE(problem(wide).find("found UTF-16"), std::string::npos);
  // Longer than a block.
  std::string many = "\xff\xfe";
  std::string text = kHeader;
  for (int i = 0; i < 10'000; ++i) text += i % 2 == 0 ? row : "no,5,1970-01-06,male,b\n";
  for (const char c : text) many += {c, '\0'};
  const TableRecords all = read(many, options).value();
  ASSERT_EQ(all.records.count(), 10'000);
  EXPECT_EQ(all.records.features(0, 9999), -0.9);
  EXPECT_EQ(problem("sep=,\n" + std::string(kHeader) + "maybe,1,1970-01-01,male,b\n").substr(0, 8), "f.csv:3:");
}

TEST_F(CsvReaderTest, BytesThatAreNoTextAreFoundInTheirLine) {
  CsvOptions options;
  options.dialect.encoding = TextEncoding::Windows1252;
  std::string text = kHeader;
  for (int i = 2; i < 42; ++i) text += "yes,25,1970-01-06,male,b\n";
  const Result<TableRecords> bad = read(text + "yes,25,1970-01-06,m\x81le,b\n", options);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message.substr(0, 9), "f.csv:42:") << bad.error().message;
}

TEST(TextDecoderTest, CharactersMayBeCutAnywhere) {
  const std::u16string text = u"age;Gr\u00f6\u00dfe;\U0001F600\n";
  std::string bytes = "\xff\xfe";
  for (const char16_t unit : text) bytes += {static_cast<char>(unit & 0xffU), static_cast<char>(unit >> 8U)};
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    TextDecoder decoder(TextEncoding::Utf16);
    std::string out(decoder.decode(std::string_view(bytes).substr(0, cut)));
    out += decoder.decode(std::string_view(bytes).substr(cut));
    EXPECT_EQ(out, "age;Gr\u00f6\u00dfe;\U0001F600\n") << cut;
    EXPECT_TRUE(decoder.finish());
  }
  TextDecoder decoder(TextEncoding::Utf16);
  (void)decoder.decode(std::string_view(bytes).substr(0, 5));
  EXPECT_TRUE(decoder.so_far());
  EXPECT_FALSE(decoder.finish());
}

TEST_F(CsvReaderTest, NamesAreComparedAsPeopleSeeThem) {
  EXPECT_EQ(comparable_name("Gr\u00f6\u00dfe"), comparable_name(" Gro\u0308\u00dfe\u00a0"));
  EXPECT_EQ(comparable_name("blood\u00a0 pressure"), "blood pressure");
  EXPECT_FALSE(is_same_name("age", "Age"));
  EXPECT_FALSE(is_same_name("x2", "x\u00b2"));
  EXPECT_EQ(comparable_name("\xff"), "\xff");
  std::string marks;  // in the order that takes longest to put right
  for (int i = 0; i < 500'000; ++i) marks += i % 2 == 0 ? "\u0301" : "\u0323";
  EXPECT_EQ(comparable_name(marks), marks);
  EXPECT_EQ(read("sick\u00a0,age,born, sex,ward\nyes,25,1970-01-06,male,b\n")->records.count(), 1);
  EXPECT_NE(problem("sick,age,age ,born,sex,ward\nyes,25,1,1970-01-06,male,b\n").find("stands twice"),
            std::string::npos);
}

TEST(ParseNumberTest, CommasAndGroupsAreReadWhereTheyWereAskedForAlone) {
  const NumberForm point{};
  const NumberForm comma{true};
  EXPECT_EQ(parse_number("-1,5e2", comma), -150.0);
  EXPECT_EQ(parse_number("7", comma), 7.0);
  EXPECT_EQ(parse_number("1.5", point), 1.5);
  EXPECT_EQ(parse_number("+2.3", point), 2.3);
  EXPECT_EQ(parse_number("+,5", comma), 0.5);
  for (const char* text : {"1.5", "1,000,5", "1.000,5", ",", "", "1,5x", "+", "++1", "+-1"})
    EXPECT_FALSE(parse_number(text, comma)) << text;
  EXPECT_FALSE(parse_number(std::string(70, '1') + ",5", comma));
  EXPECT_FALSE(parse_number("1,5", point));
  EXPECT_FALSE(parse_number("1,000", point));
  const NumberForm groups{false, true};
  EXPECT_EQ(parse_number("1,234,567.5", groups), 1234567.5);
  EXPECT_EQ(parse_number("-12,345", groups), -12345.0);
  EXPECT_EQ(parse_number("1234.5", groups), 1234.5);
  for (const char* text :
       {"1,23", "1234,567", ",123", "0,123", "1,2345", "1,,234", "1.5,3", "1.234,567", "1,234,", "1,abc"})
    EXPECT_FALSE(parse_number(text, groups)) << text;
  EXPECT_EQ(parse_number("1.234.567,5", NumberForm{true, true}), 1234567.5);
}

/// Short numbers are read by a way of their own.
TEST(ParseNumberTest, EveryWayRoundsToTheNearestDouble) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t digits = random() % (std::uint64_t{1} << (1 + random() % 60));
    std::string text = std::to_string(digits);
    if (random() % 4 != 0) text.insert(random() % (text.size() + 1), ".");
    if (random() % 3 == 0) text.insert(0, "-");
    const std::optional<double> read = parse_number(text, {});
    ASSERT_TRUE(read) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*read), std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)))
        << text;
  }
  for (const char* text : {".", "-", "-.", "1.2.3", "1-", "0x1", " 1", "1 "})
    EXPECT_FALSE(parse_number(text, {})) << text;
}

TEST_F(CsvReaderTest, TheLabelMayBeMissingWhereItIsNotAskedFor) {
  CsvOptions options;
  options.with_label = false;
  EXPECT_TRUE(read("age,born,sex,ward\n1,1970-01-01,male,a\n", options));
  EXPECT_FALSE(read("age,born,sex,ward\n1,1970-01-01,male,a\n"));
}

TEST(SchemaTest, WritesWhatItReads) {
  const Schema schema = parse(kSchema);
  EXPECT_EQ(parse(jobs::to_json(schema).dump()), schema);
  const std::string numeric = R"({"label": {"column": "y", "min": -1, "max": 2.5},
    "features": [{"column": "x", "min": 0.1, "max": 0.2}]})";
  EXPECT_EQ(parse(jobs::to_json(parse(numeric)).dump()), parse(numeric));
}

TEST(SchemaTest, SaysInWhatTwoSchemasDiffer) {
  const Schema own = parse(kSchema);
  EXPECT_EQ(jobs::schema_difference(own, own), "");
  const auto changed = [&](const std::function<void(Schema&)>& change) {
    Schema asked = own;
    change(asked);
    return jobs::schema_difference(asked, own);
  };
  EXPECT_EQ(changed([](Schema& s) { std::get<NumericColumn>(s.features[0]).max = 120.0; }),
            "the feature \"age\" has max 120.0 in the job, and 100.0 in the data set");
  EXPECT_EQ(changed([](Schema& s) { std::get<BinaryLabel>(s.label).positive = "ja"; }),
            "the label \"sick\" has positive \"ja\" in the job, and \"yes\" in the data set");
  EXPECT_EQ(changed([](Schema& s) { std::get<BinaryLabel>(s.label).column = "ill"; }),
            "the label is \"ill\" in the job, and \"sick\" in the data set");
  EXPECT_EQ(changed([](Schema& s) {
              s.features.emplace_back(CategoricalColumn{"w", {"a"}, false});
            }),
            "the data set has no feature \"w\"");
  EXPECT_EQ(changed([](Schema& s) { std::swap(s.features[0], s.features[2]); }), "") << "it is a part in another order";
  EXPECT_EQ(changed([](Schema& s) { std::get<NumericColumn>(s.features[0]).missing.reset(); }),
            "the feature \"age\" has missing {\"texts\":[\"\",\"NA\"],\"value\":50.0,\"indicator\":true} in the data "
            "set, and none "
            "in the job");
  EXPECT_EQ(changed([](Schema& s) {
              s.derived.push_back({"w", Buckets{"ward", 3}, {""}});
              s.features.emplace_back(CategoricalColumn{"w", {"bucket 1"}, false});
            }),
            "the data set has no derived column \"w\"; the data set has no feature \"w\"");
  EXPECT_EQ(changed([](Schema& s) {
              for (int i = 0; i < 9; ++i)
                s.features.emplace_back(CategoricalColumn{"w" + std::to_string(i), {"a"}, false});
            }),
            "the data set has no feature \"w0\"; the data set has no feature \"w1\"; the data set has no feature "
            "\"w2\"; the data set "
            "has no feature \"w3\"; the data set has no feature \"w4\"; and 4 more");
  // Names that people see alike are one, however many there are.
  EXPECT_EQ(changed([](Schema& s) {
              s.features.emplace_back(CategoricalColumn{"ward ", {"a", "b"}, false});
            }),
            "the feature \"ward \" has column \"ward \" in the job, and \"ward\" in the data set");
}

TEST(SchemaTest, RefusesWhatCannotBeEncoded) {
  const auto refused = [](const std::string& feature, const std::string& problem) {
    const config::JsonDocument document =
        config::parse_json(R"({"label": {"column": "y", "min": 0, "max": 1}, "features": [)" + feature + "]}", "s")
            .value();
    config::Problems problems("s");
    (void)jobs::parse_schema(config::Section(document.root, "", problems));
    ASSERT_FALSE(problems.none()) << feature;
    EXPECT_NE(problems.error().message.find(problem), std::string::npos) << problems.error().message;
  };
  refused(R"({"column": "x", "min": 1, "max": 1})", "/features/0/max: expected more than min");
  refused(R"({"column": "x", "categories": []})", "/features/0/categories: expected an array of 1 to");
  refused(R"({"column": "x", "categories": ["a", "a"]})",
          "/features/0/categories/1: expected different texts, \"a\" stands twice");
  refused(R"({"column": "x", "date": "YYYY-MM-DD", "min": "1970-13-01", "max": "1971-01-01"})",
          "/features/0/min: expected a date");
  refused(R"({"column": "x", "min": 0, "max": 1, "outside": "ignore"})", "expected one of \"clamp\", \"refuse\"");
  refused(R"({"column": "x", "min": 0, "max": 1, "missing": {"texts": [], "value": 0}})",
          "an array of at least 1 text, got one of 0");
  refused(R"({"column": "y", "min": 0, "max": 1})", "/features/0/column: stands twice");
}

TEST(DateTest, EveryFormIsReadAndWrittenAndImpossibleDaysAreNot) {
  EXPECT_EQ(parse_date("1970-01-02", DateFormat::YearMonthDay), 1.0);
  EXPECT_EQ(parse_date("02.01.1970", DateFormat::DayMonthYear), 1.0);
  EXPECT_EQ(parse_date("01/02/1970", DateFormat::MonthDayYear), 1.0);
  EXPECT_EQ(parse_date("2024-02-29", DateFormat::YearMonthDay), 19782.0);  // 54 years, 13 leap days, 31 + 28 days
  EXPECT_FALSE(parse_date("2023-02-29", DateFormat::YearMonthDay));
  EXPECT_FALSE(parse_date("1970-1-2", DateFormat::YearMonthDay));
  EXPECT_FALSE(parse_date("0000-01-01", DateFormat::YearMonthDay));
  EXPECT_EQ(parse_date("1/2/1970", DateFormat::DayMonthYearSlashed), 31.0);
  EXPECT_EQ(parse_date("1/2/1970", DateFormat::MonthDayYear), 1.0);
  EXPECT_EQ(parse_date("19700102", DateFormat::Compact), 1.0);
  EXPECT_FALSE(parse_date("1970010", DateFormat::Compact));
  EXPECT_FALSE(parse_date("001/2/1970", DateFormat::MonthDayYear));
  EXPECT_FALSE(parse_date("1/2/70", DateFormat::MonthDayYear));
  const auto time = [](const char* text) { return parse_date(text, DateFormat::DateAndTime); };
  EXPECT_EQ(time("1970-01-02T12:00:00"), 1.5);
  EXPECT_EQ(time("1970-01-02 12:00"), 1.5);
  EXPECT_EQ(time("1970-01-02T12:00:00.000Z"), 1.5);
  EXPECT_EQ(time("1970-01-02T12:00:00+12:00"), 1.0);
  EXPECT_EQ(time("1970-01-02T12:00:00-0600"), 1.75);
  EXPECT_EQ(time("1970-01-02"), 1.0);
  for (const char* text : {"1970-01-02T24:00:00", "1970-01-02T12", "1970-01-02T12:60", "1970-01-02T12:00:00x",
                           "1970-01-02T12:00:00+15:00", "1970-01-02T", "1970-01-02x12:00", "1970-01-02T12:00:61"})
    EXPECT_FALSE(time(text)) << text;
  for (const DateForm& form : kDateForms) {
    for (const double days : {-10000.0, -1.0, 0.0, 19782.0})
      EXPECT_EQ(parse_date(show_date(days, form.format), form.format), days) << form.pattern;
  }
  EXPECT_EQ(show_date(-0.25, DateFormat::DateAndTime), "1969-12-31T18:00:00");
}

}  // namespace
}  // namespace undertone::data
