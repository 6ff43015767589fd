// A table of exits that was released, asked again.
#include "shared/jobs/released_exits.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/jobs/stated_json.hpp"
#include "shared/statistics/survival/expected_table.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::json;

const statistics::Confidence kNinety = statistics::Confidence::create(0.9).value();

algorithms::TableAxis axis_of(const char* column, std::vector<std::string> values) {
  return {column, std::move(values), statistics::IndicatorCells{0, 2}, true};
}

/// Two silos, three arms and two sexes; the groups' curves differ.
ReleasedExits released(bool pooled = false) {
  ReleasedExits out;
  algorithms::SurvivalAsked& asked = out.asked;
  asked.edges = {0, 6, 12, 18, 24};
  asked.cells.edges = asked.edges;
  asked.causes = {"status"};
  asked.by = {axis_of("arm", {"old", "new", "newest"}), axis_of("sex", {"f", "m"})};
  asked.at = {1, 2, 3, 4};
  asked.pooled = pooled;
  out.sampling = true;
  const statistics::ExitLayout layout = layout_of(asked);
  const auto cells = static_cast<Eigen::Index>(layout.cells_of_group());
  const statistics::ExitLayout one{1, 1, layout.intervals, true};
  for (const double records : {6000.0, 9000.0}) {
    Eigen::VectorXd table(static_cast<Eigen::Index>(layout.size()));
    for (std::size_t g = 0; g < layout.groups; ++g)
      table.segment(static_cast<Eigen::Index>(g) * cells, cells) =
          statistics::expected_cells(one, asked.edges, records / 6.0, {0.4 + 0.05 * static_cast<double>(g), 0.2})
              .array()
              .round() +
          0.25 * static_cast<double>(g);
    const statistics::CoordinateNoise noise =
        records < 7000.0 ? statistics::CoordinateNoise(statistics::LaplaceNoise{2.0, 1.0})
                         : statistics::CoordinateNoise(statistics::GaussianNoise{3.0, 0x1p-20});
    out.silos.push_back({static_cast<std::int64_t>(records), table, *statistics::NoiseLaw::create({{noise, 1.0}})});
  }
  return out;
}

const statistics::Stated& estimate(const StatedQuestion& stated, const std::string& name) {
  const auto found = std::find_if(stated.estimates.begin(), stated.estimates.end(),
                                  [&](const NamedEstimate& one) { return one.name == name; });
  if (found == stated.estimates.end()) throw std::runtime_error("no estimate " + name);
  return found->stated;
}

std::string said_of(const StatedQuestion& stated) { return estimates_json(stated).dump() + tests_json(stated).dump(); }

std::string problems_of(const Json& json) {
  config::Problems problems("result.json");
  (void)parse_released_exits(config::Section(json, "/exits", problems));
  return problems.none() ? "" : problems.error().message;
}

TEST(ReleasedExitsTest, AFileOfATableSaysWhatTheRunSaidToTheBit) {
  for (const bool pooled : {false, true}) {
    const ReleasedExits exits = released(pooled);
    config::Problems problems("result.json");
    const Json written = Json::parse(to_json(exits).dump());
    const ReleasedExits read = parse_released_exits(config::Section(written, "/exits", problems));
    ASSERT_TRUE(problems.none()) << problems.error().message;
    const std::string before = said_of(state_survival(exits.asked, exits.silos, kNinety, exits.sampling, true));
    EXPECT_EQ(said_of(*state_later(read, {}, kNinety)), before);
    EXPECT_EQ(to_json(read).dump(), to_json(exits).dump());
  }
}

TEST(ReleasedExitsTest, OtherTimesAndQuantilesAreWhatAJobWouldHaveStated) {
  const ReleasedExits exits = released();
  const StatedQuestion later = *state_later(exits, {{18, 6}, {0.1, 0.3}, "", std::nullopt}, kNinety);
  ReleasedExits asked = exits;
  asked.asked.at = {1, 3};
  asked.asked.probabilities = {0.1, 0.3};
  EXPECT_EQ(said_of(later), said_of(state_survival(asked.asked, asked.silos, kNinety, true, true)));
  EXPECT_TRUE(estimate(later, "arm=old, sex=f: quantile 0.1 of the time").value.has_value());
}

TEST(ReleasedExitsTest, EveryGroupCanBeTheOneThatOthersAreComparedWith) {
  const ReleasedExits exits = released();
  const StatedQuestion first = *state_later(exits, {}, kNinety);
  const StatedQuestion turned = *state_later(exits, {{}, {}, "arm=newest, sex=m", std::nullopt}, kNinety);
  const statistics::Stated& a = estimate(first, "arm=newest, sex=m less arm=old, sex=f: S(12)");
  const statistics::Stated& b = estimate(turned, "arm=old, sex=f less arm=newest, sex=m: S(12)");
  EXPECT_NEAR(*a.value, -*b.value, 1e-12);
  EXPECT_NEAR(a.noise.low, -b.noise.high, 1e-12);
  EXPECT_NEAR(a.population->high, -b.population->low, 1e-12);
  EXPECT_NEAR(*estimate(first, "hazard ratio of sex=m").value * *estimate(turned, "hazard ratio of sex=f").value, 1.0,
              1e-6);
  EXPECT_NEAR(*estimate(turned, "hazard ratio of arm=new").value,
              *estimate(first, "hazard ratio of arm=new").value / *estimate(first, "hazard ratio of arm=newest").value,
              1e-6);
  // What is of one group alone, or of all of them, stays.
  EXPECT_EQ(*estimate(first, "arm=new, sex=m: S(18)").value, *estimate(turned, "arm=new, sex=m: S(18)").value);
  EXPECT_NEAR(first.tests.front().statistic, turned.tests.front().statistic, 1e-6);
  const StatedQuestion gehan = *state_later(exits, {{}, {}, "", true}, kNinety);
  EXPECT_EQ(gehan.tests.front().name, "Gehan of the event, stratified by silo");
}

