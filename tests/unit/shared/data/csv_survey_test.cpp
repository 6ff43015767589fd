#include "shared/data/csv_survey.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "shared/data/csv_reader.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::data {
namespace {

class CsvSurveyTest : public ::testing::Test {
 protected:
  Result<CsvSurvey> survey(const std::string& text, std::optional<char> separator = {}) {
    const std::filesystem::path file = folder_.path() / "f.csv";
    std::ofstream(file, std::ios::binary) << text;
    return survey_csv(file, {.separator = separator});
  }
  tests::TemporaryFolder folder_;
};

TEST_F(CsvSurveyTest, FindsSeparatorAndDecimalCommaAndCountsWhatCellsAre) {
  const CsvSurvey found =
      survey(
          "\xef\xbb\xbf\"a, b\";kg;born;ward\r\n1;70,5;01.02.1970;x\r\n\r\nNA;80;02.02.1970;x\r\n3;?;03.02.1970;y\r\n")
          .value();
  EXPECT_EQ(found.dialect, (CsvDialect{';', {true}}));
  EXPECT_EQ(found.records, 3);
  ASSERT_EQ(found.columns.size(), 4U);
  EXPECT_EQ(found.columns[0].name, "a, b");
  EXPECT_EQ(found.columns[0].cells, 2);
  EXPECT_EQ(found.columns[0].missing, (std::map<std::string, std::int64_t>{{"NA", 1}}));
  EXPECT_EQ(found.columns[1].comma_numbers, 2);
  EXPECT_EQ(found.columns[1].numbers, 1);  // 80
  EXPECT_EQ(found.columns[2].dates[static_cast<std::size_t>(DateFormat::DayMonthYear)], 3);
  EXPECT_EQ(found.columns[3].values, (std::map<std::string, std::int64_t>{{"x", 2}, {"y", 1}}));
  EXPECT_EQ(survey("a\tb\n1\t2\n").value().dialect, (CsvDialect{'\t'}));
  EXPECT_EQ(survey("a,b\n1.5,2\n").value().dialect, CsvDialect{});
  EXPECT_EQ(survey("a;b,c\n1;2,5\n", ',').value().columns.size(), 2U);  // as asked
  EXPECT_EQ(survey("a b\n1 2\n").value().dialect, CsvDialect{' '});
  EXPECT_EQ(survey("sex of child\nf\n").value().dialect, CsvDialect{});  // blanks of a name
  for (const char* line : {"sep=|\r\n", "SEP=|\n", "\"sep=|\"\r\n", "sep=|\r"})
    EXPECT_EQ(survey(line + std::string("a;a|b\n1|2\n")).value().dialect, CsvDialect{'|'}) << line;
  EXPECT_EQ(survey("sep=a\n1\n").value().columns[0].name, "sep=a");  // no separator
  EXPECT_EQ(survey("\n\na;b\n1;2\n").value().dialect, CsvDialect{';'});
  EXPECT_EQ(survey("cm, tall;ill\n1,75;yes\n").value().dialect, (CsvDialect{';', {true}}));
}

/// 12,345 is twelve thousand or little more than twelve: another column tells, or the owner.
TEST_F(CsvSurveyTest, NeverGuessesWhatACommaBeforeThreeDigitsMeans) {
  const auto numbers = [this](const std::string& text, std::optional<bool> comma = {}) {
    const std::filesystem::path file = folder_.path() / "f.csv";
    std::ofstream(file) << text;
    const CsvSurvey found = survey_csv(file, {.decimal_comma = comma}).value();
    return std::pair(found.dialect.numbers, found.undecided);
  };
  const NumberForm point{};
  const NumberForm comma{true};
  const NumberForm point_groups{false, true};
  const NumberForm comma_groups{true, true};
  EXPECT_EQ(numbers("a;b\n12,345;1\n1,000;2\n"), std::pair(point, std::string("a")));
  EXPECT_EQ(numbers("a;b\n12,345;1\n1,000;2\n", false), std::pair(point_groups, std::string()));
  EXPECT_EQ(numbers("a;b\n12,345;1\n1,000;2\n", true), std::pair(comma, std::string()));
  EXPECT_EQ(numbers("a;b\n12,345;1.5\n1,000;2\n"), std::pair(point_groups, std::string()));
  EXPECT_EQ(numbers("a;b\n12,345;1,5\n1,000;2\n"), std::pair(comma, std::string()));
  EXPECT_EQ(numbers("a;b\n12,345;1\n1,000.5;2\n"), std::pair(point_groups, std::string()));
  EXPECT_EQ(numbers("a;b\n12,345;1\n1,234,567;2\n"), std::pair(point_groups, std::string()));
  EXPECT_EQ(numbers("a;b\n12,345;1\n0,123;2\n"), std::pair(comma, std::string()));  // no group begins with 0
  EXPECT_EQ(numbers("a;b\n12.345;1,5\n1.000;2\n"), std::pair(comma_groups, std::string()));
  EXPECT_EQ(numbers("a;b\n12.345;1\n1.000;2\n"), std::pair(point, std::string()));  // a remark of the draft tells
}

TEST_F(CsvSurveyTest, AFileThatIsUtf8ButForOneByteIsNoOther) {
  const auto said = [this](const std::string& text) {
    const Result<CsvSurvey> out = survey(text);
    return out ? std::string(name_of(out->dialect.encoding)) : out.error().message;
  };
  EXPECT_EQ(said("a\nGr\xf6\xdf"
                 "e\n"),
            "Windows-1252");
  EXPECT_NE(said("\xef\xbb\xbf"
                 "a\nM\xc3\n")
                .find("row 2: column 1: expected UTF-8 text"),
            std::string::npos);
  EXPECT_NE(said("a\nM\u00fcnchen\nM\xc3\n").find("row 3: column 1: expected UTF-8 text"), std::string::npos);
  EXPECT_NE(said("a\nna\x9dve\n").find("expected UTF-8 text; --encoding"), std::string::npos);  // in none of both
  EXPECT_EQ(shape_of("\u20ac12.50"), "\u20ac9.9");
  EXPECT_EQ(shape_of("M\u00fcnchen 7"), "a 9");
}

TEST_F(CsvSurveyTest, APipeIsRefusedSinceItCannotBeReadTwice) {
  const std::filesystem::path pipe = folder_.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(survey_csv(pipe).error().message.find("no pipe"), std::string::npos);
}

TEST_F(CsvSurveyTest, StopsCountingValuesThatAreTooManyOrNoPlainText) {
  std::string text = "n,t\n";
  for (std::size_t i = 0; i <= kSurveyedValuesMax; ++i) text += std::to_string(i) + ",x\n";
  text += "1,\x1b[31m\n";
  const CsvSurvey found = survey(text).value();
  EXPECT_TRUE(found.columns[0].many_values);
  EXPECT_TRUE(found.columns[0].values.empty());
  EXPECT_EQ(found.columns[0].numbers, found.records);
  EXPECT_TRUE(found.columns[1].many_values);
}

TEST_F(CsvSurveyTest, RefusesWhatIsNoTableAndShowsNoValue) {
  const auto said = [this](const std::string& text) {
    const Result<CsvSurvey> out = survey(text);
    return out ? std::string("accepted") : out.error().message;
  };
  EXPECT_NE(said("").find("expected records, found none"), std::string::npos);
  EXPECT_NE(said("a,b\n").find("expected records, found none"), std::string::npos);
  EXPECT_NE(said("a,b\n7319\n").find("row 2: expected 2 cells as in the header, found 1"), std::string::npos);
  EXPECT_NE(said("a,b\n\"7319\"x,1\n").find("a quotation mark where none may stand"), std::string::npos);
  EXPECT_NE(said("a,b\n1,\"7319\n").find("a quotation mark is not closed"), std::string::npos);
  EXPECT_NE(said(std::string("a,b\n1,\0\n", 8)).find("found a zero byte"), std::string::npos);
  EXPECT_NE(said("a,b\n" + std::string(3 * kCsvLineBytesMax, 'x')).find("more than"), std::string::npos);
  for (const char* text : {"a,b\n7319\n", "a,b\n\"7319\"x,1\n", "a,b\n1,\"7319\n"})
    EXPECT_EQ(said(text).find("7319"), std::string::npos);
  EXPECT_FALSE(survey_csv(folder_.path() / "none.csv", {}));
}

}  // namespace
}  // namespace undertone::data
