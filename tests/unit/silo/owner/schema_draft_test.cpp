#include "silo/owner/schema_draft.hpp"

#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>

#include "shared/jobs/schema_section.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::silo {
namespace {

class SchemaDraftTest : public ::testing::Test {
 protected:
  data::CsvSurvey survey(const std::string& text) {
    const std::filesystem::path file = folder_.path() / "f.csv";
    std::ofstream(file) << text;
    return data::survey_csv(file, {}).value();
  }
  tests::TemporaryFolder folder_;
};

/// 40 patients: a number with gaps, dates, a list with a value of 2 records, an identifier, names, and a label.
std::string patients() {
  std::string text = "patient_id;age;born;sex;name;empty;sick\n";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i) + ";" + (i % 8 == 0 ? "NA" : std::to_string(20 + i) + ",5") + ";0" +
            std::to_string(1 + i % 9) + ".02.1970;" +
            (i < 2        ? "other"
             : i % 2 == 0 ? "f"
                          : "m") +
            ";name" + std::to_string(i) + ";;" + (i % 3 == 0 ? "yes" : "no") + "\n";
  }
  return text;
}

bool said(const SchemaDraft& draft, const std::string& what) {
  return std::any_of(draft.remarks.begin(), draft.remarks.end(),
                     [&](const std::string& remark) { return remark.find(what) != std::string::npos; });
}

TEST_F(SchemaDraftTest, GuessesKindsAndLeavesBoundsToTheOwner) {
  const SchemaDraft draft = draft_schema(survey(patients()), "sick").value();
  const nlohmann::ordered_json expected = nlohmann::ordered_json::parse(R"({
    "label": {"column": "sick", "negative": "no", "positive": "yes"},
    "features": [
      {"column": "age", "min": null, "max": null, "missing": {"texts": ["NA"], "value": null, "indicator": true}},
      {"column": "born", "date": "DD.MM.YYYY", "min": null, "max": null},
      {"column": "sex", "categories": ["f", "m"], "others_allowed": true}]})");
  EXPECT_EQ(draft.document["data"], expected);
  EXPECT_EQ(draft.document["file"], (nlohmann::ordered_json{{"separator", ";"}, {"decimal", "comma"}}));
  EXPECT_NE(draft.document["note"].get<std::string>().find("plausible in the world"), std::string::npos);
  EXPECT_TRUE(said(draft, "\"patient_id\": left out, by its name"));
  EXPECT_TRUE(said(draft, "\"name\": left out, it holds too many"));
  EXPECT_TRUE(said(draft, "\"empty\": left out, it holds nothing"));
  EXPECT_TRUE(said(draft, "1 of them, with fewer than 10 records, are left out"));
}

TEST_F(SchemaDraftTest, SaysWhatProtectingRecordsMeansWherePersonsHaveSeveralRows) {
  std::string visits = "patient,stay,back\n";
  for (int i = 0; i < 60; ++i) visits += fmt::format("p{},{}.5,{}\n", i % 20, i % 7, i % 3 == 0 ? "yes" : "no");
  const SchemaDraft draft = draft_schema(survey(visits), "back").value();
  EXPECT_TRUE(said(draft, "20 ids in 60 rows"));
  EXPECT_TRUE(said(draft, "`dataset add --person \"patient\"` protects persons"));
  const SchemaDraft alone = draft_schema(survey(patients()), "sick").value();  // one row each
  EXPECT_FALSE(said(alone, "--person"));
}

