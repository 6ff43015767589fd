#include "shared/algorithms/mirror/localized_mirror_descent.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/config/json_section.hpp"
#include "shared/geometry/duality_map.hpp"

namespace undertone::algorithms {
namespace {

LocalizedMirrorDescentSettings phases_of(std::vector<MirrorPhase> phases, double norm = 1.0) {
  LocalizedMirrorDescentSettings settings;
  settings.problem.dimension = 3;
  settings.problem.domain = geometry::Domain::l1_ball(2.0).value();
  settings.norm = norm;
  settings.phases = std::move(phases);
  return settings;
}

/// F(x) = ||x - c||^2/2 over the l1 ball of radius 2: the optimum is c less a soft threshold of 0.25.
const Eigen::Vector3d kCentre(1.5, -1.0, 0.2);
const Eigen::Vector3d kOptimum(1.25, -0.75, 0.0);

Eigen::VectorXd localized_end(const LocalizedMirrorDescentSettings& settings, std::uint64_t restart = UINT64_MAX) {
  auto algorithm = Method(settings)->make().value();
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    if (query->round.value == restart) {
      ByteWriter saved;
      algorithm->save(saved);
      const std::string bytes = std::move(saved).bytes();
      algorithm = Method(settings)->make().value();
      ByteReader reader(bytes);
      EXPECT_TRUE(algorithm->restore(reader));
      step = algorithm->start();
      query = std::get_if<queries::Query>(&step);
    }
    const Eigen::VectorXd at = queries::point_of(query->question);
    EXPECT_LE(at.lpNorm<1>(), 2.0 * (1.0 + 1e-6));
    step = algorithm->advance({query->round, 1, folds::Mean{Eigen::VectorXd(at - kCentre)}, 10}).value();
  }
  return std::get<Finished>(step).outcome.vectors.at("weights");
}

double localized_excess(const Eigen::VectorXd& x) {
  return 0.5 * (x - kCentre).squaredNorm() - 0.5 * (kOptimum - kCentre).squaredNorm();
}

TEST(LocalizedMirrorDescentTest, OneStepIsTheProximalStepByHand) {
  // p = 2, lambda 2, c = 0: theta = -(2/(2 2)) g = 1/2 c = (0.75, -0.5, 0.1), in the l1 ball. Radius 0.5 cuts it to
  // that l2 length. The phase's output is x_1 = 0; the next phase asks there again, the third at what it led to.
  const LocalizedMirrorDescentSettings settings = phases_of({{2, 2.0, 0.5}}, 2.0);
  const auto algorithm = Method(settings)->make().value();
  Step step = algorithm->start();
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(step).question), Eigen::VectorXd(Eigen::Vector3d::Zero()));
  step = algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::VectorXd(-kCentre)}, 10}).value();
  const Eigen::Vector3d theta = 0.5 * kCentre;
  const Eigen::VectorXd second = queries::point_of(std::get<queries::Query>(step).question);
  EXPECT_LE((second - 0.5 / theta.norm() * theta).norm(), 1e-12);
  // Weights k of x_1, x_2: the output is 2/3 x_2.
  step = algorithm->advance({RoundIndex{1}, 1, folds::Mean{Eigen::VectorXd(Eigen::Vector3d::Zero())}, 10}).value();
  EXPECT_LE((std::get<Finished>(step).outcome.vectors.at("weights") - 2.0 / 3.0 * second).norm(), 1e-12);
}

