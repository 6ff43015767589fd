#include "shared/algorithms/mirror/staged_mirror_descent.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/algorithms/mirror/localized_mirror_descent.hpp"
#include "shared/config/json_section.hpp"
#include "shared/geometry/duality_map.hpp"

namespace undertone::algorithms {
namespace {

StagedMirrorDescentSettings stages_of(std::vector<MirrorStage> stages, double norm = 1.0) {
  StagedMirrorDescentSettings settings;
  settings.problem.dimension = 3;
  settings.problem.domain = geometry::Domain::l1_ball(2.0).value();
  settings.norm = norm;
  settings.stages = std::move(stages);
  return settings;
}

/// F(x) = ||x - c||^2/2 over the l1 ball of radius 2: the optimum is c less a soft threshold of 0.25.
const Eigen::Vector3d kStagedCentre(1.5, -1.0, 0.2);
const Eigen::Vector3d kStagedOptimum(1.25, -0.75, 0.0);

Eigen::VectorXd staged_end_of(const Method& method, std::uint64_t restart = UINT64_MAX) {
  auto algorithm = method->make().value();
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    if (query->round.value == restart) {
      ByteWriter saved;
      algorithm->save(saved);
      const std::string bytes = std::move(saved).bytes();
      algorithm = method->make().value();
      ByteReader reader(bytes);
      EXPECT_TRUE(algorithm->restore(reader));
      EXPECT_TRUE(reader.end());
      step = algorithm->start();
      query = std::get_if<queries::Query>(&step);
    }
    const Eigen::VectorXd at = queries::point_of(query->question);
    EXPECT_LE(at.lpNorm<1>(), 2.0 * (1.0 + 1e-6));
    step = algorithm->advance({query->round, 1, folds::Mean{Eigen::VectorXd(at - kStagedCentre)}, 10}).value();
  }
  return std::get<Finished>(step).outcome.vectors.at("weights");
}

double staged_excess(const Eigen::VectorXd& x) {
  return 0.5 * (x - kStagedCentre).squaredNorm() - 0.5 * (kStagedOptimum - kStagedCentre).squaredNorm();
}

TEST(StagedMirrorDescentTest, AStageBeginsWhereTheOneBeforeEnded) {
  // p = 2, lambda 2, c = 0: theta = -(2/(2 2)) g = 1/2 (1.5, -1, 0.2), cut to the l2 length 0.5. The stage's output is
  // 2/3 x_2, which is what the next stage asks about first, and the centre of its ball.
  const StagedMirrorDescentSettings settings = stages_of({{{{2, 2.0, 0.5}}}, {{{2, 4.0, 0.125}}}}, 2.0);
  const auto algorithm = Method(settings)->make().value();
  Step step = algorithm->start();
  const auto told = [&](const Eigen::Vector3d& mean) {
    const RoundIndex round = std::get<queries::Query>(step).round;
    step = algorithm->advance({round, 1, folds::Mean{Eigen::VectorXd(mean)}, 10}).value();
    const auto* query = std::get_if<queries::Query>(&step);
    return query == nullptr ? std::get<Finished>(step).outcome.vectors.at("weights")
                            : Eigen::VectorXd(queries::point_of(query->question));
  };
  const Eigen::Vector3d theta = 0.5 * kStagedCentre;
  const Eigen::VectorXd second = told(-kStagedCentre);
  EXPECT_LE((second - 0.5 / theta.norm() * theta).norm(), 1e-12);
  const Eigen::VectorXd centre = told(Eigen::Vector3d::Zero());
  EXPECT_LE((centre - 2.0 / 3.0 * second).norm(), 1e-12);
  // theta = -(2/(4 2)) g = e_3: longer than the radius 0.125.
  const Eigen::VectorXd fourth = told(Eigen::Vector3d(0.0, 0.0, -4.0));
  EXPECT_LE((fourth - centre - Eigen::VectorXd(0.125 * Eigen::Vector3d::UnitZ())).norm(), 1e-12);
  const Eigen::VectorXd out = told(Eigen::Vector3d::Zero());
  EXPECT_LE((out - (centre + 2.0 * fourth) / 3.0).norm(), 1e-12);
  EXPECT_TRUE(std::holds_alternative<Finished>(step));
}

TEST(StagedMirrorDescentTest, OfOneStageItIsLocalizedMirrorDescentToTheBit) {
  const std::vector<MirrorPhase> phases = {{5, 0.5, 1.0}, {4, 1.0, 0.5}, {3, 2.0, 0.25}};
  for (const double norm : {1.0, 1.5, 2.0}) {
    const StagedMirrorDescentSettings staged = stages_of({{phases}}, norm);
    const LocalizedMirrorDescentSettings localized{staged.problem, norm, phases};
    EXPECT_EQ(staged_end_of(staged), staged_end_of(localized)) << norm;
    // And of two, the phases one after the other.
    EXPECT_EQ(staged_end_of(stages_of({{{phases[0]}}, {{phases[1], phases[2]}}}, norm)), staged_end_of(localized))
        << norm;
  }
}

TEST(StagedMirrorDescentTest, WithoutNoiseEveryStageHalvesTheDistance) {
  // By 1-strong convexity in l2 what is left is at most r/2 once the excess is r^2/8, r a bound on the distance at the
  // stage's start and its radius. With lambda = 1/8 the proximity costs r^2/16 at most, and the steps 2 G^2/(lambda T):
  // gradients are within 3.66, G within 3.66 + r/8, so that T = 4000/r^2 rounds leave less than r^2/16.
  double radius = 2.0;
  std::vector<MirrorStage> stages;
  for (int i = 0; i < 3; ++i, radius *= 0.5) {
    stages.push_back({{{std::uint64_t{1000} << (2 * i), 0.125, radius}}});
    const Eigen::VectorXd out = staged_end_of(stages_of(stages, 2.0));
    EXPECT_GE(staged_excess(out), -1e-9);
    EXPECT_LE((out - kStagedOptimum).norm(), 0.5 * radius) << i;
  }
}

TEST(StagedMirrorDescentTest, TilesBlocksThatDouble) {
  using Spans = std::vector<std::vector<std::uint64_t>>;
  const auto tiled = [](const std::vector<std::size_t>& phases) { return tile_stages(phases).value(); };
  EXPECT_EQ(tiled({3}).spans, (Spans{{4, 2, 1}}));
  EXPECT_EQ(tiled({3}).parts, 7U);
  EXPECT_EQ(tiled({3, 4}).spans, (Spans{{4, 2, 1}, {8, 4, 2, 1}}));
  EXPECT_EQ(tiled({3, 4}).parts, 22U);
  // The least unit is the second stage's: its block is of 2^3 parts, the first's of 2^2, the third's of 2^4.
  EXPECT_EQ(tiled({1, 3, 1}).spans, (Spans{{2}, {4, 2, 1}, {8}}));
  EXPECT_EQ(tiled({1, 1, 1}).spans, (Spans{{1}, {2}, {4}}));
  for (const std::vector<std::size_t>& phases : {std::vector<std::size_t>{}, {0}, {3, 0}, {41}, {40, 40}})
    EXPECT_FALSE(tile_stages(phases));
  EXPECT_TRUE(tile_stages({40}));
}

TEST(StagedMirrorDescentTest, PhasesReadRecordsOfTheirOwn) {
  const auto bound =
      releases::DualBound::create(*releases::ClipNorm::create(2.0), std::numeric_limits<double>::infinity(), 3).value();
  const MirrorPhase one{3, 1.0, 1.0};
  const Method method = stages_of({{{one, one}}, {{one, one, one}}, {{{7, 1.0, 1.0}}}});
  const planning::Schedule schedule = method->schedule({bound, 0.5});
  // Blocks of 4, 8 and 16 parts, of which 3, 7 and 8 are read: 18, of 5 records each among 97.
  const std::int64_t sizes[] = {2, 1, 4, 2, 1, 8};
  ASSERT_EQ(schedule.size(), 6U);
  EXPECT_EQ(method->extent().rounds, 22U);
  EXPECT_EQ(method->extent().entries, 6U);
  std::int64_t next = 0;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const auto positions = schedule[i].ask.records.slice->positions(97);
    EXPECT_EQ(positions.from, next);
    EXPECT_EQ(positions.to - positions.from, 5 * sizes[i]) << i;
    next = positions.to;
    EXPECT_EQ(schedule[i].rounds, i == 5 ? 7U : 3U);
    EXPECT_EQ(schedule[i].ask.records.draw_fraction, 0.5);
  }
  EXPECT_EQ(next, 90);
  EXPECT_TRUE(std::isinf(method->traits().clip_exponent));
  EXPECT_TRUE(method->traits().linear_models);
}

