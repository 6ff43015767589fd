#include "shared/algorithms/sgd/lp_sgd.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/config/json_section.hpp"
#include "shared/geometry/duality_map.hpp"

namespace undertone::algorithms {
namespace {

constexpr double kLpSgdInfinity = std::numeric_limits<double>::infinity();

LpSgdSettings ball_of(double norm, Eigen::Index dimension, std::uint64_t rounds = 4, double step_size = 0.5) {
  LpSgdSettings settings;
  settings.problem.dimension = dimension;
  settings.norm = norm;
  settings.radius = 1.0;
  settings.rounds = rounds;
  settings.step_size = step_size;
  return settings;
}

template <class Gradient>
Eigen::VectorXd run_lp_sgd(const LpSgdSettings& settings, const Gradient& gradient,
                           std::uint64_t restart = UINT64_MAX) {
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
      EXPECT_TRUE(reader.end());
      step = algorithm->start();
      query = std::get_if<queries::Query>(&step);
    }
    const Eigen::VectorXd at = queries::point_of(query->question);
    EXPECT_LE(geometry::lp_norm(at, settings.norm), settings.radius * (1.0 + 1e-6));
    step = algorithm->advance({query->round, 1, folds::Mean{Eigen::VectorXd(gradient(at))}, 10}).value();
  }
  return std::get<Finished>(step).outcome.vectors.at("weights");
}

std::string lp_sgd_refusal_of(const LpSgdSettings& settings) {
  const auto made = Method(settings)->make();
  return made ? "accepted" : made.error().message;
}

TEST(LpSgdTest, StepsProjectsAndAveragesByHand) {
  // p = infinity, radius 1, eta 1/2: x_1 = 0; g = (-4, 1) leads to (2, -1/2), clamped (1, -1/2); g = (0, 1) to (1, -1);
  // the third answer moves nothing that counts. The mean of x_1, x_2, x_3 is (2/3, -1/2).
  const auto algorithm = Method(ball_of(kLpSgdInfinity, 2, 3))->make().value();
  Step step = algorithm->start();
  const auto told = [&](const Eigen::Vector2d& mean) {
    const RoundIndex round = std::get<queries::Query>(step).round;
    step = algorithm->advance({round, 1, folds::Mean{Eigen::VectorXd(mean)}, 10}).value();
  };
  told(Eigen::Vector2d(-4.0, 1.0));
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(step).question), Eigen::VectorXd(Eigen::Vector2d(1.0, -0.5)));
  told(Eigen::Vector2d(0.0, 1.0));
  EXPECT_EQ(queries::point_of(std::get<queries::Query>(step).question), Eigen::VectorXd(Eigen::Vector2d(1.0, -1.0)));
  told(Eigen::Vector2d(9.0, 9.0));
  const Eigen::VectorXd out = std::get<Finished>(step).outcome.vectors.at("weights");
  EXPECT_NEAR(out[0], 2.0 / 3.0, 1e-15);
  EXPECT_NEAR(out[1], -0.5, 1e-15);
}

TEST(LpSgdTest, OfAFiniteNormProjectsOnItsBall) {
  // p = 4: from 0 along g = (-4, -4) to (2, 2), whose nearest point of the ball has 2 x^4 = 1.
  const auto algorithm = Method(ball_of(4.0, 2))->make().value();
  (void)algorithm->start();
  const Step step =
      algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::VectorXd(Eigen::Vector2d(-4.0, -4.0))}, 10}).value();
  const Eigen::VectorXd at = queries::point_of(std::get<queries::Query>(step).question);
  for (const double x : at) EXPECT_NEAR(x, std::pow(2.0, -0.25), 1e-14);
}

TEST(LpSgdTest, WithoutNoiseItComesToTheOptimumWithinItsBound) {
  // <c, x> over the unit l_p ball has the minimum -||c||_q, 1/p + 1/q = 1. ||c||_2 <= L = 3.3.
  const Eigen::Vector3d c(3.0, -1.0, 0.5);
  const releases::ClipNorm clip = *releases::ClipNorm::create(3.3);
  for (const double norm : {2.5, 4.0, 20.0, kLpSgdInfinity}) {
    for (const double step : {0.01, 0.1, 1.0}) {
      SCOPED_TRACE(fmt::format("{} {}", norm, step));
      const LpSgdSettings settings = ball_of(norm, 3, 400, step);
      const Eigen::VectorXd out = run_lp_sgd(settings, [&](const Eigen::VectorXd&) -> Eigen::VectorXd { return c; });
      const double excess = c.dot(out) + geometry::lp_norm(c, geometry::conjugate_exponent(norm));
      EXPECT_GE(excess, -1e-12);
      EXPECT_LE(excess, settings.predicted_risk(clip, 0.0, false)->bound);
    }
  }
}

