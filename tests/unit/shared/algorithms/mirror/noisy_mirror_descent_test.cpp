#include "shared/algorithms/mirror/noisy_mirror_descent.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/config/json_section.hpp"
#include "shared/geometry/duality_map.hpp"

namespace undertone::algorithms {
namespace {

using geometry::Domain;

Problem noisy_problem(const Domain& domain, Eigen::Index dimension) {
  Problem problem;
  problem.dimension = dimension;
  problem.domain = domain;
  return problem;
}

NoisyMirrorDescentSettings noisy_settings(const Domain& domain, Eigen::Index dimension, double norm,
                                          std::uint64_t rounds, double step_size,
                                          std::optional<double> radius = std::nullopt) {
  const Problem problem = noisy_problem(domain, dimension);
  return {problem, NoisyMirrorDescent::potential(problem, norm, radius).value(), rounds, step_size};
}

NoisyMirrorDescentSettings over_l1(Eigen::Index dimension, std::uint64_t rounds, double step_size) {
  return noisy_settings(Domain::l1_ball(1.0).value(), dimension, 1.0, rounds, step_size);
}

/// The points that are asked about where every answer is the same gradient, and the outcome after them.
std::vector<Eigen::VectorXd> points_of(const NoisyMirrorDescentSettings& settings, const Eigen::VectorXd& gradient) {
  const auto algorithm = Method(settings)->make().value();
  std::vector<Eigen::VectorXd> out;
  Step step = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    out.emplace_back(queries::point_of(query->question));
    step = algorithm->advance({query->round, 1, folds::Mean{gradient}, 10}).value();
  }
  out.push_back(std::get<Finished>(step).outcome.vectors.at("weights"));
  return out;
}

std::string noisy_refusal_of(const NoisyMirrorDescentSettings& settings) {
  const auto made = Method(settings)->make();
  return made ? "accepted" : made.error().message;
}

std::string noisy_problems_of(const nlohmann::json& geometry, const Problem& problem) {
  const nlohmann::json written = {{"rounds", 4}, {"step_size", 0.5}, {"draw_fraction", 0.25}, {"geometry", geometry}};
  config::Problems problems("job.json");
  config::Section section(written, "/algorithm", problems);
  (void)NoisyMirrorDescent::parse(section, problem);
  section.finish();
  return problems.none() ? "accepted" : problems.error().message;
}

void expect_point(const Eigen::VectorXd& point, const Eigen::VectorXd& expected) {
  EXPECT_NEAR((point - expected).norm(), 0.0, 1e-12) << point.transpose() << " for " << expected.transpose();
}

TEST(NoisyMirrorDescentTest, AsksAtTheTextbooksPointsOverTheL1Ball) {
  // d = 3, p = 1: r = 2 and kappa = 3, so Phi = 3/2 ||x||_2^2 and a step of eta = 3 is the projection of x - g on the
  // l1 ball of radius 2. g = (-1, 1/2, 0): (1, -1/2, 0), then (2, -1, 0) less the threshold 1/2 = (3/2, -1/2, 0).
  const Eigen::Vector3d gradient(-1.0, 0.5, 0.0);
  const auto points = points_of(noisy_settings(Domain::l1_ball(2.0).value(), 3, 1.0, 3, 3.0), gradient);
  ASSERT_EQ(points.size(), 4U);
  expect_point(points[0], Eigen::Vector3d::Zero());
  expect_point(points[1], Eigen::Vector3d(1.0, -0.5, 0.0));
  expect_point(points[2], Eigen::Vector3d(1.5, -0.5, 0.0));
  expect_point(points[3], Eigen::Vector3d(2.5 / 3.0, -1.0 / 3.0, 0.0));  // the mean of the three
}

TEST(NoisyMirrorDescentTest, AsksAtTheTextbooksPointsInLOneAndAHalf) {
  // d = 10, p = 3/2: r = q = 3, r* = p, kappa = 2, Phi = ||x||_1.5^2. grad Phi(x) = 2 J_1.5(x) = -eta g: x^2 = J_3(2,
  // 1) = (4, 1)/9^(1/3) of g = (-4, -2, 0, ..), and x^3 is twice that.
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(10);
  gradient.head(2) << -4.0, -2.0;
  Eigen::VectorXd once = Eigen::VectorXd::Zero(10);
  once.head(2) << 4.0, 1.0;
  once /= std::cbrt(9.0);
  const auto points = points_of(noisy_settings(Domain::whole_space(), 10, 1.5, 3, 1.0), gradient);
  expect_point(points[1], once);
  expect_point(points[2], 2.0 * once);
  expect_point(points[3], once);
  // In the ball of radius 1 of that norm, a step that leaves it is scaled back: ||(4, 1)||_1.5 = 9^(2/3).
  const auto inside = points_of(noisy_settings(Domain::whole_space(), 10, 1.5, 2, 1.0, 1.0), gradient);
  expect_point(inside[1], once / (std::pow(9.0, 2.0 / 3.0) / std::cbrt(9.0)));
}

TEST(NoisyMirrorDescentTest, ThePotentialHasTheNoisesPowerAndTheConstantOfTheSource) {
  // d = 64: r = 7.155305, r* = 1.162462, below 1 + 1/6; kappa = 19.683402. From 0 along e_1, kappa x = -eta g.
  const NoisyMirrorDescentSettings settings = over_l1(64, 2, 1.0);
  EXPECT_NEAR(settings.noise_norm().exponent, 7.155305, 1e-6);
  const auto& map = std::get<geometry::PNormMap>(settings.map.kind());
  EXPECT_NEAR(map.power(), 1.162462, 1e-6);
  EXPECT_EQ(map.norm_exponent(), 1.0);
  EXPECT_NEAR(map.strong_convexity(), 6.155305 / 19.683402, 1e-7);
  EXPECT_NEAR(points_of(settings, Eigen::VectorXd::Unit(64, 0))[1][0], -1.0 / 19.683402, 1e-8);
}

TEST(NoisyMirrorDescentTest, OverTheSimplexItStartsAtTheCentreAndStaysThere) {
  const auto points =
      points_of(noisy_settings(Domain::simplex(2.0).value(), 16, 1.0, 3, 1.0), Eigen::VectorXd::Ones(16));
  for (const Eigen::VectorXd& point : points) expect_point(point, Eigen::VectorXd::Constant(16, 0.125));
}

TEST(NoisyMirrorDescentTest, WithoutNoiseItComesToTheOptimumWithinItsBound) {
  // <c, x> over the l1 ball of radius 1 has its minimum -max |c_j| = -3.
  Eigen::VectorXd c = Eigen::VectorXd::Constant(64, 0.5);
  c[3] = -3.0;
  const releases::ClipNorm clip = *releases::ClipNorm::create(3.0);
  for (const double step : {0.1, 1.0, 10.0}) {
    SCOPED_TRACE(step);
    const NoisyMirrorDescentSettings settings = over_l1(64, 200, step);
    const double excess = c.dot(points_of(settings, c).back()) + 3.0;
    EXPECT_GE(excess, -1e-12);
    EXPECT_LE(excess, settings.predicted_risk(clip, 0.0, false)->bound);
  }
}

TEST(NoisyMirrorDescentTest, BoundsTheRiskByItsFormula) {
  // d = 64, L = 1, eta = 1/2, T = 8: V = kappa/2 = 9.841701; of one silo B^2 = 2 (1 + ln 64) 0.01 of Gaussian noise,
  // above 5.781648 0.01 of the other law: 9.841701/4 + (1 + 0.321213)^2/4.
  const NoisyMirrorDescentSettings settings = over_l1(64, 8, 0.5);
  const releases::ClipNorm clip = *releases::ClipNorm::create(1.0);
  const double noise = std::sqrt(0.02 * (1.0 + std::log(64.0)));
  EXPECT_NEAR(settings.predicted_risk(clip, 0.01, false)->bound,
              9.84170110693393 / 4.0 + 0.25 * (1.0 + noise) * (1.0 + noise), 1e-10);
  EXPECT_NEAR(noisy_mirror_risk(settings, 2.0, 0.25), 9.84170110693393 / 4.0 + 0.25 * 2.5 * 2.5, 1e-10);
}

TEST(NoisyMirrorDescentTest, SaysNothingOfUnboundedSetsAndCountsTheRegularisersGradient) {
  const releases::ClipNorm clip = *releases::ClipNorm::create(1.0);
  EXPECT_FALSE(noisy_settings(Domain::whole_space(), 10, 1.5, 4, 0.5).predicted_risk(clip, 0.0, false));
  EXPECT_TRUE(noisy_settings(Domain::whole_space(), 10, 1.5, 4, 0.5, 1.0).predicted_risk(clip, 0.0, false));
  // lambda = 1/2 over a ball of radius 1: gradients of at most 3/2.
  NoisyMirrorDescentSettings ridge = over_l1(64, 8, 0.5);
  ridge.problem.regulariser = geometry::Regulariser::squared_l2(0.5, 64).value();
  EXPECT_NEAR(ridge.predicted_risk(clip, 0.0, false)->bound, noisy_mirror_risk(ridge, 1.5, 0.0), 1e-12);
}

TEST(NoisyMirrorDescentTest, NoiseIsBoundedWhicheverItsLaw) {
  // d = 64: 1/c = 5.781648, a(100) = 6.103752; Gaussian 10.317766. d = 3: both laws are one, of l2.
  const NoisyMirrorDescentSettings wide = over_l1(64, 2, 1.0);
  EXPECT_NEAR(wide.noise_squared(1.0, 1.0), 10.317766, 1e-6);
  EXPECT_NEAR(wide.noise_squared(1.0, 100.0), 35.289744, 1e-5);
  EXPECT_NEAR(over_l1(3, 2, 1.0).noise_squared(0.5, 100.0), 1.5, 1e-12);
}

TEST(NoisyMirrorDescentTest, ThePrintedNoiseHasNoFactorOfRounds) {
  // n = 1000, K = 100, epsilon 1, ln(1/delta) = 13.81551: 1000/(100 sqrt(27.63102)) = 1.902399, for any T.
  for (const std::uint64_t rounds : {1U, 10'000U})
    EXPECT_NEAR(Method(over_l1(64, rounds, 1.0))->theorem_noise({1000.0, 100.0, 1.0, 1e-6}).value().gradients.front(),
                1.9023986655, 1e-9);
  // As the source has it, sqrt(2 rho) = sqrt(kappa) 2L/(K sigma) of its sigma, whatever kappa.
  const double kappa = 19.68340221386786;
  const double sigma = std::sqrt(8.0 * kappa * std::log(1e6)) / 1000.0;
  EXPECT_NEAR(std::sqrt(kappa) * 2.0 / (100.0 * sigma), 1.9023986655, 1e-9);
  // 5.14: n = 1e5, p = 3/2, d = 100, the theorem's K = 106: one round is rho-zCDP with rho = 16,100.
  const auto trap = noisy_settings(Domain::whole_space(), 100, 1.5, 226'200, 1.0, 1.0);
  const double shift = Method(trap)->theorem_noise({1e5, 106.0, 1.0, 1e-6}).value().gradients.front();
  EXPECT_NEAR(0.5 * shift * shift, 1.61e4, 50.0);
}

TEST(NoisyMirrorDescentTest, ThePrintedNoiseHasTheSourcesConditions) {
  const auto finds = [](const NoiseFacts& facts, const std::string& part) {
    const auto said = Method(over_l1(64, 4, 1.0))->theorem_noise(facts);
    ASSERT_FALSE(said);
    EXPECT_NE(said.error().message.find(part), std::string::npos) << said.error().message;
  };
  finds({1000.0, 100.0, 1.1, 1e-6}, "epsilon is 1.1, which must be at most 1 = 1");
  finds({1000.0, 100.0, 1.0, 1e-3}, "delta is 0.001, which must be below 1/n = 0.001");
  finds({1000.0, 0.0, 1.0, 1e-6}, "0 records are drawn");
  const auto none = Method(over_l1(64, 0, 1.0))->theorem_noise({1000.0, 100.0, 1.0, 1e-6});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("0 rounds"), std::string::npos);
}

TEST(NoisyMirrorDescentTest, ReadsItsNormAndAsksInTheDualOne) {
  const Problem ball = noisy_problem(Domain::l1_ball(2.0).value(), 10);
  config::Problems problems("job.json");
  const nlohmann::json written = {
      {"rounds", 6}, {"step_size", 0.5}, {"draw_fraction", 0.25}, {"geometry", {{"norm", 1.5}}}};
  config::Section section(written, "/algorithm", problems);
  const ParsedMethod parsed = NoisyMirrorDescent::parse(section, ball);
  section.finish();
  ASSERT_TRUE(problems.none()) << problems.error().message;
  EXPECT_EQ(parsed.draw_fraction, 0.25);
  EXPECT_EQ(parsed.method->name(), "noisy_mirror_descent");
  const MethodTraits traits = parsed.method->traits();
  EXPECT_DOUBLE_EQ(traits.clip_exponent, 3.0);
  EXPECT_TRUE(traits.linear_models);
  EXPECT_TRUE(traits.takes_subgradients);
  EXPECT_FALSE(traits.shuffled);
  EXPECT_TRUE(traits.generalised_noise);
  const auto bound = releases::DualBound::create(*releases::ClipNorm::create(2.0), 3.0, 10).value();
  const planning::Schedule schedule = parsed.method->schedule({bound, 0.25});
  ASSERT_EQ(schedule.size(), 1U);
  EXPECT_EQ(schedule.front().rounds, 6U);
  EXPECT_EQ(std::get<releases::DualBound>(schedule.front().ask.bound), bound);
  EXPECT_EQ(noisy_problems_of({{"norm", 1}}, ball), "accepted");
  EXPECT_EQ(noisy_problems_of({{"norm", 1}}, noisy_problem(Domain::simplex(1.0).value(), 10)), "accepted");
  EXPECT_EQ(noisy_problems_of({{"norm", 1.5}, {"radius", 3}}, noisy_problem(Domain::whole_space(), 10)), "accepted");
}

TEST(NoisyMirrorDescentTest, RefusesWhatItCannotRead) {
  const Problem ball = noisy_problem(Domain::l1_ball(2.0).value(), 64);
  const Problem whole = noisy_problem(Domain::whole_space(), 64);
  const auto finds = [](const nlohmann::json& geometry, const Problem& problem, const std::string& expected) {
    const std::string said = noisy_problems_of(geometry, problem);
    EXPECT_NE(said.find(expected), std::string::npos) << said;
  };
  finds(nlohmann::json::object(), ball, "/algorithm/geometry/norm: missing");
  finds({{"norm", 0.9}}, ball, "/algorithm/geometry/norm: expected");
  finds({{"norm", 2}}, ball, "expected a norm l_p with p in [1, 2), got 2: in l_2 its noise is Gaussian");
  finds({{"norm", 1}, {"potential", "entropy"}}, ball, "/algorithm/geometry/potential: unknown key");
  finds({{"norm", 1.5}, {"radius", 3}}, ball, "expected the domain whole_space beside its radius, got the l1 ball");
  finds({{"norm", 1.5}, {"radius", 0}}, whole, "radius: expected");
  // r* = 1.162462 of 64 numbers; of 3 it is 2.
  finds({{"norm", 1}, {"radius", 3}}, whole,
        "is of l_1.16246, whose ball is not that of l_1: expected no radius, or a norm of at least 1.1625");
  EXPECT_EQ(noisy_problems_of({{"norm", 1.1625}, {"radius", 3}}, whole), "accepted");
  finds({{"norm", 1.5}, {"radius", 3}}, noisy_problem(Domain::whole_space(), 3), "that of l_1.5: expected no radius");
  finds({{"norm", 1}}, noisy_problem(Domain::l2_ball(1.0).value(), 64), "no exact step over the l2 ball");
}

TEST(NoisyMirrorDescentTest, RefusesWhatItCannotRun) {
  EXPECT_EQ(noisy_refusal_of(over_l1(64, 5, 0.5)), "accepted");
  EXPECT_NE(noisy_refusal_of(over_l1(64, 0, 0.5)).find("no rounds"), std::string::npos);
  for (const double step : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_NE(noisy_refusal_of(over_l1(64, 5, step)).find("the step size of noisy mirror descent"), std::string::npos)
        << step;
  NoisyMirrorDescentSettings started = over_l1(64, 5, 0.5);
  ASSERT_TRUE(started.problem.start_at(Eigen::VectorXd::Unit(64, 0)));
  EXPECT_NE(noisy_refusal_of(started).find("starts at the least point of its potential"), std::string::npos);
  NoisyMirrorDescentSettings kinked = over_l1(64, 5, 0.5);
  kinked.problem.regulariser = geometry::Regulariser::l1(0.1, 64).value();
  EXPECT_NE(noisy_refusal_of(kinked).find("is not smooth"), std::string::npos);
  NoisyMirrorDescentSettings wide = over_l1(64, 5, 0.5);
  wide.problem.dimension = 65;
  EXPECT_NE(noisy_refusal_of(wide).find("a potential of 64 numbers, and a model of 65"), std::string::npos);
}

TEST(NoisyMirrorDescentTest, SaysItsNumbersByTheSourcesNames) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : over_l1(64, 5, 0.5).numbers()) numbers[name] = value;
  EXPECT_EQ(numbers.at("rounds"), 5.0);
  EXPECT_EQ(numbers.at("step_size"), 0.5);
  EXPECT_EQ(numbers.at("norm"), 1.0);
  EXPECT_EQ(numbers.at("diameter"), 2.0);
  EXPECT_NEAR(numbers.at("noise_norm"), 7.155305, 1e-6);
  EXPECT_NEAR(numbers.at("regularity"), 19.683402, 1e-6);
  EXPECT_NEAR(numbers.at("divergence_max"), 9.841701, 1e-6);  // kappa/2
}

}  // namespace
}  // namespace undertone::algorithms
