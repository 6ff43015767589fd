#include "shared/config/document_schema.hpp"

#include <gtest/gtest.h>

#include "shared/config/json_section.hpp"

namespace undertone::config {
namespace {

using Json = nlohmann::ordered_json;

Json schema_of(const std::function<void(Section&)>& parse) {
  const nlohmann::json nothing = nlohmann::json::object();
  return document_schema(
             [&](Problems& problems) {
               Section root(nothing, "", problems);
               parse(root);
             },
             "a title", "what it is for")
      .root;
}

const Json& property(const Json& schema, const char* name) { return schema.at("properties").at(name); }

TEST(DocumentSchemaTest, SaysTypesRangesAndMeanings) {
  const Json schema = schema_of([](Section& root) {
    (void)root.text("name", "for people");
    (void)root.number("rate", 0.0, 0.5, "per round", true);
    (void)root.number("level", -1.0, 1.0, "");
    (void)root.integer("count", 1, 7, "");
    (void)root.boolean("public", "");
    (void)root.texts("words", "");
    (void)root.numbers("points", "");
    (void)root.scalars("values", 1, 3, "");
    (void)root.one_of("format", {"only"}, "");
  });
  EXPECT_EQ(schema.at("$schema"), "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema.at("additionalProperties"), false);
  EXPECT_EQ(property(schema, "name"), (Json{{"description", "for people"}, {"$ref", "#/$defs/text"}}));
  EXPECT_EQ(property(schema, "rate"),
            (Json{{"description", "per round"}, {"type", "number"}, {"exclusiveMinimum", 0.0}, {"maximum", 0.5}}));
  EXPECT_EQ(property(schema, "level"), (Json{{"type", "number"}, {"minimum", -1.0}, {"maximum", 1.0}}));
  EXPECT_EQ(property(schema, "count"), (Json{{"type", "integer"}, {"minimum", 1}, {"maximum", 7}}));
  EXPECT_EQ(property(schema, "public"), (Json{{"type", "boolean"}}));
  EXPECT_EQ(property(schema, "words").at("items"), (Json{{"$ref", "#/$defs/entry"}}));
  EXPECT_EQ(property(schema, "points").at("items"), (Json{{"type", "number"}}));
  EXPECT_EQ(property(schema, "values").at("minItems"), 1);
  EXPECT_EQ(property(schema, "values").at("maxItems"), 3);
  EXPECT_EQ(property(schema, "format"), (Json{{"const", "only"}}));
  EXPECT_EQ(schema.at("$defs").at("text").at("minLength"), 1);
}

TEST(DocumentSchemaTest, AnArrayOfTextsSaysHowManyAndWhetherTheyDiffer) {
  const Json schema = schema_of([](Section& root) {
    (void)root.texts("words", "");
    (void)root.texts("hosts", "", {1});
    (void)root.texts("classes", "", {2, 9, true});
  });
  EXPECT_EQ(property(schema, "words"), (Json{{"type", "array"}, {"items", {{"$ref", "#/$defs/entry"}}}}));
  EXPECT_EQ(property(schema, "hosts"),
            (Json{{"type", "array"}, {"minItems", 1}, {"items", {{"$ref", "#/$defs/entry"}}}}));
  EXPECT_EQ(property(schema, "classes"), (Json{{"type", "array"},
                                               {"minItems", 2},
                                               {"maxItems", 9},
                                               {"uniqueItems", true},
                                               {"items", {{"$ref", "#/$defs/entry"}}}}));
}

TEST(DocumentSchemaTest, AKeyThatIsAskedForOnlyIfItIsThereIsOptional) {
  const Json schema = schema_of([](Section& root) {
    (void)root.text("name", "");
    if (root.has("port")) (void)root.integer("port", 1, 9, "");
  });
  EXPECT_EQ(schema.at("required"), (Json{"name"}));
  EXPECT_TRUE(schema.at("properties").contains("port"));
  EXPECT_FALSE(schema.contains("allOf"));
}

TEST(DocumentSchemaTest, ObjectsAreClosedAtEveryDepth) {
  const Json schema = schema_of([](Section& root) {
    for (Section entry : root.objects("cohort", 1, 4, "")) (void)entry.object("limits").integer("most", 1, 2, "");
  });
  const Json& entry = property(schema, "cohort").at("items");
  EXPECT_EQ(property(schema, "cohort").at("maxItems"), 4);
  EXPECT_EQ(entry.at("additionalProperties"), false);
  EXPECT_EQ(entry.at("required"), (Json{"limits"}));
  EXPECT_EQ(property(entry, "limits").at("additionalProperties"), false);
  EXPECT_EQ(property(entry, "limits").at("required"), (Json{"most"}));
}

TEST(DocumentSchemaTest, AKindHasItsOwnKeysAndNoOthers) {
  const Json schema = schema_of([](Section& root) {
    const std::size_t kind = root.one_of("kind", {"ball", "sphere", "box"}, "");
    if (kind < 2 || root.recording()) (void)root.number("radius", 0.0, 1.0, "");
    if (kind == 2 || root.recording()) (void)root.number("lower", 0.0, 1.0, "");
  });
  EXPECT_EQ(schema.at("required"), (Json{"kind"}));
  const Json round = {{"if", {{"properties", {{"kind", {{"enum", {"ball", "sphere"}}}}}}, {"required", {"kind"}}}},
                      {"then", {{"required", {"radius"}}, {"properties", {{"lower", false}}}}}};
  const Json box = {{"if", {{"properties", {{"kind", {{"const", "box"}}}}}, {"required", {"kind"}}}},
                    {"then", {{"required", {"lower"}}, {"properties", {{"radius", false}}}}}};
  EXPECT_EQ(schema.at("allOf"), (Json::array({round, box})));
}

TEST(DocumentSchemaTest, OneKeyMayStandInsteadOfAnother) {
  const Json schema = schema_of([](Section& root) {
    if (root.has("classes")) {
      (void)root.texts("classes", "");
    } else {
      (void)root.number("min", 0.0, 1.0, "");
    }
    if (root.recording()) (void)root.number("min", 0.0, 1.0, "");
  });
  const Json either = {{"if", {{"required", {"classes"}}}},
                       {"then", {{"properties", {{"min", false}}}}},
                       {"else", {{"required", {"min"}}}}};
  EXPECT_EQ(schema.at("allOf"), (Json::array({either})));
  EXPECT_FALSE(schema.contains("required"));
}

TEST(DocumentSchemaTest, AKeyIsRequiredWhereNothingStandsForIt) {
  const Json schema = schema_of([](Section& root) {
    const bool tested = root.has("test");
    if (tested) (void)root.text("test", "");
    if (root.has("fraction") || !tested) (void)root.number("fraction", 0.0, 1.0, "");
  });
  const Json either = {{"if", {{"required", {"test"}}}}, {"else", {{"required", {"fraction"}}}}};
  EXPECT_EQ(schema.at("allOf"), (Json::array({either})));
}

TEST(DocumentSchemaTest, WhatAnotherSectionDecidesIsNotRequired) {
  const Json schema = schema_of([](Section& root) {
    Section domain = root.object("domain");
    const bool bounded = domain.one_of("kind", {"ball", "space"}, "") == 0;
    Section algorithm = root.object("algorithm");
    if (!bounded || algorithm.has("gap")) (void)algorithm.number("gap", 0.0, 1.0, "");
    if (!bounded) (void)algorithm.number("diameter", 0.0, 1.0, "");
  });
  const Json& algorithm = property(schema, "algorithm");
  EXPECT_FALSE(algorithm.contains("required"));
  EXPECT_TRUE(algorithm.at("properties").contains("gap"));
  EXPECT_TRUE(algorithm.at("properties").contains("diameter"));
}

TEST(DocumentSchemaTest, AChoiceDecidesWhatTheObjectsBelowItHold) {
  const Json schema = schema_of([](Section& root) {
    Section shuffle = root.object("shuffle");
    const bool adds = shuffle.one_of("form", {"shares", "bits"}, "") == 0;
    Section party = shuffle.object("party");
    (void)party.text("name", "");
    if (adds || party.recording()) (void)party.text("key", "");
  });
  const Json& ways = property(schema, "shuffle").at("allOf");
  ASSERT_EQ(ways.size(), 2U);
  EXPECT_EQ(property(ways[0].at("then"), "party").at("required"), (Json{"name", "key"}));
  EXPECT_FALSE(property(ways[1].at("then"), "party").at("properties").contains("key"));
}

TEST(DocumentSchemaTest, ABoundMadeOfAnotherKeyIsAsWideAsTheReferenceHasIt) {
  const Json schema = schema_of([](Section& root) {
    const std::int64_t most = static_cast<std::int64_t>(root.texts("words", "").size());
    (void)root.integer("chosen", 0, root.recording() ? 100 : most, "");
  });
  EXPECT_EQ(property(schema, "chosen").at("maximum"), 100);
}

TEST(ProblemsTest, ACommaAtFaultIsNamed) {
  const auto said = [](const char* text) { return parse_json(text, "job.json", 1000).error().message; };
  const auto has = [&](const char* text, const char* part) { return said(text).find(part) != std::string::npos; };
  for (const char* text : {"{\"a\": 1\n \"b\": 2}", "[\"a\" \"b\"]", "[1 2]", "[{} {}]"})
    EXPECT_TRUE(has(text, ": is a comma missing before it?")) << said(text);
  for (const char* text : {"{\"a\": 1,}", "[1, 2,]"})
    EXPECT_TRUE(has(text, ": is there a comma too many before it?")) << said(text);
  for (const char* text : {"{\"a\": }", "[1, 2", "[1}", "{\"a\" 1}", "{\"a\": 1", "{a: 1}"})
    EXPECT_FALSE(has(text, "comma")) << said(text);
}

TEST(ProblemsTest, WhatIsExploredIsNeverGood) {
  const nlohmann::json nothing = nlohmann::json::object();
  Problems problems = Problems::exploring({});
  Section root(nothing, "", problems);
  (void)root.has("port");
  EXPECT_FALSE(problems.none());
  ASSERT_EQ(problems.forks().size(), 1U);
  EXPECT_EQ(problems.forks().front().pointer, "/port");
}

}  // namespace
}  // namespace undertone::config