TEST(LpSgdTest, BoundsTheRiskByItsFormula) {
  // p = 4, d = 16, R = 1: D_2 = 2 16^(1/4) = 4. D_2^2/(2 eta T) + eta (L^2 + d v)/2 = 16/8 + (1 + 16/4)/4.
  LpSgdSettings settings = ball_of(4.0, 16, 8, 0.5);
  EXPECT_DOUBLE_EQ(settings.diameter(), 4.0);
  const releases::ClipNorm clip = *releases::ClipNorm::create(1.0);
  EXPECT_DOUBLE_EQ(settings.predicted_risk(clip, 0.25, false)->bound, 3.25);
  settings.problem.regulariser = geometry::Regulariser::squared_l2(0.1, 16).value();
  EXPECT_FALSE(settings.predicted_risk(clip, 0.25, true));
  EXPECT_DOUBLE_EQ(ball_of(kLpSgdInfinity, 16).diameter(), 8.0);
}

TEST(LpSgdTest, HasThePrintedNoise) {
  // n = 1000, K = 500, epsilon = 1, delta = 1e-6, T = 10: 8 10 ln(1e6) / 1e6 = 0.00110524, stddev 0.0332452: 2/(500
  // 0.0332452) = 0.120318.
  const Method method = ball_of(3.0, 2, 10);
  EXPECT_NEAR(method->theorem_noise({1000.0, 500.0, 1.0, 1e-6}).value().gradients.front(), 0.12031825601340967, 1e-13);
  // Of one record a step and T = n^2 its variance is 8 L^2 ln(1/delta)/eps^2: 2/sqrt(8 ln(1e6)).
  const Method passes = ball_of(3.0, 2, 10'000);
  EXPECT_NEAR(passes->theorem_noise({100.0, 1.0, 1.0, 1e-6}).value().gradients.front(),
              2.0 / std::sqrt(8.0 * std::log(1e6)), 1e-13);
  const auto loud = method->theorem_noise({1000.0, 500.0, 1.5, 1e-6});
  ASSERT_FALSE(loud);
  EXPECT_NE(loud.error().message.find("epsilon is 1.5, which must be at most 1"), std::string::npos);
  EXPECT_FALSE(Method(ball_of(3.0, 2, 0))->theorem_noise({1000.0, 500.0, 1.0, 1e-6}));
}

TEST(LpSgdTest, ClipsInL2WhateverItsNorm) {
  const Method method = ball_of(kLpSgdInfinity, 3, 6);
  EXPECT_EQ(method->traits().clip_exponent, 2.0);
  EXPECT_FALSE(method->traits().linear_models);
  const releases::L2Bound bound{*releases::ClipNorm::create(2.0)};
  const planning::Schedule schedule = method->schedule({bound, 0.5});
  ASSERT_EQ(schedule.size(), 1U);
  EXPECT_EQ(schedule.front().rounds, 6U);
  EXPECT_EQ(schedule.front().ask.records.draw_fraction, 0.5);
}

TEST(LpSgdTest, RestoredAtAnyRoundItEndsTheSameToTheBit) {
  for (const queries::PointType type : {queries::PointType::F64, queries::PointType::F32}) {
    for (const double norm : {3.0, kLpSgdInfinity}) {
      LpSgdSettings settings = ball_of(norm, 3, 6);
      settings.problem.point_type = type;
      const auto gradient = [](const Eigen::VectorXd& x) -> Eigen::VectorXd {
        return 3.0 * x - Eigen::Vector3d(1.5, -2.5, 0.25);
      };
      const Eigen::VectorXd whole = run_lp_sgd(settings, gradient);
      for (std::uint64_t round = 0; round < 6; ++round)
        EXPECT_EQ(run_lp_sgd(settings, gradient, round), whole) << round;
    }
  }
}

TEST(LpSgdTest, RefusesASavedStateOfAnotherRun) {
  const auto algorithm = Method(ball_of(3.0, 2))->make().value();
  const auto refused = [&](std::uint64_t round, const std::vector<double>& iterate) {
    ByteWriter writer;
    writer.u64(round);
    writer.doubles(iterate.data(), iterate.size());
    const std::vector<double> average(2, 0.0);
    writer.doubles(average.data(), average.size());
    const std::string bytes = std::move(writer).bytes();
    ByteReader reader(bytes);
    return !algorithm->restore(reader);
  };
  EXPECT_FALSE(refused(2, {0.5, 0.0}));
  EXPECT_TRUE(refused(5, {0.5, 0.0}));
  EXPECT_TRUE(refused(2, {0.5}));
  EXPECT_TRUE(refused(2, {std::nan(""), 0.0}));
}

TEST(LpSgdTest, RefusesAnswersOfAnotherRoundAndDivergence) {
  const auto algorithm = Method(ball_of(3.0, 2))->make().value();
  EXPECT_FALSE(algorithm->advance({RoundIndex{1}, 1, folds::Mean{Eigen::VectorXd(Eigen::Vector2d::Zero())}, 9}));
  EXPECT_FALSE(algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::VectorXd(Eigen::Vector3d::Zero())}, 9}));
  const auto far =
      algorithm->advance({RoundIndex{0}, 1, folds::Mean{Eigen::VectorXd(Eigen::Vector2d::Constant(HUGE_VAL))}, 9});
  ASSERT_FALSE(far);
  EXPECT_NE(far.error().message.find("diverged in round 0"), std::string::npos);
}

