#include "lab/reproduce/fairness_figure.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <gtest/gtest.h>

#include "lab/reproduce/private_fairness_figure.hpp"
#include "shared/base/random_source.hpp"
#include "tests/unit/lab/reproduce/twice_alike.hpp"

namespace undertone::lab {
namespace {

constexpr const char* kHeader =
    "age,workclass,fnlwgt,education,educational-num,marital-status,occupation,relationship,race,gender,capital-gain,"
    "capital-loss,hours-per-week,native-country,income\n";

/// Invented people. @param end what labels end with, as those of the test file do
std::string people(std::size_t count, std::uint64_t seed, const char* end) {
  RandomSource source(seed);
  std::string out = kHeader;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t school = source.below(4);
    const bool woman = source.chance(1.0 / 3.0);
    const bool rich = source.chance(0.1 + 0.15 * static_cast<double>(school) + (woman ? 0.0 : 0.2));
    out += fmt::format("{},{},{},s{},{},Never-married,{},Other,White,{},0,0,{},Here,{}{}\n", 20 + source.below(50),
                       source.chance(0.5) ? "Private" : "?", 1000 + source.below(9000), school, school,
                       woman ? "Clerk" : "Craft", woman ? "Female" : "Male", 20 + source.below(40),
                       rich ? ">50K" : "<=50K", end);
  }
  return out;
}

/// Invented people of the other table.
std::string accused(std::size_t count, std::uint64_t seed) {
  RandomSource source(seed);
  std::string out =
      "sex,age,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,c_charge_degree,two_year_recid\n";
  constexpr std::array kRaces = {"African-American", "Caucasian", "Other"};
  for (std::size_t i = 0; i < count; ++i)
    out += fmt::format("{},{},{},0,0,{},{},{},{}\n", source.chance(0.5) ? "Male" : "Female", 18 + source.below(50),
                       kRaces.at(source.below(3)), source.below(2), source.below(9), source.chance(0.5) ? "F" : "M",
                       source.below(2));
  return out;
}

void write_census(const std::filesystem::path& folder, const std::string& train, const std::string& test) {
  std::ofstream(folder / "adult.data") << train;
  std::ofstream(folder / "adult.test") << test;
}

TEST(GroupedTable, LeaveGenderRaceAndCountryOutAndScaleByTheTrainingRecords) {
  const tests::TemporaryFolder folder;
  write_census(folder.path(), people(300, 1, ""), people(100, 2, "."));
  const Result<GroupedSplit> census = grouped_split(census_table(), folder.path());
  ASSERT_TRUE(census) << census.error().message;
  // Six numbers; two, four, one, two and one texts; the constant.
  EXPECT_EQ(census->train.features.rows(), 6 + 2 + 4 + 1 + 2 + 1 + 1);
  EXPECT_EQ(census->test.features.rows(), census->train.features.rows());
  EXPECT_EQ(census->test.labels.size(), 100U);
  EXPECT_NEAR(census->train.features.row(0).mean(), 0.0, 1e-9);
  EXPECT_NEAR(census->train.features.row(0).squaredNorm() / 300.0, 1.0, 0.01);
  EXPECT_TRUE((census->train.features.row(3).array() == 0.0).all()) << "a number that is always the same";
  EXPECT_TRUE((census->test.features.row(census->test.features.rows() - 1).array() == 1.0).all());
  EXPECT_EQ(grouped_split(census_table(), folder.path(), 1, 50)->train.labels.size(), 50U);
}

TEST(GroupedTable, RefuseOtherFilesInWords) {
  const tests::TemporaryFolder folder;
  EXPECT_FALSE(grouped_split(census_table(), folder.path()));
  write_census(folder.path(), "age,income\n1,<=50K\n", people(10, 1, "."));
  EXPECT_NE(grouped_split(census_table(), folder.path()).error().message.find("workclass"), std::string::npos);
  std::string odd = people(10, 1, "");
  odd.replace(odd.rfind("K\n"), 1, "k");
  write_census(folder.path(), odd, people(10, 1, "."));
  const Result<GroupedSplit> refused = grouped_split(census_table(), folder.path());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("neither"), std::string::npos) << refused.error().message;
  write_census(folder.path(), kHeader, people(10, 1, "."));
  EXPECT_NE(grouped_split(census_table(), folder.path()).error().message.find("no records"), std::string::npos);
}