TEST(ReleasedExitsTest, WhatATableDoesNotKnowIsSaid) {
  const ReleasedExits exits = released();
  const auto said = [&](const LaterExits& later) {
    const Result<StatedQuestion> stated = state_later(exits, later, kNinety);
    return stated ? std::string() : stated.error().message;
  };
  EXPECT_EQ(said({{7}, {}, "", {}}), "the table knows the times 6, 12, 18, 24, got 7");
  EXPECT_EQ(said({{0}, {}, "", {}}), "the table knows the times 6, 12, 18, 24, got 0");
  EXPECT_EQ(said({{}, {0.5, 1.0}, "", {}}), "expected at most 9 quantiles, each between 0 and 1, got 0.5, 1");
  EXPECT_NE(said({{}, {}, "arm=new", {}}).find("expected one of the groups \"arm=old, sex=f\", "), std::string::npos);
  ReleasedExits alone = exits;
  alone.asked.by.clear();
  EXPECT_EQ(state_later(alone, {{}, {}, "arm=new", {}}, kNinety).error().message, "the table has no groups");
  EXPECT_EQ(state_later(alone, {{}, {}, "", true}, kNinety).error().message,
            "a test compares groups, and the table has one alone");
}

TEST(ReleasedExitsTest, AFileThatWasChangedIsRefusedInWords) {
  const Json good = Json::parse(to_json(released()).dump());
  EXPECT_EQ(problems_of(good), "");
  const auto changed = [&](const char* pointer, const Json& value) {
    Json out = good;
    out[Json::json_pointer(pointer)] = value;
    return problems_of(out);
  };
  EXPECT_NE(changed("/grid/1", 0).find("ascending edges"), std::string::npos);
  EXPECT_NE(changed("/grid", Json::array()).find("ascending edges"), std::string::npos);
  EXPECT_NE(changed("/at", Json::array()).find("edges of the grid after the first one"), std::string::npos);
  EXPECT_NE(changed("/probabilities/0", 1).find("each between 0 and 1"), std::string::npos);
  EXPECT_NE(changed("/tables/0/cells", Json::array({1})).find("expected 60 numbers"), std::string::npos);
  EXPECT_NE(changed("/tables/0/cells/3", 1e300).find("of at most 2^53"), std::string::npos);
  EXPECT_NE(changed("/tables/0/noise/scale", 0).find("scale"), std::string::npos);
  EXPECT_NE(changed("/tables/1/records", 0).find("records"), std::string::npos);
  EXPECT_NE(changed("/tables", Json::array()).find("tables"), std::string::npos);
  EXPECT_NE(changed("/by/0/values/1", "old").find("values"), std::string::npos);
  EXPECT_NE(changed("/by/1/column", "arm").find("expected each column once"), std::string::npos);
  Json wide = good;
  for (int value = 0; value < 6; ++value) wide["by"][0]["values"].push_back(std::to_string(value));
  EXPECT_NE(problems_of(wide).find("expected at most 16 groups"), std::string::npos);
}

// Three arms, so that no order of groups is its own inverse.
TEST(ReleasedExitsTest, GroupsMoveWithTheirCells) {
  const ReleasedExits exits = released();
  const std::vector<std::string> names = group_names(exits.asked);
  const StatedQuestion first = *state_later(exits, {}, kNinety);
  for (const std::string& against : names) {
    const StatedQuestion turned = *state_later(exits, {{}, {}, against, std::nullopt}, kNinety);
    EXPECT_EQ(turned.estimates.front().name, against + ": S(6)");
    for (const std::string& name : names)
      for (const char* what : {": S(6)", ": at risk after 24"})
        EXPECT_EQ(estimate(turned, name + what).value, estimate(first, name + what).value) << against << name << what;
  }
}

// Every number at its extremes: what is let in is stated in finite intervals or refused, and nothing stops.
TEST(ReleasedExitsTest, ExtremeNumbersAreStatedOrRefused) {
  const Json good = Json::parse(to_json(released()).dump());
  for (const double extreme : {-0x1p53, 0x1p53, 0.0, -1.0, 5e-324, 1e-300, 1e15}) {
    for (const char* place : {"/tables/0/cells/0", "/tables/0/cells/9", "/tables/1/noise/stddev",
                              "/tables/0/noise/scale", "/tables/0/noise/step", "/tables/1/noise/step", "/grid/4"}) {
      Json json = good;
      json[Json::json_pointer(place)] = extreme;
      if (std::string(place) == "/grid/4") json["at"][3] = extreme;
      config::Problems problems("result.json");
      const ReleasedExits exits = parse_released_exits(config::Section(json, "/exits", problems));
      if (!problems.none()) continue;
      const Result<StatedQuestion> stated = state_later(exits, {}, kNinety);
      ASSERT_TRUE(stated) << place << " = " << extreme;
      for (const NamedEstimate& one : stated->estimates)
        EXPECT_LE(one.stated.noise.low, one.stated.noise.high) << place << " = " << extreme << ": " << one.name;
    }
  }
}

}  // namespace
}  // namespace undertone::jobs
