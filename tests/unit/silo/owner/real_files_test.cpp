#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "shared/data/csv_reader.hpp"
#include "shared/jobs/schema_section.hpp"
#include "silo/owner/schema_draft.hpp"

/// Small files of the kinds that people have, with invented values: what a draft makes of each.
namespace undertone::silo {
namespace {

std::filesystem::path real(const std::string& name) {
  return std::filesystem::path(UNDERTONE_SOURCE_DIR) / "tests/files/real-files" / name;
}

Result<SchemaDraft> drafted(const std::string& name, const std::string& label,
                            const data::SurveyOptions& options = {}) {
  UNDERTONE_TRY(const data::CsvSurvey survey, data::survey_csv(real(name), options));
  return draft_schema(survey, label);
}

struct Case {
  const char* file;
  const char* label;
  const char* written;  // a part of the draft, without blanks
  const char* said;     // a part of a remark; empty: nothing is asked for
};

class DraftedFileTest : public ::testing::TestWithParam<Case> {};

TEST_P(DraftedFileTest, IsReadAsWhatItIs) {
  const Case& one = GetParam();
  const Result<SchemaDraft> draft = drafted(one.file, one.label);
  ASSERT_TRUE(draft) << draft.error().message;
  nlohmann::ordered_json document = draft->document;
  document.erase("note");
  EXPECT_NE(document.dump().find(one.written), std::string::npos) << document.dump();
  std::string all;
  for (const std::string& remark : draft->remarks) all += remark + "\n";
  EXPECT_NE(all.find(one.said), std::string::npos) << all;
}

constexpr Case kRead[] = {
    {"thousands-de.csv", "Ergebnis", R"("decimal":"comma","grouped":true)",
     "\"Kosten\": 12.345 is read as twelve thousand"},
    {"thousands-de-alone.csv", "Ergebnis", R"("column":"Kosten","min")", "read as a decimal point"},
    {"mixed-decimal.csv", "sick", R"("column":"crp","min")", "\"hb\": left out, its cells are no numbers"},
    {"plus-sign.csv", "sick", R"("column":"base_excess","min")", ""},
    {"dates-first-of-month-uk.csv", "sick", R"("column":"admitted","date":null)", "MM/DD/YYYY or DD/MM/YYYY"},
    {"dates-uk.csv", "sick", R"("date":"DD/MM/YYYY")", ""},
    {"dates-us-unpadded.csv", "sick", R"("date":"MM/DD/YYYY")", ""},
    {"dates-iso-time.csv", "sick", R"("date":"YYYY-MM-DDThh:mm:ss")", ""},
    {"dates-iso-t-z.csv", "sick", R"("date":"YYYY-MM-DDThh:mm:ss")", ""},
    {"dates-compact.csv", "sick", R"("date":"YYYYMMDD")", "\"born\": dates YYYYMMDD"},
    {"excel-cp1252.csv", "krank", R"("column":"Größe","min")", "is read as Windows-1252"},
    {"cp1252-values.csv", "krank", R"(["männlich","weiblich"])", "is read as Windows-1252"},
    {"utf16le-bom.csv", "krank", R"("encoding":"UTF-16")", "is read as UTF-16"},
    {"mostly-numbers.csv", "sick", R"("column":"glucose","min")",
     "999 of 1000 cells are numbers, not: \"haemolysed\" 1"},
    {"missing-div0.csv", "sick", R"("texts":["#DIV/0!"])", "missing 29 times"},
    {"missing-sql-n.csv", "sick", R"("texts":["\\N"])", "missing 142 times"},
    {"missing-minus9.csv", "sick", R"("column":"chol","min")", "\"chol\": -9 stands far from all other values"},
    {"censored-labs.csv", "sick", R"("column":"crp","min")", "say that a value is below or above a limit"},
    {"percent-currency.csv", "sick", R"("column":"age","min")", "cells look like \"$9.9\""},
    {"percent-currency.csv", "sick", R"("column":"age","min")", "\"spo2\": 60 of 60 cells look like \"9%\""},
    {"blood-pressure.csv", "sick", "\"stay\"", "\"bp\": left out, its cells are no numbers"},
    {"pipe.csv", "sick", R"("separator":"|")", ""},
    {"spaces.data", "sick", R"("separator":"blank")", ""},
    {"excel-sep-line.csv", "sick", R"("separator":";")", ""},
    {"excel-bom-semicolon.csv", "krank", R"("decimal":"comma")", ""},
    {"separator-in-header-unquoted.csv", "Sick", R"x("column":"Age (y, m, d)")x", ""},
    {"dup-header.csv", "sick", R"("features":[{"column":"sex")", "another column has the same name"},
    {"codes-all-digits.csv", "sick", R"(["01002","02139","02140","10001"])",
     "\"chest_pain\": it has only 4 different values"},
    {"codes.csv", "sick", R"("01166","25000","4019","V270")", ""},
    {"rare-label.csv", "diagnosis", R"("classes":["COPD","asthma","none"])", "1 of its classes"},
    {"rare-binary-feature.csv", "sick", R"("categories":["none"])", ""},
    {"booleans.csv", "sick", R"("negative":"False")", ""},
    {"cr-only.csv", "sick", R"("column":"age","min")", ""},
    {"blank-space-line.csv", "sick", R"("column":"age","min")", ""},
    {"two-valued-label-with-blank.csv", "sick", R"("negative":"no")", "a label must not be missing"},
    {"underflow.csv", "sick", R"("column":"pvalue","categories")", ""},
    {"extreme-numbers.csv", "sick", R"("column":"a","categories")", ""},
    {"nbsp-header.csv", "sick", R"("column":"sex")", ""},
    {"padded.csv", " sick", R"("negative":"no")", ""},
    {"label-trailing-space.csv", "sick", R"("classes":["no","yes","yes "])", ""}};
INSTANTIATE_TEST_SUITE_P(Files, DraftedFileTest, ::testing::ValuesIn(kRead));

/// A file that cannot be drafted from, and a part of the sentence that says why.
TEST(RealFilesTest, WhatCannotBeReadIsRefusedInWords) {
  for (const auto& [file, label, said] :
       {std::tuple("thousands-us.csv", "default", "column \"balance\": every comma is followed by three digits"),
        std::tuple("no-header.csv", "0", "looks like a record and not like names"),
        std::tuple("title-line.csv", "sick", "it looks like a title"),
        std::tuple("empty.csv", "sick", "expected records, found none"),
        std::tuple("header-only.csv", "sick", "expected records, found none"),
        std::tuple("one-row.csv", "sick", "holds one value alone"),
        std::tuple("backslash-quote.csv", "sick", "a quotation mark where none may stand"),
        std::tuple("inner-quote.csv", "sick", "a quotation mark where none may stand"),
        std::tuple("trailing-comma-rows.csv", "sick", "expected 3 cells as in the header, found 4"),
        std::tuple("ctrl-z.csv", "sick", "expected 3 cells as in the header, found 1"),
        std::tuple("gzip-name.csv", "sick", "found a zero byte"), std::tuple("xlsx-renamed.csv", "sick", "zero byte"),
        std::tuple("zero-width.csv", "sick", "expected a name in plain text")}) {
    const Result<SchemaDraft> draft = drafted(file, label);
    ASSERT_FALSE(draft) << file;
    EXPECT_NE(draft.error().message.find(said), std::string::npos) << file << ": " << draft.error().message;
  }
  // The owner answers what was asked, and the file is read in that way.
  EXPECT_NE(
      drafted("thousands-us.csv", "default", {.decimal_comma = false}).value().document.dump().find("\"grouped\":true"),
      std::string::npos);
  EXPECT_NE(drafted("thousands-us.csv", "default", {.decimal_comma = true}).value().document.dump().find("\"comma\""),
            std::string::npos);
}

data::Schema schema_of(const std::string& json) {
  const config::JsonDocument document = config::parse_json(json, "schema").value();
  config::Problems problems("schema");
  data::Schema schema = jobs::parse_schema(config::Section(document.root, "", problems));
  EXPECT_TRUE(problems.none()) << problems.error().message;
  return schema;
}

/// What the draft says of the file is what its reader takes; a silo's names may be written otherwise than the job's.
TEST(RealFilesTest, WhatWasDraftedIsRead) {
  data::CsvOptions options;
  options.dialect = data::survey_csv(real("excel-cp1252.csv")).value().dialect;
  const std::string tall = R"({"label": {"column": "krank", "negative": "nein", "positive": "ja"}, "features": [
      {"column": "Größe", "min": 0, "max": 2}]})";
  const data::TableRecords latin = data::read_csv(real("excel-cp1252.csv"), schema_of(tall), options).value();
  options.dialect = data::survey_csv(real("utf16le-bom.csv")).value().dialect;
  const data::TableRecords wide = data::read_csv(real("utf16le-bom.csv"), schema_of(tall), options).value();
  EXPECT_DOUBLE_EQ(latin.records.features(0, 0), 0.54);
  EXPECT_EQ(latin.records.features, wide.records.features);
  options.dialect = data::survey_csv(real("thousands-de.csv")).value().dialect;
  const data::TableRecords cost =
      data::read_csv(real("thousands-de.csv"),
                     schema_of(R"({"label": {"column": "Ergebnis", "negative": "nein", "positive": "ja"},
                       "features": [{"column": "Kosten", "min": 0, "max": 100000, "outside": "refuse"}]})"),
                     options)
          .value();
  EXPECT_GT(cost.columns[0].most, 10'000.0);
  options.dialect = data::survey_csv(real("excel-sep-line.csv")).value().dialect;
  EXPECT_EQ(data::read_csv(real("excel-sep-line.csv"),
                           schema_of(R"({"label": {"column": "sick", "negative": "no", "positive": "yes"},
                             "features": [{"column": "age", "min": 0, "max": 120, "outside": "refuse"}]})"),
                           options)
                .value()
                .records.count(),
            60);
  const std::string name = R"({"label": {"column": "sick", "negative": "no", "positive": "yes"},
      "features": [{"column": "Größe", "min": 0, "max": 300}]})";
  for (const char* file : {"nfc-header.csv", "nfd-header.csv"})
    EXPECT_TRUE(data::read_csv(real(file), schema_of(name), {}));
  EXPECT_TRUE(data::read_csv(real("nbsp-header.csv"),
                             schema_of(R"({"label": {"column": "sick", "negative": "no", "positive": "yes"},
                               "features": [{"column": "age", "min": 0, "max": 120}]})"),
                             {}));
}

TEST(RealFilesTest, AnyColumnMayBeTheLabel) {
  for (const auto& entry : std::filesystem::directory_iterator(real(""))) {
    const std::string name = entry.path().filename().string();
    const Result<data::CsvSurvey> survey = data::survey_csv(entry.path());
    if (!survey) continue;  // refused in words
    for (const data::ColumnSurvey& column : survey->columns) {
      const Result<SchemaDraft> draft = draft_schema(*survey, column.name);
      EXPECT_TRUE(draft || !draft.error().message.empty()) << name;
    }
  }
}

}  // namespace
}  // namespace undertone::silo
