#include "shared/algorithms/mirror/noisy_frank_wolfe.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/config/json_section.hpp"

namespace undertone::algorithms {
namespace {

using geometry::Domain;
using geometry::FrankWolfeSet;

NoisyFrankWolfeSettings one_pass_settings(std::uint64_t rounds, double step_size) {
  Problem problem;
  problem.dimension = 3;
  problem.domain = Domain::l1_ball(2.0).value();
  return {problem, FrankWolfeSet::create(geometry::L1Ball{2.0}, 1.0, 3).value(), rounds, step_size, 0.5};
}

std::string refusal_of(const NoisyFrankWolfeSettings& settings) {
  const auto made = Method(settings)->make();
  return made ? "accepted" : made.error().message;
}

std::string problems_of(const nlohmann::json& set, const Domain& domain) {
  Problem problem;
  problem.dimension = 3;
  problem.domain = domain;
  const nlohmann::json written = {{"rounds", 4}, {"step_size", 0.25}, {"smoothness", 1}, {"set", set}};
  config::Problems problems("job.json");
  config::Section section(written, "/algorithm", problems);
  (void)NoisyFrankWolfe::parse(section, problem);
  section.finish();
  return problems.none() ? "accepted" : problems.error().message;
}

/// F(x) = ||x - c||^2/2: its gradient where one is asked for, its difference where that is.
folds::Gathered answer(const queries::Query& query, const Eigen::Vector3d& c) {
  const std::vector<queries::NamedPoint> points = queries::named_points(query.question);
  Eigen::VectorXd mean = points[0].value;
  mean -= points.size() == 2 ? Eigen::VectorXd(points[1].value) : Eigen::VectorXd(c);
  return {query.round, 1, folds::Mean{mean}, 10};
}

TEST(NoisyFrankWolfeTest, AsksAGradientThenDifferencesAndStepsToVertices) {
  // c = (1, -3, 0), x_0 = 0: G_0 = (-1, 3, 0), so -2 e_2 and x_1 = 1/2 (0, -2, 0) = (0, -1, 0);
  // G_1 = (-1, 2, 0), so x_2 = (0, -1.5, 0); G_2 = (-1, 1.5, 0), so x_3 = (0, -1.75, 0).
  const Eigen::Vector3d c(1.0, -3.0, 0.0);
  const auto algorithm = Method(one_pass_settings(2, 0.5))->make().value();
  Step step = algorithm->start();
  const auto points = [&] { return queries::point_of(std::get<queries::Query>(step).question); };
  EXPECT_EQ(points(), Eigen::VectorXd(Eigen::Vector3d::Zero()));
  step = algorithm->advance(answer(std::get<queries::Query>(step), c)).value();
  Eigen::VectorXd pair(6);
  pair << 0, -1, 0, 0, 0, 0;
  EXPECT_EQ(points(), pair);
  step = algorithm->advance(answer(std::get<queries::Query>(step), c)).value();
  pair << 0, -1.5, 0, 0, -1, 0;
  EXPECT_EQ(points(), pair);
  step = algorithm->advance(answer(std::get<queries::Query>(step), c)).value();
  ASSERT_TRUE(std::holds_alternative<Finished>(step));
  EXPECT_EQ(std::get<Finished>(step).outcome.vectors.at("weights"), Eigen::VectorXd(Eigen::Vector3d(0, -1.75, 0)));
}

TEST(NoisyFrankWolfeTest, ReadsHalfOfTheRecordsAndThenPartsOfTheOther) {
  using Cut = releases::Slice::Cut;
  const auto bound =
      releases::DualBound::create(*releases::ClipNorm::create(2.0), std::numeric_limits<double>::infinity(), 3).value();
  const Method method = one_pass_settings(3, 0.5);
  const planning::Schedule schedule = method->schedule({bound, 1.0});
  ASSERT_EQ(schedule.size(), 4U);
  EXPECT_EQ(method->extent().rounds, 4U);
  EXPECT_EQ(schedule.front().ask.kind(), releases::QuestionKind::Gradient);
  std::int64_t next = 0;
  // Of 103 records 51, then 17 three times; the last is in no part.
  for (std::size_t t = 0; t < schedule.size(); ++t) {
    const releases::Ask& ask = schedule[t].ask;
    ASSERT_TRUE(ask.records.slice);
    EXPECT_EQ(ask.records.slice->cut, Cut::HalfThenEqual);
    const auto positions = ask.records.slice->positions(103);
    EXPECT_EQ(positions.from, next);
    EXPECT_EQ(positions.to - positions.from, t == 0 ? 51 : 17);
    next = positions.to;
    if (t == 0) continue;
    EXPECT_EQ(ask.kind(), releases::QuestionKind::GradientDifference);
    const auto& twice = std::get<releases::DualBound>(ask.bound);
    EXPECT_EQ(twice.clip().value(), 4.0);
    EXPECT_EQ(twice.smoothness, 0.5);
  }
}

TEST(NoisyFrankWolfeTest, ThePrintedNoiseIsOneShiftOfGradientsAndDifferences) {
  // n = 1000, epsilon 1, ln(1/delta) = 13.81551: sigma_0 = sqrt(32 13.81551)/1000 = 0.0210261 for s = 4/1000, and
  // 0.0040/0.0210261 = 0.1902399 = 1/sqrt(27.63102); of differences likewise.
  const NoiseShifts shifts = Method(one_pass_settings(31, 0.1))->theorem_noise({1000.0, 500.0, 1.0, 1e-6}).value();
  EXPECT_NEAR(shifts.gradients.front(), 0.19023987, 1e-8);
  EXPECT_EQ(shifts.difference, shifts.gradients.front());
  EXPECT_FALSE(Method(one_pass_settings(0, 0.1))->theorem_noise({1000.0, 500.0, 1.0, 1e-6}));
}

TEST(NoisyFrankWolfeTest, WithoutNoiseItComesNearTheOptimum) {
  // min over the l1 ball of radius 2 of ||x - c||^2/2, c = (1.5, -1, 0.2): soft threshold 0.25, x = (1.25, -0.75, 0).
  // With a step eta of all rounds the gap stays within eta beta D^2 = 0.02 4^2, and falls to it as (1 - eta)^t.
  const Eigen::Vector3d c(1.5, -1.0, 0.2);
  const auto algorithm = Method(one_pass_settings(400, 0.02))->make().value();
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) step = algorithm->advance(answer(*query, c)).value();
  const Eigen::VectorXd out = std::get<Finished>(step).outcome.vectors.at("weights");
  const auto value = [&](const Eigen::VectorXd& x) { return 0.5 * (x - c).squaredNorm(); };
  const double excess = value(out) - value(Eigen::Vector3d(1.25, -0.75, 0.0));
  EXPECT_GE(excess, -1e-12);
  EXPECT_LE(excess, 0.02 * 16.0);
  EXPECT_LE(out.lpNorm<1>(), 2.0 * (1.0 + 1e-12));
}

TEST(NoisyFrankWolfeTest, SetsHaveTheirMinimisersAndDiameters) {
  const Eigen::Vector3d g(1.0, -2.0, 0.5);
  const FrankWolfeSet ball = FrankWolfeSet::create(geometry::L1Ball{3.0}, 1.5, 3).value();
  EXPECT_EQ(ball.minimiser(g), Eigen::VectorXd(Eigen::Vector3d(0, 3, 0)));
  EXPECT_EQ(ball.diameter(), 6.0);
  const FrankWolfeSet simplex = FrankWolfeSet::create(geometry::Simplex{2.0}, 1.0, 3).value();
  EXPECT_EQ(simplex.minimiser(g), Eigen::VectorXd(Eigen::Vector3d(0, 2, 0)));
  EXPECT_EQ(simplex.diameter(), 4.0);
  // p = 1.5, q = 3: -sign(g) |g|^2 / ||g||_3^2, whose l_1.5 norm is 1; <x, g> = -||g||_3.
  const FrankWolfeSet lp = FrankWolfeSet::create(geometry::LpBall{1.5, 1.0}, 1.5, 3).value();
  const double norm = std::cbrt(1.0 + 8.0 + 0.125);
  const Eigen::VectorXd least = lp.minimiser(g);
  EXPECT_NEAR((least + Eigen::Vector3d(1.0, -4.0, 0.25) / (norm * norm)).norm(), 0.0, 1e-15);
  EXPECT_NEAR(least.dot(g), -norm, 1e-14);
  EXPECT_TRUE(lp.contains(least, 1e-12));
  EXPECT_FALSE(lp.contains(1.1 * least, 1e-3));
  EXPECT_EQ(lp.minimiser(Eigen::Vector3d::Zero()), Eigen::VectorXd(Eigen::Vector3d::Zero()));
}

TEST(NoisyFrankWolfeTest, RefusesWhatIsNoSet) {
  for (const double norm : {0.5, 2.5, std::nan("")})
    EXPECT_FALSE(FrankWolfeSet::create(geometry::L1Ball{1.0}, norm, 3)) << norm;
  for (const double radius : {0.0, -1.0, std::nan(""), 1e101}) {
    EXPECT_FALSE(FrankWolfeSet::create(geometry::L1Ball{radius}, 1.0, 3)) << radius;
    EXPECT_FALSE(FrankWolfeSet::create(geometry::Simplex{radius}, 1.0, 3)) << radius;
    EXPECT_FALSE(FrankWolfeSet::create(geometry::LpBall{1.5, radius}, 1.5, 3)) << radius;
  }
  EXPECT_FALSE(FrankWolfeSet::create(geometry::LpBall{1.5, 1.0}, 1.2, 3));
  EXPECT_FALSE(FrankWolfeSet::create(geometry::LpBall{1.0, 1.0}, 1.0, 3));
}

TEST(NoisyFrankWolfeTest, ReadsItsSet) {
  EXPECT_EQ(problems_of({{"norm", 1}}, Domain::l1_ball(2.0).value()), "accepted");
  EXPECT_EQ(problems_of({{"norm", 1.5}}, Domain::simplex(1.0).value()), "accepted");
  EXPECT_EQ(problems_of({{"norm", 1.5}, {"radius", 2}}, Domain::whole_space()), "accepted");
  const auto finds = [](const nlohmann::json& set, const Domain& domain, const std::string& expected) {
    const std::string said = problems_of(set, domain);
    EXPECT_NE(said.find(expected), std::string::npos) << said;
  };
  finds({{"norm", 1.5}}, Domain::whole_space(), "got the whole space and no radius");
  finds({{"norm", 1.5}, {"radius", 2}}, Domain::l1_ball(2.0).value(), "got the l1 ball and a radius");
  finds({{"norm", 1}, {"radius", 2}}, Domain::whole_space(), "an lp ball is of the norm's own p > 1");
  finds({{"norm", 3}}, Domain::l1_ball(2.0).value(), "/algorithm/set/norm: expected");
  finds({{"radius", 2}}, Domain::whole_space(), "/algorithm/set/norm: missing");
}

TEST(NoisyFrankWolfeTest, RefusesWhatItCannotRun) {
  EXPECT_EQ(refusal_of(one_pass_settings(4, 1.0)), "accepted");
  EXPECT_NE(refusal_of(one_pass_settings(0, 0.5)).find("no rounds"), std::string::npos);
  for (const double step : {0.0, 1.5, -0.5, std::nan("")})
    EXPECT_NE(refusal_of(one_pass_settings(4, step)).find("a step must be in (0, 1]"), std::string::npos) << step;
  NoisyFrankWolfeSettings rough = one_pass_settings(4, 0.5);
  rough.smoothness = 0.0;
  EXPECT_NE(refusal_of(rough).find("the smoothness of noisy Frank-Wolfe"), std::string::npos);
  NoisyFrankWolfeSettings regularised = one_pass_settings(4, 0.5);
  regularised.problem.regulariser = geometry::Regulariser::squared_l2(0.1, 3).value();
  EXPECT_NE(refusal_of(regularised).find("expected no regulariser"), std::string::npos);
  NoisyFrankWolfeSettings outside = one_pass_settings(4, 0.5);
  outside.set = FrankWolfeSet::create(geometry::Simplex{1.0}, 1.0, 3).value();
  EXPECT_NE(refusal_of(outside).find("it starts outside the simplex"), std::string::npos);
  NoisyFrankWolfeSettings wide = one_pass_settings(4, 0.5);
  wide.problem.dimension = 4;
  EXPECT_NE(refusal_of(wide).find("a set of 3 numbers, and a model of 4"), std::string::npos);
}

TEST(NoisyFrankWolfeTest, RestoredAtAnyRoundItEndsTheSameToTheBit) {
  const Eigen::Vector3d c(1.5, -1.0, 0.2);
  for (const queries::PointType type : {queries::PointType::F64, queries::PointType::F32}) {
    NoisyFrankWolfeSettings settings = one_pass_settings(6, 0.3);
    settings.problem.point_type = type;
    const auto end_of = [&](std::uint64_t restart) {
      auto algorithm = Method(settings)->make().value();
      Step step = algorithm->start();
      while (const auto* query = std::get_if<queries::Query>(&step)) {
        if (query->round.value == restart) {
          ByteWriter writer;
          algorithm->save(writer);
          const std::string bytes = std::move(writer).bytes();
          algorithm = Method(settings)->make().value();
          ByteReader reader(bytes);
          EXPECT_TRUE(algorithm->restore(reader));
          step = algorithm->start();
        }
        step = algorithm->advance(answer(std::get<queries::Query>(step), c)).value();
      }
      return std::get<Finished>(step).outcome.vectors.at("weights");
    };
    const Eigen::VectorXd whole = end_of(100);
    for (std::uint64_t round = 0; round < 7; ++round) EXPECT_EQ(end_of(round), whole) << round;
  }
}

}  // namespace
}  // namespace undertone::algorithms