TEST_F(SchemaDraftTest, NamesTheColumnThatWasProbablyMeantAndWhyAFileCannotBeRead) {
  const Result<SchemaDraft> misspelt = draft_schema(survey(patients()), "sikc");
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().message, "the file has no column \"sikc\" for the label");  // two letters of four
  EXPECT_EQ(draft_schema(survey(patients()), "sic").error().message,
            "the file has no column \"sic\" for the label; do you mean \"sick\"?");
  data::ColumnSurvey whole;
  whole.name = "age;sick";
  EXPECT_EQ(
      draft_schema({{}, {}, 1, {whole}}, "sick").error().message,
      "the file has no column \"sick\" for the label: its one column is \"age;sick\"; is another separator meant, "
      "as --separator says it?");
  EXPECT_TRUE(data::survey_csv(folder_.path() / "none.csv", {})
                  .error()
                  .message.ends_with("none.csv: cannot be read: No such file or directory"));
  EXPECT_TRUE(data::survey_csv(folder_.path(), {}).error().message.ends_with("cannot be read: Is a directory"));
}

TEST_F(SchemaDraftTest, NoParserTakesADraftBeforeItsBoundsAreSaid) {
  SchemaDraft draft = draft_schema(survey(patients()), "sick").value();
  const auto problems_of = [](const nlohmann::ordered_json& fields) {
    const nlohmann::json document = nlohmann::json::parse(fields.dump());
    config::Problems problems("draft");
    (void)jobs::parse_schema(config::Section(document, "/data", problems));
    return problems.none() ? std::string() : problems.error().message;
  };
  EXPECT_NE(problems_of(draft.document["data"]).find("/data/features/0/min: expected a finite number"),
            std::string::npos);
  nlohmann::ordered_json& features = draft.document["data"]["features"];
  features[0]["min"] = 0;
  features[0]["max"] = 120;
  features[0]["missing"]["value"] = 50;
  features[1]["min"] = "01.01.1900";
  features[1]["max"] = "01.01.2030";
  EXPECT_EQ(problems_of(draft.document["data"]), "");
}

TEST_F(SchemaDraftTest, ALabelIsANumberTwoValuesOrClasses) {
  std::string text = "x,y,c\n";
  for (int i = 0; i < 30; ++i) text += fmt::format("{},{}.5,{}\n", i, i, "abc"[i % 3]);
  const data::CsvSurvey numbers = survey(text);
  EXPECT_EQ(draft_schema(numbers, "y").value().document["data"]["label"],
            (nlohmann::ordered_json{{"column", "y"}, {"min", nullptr}, {"max", nullptr}}));
  EXPECT_EQ(draft_schema(numbers, "c").value().document["data"]["label"],
            (nlohmann::ordered_json{{"column", "c"}, {"classes", {"a", "b", "c"}}}));
  EXPECT_TRUE(draft_schema(numbers, "").value().document["data"]["label"].is_null());
  EXPECT_FALSE(draft_schema(numbers, "z"));
  EXPECT_FALSE(draft_schema(survey("x,y\n1,a\n2,a\n"), "y"));
}

// A class that one person has would name that person's diagnosis to everybody who reads the schema.
TEST_F(SchemaDraftTest, ClassesOfFewRecordsAreNotWritten) {
  const auto records = [](int none, int flu, int rabies) {
    std::string text = "x,diagnosis\n";
    for (const auto& [name, count] : {std::pair("none", none), std::pair("flu", flu), std::pair("rabies", rabies)})
      for (int i = 0; i < count; ++i) text += fmt::format("{},{}\n", i, name);
    return text;
  };
  const SchemaDraft three = draft_schema(survey(records(20, 10, 1)), "diagnosis").value();
  EXPECT_EQ(three.document["data"]["label"],
            (nlohmann::ordered_json{{"column", "diagnosis"}, {"classes", {"flu", "none"}}}));
  EXPECT_TRUE(said(three, "left out of the list"));
  EXPECT_EQ(three.document.dump().find("rabies"), std::string::npos);
  EXPECT_FALSE(draft_schema(survey(records(20, 9, 1)), "diagnosis"));
  const SchemaDraft two = draft_schema(survey(records(20, 0, 9)), "diagnosis").value();
  EXPECT_EQ(two.document["data"]["label"],
            (nlohmann::ordered_json{{"column", "diagnosis"}, {"negative", "none"}, {"positive", nullptr}}));
  EXPECT_TRUE(said(two, "left blank"));
}

}  // namespace
}  // namespace undertone::silo
