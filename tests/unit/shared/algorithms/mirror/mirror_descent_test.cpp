#include "shared/algorithms/mirror/mirror_descent.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/algorithms/mirror/mirror_geometry.hpp"
#include "shared/base/random_source.hpp"
#include "shared/config/json_section.hpp"

namespace undertone::algorithms {
namespace {

using geometry::Domain;
using geometry::LiftedEntropyMap;
using geometry::MirrorMap;
using geometry::PNormMap;

Problem over(const Domain& domain, Eigen::Index dimension = 3) {
  Problem problem;
  problem.dimension = dimension;
  problem.domain = domain;
  return problem;
}

MirrorMap l1_map(double radius = 2.0, Eigen::Index dimension = 3) {
  return MirrorMap(PNormMap::create(1.0, geometry::L1Ball{radius}, dimension).value());
}

MirrorDescentSettings settings_of(std::uint64_t rounds, double step_size) {
  return {over(Domain::l1_ball(2.0).value()), l1_map(), rounds, step_size};
}

std::string refusal_of(const MirrorDescentSettings& settings) {
  const auto made = Method(settings)->make();
  return made ? "accepted" : made.error().message;
}

std::string problems_of(const nlohmann::json& algorithm, const Problem& problem) {
  config::Problems problems("job.json");
  config::Section section(algorithm, "/algorithm", problems);
  (void)MirrorDescent::parse(section, problem);
  section.finish();
  return problems.none() ? "accepted" : problems.error().message;
}

nlohmann::json job(const nlohmann::json& geometry) {
  return {{"rounds", 4}, {"step_size", 0.5}, {"draw_fraction", 0.25}, {"geometry", geometry}};
}

/// Runs to the end on exact gradients.
template <class Gradient>
Eigen::VectorXd run(const MirrorDescentSettings& settings, const Gradient& gradient) {
  const auto algorithm = Method(settings)->make().value();
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    const Eigen::VectorXd at = queries::point_of(query->question);
    step = algorithm->advance({query->round, 1, folds::Mean{gradient(at)}, 10}).value();
  }
  return std::get<Finished>(step).outcome.vectors.at("weights");
}

TEST(MirrorDescentTest, StepsAndAveragesAsTheSourceDoes) {
  // Lifted entropy of radius 1 in R^1: weights (1/2, 1/2), g = 1 at both points, eta = ln 3/2. Each step divides u+/u-
  // by e^(2 eta) = 3: x_1 = 0, x_2 = (1 - 3)/4 = -1/2, so that the mean of x_1, x_2 is -1/4.
  const MirrorDescentSettings settings{over(Domain::l1_ball(1.0).value(), 1),
                                       MirrorMap(LiftedEntropyMap::create(1.0, 1).value()), 2, std::log(3.0) / 2.0};
  const Eigen::VectorXd out = run(settings, [](const Eigen::VectorXd&) { return Eigen::VectorXd::Ones(1); });
  EXPECT_NEAR(out[0], -0.25, 1e-15);
}

TEST(MirrorDescentTest, OfRelativeStrongConvexityWeighsLateIteratesMore) {
  // Euclidean over the line, F(x) = (x - 6)^2/2 + h-free, lambda = 1: eta_k = 2/(k + 1) = 1, 2/3, 1/2. From 0:
  // x_1 = 0, x_2 = 0 + 6 = 6, x_3 = 6. Weights k: (0 + 2 6 + 3 6)/6 = 5.
  MirrorDescentSettings settings{over(Domain::whole_space(), 1),
                                 MirrorMap(geometry::EuclideanMap(Domain::whole_space(), 1)), 3, std::nullopt, 1.0};
  const Eigen::VectorXd out =
      run(settings, [](const Eigen::VectorXd& x) { return Eigen::VectorXd::Constant(1, x[0] - 6.0); });
  EXPECT_NEAR(out[0], 5.0, 1e-14);
}

TEST(MirrorDescentTest, WithoutNoiseItComesToTheOptimumWithinItsBound) {
  // F(x) = max over nothing: <c, x> over the l1 ball of radius 2 has its minimum -2 max |c_j| = -6 at -2 sign(c_1) e_1.
  const Eigen::Vector3d c(3.0, -1.0, 0.5);
  const releases::ClipNorm clip = *releases::ClipNorm::create(3.0);
  for (const double step : {0.01, 0.1, 1.0}) {
    SCOPED_TRACE(step);
    const MirrorDescentSettings settings = settings_of(200, step);
    const Eigen::VectorXd out = run(settings, [&](const Eigen::VectorXd&) -> Eigen::VectorXd { return c; });
    const double excess = c.dot(out) + 6.0;
    EXPECT_GE(excess, -1e-12);
    EXPECT_LE(excess, settings.predicted_risk(clip, 0.0, false)->bound);
    EXPECT_LE(out.lpNorm<1>(), 2.0 * (1.0 + 1e-12));
  }
}

TEST(MirrorDescentTest, BoundsTheRiskByItsFormula) {
  // d = 3: p = 1 + 1/log2 3, D = 4/(2 (p - 1)) = 2 log2 3, mu = 3^(-2 (1 - 1/p)), G = 1 + sqrt(2 0.25 (1 + ln 3)).
  const double power = 1.0 + 1.0 / std::log2(3.0);
  const double g = 1.0 + std::sqrt(0.5 * (1.0 + std::log(3.0)));
  const double mu = std::pow(3.0, -2.0 * (1.0 - 1.0 / power));
  const auto bound = settings_of(8, 0.5).predicted_risk(*releases::ClipNorm::create(1.0), 0.25, false);
  ASSERT_TRUE(bound);
  EXPECT_NEAR(bound->bound, 2.0 * std::log2(3.0) / 4.0 + 0.25 * g * g / mu, 1e-12);
  MirrorDescentSettings relative = settings_of(8, 0.5);
  relative.step_size.reset();
  relative.relative_convexity = 1.0;
  EXPECT_FALSE(relative.predicted_risk(*releases::ClipNorm::create(1.0), 0.25, true));
}

TEST(MirrorDescentTest, NoiseNormsAreBounded) {
  // E ||N(0, I)||_inf^2 is 1.0, 1.6, 3.8, 7.7 and 16.4 in dimension 1, 2, 10, 100 and 10^4 (non-euclidean C12).
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const auto& [d, measured] :
       {std::pair<Eigen::Index, double>(1, 1.0), {2, 1.6}, {10, 3.8}, {100, 7.7}, {10'000, 16.4}})
    EXPECT_GE(noise_norm_squared(kInfinity, d, 1.0), measured);
  EXPECT_DOUBLE_EQ(noise_norm_squared(2.0, 7, 0.5), 3.5);
  EXPECT_DOUBLE_EQ(noise_norm_squared(3.0, 8, 1.0), 8.0);  // 8^(2/3) 2
  EXPECT_DOUBLE_EQ(noisy_gradient_squared(2.0, 7, 2.0, 0.5), 7.5);
}

TEST(MirrorDescentTest, ReadsItsGeometry) {
  const Problem ball = over(Domain::l1_ball(2.0).value());
  config::Problems problems("job.json");
  const nlohmann::json written = job({{"potential", "p_norm"}, {"norm", 1.5}});
  config::Section section(written, "/algorithm", problems);
  const ParsedMethod parsed = MirrorDescent::parse(section, ball);
  section.finish();
  ASSERT_TRUE(problems.none()) << problems.error().message;
  EXPECT_EQ(parsed.draw_fraction, 0.25);
  const auto* settings = parsed.method.as<MirrorDescentSettings>();
  ASSERT_NE(settings, nullptr);
  EXPECT_EQ(settings->map.norm_exponent(), 1.5);
  EXPECT_DOUBLE_EQ(parsed.method->traits().clip_exponent, 3.0);
  EXPECT_TRUE(parsed.method->traits().linear_models);
  EXPECT_EQ(problems_of(job({{"potential", "entropy"}}), ball), "accepted");
  EXPECT_EQ(problems_of(job({{"potential", "entropy"}}), over(Domain::simplex(1.0).value())), "accepted");
  EXPECT_EQ(problems_of(job({{"potential", "euclidean"}}), over(Domain::l2_ball(1.0).value())), "accepted");
  EXPECT_EQ(problems_of(job({{"potential", "p_norm"}, {"norm", 1}, {"radius", 3}}), over(Domain::whole_space())),
            "accepted");
}

TEST(MirrorDescentTest, OfTheEuclideanPotentialClipsInL2AndTakesEveryModel) {
  const MirrorDescentSettings euclidean{over(Domain::l2_ball(1.0).value()),
                                        MirrorMap(geometry::EuclideanMap(Domain::l2_ball(1.0).value(), 3)), 4, 0.5};
  EXPECT_EQ(euclidean.traits().clip_exponent, 2.0);
  EXPECT_FALSE(euclidean.traits().linear_models);
}

TEST(MirrorDescentTest, RefusesWhatItCannotRead) {
  const Problem ball = over(Domain::l1_ball(2.0).value());
  const auto finds = [](const nlohmann::json& geometry, const Problem& problem, const std::string& expected) {
    const std::string said = problems_of(job(geometry), problem);
    EXPECT_NE(said.find(expected), std::string::npos) << said;
  };
  finds({{"potential", "p_norm"}}, ball, "/algorithm/geometry/norm: missing");
  finds({{"potential", "p_norm"}, {"norm", 0.5}}, ball, "/algorithm/geometry/norm: expected");
  finds({{"potential", "p_norm"}, {"norm", 2.5}}, ball, "/algorithm/geometry/norm: expected");
  finds({{"potential", "p_norm"}, {"norm", "one"}}, ball, "/algorithm/geometry/norm: expected");
  finds({{"potential", "p_norm"}, {"norm", 1}, {"radius", 3}}, ball,
        "expected the domain whole_space beside its radius");
  finds({{"potential", "p_norm"}, {"norm", 1}, {"radius", 0}}, over(Domain::whole_space()), "radius: expected");
  finds({{"potential", "p_norm"}, {"norm", 1}}, over(Domain::l2_ball(1.0).value()),
        "no exact proximal step over the l2 ball: it has one over the whole space, its own ball, the l1 ball and the "
        "simplex");
  finds({{"potential", "entropy"}}, over(Domain::box(-1, 1).value()),
        "no exact proximal step over the box: it has one over the simplex and the l1 ball");
  finds({{"potential", "entropy"}, {"norm", 1}}, ball, "/algorithm/geometry/norm: unknown key");
  finds({{"potential", "cubic"}}, ball, "/algorithm/geometry/potential: expected one of");
  nlohmann::json both = job({{"potential", "entropy"}});
  both["relative_convexity"] = 0.5;
  EXPECT_NE(problems_of(both, ball).find("/algorithm/step_size: unknown key"), std::string::npos)
      << problems_of(both, ball);
}

TEST(MirrorDescentTest, RefusesWhatItCannotRun) {
  EXPECT_EQ(refusal_of(settings_of(5, 0.5)), "accepted");
  EXPECT_NE(refusal_of(settings_of(0, 0.5)).find("no rounds"), std::string::npos);
  for (const double step : {0.0, -1.0, std::nan(""), 1e101})
    EXPECT_NE(refusal_of(settings_of(5, step)).find("the step size of mirror descent"), std::string::npos) << step;
  MirrorDescentSettings relative = settings_of(5, 0.5);
  relative.step_size.reset();
  EXPECT_NE(refusal_of(relative).find("the relative convexity of mirror descent"), std::string::npos);
  MirrorDescentSettings started = settings_of(5, 0.5);
  ASSERT_TRUE(started.problem.start_at(Eigen::Vector3d(1.0, 0.0, 0.0)));
  EXPECT_NE(refusal_of(started).find("starts at the least point of its potential"), std::string::npos);
  MirrorDescentSettings kinked = settings_of(5, 0.5);
  kinked.problem.regulariser = geometry::Regulariser::l1(0.1, 3).value();
  EXPECT_NE(refusal_of(kinked).find("is not smooth"), std::string::npos);
  MirrorDescentSettings wide = settings_of(5, 0.5);
  wide.problem.dimension = 4;
  EXPECT_NE(refusal_of(wide).find("a potential of 3 numbers, and a model of 4"), std::string::npos);
}

TEST(MirrorDescentTest, AsksInTheDualNorm) {
  const auto bound = releases::DualBound::create(*releases::ClipNorm::create(2.0), 3.0, 3).value();
  const planning::Schedule schedule = Method(settings_of(6, 0.5))->schedule({bound, 0.5});
  ASSERT_EQ(schedule.size(), 1U);
  EXPECT_EQ(schedule.front().rounds, 6U);
  EXPECT_EQ(std::get<releases::DualBound>(schedule.front().ask.bound), bound);
  EXPECT_EQ(schedule.front().ask.records.draw_fraction, 0.5);
}

TEST(MirrorDescentTest, RestoredAtAnyRoundItEndsTheSameToTheBit) {
  for (const queries::PointType type : {queries::PointType::F64, queries::PointType::F32}) {
    MirrorDescentSettings settings = settings_of(7, 0.4);
    settings.problem.point_type = type;
    const auto gradient = [](const Eigen::VectorXd& x) -> Eigen::VectorXd {
      return x - Eigen::Vector3d(1.5, -2.5, 0.25);
    };
    const auto end_of = [&](std::uint64_t restart) {
      auto algorithm = Method(settings)->make().value();
      Step step = algorithm->start();
      while (const auto* query = std::get_if<queries::Query>(&step)) {
        if (query->round.value == restart) {
          ByteWriter writer;
          algorithm->save(writer);
          algorithm = Method(settings)->make().value();
          const std::string bytes = std::move(writer).bytes();
          ByteReader reader(bytes);
          EXPECT_TRUE(algorithm->restore(reader));
          step = algorithm->start();
        }
        const auto& asked = std::get<queries::Query>(step);
        step =
            algorithm->advance({asked.round, 1, folds::Mean{gradient(queries::point_of(asked.question))}, 9}).value();
      }
      return std::get<Finished>(step).outcome.vectors.at("weights");
    };
    const Eigen::VectorXd whole = end_of(100);
    for (std::uint64_t round = 0; round < 7; ++round) EXPECT_EQ(end_of(round), whole) << round;
  }
}

TEST(MirrorDescentTest, RefusesASavedStateOfAnotherRun) {
  const auto algorithm = Method(settings_of(4, 0.5))->make().value();
  const auto refused = [&](std::uint64_t round, std::vector<double> state) {
    ByteWriter writer;
    writer.u64(round);
    writer.doubles(state.data(), state.size());
    const std::vector<double> average(3, 0.0);
    writer.doubles(average.data(), average.size());
    const std::string bytes = std::move(writer).bytes();
    ByteReader reader(bytes);
    return !algorithm->restore(reader);
  };
  EXPECT_FALSE(refused(2, {0.1, 0.0, 0.0}));
  EXPECT_TRUE(refused(5, {0.1, 0.0, 0.0}));
  EXPECT_TRUE(refused(2, {0.1, 0.0}));
  EXPECT_TRUE(refused(2, {std::nan(""), 0.0, 0.0}));
  EXPECT_TRUE(refused(2, {1e9, 0.0, 0.0}));  // outside the l1 ball
}

TEST(MirrorDescentTest, RefusesAnswersOfAnotherRound) {
  const auto algorithm = Method(settings_of(4, 0.5))->make().value();
  EXPECT_FALSE(algorithm->advance({RoundIndex{1}, 1, folds::Mean{Eigen::Vector3d::Zero()}, 9}));
  EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::Vector2d::Zero()}, 9}));
}

}  // namespace
}  // namespace undertone::algorithms