TEST(LpSgdTest, RefusesWhatItCannotRun) {
  const auto finds = [](const LpSgdSettings& settings, const std::string& problem) {
    const std::string said = lp_sgd_refusal_of(settings);
    EXPECT_NE(said.find(problem), std::string::npos) << said;
  };
  finds(ball_of(3.0, 2), "accepted");
  finds(ball_of(kLpSgdInfinity, 2), "accepted");
  finds(ball_of(3.0, 2, 0), "no rounds");
  for (const double norm : {2.0, 1.0, -3.0, std::nan("")}) finds(ball_of(norm, 2), "a norm must be in (2, infinity]");
  for (const double step : {0.0, -1.0, std::nan(""), kLpSgdInfinity})
    finds(ball_of(3.0, 2, 4, step), "the step size of noisy SGD over an l_p ball");
  for (const double radius : {0.0, -1.0, std::nan(""), 1e101}) {
    LpSgdSettings settings = ball_of(3.0, 2);
    settings.radius = radius;
    finds(settings, "the radius of an l_p ball");
  }
  LpSgdSettings boxed = ball_of(kLpSgdInfinity, 2);
  boxed.problem.domain = geometry::Domain::box(-1.0, 1.0).value();
  finds(boxed, "accepted");
  boxed.problem.domain = geometry::Domain::box(-1.0, 2.0).value();
  finds(boxed, "expected a box from -1 to 1, its radius, got one from -1 to 2");
  boxed.norm = 3.0;
  finds(boxed, "expected the domain whole_space, or box without a norm beside it, got the box");
  LpSgdSettings other = ball_of(kLpSgdInfinity, 2);
  other.problem.domain = geometry::Domain::l2_ball(1.0).value();
  finds(other, "got the l2 ball");
  LpSgdSettings kinked = ball_of(3.0, 2);
  kinked.problem.regulariser = geometry::Regulariser::l1(0.1, 2).value();
  finds(kinked, "is not smooth");
  LpSgdSettings started = ball_of(3.0, 2);
  ASSERT_TRUE(started.problem.start_at(Eigen::Vector2d(0.9, 0.9)));
  finds(started, "expected a start in the ball of radius 1");
  ASSERT_TRUE(started.problem.start_at(Eigen::Vector2d(0.7, 0.7)));
  finds(started, "accepted");
}

TEST(LpSgdTest, ReadsItsKeys) {
  const auto parsed_from = [](const nlohmann::json& written, LpSgdSettings& out) {
    Problem problem;
    problem.dimension = 2;
    config::Problems problems("job.json");
    config::Section section(written, "/algorithm", problems);
    const ParsedMethod parsed = LpSgd::parse(section, problem);
    section.finish();
    out = *parsed.method.as<LpSgdSettings>();
    return problems.none() ? "accepted" : problems.error().message;
  };
  nlohmann::json written = {{"rounds", 4}, {"step_size", 0.5}, {"draw_fraction", 0.25}, {"radius", 2}};
  LpSgdSettings settings;
  EXPECT_EQ(parsed_from(written, settings), "accepted");
  EXPECT_TRUE(std::isinf(settings.norm));
  EXPECT_EQ(settings.radius, 2.0);
  for (const auto& [key, value] : settings.numbers()) EXPECT_TRUE(std::isfinite(value)) << key;
  written["norm"] = 3;
  EXPECT_EQ(parsed_from(written, settings), "accepted");
  EXPECT_EQ(settings.norm, 3.0);
  written["norm"] = 2;
  EXPECT_NE(parsed_from(written, settings).find("/algorithm/norm: expected"), std::string::npos);
  written["norm"] = "infinity";
  EXPECT_NE(parsed_from(written, settings).find("/algorithm/norm: expected"), std::string::npos);
  written.erase("norm");
  written["radius"] = 0;
  EXPECT_NE(parsed_from(written, settings).find("/algorithm/radius: expected"), std::string::npos);
  written.erase("radius");
  EXPECT_NE(parsed_from(written, settings).find("/algorithm/radius: missing"), std::string::npos);
}

