#include "silo/owner/schema_draft.hpp"

#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <functional>
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
    text += std::to_string(i) + ";" + (i % 4 == 0 ? "NA" : std::to_string(20 + i) + ",5") + ";0" +
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

/// A table of so many records, whose cells the rows say.
std::string table(const std::string& header, int records, const std::function<std::string(int)>& row) {
  std::string out = header + "\n";
  for (int i = 0; i < records; ++i) out += row(i) + "\n";
  return out;
}

/// One odd cell in a column does not change what the column is, and the owner is shown it.
TEST_F(SchemaDraftTest, AFewOddCellsDoNotHideWhatAColumnIs) {
  const auto with = [](int i, const char* odd, const std::string& usual) {
    return fmt::format("{};{}", i % 2 == 0 ? "yes" : "no", i == 7 ? odd : usual);
  };
  const auto drafted = [this](const std::string& text) { return draft_schema(survey(text), "sick").value(); };
  const SchemaDraft dates = drafted(table("sick;day", 60, [&](int i) {
    return with(i, "unknown", fmt::format("{:02}/{:02}/2020", 1 + i % 12, 1 + i % 5));
  }));
  EXPECT_EQ(dates.document["data"]["features"][0]["date"], nullptr);
  EXPECT_TRUE(said(dates, "no day in it tells which"));
  EXPECT_TRUE(said(dates, "59 of 60 cells are dates, not: \"unknown\" 1"));
  const SchemaDraft compact = drafted(
      table("sick;day", 60, [&](int i) { return with(i, "99999999", fmt::format("202001{:02}", 1 + i % 28)); }));
  EXPECT_EQ(compact.document["data"]["features"][0]["date"], "YYYYMMDD");
  const SchemaDraft comma = drafted(
      table("sick;hb", 60, [&](int i) { return with(i, "haemolysed", fmt::format("{},{}", 10 + i % 5, i % 10)); }));
  EXPECT_EQ(comma.document["file"]["decimal"], "comma");
  EXPECT_TRUE(said(comma, "59 of 60 cells are numbers, not: \"haemolysed\" 1"));
  const SchemaDraft ages = drafted(table("sick;age", 60, [&](int i) { return with(i, "07", std::to_string(20 + i)); }));
  EXPECT_TRUE(ages.document["data"]["features"][0].contains("min"));
  EXPECT_TRUE(said(ages, "1 of its cells begin with a zero"));
  const SchemaDraft limits =
      drafted(table("sick;crp", 60, [&](int i) { return with(i, "<", fmt::format("{}.5", i)); }));  // no limit
  EXPECT_TRUE(said(limits, "59 of 60 cells are numbers, not: \"<\" 1"));
  // However many values a column has.
  const SchemaDraft many = drafted(table("sick;glucose", 3000, [&](int i) {
    return with(i, "haemolysed", i % 10 == 3 ? "-999" : fmt::format("{}.{}", 50 + i % 1500, i % 7));
  }));
  EXPECT_TRUE(said(many, "2999 of 3000 cells are numbers, not: \"haemolysed\" 1"));
  EXPECT_TRUE(said(many, "-999 stands far from all other values"));
}

TEST_F(SchemaDraftTest, YesIsPositiveInOtherLanguagesAndIdsAreSeenByTheirRepeating) {
  const SchemaDraft draft =
      draft_schema(survey(table("zur\u00fcck;Patienten-Nr;Beleg;alter", 600,
                                [](int i) {
                                  return fmt::format("{};P{:05};B{:05};{}", i % 3 == 0 ? "ja" : "nein", i % 200,
                                                     i % 250, 20 + i % 60);
                                })),
                   "zur\u00fcck")
          .value();
  EXPECT_EQ(draft.document["data"]["label"]["positive"], "ja");
  EXPECT_TRUE(said(draft, "column \"Patienten-Nr\": left out, by its name it identifies people"));
  EXPECT_TRUE(said(draft, "`dataset add --person \"Beleg\"` protects persons"));
  const SchemaDraft codes =
      draft_schema(survey(table("y;x", 60, [](int i) { return fmt::format("{};{}.5", 1 + i % 2, i); })), "y").value();
  EXPECT_EQ(codes.document["data"]["label"]["positive"], "2");
}

