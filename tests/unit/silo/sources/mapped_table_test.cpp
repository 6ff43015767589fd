#include "silo/sources/mapped_table.hpp"

#include <gtest/gtest.h>

#include "shared/config/json_section.hpp"
#include "silo/owner/map_section.hpp"

namespace undertone::silo {
namespace {

/// Keeps what comes as texts.
class Kept final : public data::TableSink {
 public:
  Status begin(const std::vector<std::string>& columns, std::int64_t rows_at_most) override {
    (void)rows_at_most;
    names = columns;
    return {};
  }
  void cell(std::size_t column, std::span<char> text, data::TableProblems& problems) override {
    (void)problems;
    row += fmt::format("{}={};", names[column], std::string_view(text.data(), text.size()));
  }
  void missing(std::size_t column, data::TableProblems& problems) override {
    (void)problems;
    row += names[column] + " missing;";
  }
  void end_row(data::TableProblems& problems) override { (void)problems; }
  std::vector<std::string> names;
  std::string row;
};

Result<std::vector<ColumnMapping>> map_of(const std::string& json) {
  const config::JsonDocument document = config::parse_json(R"({"map":)" + json + "}", "silo").value();
  config::Problems problems("silo");
  config::Section section(document.root, "", problems);
  std::vector<ColumnMapping> out = parse_map(section);
  if (!problems.none()) return problems.error();
  return out;
}

std::string refusal(const std::string& json) {
  const Result<std::vector<ColumnMapping>> map = map_of(json);
  return map ? "" : map.error().message;
}

/// A row after the map.
std::string mapped(const std::vector<ColumnMapping>& map, const std::vector<std::string>& names,
                   std::vector<std::string> cells, const data::NumberForm& form = {}) {
  Kept kept;
  MappedTable table(map, form, kept);
  if (Status begun = table.begin(names, 1); !begun) return begun.error().message;
  data::TableProblems problems("t");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == "NULL") {
      table.missing(i, problems);
    } else {
      table.cell(i, cells[i], problems);
    }
  }
  table.end_row(problems);
  return kept.row;
}

constexpr const char* kMap =
    R"([{"column":"Geschlecht","as":"sex","values":[{"from":["w","W"],"to":"female"},{"from":["m"],"to":"male"}]},
  {"column":"geboren","as":"born","date":"DD.MM.YYYY","date_as":"YYYY-MM-DD"},
  {"column":"temp","factor":0.5,"offset":-16}])";

TEST(MappedTableTest, NamesWordsDatesAndUnitsBecomeTheSchemas) {
  const std::vector<ColumnMapping> map = map_of(kMap).value();
  const std::vector<std::string> names = {"temp", "ward", " Geschlecht", "geboren"};
  EXPECT_EQ(mapped(map, names, {"98", "a", "W", "3.12.1999"}), "temp=33;ward=a;sex=female;born=1999-12-03;");
  EXPECT_EQ(mapped(map, names, {"<1e2", "w", "m", "29.02.2024"}), "temp=<34;ward=w;sex=male;born=2024-02-29;");
  EXPECT_EQ(mapped(map, names, {"\u2265 33", "w", "x", "31.02.2024"}), "temp=>0.5;ward=w;sex=x;born=31.02.2024;");
  EXPECT_EQ(mapped(map, names, {"NA", "", "", "NULL"}), "temp=NA;ward=;sex=;born missing;");
  EXPECT_EQ(mapped(map, names, {"33,5", "a", "w", "1.1.2000"}, {true}), "temp=0,75;ward=a;sex=female;born=2000-01-01;");
}

/// A date of the schema's own form could be another day, and a code for missing is no measurement.
TEST(MappedTableTest, WhatAMapWouldChangeWronglyStaysOrIsRefused) {
  const std::vector<ColumnMapping> map =
      map_of(
          R"([{"column":"crp","factor":0.1,"keep":["-9"]},{"column":"day","date":"DD/MM/YYYY","date_as":"MM/DD/YYYY","keep":["?"]}])")
          .value();
  EXPECT_EQ(mapped(map, {"crp", "day"}, {"-9", "?"}), "crp=-9;day=?;");
  EXPECT_EQ(mapped(map, {"crp", "day"}, {"-8", "01/02/2020"}), "crp=-0.8;day=02/01/2020;");
  Kept kept;
  MappedTable table(map, {}, kept);
  ASSERT_TRUE(table.begin({"crp", "day"}, 1));
  data::TableProblems problems("t");
  std::string cell = "01/13/2020";
  table.cell(1, cell, problems);
  ASSERT_FALSE(problems.none());
  EXPECT_NE(problems.error().message.find("expected a date DD/MM/YYYY"), std::string::npos);
  EXPECT_EQ(problems.error().message.find("2020"), std::string::npos);
}

TEST(MappedTableTest, ATableThatTheMapDoesNotFitIsRefused) {
  const std::vector<ColumnMapping> map = map_of(kMap).value();
  EXPECT_EQ(mapped(map, {"temp", "Geschlecht"}, {}),
            "the map names the column \"geboren\", which the table does not have");
  EXPECT_EQ(mapped(map, {"temp", "Geschlecht", "geboren", "born"}, {}),
            "after the map two columns are called \"born\"");
  EXPECT_EQ(mapped(map, {"temp", "temp", "Geschlecht", "geboren"}, {}), "the column \"temp\" stands twice");
  // Two columns may exchange their names.
  EXPECT_EQ(mapped(map_of(R"([{"column":"a","as":"b"},{"column":"b","as":"a"}])").value(), {"a", "b"}, {"1", "2"}),
            "b=1;a=2;");
}

TEST(MappedTableTest, MapsThatCannotBeMeantAreRefused) {
  const auto has = [](const std::string& json, const std::string& part) {
    EXPECT_NE(refusal(json).find(part), std::string::npos) << json << "\n" << refusal(json);
  };
  has(R"([{"column":"a"},{"column":"a","as":"b"}])", "stands twice");
  has(R"([{"column":"a","as":"c"},{"column":"b","as":"c"}])", "another column becomes this one");
  has(R"([{"column":"a","values":[{"from":["x"],"to":"1"},{"from":["x"],"to":"2"}]}])", "means something else");
  has(R"([{"column":"a","date":"DD.MM.YYYY"}])", "date_as");
  has(R"([{"column":"a","factor":0}])", "factor");
  has(R"([{"column":"a","factor":-1}])", "factor");
  has(R"([{"column":"a","factor":2,"date":"DD.MM.YYYY","date_as":"YYYYMMDD"}])", "expected none beside date");
  has(R"([{"column":"a","unit":"mg"}])", "unit");
  has("[]", "map");
}

}  // namespace
}  // namespace undertone::silo
