#include "shared/algorithms/one_round/statistics.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace undertone::algorithms {
namespace {

StatisticsSettings settings() {
  return {{{"count of sex=female", 3, CountAsked{}},
           {"count of income=low", 5, CountAsked{true}},
           {"mean of age", 0, MeanAsked{20.0, 80.0}}}};
}

/// What three silos with 100 records together say, whose totals add up to `total`.
folds::Gathered told(std::uint64_t round, double total) {
  return {RoundIndex{round}, 3, folds::Mean{Eigen::VectorXd::Constant(1, total / 3.0)}, 100};
}

std::vector<Estimate> run(std::uint64_t restart = UINT64_MAX) {
  auto algorithm = Method(settings())->make().value();
  Step step = algorithm->start();
  const double totals[] = {41.0, 70.0, -10.0};
  for (std::uint64_t round = 0; round < 3; ++round) {
    if (round == restart) {
      ByteWriter saved;
      algorithm->save(saved);
      algorithm = Method(settings())->make().value();
      ByteReader reader(saved.bytes());
      EXPECT_TRUE(algorithm->restore(reader));
      EXPECT_TRUE(reader.end());
      step = algorithm->start();
    }
    const auto& query = std::get<queries::Query>(step);
    EXPECT_EQ(query.round.value, round);
    EXPECT_TRUE(std::holds_alternative<queries::StatisticQuestion>(query.question));
    step = algorithm->advance(told(round, totals[round])).value();
  }
  const Outcome& outcome = std::get<Finished>(step).outcome;
  EXPECT_TRUE(outcome.vectors.empty());
  return outcome.statistics;
}

TEST(StatisticsTest, MakesCountsAndMeansOfTotals) {
  const std::vector<Estimate> found = run();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, "count of sex=female");
  EXPECT_EQ(found[0].value, 41.0);  // though a third of 41 is no double
  EXPECT_EQ(found[0].per_unit, 1.0);
  EXPECT_FALSE(found[0].mean);
  EXPECT_EQ(found[1].value, 30.0);  // 100 - 70
  // Centre 50, half-width 30: 50 + 30 (-10/100) = 47, and a unit of the total is 30/100.
  EXPECT_DOUBLE_EQ(found[2].value, 47.0);
  EXPECT_DOUBLE_EQ(found[2].per_unit, 0.3);
  EXPECT_TRUE(found[2].mean);
  for (std::uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found[i].replies, 3);
    EXPECT_EQ(found[i].records, 100);
    EXPECT_EQ(found[i].round, i);
  }
}