/// A draft says what may be made of what a model cannot use as it is.
TEST_F(SchemaDraftTest, OffersToDeriveAgesAndGroupsAndToCountLimits) {
  const SchemaDraft draft =
      draft_schema(survey(table("sick;born;seen;crp;icd", 400,
                                [](int i) {
                                  return fmt::format("{};{}-01-13;2020-02-{:02};{};C{}.{}", i % 2 == 0 ? "yes" : "no",
                                                     1930 + i % 70, 1 + i % 28,
                                                     i % 5 == 0 ? std::string("<0.6") : fmt::format("{}.5", i % 90),
                                                     i % 100, i % 37);
                                })),
                   "sick")
          .value();
  EXPECT_TRUE(said(
      draft, R"("derived": [{"column":"years","how":"years_between","from":["born","seen"],"date":"YYYY-MM-DD"}])"));
  EXPECT_TRUE(said(draft, "\"limits\": \"bound\" in the schema counts each as the limit"));
  EXPECT_TRUE(said(draft, "\"merge\" by a public list, or \"buckets\" by a public hash"));
}

/// The schema is public: a text that a few records have is not in it.
TEST_F(SchemaDraftTest, ATextThatMeansMissingAndThatFewHaveIsNotWritten) {
  const SchemaDraft draft = draft_schema(survey(table("sick,age", 60,
                                                      [](int i) {
                                                        return fmt::format("{},{}", i % 2 == 0 ? "yes" : "no",
                                                                           i == 7       ? "Missing"
                                                                           : i % 4 == 0 ? "NA"
                                                                                        : std::to_string(20 + i));
                                                      })),
                                         "sick")
                                .value();
  EXPECT_EQ(draft.document["data"]["features"][0]["missing"]["texts"], (nlohmann::ordered_json{"NA"}));
  EXPECT_EQ(draft.document.dump().find("Missing"), std::string::npos);
  EXPECT_TRUE(said(draft, "\"Missing\" means that there is none, and fewer than 10"));
}

/// The first line becomes public, so that it must not be somebody's record.
TEST_F(SchemaDraftTest, AFirstLineThatIsARecordIsRefusedAndNumbersThatAreNamesAreNot) {
  const auto row = [](int i) {
    return fmt::format("{},never,{},{}", i % 2 == 0 ? "female" : "male", 20 + i, i % 3 == 0 ? "yes" : "no");
  };
  const Result<SchemaDraft> record = draft_schema(survey(table("female,never,22,yes", 60, row)), "yes");
  ASSERT_FALSE(record);
  EXPECT_NE(record.error().message.find("looks like a record"), std::string::npos);
  EXPECT_TRUE(draft_schema(survey(table("sex,smokes,age,sick", 60, row)), "sick"));
  EXPECT_TRUE(draft_schema(
      survey(table("400,402,404,sick", 60, [](int i) { return fmt::format("0.{},1.{},2.{},{}", i, i, i, i % 2); })),
      "sick"));
}

TEST_F(SchemaDraftTest, AsksWhereColumnsDisagreeOnCommas) {
  const data::CsvSurvey found = survey(table("sick;a;price;balance", 30, [](int i) {
    return fmt::format("{};{},{};{}.5;1{},345", i % 2, i % 3, i % 4, i, i % 10);
  }));
  EXPECT_EQ(found.undecided, "balance");
  EXPECT_NE(draft_schema(found, "sick").error().message.find("--decimal point"), std::string::npos);
}

TEST_F(SchemaDraftTest, TenThousandColumnsAreDraftedInSeconds) {
  std::string header = "sick";
  std::string row;
  for (int i = 0; i < 10'000; ++i) {
    header += fmt::format(",gene {}", i);
    row += ",1.5";
  }
  const auto begun = std::chrono::steady_clock::now();
  const std::string text = header + "\nyes" + row + "\nno" + row + "\n";
  EXPECT_TRUE(draft_schema(survey(text), "sick"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
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
