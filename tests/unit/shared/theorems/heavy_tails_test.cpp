#include "shared/theorems/heavy_tails.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/algorithms/proximal/proximal_sgd.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/theorems/theorem_parameters.hpp"
#include "tests/support/small_federation.hpp"

/// Clips by a moment of the records' gradients. Source: spec heavy-tailed.
namespace undertone::theorems {
namespace {

TheoremFacts heavy_facts(double order, double epsilon, double records = 100'000.0) {
  TheoremFacts out;
  out.silos = out.answering = 5.0;
  out.records = records;
  out.epsilon = epsilon;
  out.delta = 1e-6;
  out.lipschitz = 1.0;
  out.diameter = 2.0;
  out.smoothness = 1.0;
  out.strong_convexity = 0.5;
  out.gap = 4.0;
  out.moment = MomentBound{order, 2.0};
  out.gradient_variance = 4.0;
  return out;
}

algorithms::Problem heavy_problem(Eigen::Index dimension = 50) {
  algorithms::Problem problem;
  problem.dimension = dimension;
  problem.domain = geometry::Domain::l2_ball(1.0).value();
  return problem;
}

Result<TheoremChoice> chosen(TheoremName name, const TheoremFacts& facts, Eigen::Index dimension = 50) {
  return choose_by_theorem(name, facts, heavy_problem(dimension), PlannedNoise::Accountant);
}

/// Spec 6: one-sided Pareto lengths of index 2.5, clipped at 3: their bias is .1283, and the bound 1.6667.
TEST(MomentBoundTest, TheBiasOfAClipIsWhatTheReferenceSays) {
  const double second_moment = 2.5 / (2.5 - 2.0);
  EXPECT_NEAR(bias_of_clip({2.0, std::sqrt(second_moment)}, 3.0), 1.6667, 1e-4);
  const double exact = std::pow(3.0, 1.0 - 2.5) / (2.5 - 1.0);
  EXPECT_NEAR(exact, 0.12830, 1e-5);
  EXPECT_LE(exact, bias_of_clip({2.0, std::sqrt(second_moment)}, 3.0));
}

/// Spec 0.2: the balanced clip makes bias^2 + d (2 C / A)^2 least.
TEST(MomentBoundTest, TheBalancedClipIsTheLeastOfItsBound) {
  for (const double order : {2.0, 3.0, 4.0, 8.0}) {
    for (const double signal : {30.0, 1e4}) {
      const MomentBound moment{order, 3.0};
      const auto error = [&](double clip) {
        const double bias = bias_of_clip(moment, clip);
        return bias * bias + 20.0 * std::pow(2.0 * clip / signal, 2);
      };
      const double best = balanced_clip(moment, signal, 20.0);
      for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) EXPECT_LT(error(best), error(factor * best));
    }
  }
}

TEST(HeavyTailsTest, RoundsAndClipAreNoWorseThanThosePrinted) {
  for (const double order : {2.0, 4.0, 8.0}) {
    for (const double epsilon : {0.1, 1.0, 4.0}) {
      const TheoremFacts facts = heavy_facts(order, epsilon);
      const TheoremChoice choice = chosen(TheoremName::HeavyTailedConvex, facts).value();
      const auto* settings = choice.method.as<algorithms::AcceleratedSgdSettings>();
      ASSERT_NE(settings, nullptr);
      EXPECT_EQ(settings->use, algorithms::RecordUse::OnePass);
      EXPECT_GE(settings->phases.front().stages.front().upsilon, 2.0 * facts.smoothness);
      ASSERT_TRUE(choice.clip && choice.bound);
      EXPECT_EQ(choice.facts.lipschitz, *choice.clip);
      // The source's own: eps is the shift of one release of all records, n that of all silos.
      const double k = order;
      const double r = facts.moment->bound;
      const double d = 50.0;
      const double shift = shift_of_each(epsilon, facts.delta, 1.0).value();
      const double signal = shift * facts.records * std::sqrt(facts.silos);
      const double beta_d = facts.smoothness * facts.diameter / r;
      const double n = facts.records * facts.silos;
      const double rounds = std::ceil(std::min(std::pow(beta_d, 2.0 * k / (5.0 * k - 1.0)) *
                                                   std::pow(signal / std::sqrt(d), (2.0 * k - 2.0) / (5.0 * k - 1.0)),
                                               std::sqrt(beta_d) * std::pow(n, 0.25)));
      const double clip = r * std::pow(signal / std::sqrt(d * rounds), 1.0 / k);
      const double bias = bias_of_clip(*facts.moment, clip);
      const double variance = d * 4.0 * clip * clip * rounds * rounds / (signal * signal) + r * r * rounds / n;
      const double eta =
          std::max(2.0 * facts.smoothness, std::pow(rounds, 1.5) * std::sqrt(variance + bias * bias) / facts.diameter);
      const double printed = 4.0 * eta * facts.diameter * facts.diameter / (rounds * (rounds + 1.0)) +
                             4.0 * (variance + bias * bias) * (rounds + 2.0) / (3.0 * eta) + bias * facts.diameter;
      EXPECT_LE(*choice.bound, printed * 1.01) << order << " at " << epsilon;
    }
  }
}

/// Spec 6: the slopes of the privacy term over 1 / A, A in proportion to epsilon, where sampling hardly counts: (k -
/// 1)/k, or 4 (k - 1)/(5k - 1) where smoothness bounds the rounds.
TEST(HeavyTailsTest, TheBoundFallsWithEpsilonAsTheTheorySays) {
  for (const double order : {2.0, 4.0, 8.0}) {
    const auto bound_at = [&](double epsilon) {
      return *chosen(TheoremName::HeavyTailedConvex, heavy_facts(order, epsilon, 1e6), 20'000).value().bound;
    };
    const double slope = std::log(bound_at(0.1) / bound_at(0.4)) / std::log(4.0);
    EXPECT_GT(slope, 4.0 * (order - 1.0) / (5.0 * order - 1.0) - 0.2);
    EXPECT_LT(slope, (order - 1.0) / order + 0.2);
    // Of a mean oracle (2k - 2)/k. Of the rounds there are a logarithm more where there is less noise, and each has as
    // many fewer records: what a round's mean is off by is taken without that.
    const double expected = (2.0 * order - 2.0) / order;
    const auto squared_at = [&](double epsilon) {
      const TheoremChoice choice =
          chosen(TheoremName::HeavyTailedProximal, heavy_facts(order, epsilon, 1e6), 20'000).value();
      const auto reason = [&](const std::string& name) {
        for (const TheoremChoice::Reason& one : choice.reasons)
          if (one.name == name) return one.value;
        return 0.0;
      };
      return (std::pow(reason("bias"), 2) + reason("variance")) / std::pow(reason("rounds"), expected);
    };
    EXPECT_NEAR(std::log(squared_at(0.1) / squared_at(0.4)) / std::log(4.0), expected, 0.2);
  }
}

TEST(HeavyTailsTest, ProximalStepsReadEveryRecordOnce) {
  const TheoremFacts facts = heavy_facts(4.0, 1.0);
  const TheoremChoice choice = chosen(TheoremName::HeavyTailedProximal, facts).value();
  const auto* settings = choice.method.as<algorithms::ProximalSgdSettings>();
  ASSERT_NE(settings, nullptr);
  EXPECT_EQ(settings->step_size, 0.5);
  EXPECT_GE(settings->rounds, 1U);
  EXPECT_LE(static_cast<double>(settings->rounds), facts.records);
  EXPECT_LT(*choice.bound, facts.gap);
}

TEST(HeavyTailsTest, WhatItIsNotOfIsRefusedInWords) {
  const auto refusal = [](const TheoremFacts& facts) {
    const Result<TheoremChoice> choice = chosen(TheoremName::HeavyTailedConvex, facts);
    return choice ? std::string() : choice.error().message;
  };
  TheoremFacts none = heavy_facts(2.0, 1.0);
  none.moment.reset();
  EXPECT_NE(refusal(none).find("privacy.moments"), std::string::npos);
  TheoremFacts some = heavy_facts(2.0, 1.0);
  some.answering = 3.0;
  EXPECT_NE(refusal(some).find("all of them"), std::string::npos);
}

nlohmann::json job_with_moments(double order = 4.0) {
  tests::SmallFederation federation;
  federation.loss = models::Loss::LeastSquares;
  nlohmann::json job = nlohmann::json::parse(federation.job());
  job["privacy"].erase("clip_norm");
  job["privacy"]["moments"] = {{"order", order}, {"bound", 0.5}, {"source", "a pilot of last year"}};
  return job;
}

/// The clip is that of the plan's own noise: bias^2 + d sigma^2 of a round's mean is least at it.
TEST(MomentClipTest, AJobSaysAMomentAndGetsTheClipThatItsNoiseAsksFor) {
  const jobs::Job job = jobs::parse_job(job_with_moments().dump(), "job").value();
  ASSERT_TRUE(job.moments.has_value());
  const double clip = job.clip().value();
  EXPECT_EQ(job.moments->clip, clip);
  const auto plans = jobs::plans_of(job).value();
  double weights = 0.0;
  for (const jobs::CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
  double noise = 0.0;
  for (const jobs::CohortMember& member : job.cohort) {
    const double own = plans.at(member.facts.silo).segments().front().release.noise_stddev_of_mean();
    noise += std::pow(static_cast<double>(member.weight) / weights * own, 2);
  }
  const double signal = 2.0 * clip / std::sqrt(noise);
  const double best = balanced_clip(job.moments->bound, signal, static_cast<double>(job.model->dimension()));
  EXPECT_NEAR(clip / best, 1.0, 0.05);  // evaluations take a little of each promise
  EXPECT_NE(jobs::described(*job.moments).find("a pilot of last year"), std::string::npos);
  // A heavier tail at the same bound is cut later where noise is small, and earlier where it is not.
  EXPECT_NE(jobs::parse_job(job_with_moments(2.0).dump(), "job").value().clip().value(), clip);
}

TEST(MomentClipTest, ATheoremChoosesRoundsAndClip) {
  nlohmann::json job = job_with_moments(2.0);
  job["algorithm"] = {{"theorem", "heavy_tailed_convex"}};
  job["participation"]["quorum"] = job["cohort"].size();
  const Result<jobs::Job> parsed = jobs::parse_job(job.dump(), "job");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  ASSERT_TRUE(parsed->theorem && parsed->theorem->clip);
  EXPECT_EQ(parsed->clip().value(), *parsed->theorem->clip);
  EXPECT_TRUE(jobs::plans_of(*parsed).has_value());
}

TEST(MomentClipTest, SaysWhatIsWrong) {
  const auto problem_of = [](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json job = job_with_moments();
    change(job);
    const Result<jobs::Job> parsed = jobs::parse_job(job.dump(), "job");
    return parsed ? std::string() : parsed.error().message;
  };
  const auto expect = [&](const char* said, const std::function<void(nlohmann::json&)>& change) {
    EXPECT_NE(problem_of(change).find(said), std::string::npos) << said << ": " << problem_of(change);
  };
  expect("/privacy/moments/order", [](nlohmann::json& job) { job["privacy"]["moments"]["order"] = 1.5; });
  expect("/privacy/moments/bound", [](nlohmann::json& job) { job["privacy"]["moments"]["bound"] = 0; });
  expect("/privacy/moments/source", [](nlohmann::json& job) { job["privacy"]["moments"].erase("source"); });
  expect("/privacy/clip_norm", [](nlohmann::json& job) { job["privacy"]["clip_norm"] = 1; });
  expect("/algorithm/theorem", [](nlohmann::json& job) { job["algorithm"] = {{"theorem", "minibatch_convex"}}; });
  expect("privacy.moments", [](nlohmann::json& job) {
    job["privacy"].erase("moments");
    job["privacy"]["clip_norm"] = 1;
    job["algorithm"] = {{"theorem", "heavy_tailed_convex"}};
  });
}

}  // namespace
}  // namespace undertone::theorems