TEST(StagedMirrorDescentTest, RestoredAtAnyRoundItEndsTheSameToTheBit) {
  for (const queries::PointType type : {queries::PointType::F64, queries::PointType::F32}) {
    StagedMirrorDescentSettings settings =
        stages_of({{{{3, 0.5, 1.0}}}, {{{2, 1.0, 0.5}, {4, 2.0, 0.2}}}, {{{2, 1.0, 0.1}}}});
    settings.problem.point_type = type;
    const Eigen::VectorXd whole = staged_end_of(settings);
    for (std::uint64_t round = 0; round < 11; ++round) EXPECT_EQ(staged_end_of(settings, round), whole) << round;
  }
}

TEST(StagedMirrorDescentTest, RefusesADamagedState) {
  const StagedMirrorDescentSettings settings = stages_of({{{{3, 0.5, 1.0}}}, {{{2, 1.0, 0.5}}}});
  const std::vector<std::uint64_t> damaged[] = {{6, 0, 1}, {0, 3, 1}, {1, 0, 1}, {0, 0, 0}, {3, 0, 4}};
  for (const std::vector<std::uint64_t>& counts : damaged) {
    ByteWriter state;
    for (const std::uint64_t count : counts) state.u64(count);
    const Eigen::Vector3d zero = Eigen::Vector3d::Zero();
    for (int i = 0; i < 3; ++i) state.doubles(zero.data(), 3);
    ByteReader reader(state.bytes());
    EXPECT_FALSE(Method(settings)->make().value()->restore(reader)) << counts[0] << counts[1] << counts[2];
  }
}