TEST(StatisticsTest, ACountOfAnyNumberOfSilosIsTheInteger) {
  const StatisticsSettings one{{{"count", 0, CountAsked{}}}};
  for (Eigen::Index silos = 1; silos <= 10'000; silos += 7) {
    for (const std::int64_t total :
         {std::int64_t{-3}, std::int64_t{1}, std::int64_t{999'983}, std::int64_t{1} << 50U}) {
      const auto algorithm = Method(one)->make().value();
      const double mean = static_cast<double>(total) / static_cast<double>(silos);
      const Step step =
          algorithm->advance({RoundIndex{0}, silos, folds::Mean{Eigen::VectorXd::Constant(1, mean)}, 5}).value();
      EXPECT_EQ(std::get<Finished>(step).outcome.statistics.front().value, static_cast<double>(total)) << silos;
    }
  }
}

TEST(StatisticsTest, CutsNothingToWhatIsPossible) {
  const auto algorithm = Method(settings())->make().value();
  ASSERT_TRUE(algorithm->advance(told(0, -4.0)));
  ASSERT_TRUE(algorithm->advance(told(1, 103.0)));
  const Step step = algorithm->advance(told(2, 110.0)).value();
  const std::vector<Estimate>& found = std::get<Finished>(step).outcome.statistics;
  EXPECT_EQ(found[0].value, -4.0);
  EXPECT_EQ(found[1].value, -3.0);
  EXPECT_DOUBLE_EQ(found[2].value, 83.0);  // 50 + 30 x 1.1
}

TEST(StatisticsTest, AsksForOneNumberAQuestionWithinItsBounds) {
  const GradientShape shape{releases::RangeBound{-1.0, 1.0}, 1.0};
  const Method method = settings();
  const planning::Schedule schedule = method->schedule(shape);
  ASSERT_EQ(schedule.size(), 3U);
  EXPECT_EQ(method->extent().rounds, 3U);
  EXPECT_EQ(method->extent().entries, 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const releases::Ask& ask = schedule[i].ask;
    EXPECT_EQ(schedule[i].rounds, 1U);
    EXPECT_EQ(ask.dimension, 1);
    EXPECT_EQ(ask.candidates(), nullptr);
    EXPECT_EQ(ask.records.block, releases::Block::Training);
    const auto& map = std::get<releases::StatisticMap>(ask.map);
    EXPECT_EQ(map.coordinates, std::vector<std::size_t>{settings().questions[i].coordinate});
    EXPECT_EQ(map.indicators, i < 2);
    const auto& bound = std::get<releases::RangeBound>(ask.bound);
    EXPECT_EQ(bound.low, i < 2 ? 0.0 : -1.0);
    EXPECT_EQ(bound.high, 1.0);
  }
}

TEST(StatisticsTest, RestoredAtAnyRoundItSaysTheSame) {
  const std::vector<Estimate> straight = run();
  for (std::uint64_t round = 0; round < 3; ++round) {
    const std::vector<Estimate> again = run(round);
    ASSERT_EQ(again.size(), straight.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
      EXPECT_EQ(again[i].name, straight[i].name);
      EXPECT_EQ(again[i].value, straight[i].value);
      EXPECT_EQ(again[i].per_unit, straight[i].per_unit);
      EXPECT_EQ(again[i].mean, straight[i].mean);
      EXPECT_EQ(again[i].replies, straight[i].replies);
      EXPECT_EQ(again[i].records, straight[i].records);
      EXPECT_EQ(again[i].round, straight[i].round);
    }
  }
}

TEST(StatisticsTest, RefusesADamagedState) {
  const auto algorithm = Method(settings())->make().value();
  ASSERT_TRUE(algorithm->advance(told(0, 4.0)));
  ByteWriter saved;
  algorithm->save(saved);
  const std::string bytes = saved.bytes();
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    ByteReader reader(std::string_view(bytes).substr(0, cut));
    EXPECT_FALSE(Method(settings())->make().value()->restore(reader)) << cut;
  }
  ByteWriter many;
  many.u64(4);
  ByteReader reader(many.bytes());
  EXPECT_FALSE(Method(settings())->make().value()->restore(reader));
}

TEST(StatisticsTest, RefusesAFoldOfAnotherRoundOrSizeOrOfNobodyKnowsWho) {
  const auto algorithm = Method(settings())->make().value();
  EXPECT_FALSE(algorithm->advance(told(1, 4.0)));
  EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 3, folds::Mean{Eigen::Vector2d::Zero()}, 100}));
  EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 3, folds::Tally{{{0, 1.0}}}, 100}));
  EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 3, folds::Mean{Eigen::VectorXd::Zero(1)}, 0}));
  EXPECT_FALSE(algorithm->advance(told(0, std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(algorithm->advance(told(0, 4.0)));
}

TEST(StatisticsTest, HasQuestionsWithBounds) {
  EXPECT_FALSE(Method(StatisticsSettings{})->make());
  EXPECT_FALSE(Method(StatisticsSettings{{257, {"count", 0, CountAsked{}}}})->make());
  EXPECT_TRUE(Method(StatisticsSettings{{256, {"count", 0, CountAsked{}}}})->make());
  for (const MeanAsked mean :
       {MeanAsked{1.0, 1.0}, MeanAsked{2.0, 1.0}, MeanAsked{std::nan(""), 1.0}, MeanAsked{-1.7e308, 1.7e308}})
    EXPECT_FALSE(Method(StatisticsSettings{{{"mean", 0, mean}}})->make());
}

TEST(StatisticsTest, MinimisesNothingAndHasNoTheorem) {
  const Method method = settings();
  EXPECT_EQ(method->name(), "statistics");
  EXPECT_EQ(method->problem().dimension, 0);
  EXPECT_EQ(method->traits().bounded_in, MethodTraits::BoundedIn::ItsMap);
  EXPECT_FALSE(method->traits().shuffled);
  EXPECT_FALSE(method->theorem_noise({100.0, 100.0, 1.0, 1e-6}));
  EXPECT_EQ(method->make().value()->candidate().size(), 0);
}

}  // namespace
}  // namespace undertone::algorithms