TEST(GroupedTable, WithoutTestRecordsDealsAFourthOffByItsSeed) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder.path() / "compas.csv") << accused(200, 7);
  const Result<GroupedSplit> one = grouped_split(compas_table(), folder.path(), 1);
  const Result<GroupedSplit> again = grouped_split(compas_table(), folder.path(), 1);
  const Result<GroupedSplit> other = grouped_split(compas_table(), folder.path(), 2);
  ASSERT_TRUE(one && again && other);
  EXPECT_EQ(one->test.labels.size(), 50U);
  EXPECT_EQ(one->train.labels.size(), 150U);
  EXPECT_EQ(one->train.features.rows(), 5 + 2 + 2 + 1);
  EXPECT_EQ(one->test.features, again->test.features);
  EXPECT_NE(one->test.features, other->test.features);
  const auto grouped = std::count(one->train.groups.begin(), one->train.groups.end(), 1);
  EXPECT_GT(grouped, 30) << "a third";
  EXPECT_LT(grouped, 75);
}

TEST(FairnessFigure, MakesItsQuickFormTwiceAlike) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder.path() / "compas.csv") << accused(400, 9);
  write_census(folder.path(), people(400, 3, ""), people(200, 4, "."));
  for (const std::string_view name : kFairnessFigures) {
    const FairnessFigure figure = fairness_figure(name, FigureSize::Quick);
    expect_twice_alike(std::string(name), [&](ReproduceRequest request) {
      request.data = folder.path();
      return reproduce_fairness(figure, request);
    });
  }
}

TEST(PrivateFairnessFigure, MakesItsQuickFormTwiceAlikeAndNeedsItsData) {
  const tests::TemporaryFolder folder;
  write_census(folder.path(), people(600, 3, ""), people(200, 4, "."));
  for (const std::string_view name : kPrivateFairnessFigures) {
    const PrivateFairnessFigure figure = private_fairness_figure(name, FigureSize::Quick);
    expect_twice_alike(std::string(name), [&](ReproduceRequest request) {
      request.data = folder.path();
      return reproduce_private_fairness(figure, request);
    });
    EXPECT_EQ(reproduce_private_fairness(figure, {}).error().message,
              "--data: expected the folder of adult.data and adult.test");
  }
}

TEST(FairnessFigure, LambdaTakesTheGapAway) {
  const tests::TemporaryFolder folder;
  const tests::TemporaryFolder out;
  write_census(folder.path(), people(1000, 5, ""), people(1000, 6, "."));
  FairnessFigure figure = fairness_figure("fig5.1", FigureSize::Quick);
  figure.curves.resize(1);
  figure.steps = 3000;
  figure.lambdas = {0.0, 10.0};
  figure.judged = true;
  ReproduceRequest request;
  request.data = folder.path();
  request.out = out.path();
  ASSERT_TRUE(reproduce_fairness(figure, request));
  const std::string table = read_file(out.path() / "fig5.1.table.csv", 1U << 20U).value();
  const auto parity_of = [&](const std::string& row) {
    const std::size_t error = table.find(row) + row.size();
    return std::stod(table.substr(table.find(',', error) + 1));
  };
  EXPECT_GT(parity_of("demographic parity,0,0,"), 0.1);
  EXPECT_LT(parity_of("demographic parity,10,0,"), 0.3 * parity_of("demographic parity,0,0,"));
}

TEST(FairnessFigure, WithoutDataItSaysWhatItNeeds) {
  ReproduceRequest request;
  const Status done = reproduce_fairness(fairness_figure("fig5.1", FigureSize::Quick), request);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("adult.data"), std::string::npos);
}

}  // namespace
}  // namespace undertone::lab
