#include "operator/schema_merge.hpp"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "shared/jobs/schema_section.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

Json schema(const std::string& features,
            const std::string& label = R"({"column":"sick","negative":"no","positive":"yes"})",
            const std::string& more = "") {
  return Json::parse("{\"label\":" + label + ",\"features\":[" + features + "]" + more + "}");
}

MergedSchemas merged(const std::vector<Json>& all) {
  std::vector<ProposedSchema> proposals;
  for (std::size_t i = 0; i < all.size(); ++i)
    proposals.push_back(proposed_schema(std::string(1, static_cast<char>('a' + i)), all[i]).value());
  return merge_schemas(proposals);
}

std::string refused(const std::vector<Json>& all) {
  std::vector<ProposedSchema> proposals;
  for (std::size_t i = 0; i < all.size(); ++i)
    proposals.push_back(proposed_schema(std::string(1, static_cast<char>('a' + i)), all[i]).value());
  const MergedSchemas out = merge_schemas(proposals);
  EXPECT_FALSE(out.data.contains("label"));
  return fmt::format("{}", fmt::join(out.conflicts, "\n"));
}

TEST(SchemaMergeTest, ListsAreUnitedBoundsWidenedAndEverybodyIsToldWhoHasWhat) {
  const MergedSchemas out = merged(
      {schema(R"({"column":"age","min":0,"max":110},{"column":"ward","categories":["x","y"]},
                 {"column":"day","date":"DD.MM.YYYY","min":"01.02.2020","max":"31.12.2020"},
                 {"column":"crp","min":0,"max":10,"outside":"refuse","missing":{"texts":["NA"],"value":1}})"),
       schema(R"({"column":"ward","categories":["z","x"],"others_allowed":true},{"column":"age","min":-1.5,"max":null},
                 {"column":"crp","min":0,"max":10,"limits":"bound","missing":{"texts":["","NA"],"value":1,"indicator":true}},
                 {"column":"day","date":"DD.MM.YYYY","min":"02.01.2020","max":"01.01.2021"})"),
       schema(
           R"({"column":" age","min":null,"max":120},{"column":"ward","categories":["x"]},{"column":"crp","min":0,"max":10},
                 {"column":"day","date":"DD.MM.YYYY","min":"02.02.2020","max":"31.12.2020"})")});
  EXPECT_EQ(
      out.data,
      schema(
          R"({"column":"age","min":-1.5,"max":120},{"column":"ward","categories":["x","y","z"],"others_allowed":true},
                 {"column":"day","date":"DD.MM.YYYY","min":"02.01.2020","max":"01.01.2021"},
                 {"column":"crp","min":0,"max":10,"missing":{"texts":["NA",""],"value":1,"indicator":true},"limits":"bound"})"));
  EXPECT_TRUE(out.conflicts.empty());
  const auto told = [&](const char* sentence) {
    return std::find(out.differences.begin(), out.differences.end(), sentence) != out.differences.end();
  };
  EXPECT_TRUE(told("the feature \"age\": max is 110 in a, blank in b, 120 in c; the merged schema has 120"));
  EXPECT_TRUE(
      told("the feature \"crp\": outside is \"refuse\" in a, none in b, none in c; the merged schema does not say it"));
  EXPECT_TRUE(
      told("the feature \"day\": min is \"01.02.2020\" in a, \"02.01.2020\" in b, \"02.02.2020\" in c; the merged "
           "schema has "
           "\"02.01.2020\""));
  // What comes out is a schema that programs read, and is everybody's: merged again nothing changes.
  config::Problems problems("merged");
  const nlohmann::json document = nlohmann::json::parse(out.data.dump());
  (void)jobs::parse_schema(config::Section(document, "", problems));
  EXPECT_TRUE(problems.none());
  EXPECT_TRUE(merged({out.data, out.data}).differences.empty());
}

TEST(SchemaMergeTest, WhatOnlyPeopleCanSettleIsLeftOutAndSaid) {
  const MergedSchemas out = merged(
      {schema(
           R"({"column":"age","min":0,"max":110},{"column":"sex","categories":["f"]},{"column":"day","date":"DD.MM.YYYY","min":null,"max":null},
                 {"column":"own","min":0,"max":1},{"column":"m","min":0,"max":1,"missing":{"texts":[""],"value":0}})"),
       schema(R"({"column":"age","categories":["young","old"]},{"column":"sex","categories":["f"]},
                 {"column":"day","date":"YYYY-MM-DD","min":null,"max":null},
                 {"column":"m","min":0,"max":1,"missing":{"texts":[""],"value":1}})")});
  EXPECT_EQ(out.data, schema(R"({"column":"sex","categories":["f"]})"));
  ASSERT_EQ(out.conflicts.size(), 5U);
  EXPECT_EQ(out.conflicts[0],
            "the feature \"age\": min is 0 in a, none in b; it is of one kind here and of another there");
  EXPECT_NE(out.conflicts.back().find("missing.value is 0 in a, 1 in b"), std::string::npos) << out.conflicts.back();
  EXPECT_NE(out.conflicts[3].find("\"own\": a alone has it"), std::string::npos) << out.conflicts[3];
}

TEST(SchemaMergeTest, OfAnotherLabelNothingIsMade) {
  const std::string age = R"({"column":"age","min":0,"max":1})";
  EXPECT_NE(refused({schema(age), schema(age, R"({"column":"ill","negative":"no","positive":"yes"})")})
                .find("its column is \"sick\" in a, \"ill\" in b"),
            std::string::npos);
  EXPECT_NE(refused({schema(age), schema(age, R"({"column":"sick","negative":"yes","positive":"no"})")})
                .find("which value is which"),
            std::string::npos);
  EXPECT_NE(refused({schema(age), schema(age, R"({"column":"sick","min":0,"max":1})")}).find("of one kind here"),
            std::string::npos);
  EXPECT_EQ(merged({schema(age, R"({"column":"sick","classes":["a","b"]})"),
                    schema(age, R"({"column":"sick","classes":["b","c"]})")})
                .data["label"]["classes"],
            Json::array({"a", "b", "c"}));
}

/// Files of strangers: keys where nobody expects them.
TEST(SchemaMergeTest, OddFilesAreMergedOrRefusedAndNothingElse) {
  const auto two = [](const std::string& one, const std::string& other) {
    return merged({schema(one), schema(other)});
  };
  (void)two(R"({"column":"a","min":0,"max":1,"missing":{"column":1}})",
            R"({"column":"a","min":0,"max":1,"missing":{"texts":[""]}})");
  const MergedSchemas limits =
      two(R"({"column":"a","min":0,"max":1,"limits":"refuse"})", R"({"column":"a","min":0,"max":1})");
  EXPECT_FALSE(limits.data["features"][0].contains("limits")) << "both refuse";
  EXPECT_EQ(two(R"({"column":"a","min":0,"max":1,"limits":"bound"})", R"({"column":"a","min":0,"max":1})")
                .data["features"][0]["limits"],
            "bound");
  // A bound as a date and one as days are not one bound.
  EXPECT_FALSE(two(R"({"column":"d","date":"YYYY-MM-DD","min":"1950-01-01","max":"2030-01-01"})",
                   R"({"column":"d","date":"YYYY-MM-DD","min":-7305,"max":20000})")
                   .conflicts.empty());
  // Who left the form of dates blank has bounds of the form that others say.
  const MergedSchemas dates = two(R"({"column":"d","date":null,"min":"1950-01-01","max":null})",
                                  R"({"column":"d","date":"YYYY-MM-DD","min":"1940-01-01","max":"2030-01-01"})");
  EXPECT_TRUE(dates.conflicts.empty());
  EXPECT_EQ(dates.data["features"][0]["min"], "1940-01-01");
  EXPECT_FALSE(proposed_schema("f", schema(R"({"column":"a","min":0,"max":1},{"column":"a ","min":0,"max":1})")));
  Json many = Json::object();
  for (int i = 0; i < 100; ++i) many["k" + std::to_string(i)] = i;
  many["column"] = "a";
  EXPECT_FALSE(proposed_schema("f", schema(many.dump())));
}

TEST(SchemaMergeTest, WhatIsNoSchemaIsRefused) {
  for (const char* text :
       {"[]", "{}", R"({"label":null,"features":[]})", R"({"label":{"column":1},"features":[]})",
        R"({"label":{"column":"a"},"features":{}})", R"({"label":{"column":"a"},"features":[{}]})", R"({"data":7})"})
    EXPECT_FALSE(proposed_schema("f", Json::parse(text))) << text;
  EXPECT_TRUE(
      proposed_schema("f", Json::parse(R"({"note":"A draft.","data":{"label":{"column":"a"},"features":[]}})")));
}

}  // namespace
}  // namespace undertone::operators