TEST(StagedMirrorDescentTest, RefusesWhatItCannotRun) {
  const auto finds = [](const StagedMirrorDescentSettings& settings, const std::string& problem) {
    const auto made = Method(settings)->make();
    const std::string said = made ? "accepted" : made.error().message;
    EXPECT_NE(said.find(problem), std::string::npos) << said;
  };
  const MirrorPhase good{3, 1.0, 1.0};
  finds(stages_of({{{good}}}), "accepted");
  finds(stages_of({}), "from 1 to 16 stages, got 0");
  finds(stages_of(std::vector<MirrorStage>(17, {{good}})), "from 1 to 16 stages, got 17");
  finds(stages_of({{{good}}, {}}), "from 1 to 64 phases a stage, got 0");
  finds(stages_of({{std::vector<MirrorPhase>(65, good)}}), "from 1 to 64 phases a stage, got 65");
  finds(stages_of({{std::vector<MirrorPhase>(41, good)}}), "its last block would be of 2^41 parts");
  finds(stages_of({{{{0, 1.0, 1.0}}}}), "a phase of no rounds");
  for (const double bad : {0.0, -1.0, std::nan(""), 1e101}) {
    finds(stages_of({{{{3, bad, 1.0}}}}), "the relative convexity of staged mirror descent");
    finds(stages_of({{{{3, 1.0, bad}}}}), "the radius around a centre");
  }
  finds(stages_of({{{{UINT64_MAX, 1.0, 1.0}}}, {{good}}}), "at most 1000000 rounds in all");
  for (const double norm : {0.5, 2.5, std::nan("")}) finds(stages_of({{{good}}}, norm), "a norm must be in [1, 2]");
  StagedMirrorDescentSettings boxed = stages_of({{{good}}});
  boxed.problem.domain = geometry::Domain::box(-1.0, 1.0).value();
  finds(boxed, "it has an exact step around any centre of l1_ball and whole_space");
  StagedMirrorDescentSettings regularised = stages_of({{{good}}});
  regularised.problem.regulariser = geometry::Regulariser::squared_l2(0.1, 3).value();
  finds(regularised, "expected no regulariser");
}

TEST(StagedMirrorDescentTest, ReadsItsKeys) {
  const Problem problem = stages_of({}).problem;
  const auto problems_of = [&](const nlohmann::json& written) {
    config::Problems problems("job.json");
    config::Section section(written, "/algorithm", problems);
    const ParsedMethod parsed = StagedMirrorDescent::parse(section, problem);
    section.finish();
    if (problems.none()) {
      const auto* settings = parsed.method.as<StagedMirrorDescentSettings>();
      EXPECT_EQ(settings->phase_counts(), (std::vector<std::size_t>{1, 2}));
      EXPECT_EQ(settings->stages[1].phases[1].relative_convexity, 1e30);
      EXPECT_EQ(settings->norm, 1.5);
      EXPECT_EQ(parsed.draw_fraction, 0.5);
    }
    return problems.none() ? "accepted" : problems.error().message;
  };
  const nlohmann::json phase = {{"rounds", 2}, {"relative_convexity", 1e30}, {"radius", 0.5}};
  nlohmann::json written = {{"norm", 1.5}, {"draw_fraction", 0.5}};
  written["stages"] = {{{"phases", {phase}}}, {{"phases", {phase, phase}}}};
  EXPECT_EQ(problems_of(written), "accepted");
  nlohmann::json empty = written;
  empty["stages"] = nlohmann::json::array();
  EXPECT_NE(problems_of(empty).find("/algorithm/stages: expected"), std::string::npos);
  nlohmann::json unknown = written;
  unknown["stages"][1]["phases"][0]["proximity"] = 1;
  EXPECT_NE(problems_of(unknown).find("/algorithm/stages/1/phases/0/proximity: unknown key"), std::string::npos)
      << problems_of(unknown);
  nlohmann::json short_one = written;
  short_one["stages"][0]["phases"][0].erase("radius");
  EXPECT_NE(problems_of(short_one).find("/algorithm/stages/0/phases/0/radius: missing"), std::string::npos)
      << problems_of(short_one);
}

}  // namespace
}  // namespace undertone::algorithms