// p = 4, R = 1, d = 16, n = 100 of one silo, epsilon 1, delta 1e-6, L = 2.
constexpr LpSgdFacts kLpSgdFacts{4.0, 1.0, 16, 100, 1, 1.0, 1e-6, 2.0};

TEST(LpSgdTheoremTest, OfOneSiloIsAsPrinted) {
  // T = n^2, D_2 = 4; eta = 4/(2 100) min{1/10, 1/sqrt(16 ln(1e6)) = 0.067260}; 8 T L^2 ln(1e6)/n^2 = 32 ln(1e6).
  const LpSgdChoice choice = lp_sgd_theorem(kLpSgdFacts).value();
  EXPECT_EQ(choice.rounds, 10'000U);
  EXPECT_DOUBLE_EQ(choice.diameter, 4.0);
  EXPECT_NEAR(choice.step_size, 0.02 / std::sqrt(16.0 * std::log(1e6)), 1e-15);
  EXPECT_NEAR(choice.noise_variance, 32.0 * std::log(1e6), 1e-10);
  LpSgdFacts generous = kLpSgdFacts;
  generous.epsilon = 1000.0;
  EXPECT_NEAR(lp_sgd_theorem(generous).value().step_size, 0.002, 1e-15);
}

TEST(LpSgdTheoremTest, OfSeveralSilosIsThatOfAllRecordsAtLessNoise) {
  // m = 400: T = m^2, eta = 4/(2 400) min{1/20, 1/sqrt(4 16 ln(1e6)) = 0.033630}.
  LpSgdFacts facts = kLpSgdFacts;
  facts.silos = 4;
  const LpSgdChoice choice = lp_sgd_theorem(facts).value();
  EXPECT_EQ(choice.rounds, 160'000U);
  EXPECT_NEAR(choice.step_size, 0.005 / std::sqrt(64.0 * std::log(1e6)), 1e-15);
  EXPECT_NEAR(choice.noise_variance, 16.0 * 32.0 * std::log(1e6), 1e-9);
}

TEST(LpSgdTheoremTest, SaysHowManyRoundsItWouldTake) {
  LpSgdFacts facts = kLpSgdFacts;
  facts.records = 1000;
  EXPECT_EQ(lp_sgd_theorem(facts).value().rounds, 1'000'000U);
  facts.records = 1001;
  const auto refused = lp_sgd_theorem(facts);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("T = (n N)^2 = 1002001 rounds for n = 1001 records"), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find("at most 1000000"), std::string::npos);
  EXPECT_EQ(lp_sgd_theorem_rounds(3, 5), 225U);
  EXPECT_EQ(lp_sgd_theorem_rounds(std::uint64_t{1} << 32, 1), UINT64_MAX);
  EXPECT_EQ(lp_sgd_theorem_rounds(std::uint64_t{1} << 40, std::uint64_t{1} << 40), UINT64_MAX);
}

TEST(LpSgdTheoremTest, RefusesFactsThatAreNone) {
  const auto refuses = [](auto change) {
    LpSgdFacts facts = kLpSgdFacts;
    change(facts);
    return !lp_sgd_theorem(facts).has_value();
  };
  EXPECT_FALSE(refuses([](LpSgdFacts& facts) { facts.norm = kLpSgdInfinity; }));
  for (const double norm : {2.0, 0.0, std::nan("")})
    EXPECT_TRUE(refuses([=](LpSgdFacts& facts) { facts.norm = norm; }));
  for (const double bad : {0.0, -1.0, std::nan(""), kLpSgdInfinity}) {
    EXPECT_TRUE(refuses([=](LpSgdFacts& facts) { facts.radius = bad; })) << bad;
    EXPECT_TRUE(refuses([=](LpSgdFacts& facts) { facts.epsilon = bad; })) << bad;
    EXPECT_TRUE(refuses([=](LpSgdFacts& facts) { facts.delta = bad; })) << bad;
    EXPECT_TRUE(refuses([=](LpSgdFacts& facts) { facts.lipschitz = bad; })) << bad;
  }
  EXPECT_TRUE(refuses([](LpSgdFacts& facts) { facts.dimension = 0; }));
  EXPECT_TRUE(refuses([](LpSgdFacts& facts) { facts.records = 0; }));
  EXPECT_TRUE(refuses([](LpSgdFacts& facts) { facts.silos = 0; }));
}

}  // namespace
}  // namespace undertone::algorithms