TEST(LocalizedMirrorDescentTest, WithoutNoiseItsPhasesComeNearerAndStayWithinTheirRadius) {
  // A phase ends within 2 G^2/(lambda mu (T + 1)) of its objective's optimum, which is lambda D_h above F's at most;
  // halving lambda four times brings it to G^2/(lambda T) + lambda D_h, here below 0.05.
  for (const double norm : {1.0, 1.5, 2.0}) {
    double last = HUGE_VAL;
    std::vector<MirrorPhase> phases;
    for (int i = 0; i < 4; ++i) {
      phases.push_back({400, 0.4 * std::exp2(-i), 2.0});
      const Eigen::VectorXd out = localized_end(phases_of(phases, norm));
      EXPECT_GE(localized_excess(out), -1e-9);
      EXPECT_LE(localized_excess(out), last + 0.01) << norm << " " << i;
      last = localized_excess(out);
    }
    EXPECT_LE(last, 0.05) << norm;
    const LocalizedMirrorDescentSettings near = phases_of({{50, 0.1, 0.25}}, norm);
    EXPECT_LE(geometry::lp_norm(localized_end(near), near.power()), 0.25 * (1.0 + 1e-9));
  }
}

TEST(LocalizedMirrorDescentTest, PhasesReadRecordsOfTheirOwn) {
  const auto bound =
      releases::DualBound::create(*releases::ClipNorm::create(2.0), std::numeric_limits<double>::infinity(), 3).value();
  const Method method = phases_of({{3, 1.0, 1.0}, {2, 2.0, 0.5}, {1, 4.0, 0.1}});
  const planning::Schedule schedule = method->schedule({bound, 1.0});
  ASSERT_EQ(schedule.size(), 3U);
  EXPECT_EQ(method->extent().rounds, 6U);
  std::int64_t next = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto positions = schedule[i].ask.records.slice->positions(100);
    EXPECT_EQ(positions.from, next);
    EXPECT_EQ(positions.to - positions.from, 100 >> (i + 1));
    next = positions.to;
    EXPECT_EQ(schedule[i].rounds, 3 - i);
  }
  EXPECT_TRUE(std::isinf(method->traits().clip_exponent));
}

TEST(LocalizedMirrorDescentTest, RestoredAtAnyRoundItEndsTheSameToTheBit) {
  for (const queries::PointType type : {queries::PointType::F64, queries::PointType::F32}) {
    LocalizedMirrorDescentSettings settings = phases_of({{3, 0.5, 1.0}, {2, 1.0, 0.5}, {4, 2.0, 0.2}});
    settings.problem.point_type = type;
    const Eigen::VectorXd whole = localized_end(settings);
    for (std::uint64_t round = 0; round < 9; ++round) EXPECT_EQ(localized_end(settings, round), whole) << round;
  }
}

TEST(LocalizedMirrorDescentTest, RefusesADamagedState) {
  const LocalizedMirrorDescentSettings settings = phases_of({{3, 0.5, 1.0}, {2, 1.0, 0.5}});
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

TEST(LocalizedMirrorDescentTest, RefusesWhatItCannotRun) {
  const auto finds = [](const LocalizedMirrorDescentSettings& settings, const std::string& problem) {
    const auto made = Method(settings)->make();
    const std::string said = made ? "accepted" : made.error().message;
    EXPECT_NE(said.find(problem), std::string::npos) << said;
  };
  const MirrorPhase good{3, 1.0, 1.0};
  finds(phases_of({good}), "accepted");
  finds(phases_of({}), "from 1 to 64 phases, got 0");
  finds(phases_of({{0, 1.0, 1.0}}), "a phase of no rounds");
  finds(phases_of({{3, 0.0, 1.0}}), "the relative convexity of localized mirror descent");
  finds(phases_of({{3, 1.0, 0.0}}), "the radius around a centre");
  finds(phases_of({{UINT64_MAX, 1.0, 1.0}, good}), "rounds in all");
  finds(phases_of({good}, 2.5), "a norm must be in [1, 2], got 2.5");
  LocalizedMirrorDescentSettings boxed = phases_of({good});
  boxed.problem.domain = geometry::Domain::box(-1.0, 1.0).value();
  finds(boxed, "it has an exact step around any centre of l1_ball and whole_space");
  LocalizedMirrorDescentSettings regularised = phases_of({good});
  regularised.problem.regulariser = geometry::Regulariser::squared_l2(0.1, 3).value();
  finds(regularised, "expected no regulariser");
}

}  // namespace
}  // namespace undertone::algorithms
