#include "shared/theorems/heavy_tails.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/algorithms/proximal/proximal_sgd.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/algorithms/sgd/strongly_convex_sgd.hpp"
#include "shared/base/random_source.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/theorems/theorem_parameters.hpp"
#include "tests/support/fault_world.hpp"
#include "tests/support/small_federation.hpp"

/// These tests are of clips by a moment of the records' gradients. Source: spec heavy-tailed.
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

/// The bound is worked out again here, of any rounds and clip: no rounds and clip nearby, nor those printed, have a
/// less one.
TEST(HeavyTailsTest, RoundsAndClipAreThoseOfTheLeastBound) {
  constexpr double kDimension = 50.0;
  constexpr double kReach = 1.0;  // from the middle of the ball
  for (const double order : {2.0, 4.0, 8.0}) {
    for (const double epsilon : {0.1, 1.0, 4.0}) {
      SCOPED_TRACE(fmt::format("order {}, epsilon {}", order, epsilon));
      const TheoremFacts facts = heavy_facts(order, epsilon);
      const TheoremChoice choice = chosen(TheoremName::HeavyTailedConvex, facts).value();
      const auto* settings = choice.method.as<algorithms::AcceleratedSgdSettings>();
      ASSERT_NE(settings, nullptr);
      EXPECT_EQ(settings->use, algorithms::RecordUse::OnePass);
      ASSERT_TRUE(choice.clip && choice.bound);
      EXPECT_EQ(choice.facts.lipschitz, *choice.clip);
      // The source's own: eps is the shift of one release of all records, n that of all silos.
      const double k = order;
      const double r = facts.moment->bound;
      const double shift = shift_of_each(epsilon, facts.delta, 1.0).value();
      const double signal = shift * facts.records * std::sqrt(facts.silos);
      const double n = facts.records * facts.silos;
      const auto upsilon_of = [&](double rounds, double spread) {
        return std::max(2.0 * facts.smoothness, std::pow(rounds, 1.5) * std::sqrt(spread) / facts.diameter);
      };
      const auto spread_of = [&](double rounds, double clip) {
        const double bias = bias_of_clip(*facts.moment, clip);
        return kDimension * 4.0 * clip * clip * rounds * rounds / (signal * signal) + r * r * rounds / n + bias * bias;
      };
      const auto bound_of = [&](double rounds, double clip) {
        const double spread = spread_of(rounds, clip);
        const double upsilon = upsilon_of(rounds, spread);
        return 4.0 * upsilon * kReach * kReach / (rounds * (rounds + 1.0)) +
               4.0 * spread * (rounds + 2.0) / (3.0 * upsilon) + bias_of_clip(*facts.moment, clip) * facts.diameter;
      };
      const algorithms::AcceleratedStage& stage = settings->phases.front().stages.front();
      const auto rounds = static_cast<double>(stage.rounds);
      const double clip = *choice.clip;
      // Records that are no whole number of parts are left out of a round: at most one in a hundred here.
      EXPECT_NEAR(*choice.bound / bound_of(rounds, clip), 1.0, 0.01);
      EXPECT_NEAR(stage.upsilon / upsilon_of(rounds, spread_of(rounds, clip)), 1.0, 0.02);
      for (const double other : {0.5, 0.8, 1.25, 2.0}) {
        EXPECT_GT(bound_of(rounds, clip * other), bound_of(rounds, clip)) << other;
        const double more = std::max(1.0, std::round(rounds * other));
        if (more == rounds) continue;  // one round is the least
        EXPECT_GT(bound_of(more, clip) * 1.01, bound_of(rounds, clip)) << other;
      }
      const double beta_d = facts.smoothness * facts.diameter / r;
      const double printed_rounds =
          std::ceil(std::min(std::pow(beta_d, 2.0 * k / (5.0 * k - 1.0)) *
                                 std::pow(signal / std::sqrt(kDimension), (2.0 * k - 2.0) / (5.0 * k - 1.0)),
                             std::sqrt(beta_d) * std::pow(n, 0.25)));
      const double printed_clip = r * std::pow(signal / std::sqrt(kDimension * printed_rounds), 1.0 / k);
      EXPECT_LE(*choice.bound, bound_of(printed_rounds, printed_clip) * 1.01);
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
  EXPECT_GE(settings->rounds, 2U);
  std::set<std::uint64_t> parts;
  for (const planning::ScheduledRounds& part :
       choice.method->schedule({releases::L2Bound{*releases::ClipNorm::create(*choice.clip)}, 1.0})) {
    ASSERT_TRUE(part.ask.records.slice);
    EXPECT_EQ(part.ask.records.slice->of, settings->rounds);
    EXPECT_EQ(part.rounds, 1U);
    parts.insert(part.ask.records.slice->index);
  }
  EXPECT_EQ(parts.size(), settings->rounds);
  EXPECT_LT(*choice.bound, facts.gap);
}

/// This is Lemma 175 of the thesis for the explicit steps: of r' = (1 - a eta) r - b eta s + c eta^2 with r, s >= 0 the
/// weighed mean of b s is at most 32 g r_0 exp(-a T/(2 g)) + 36 c/(a T), here a = mu/2, b = 2, g = beta.
TEST(StronglyConvexSgdTest, ItsStepsAndWeightsKeepTheLemmasBound) {
  RandomSource random(9);
  double nearest = 0.0;
  for (int instance = 0; instance < 20'000; ++instance) {
    const double mu = std::exp(4.0 * random.unit() - 3.0);
    const double beta = mu * std::exp(5.0 * random.unit());
    const auto rounds = static_cast<std::uint64_t>(2.0 + std::exp(6.0 * random.unit()));
    const double c = std::exp(8.0 * random.unit() - 6.0);
    const double start = std::exp(4.0 * random.unit() - 2.0);
    const double last = static_cast<double>(rounds) - 1.0;
    double r = start;
    double weights = 0.0;
    double sum = 0.0;
    const int spends = static_cast<int>(random.below(3));
    for (std::uint64_t t = 0; t < rounds; ++t) {
      const algorithms::WeighedStep step = algorithms::weighed_step(t, rounds, beta, mu);
      ASSERT_GT(step.step_size, 0.0);
      ASSERT_LE(step.step_size, (1.0 + 1e-12) / beta);
      ASSERT_GE(step.weight, 0.0);
      ASSERT_LE(step.weight, 1.0 + 1e-12);
      const double reserve = (1.0 - 0.5 * mu * step.step_size) * r + c * step.step_size * step.step_size;
      // All of it at once, none of it until the end, or some of it.
      const double share = spends == 0 ? 1.0 : spends == 1 ? (t + 1 == rounds ? 1.0 : 0.0) : random.unit();
      const double s = share * reserve / (2.0 * step.step_size);
      r = reserve - 2.0 * step.step_size * s;
      weights += step.weight;
      sum += step.weight * 2.0 * s;
    }
    const double bound = 32.0 * beta * start * std::exp(-0.25 * mu * last / beta) + 72.0 * c / (mu * last);
    nearest = std::max(nearest, sum / weights / bound);
  }
  EXPECT_LE(nearest, 1.0);
  EXPECT_GT(nearest, 0.05);
}

TEST(StronglyConvexSgdTest, WithoutNoiseItReachesTheOptimumAndReadsEveryRecordOnce) {
  // |w - c|^2/2 + ... with curvatures 0.5 and 2: at kappa = 4 few rounds are enough.
  algorithms::Problem problem;
  problem.dimension = 2;
  const Eigen::Vector2d curvature(0.5, 2.0);
  const Eigen::Vector2d best(0.7, -0.4);
  for (const std::uint64_t rounds : {6U, 60U}) {  // either form of the steps
    const algorithms::StronglyConvexSgdSettings settings{problem, rounds, 2.0, 0.5};
    const auto algorithm = algorithms::StronglyConvexSgd::create(settings).value();
    algorithms::Step step = algorithm->start();
    for (std::uint64_t round = 0; std::holds_alternative<queries::Query>(step); ++round) {
      const Eigen::VectorXd& point = queries::point_of(std::get<queries::Query>(step).question);
      folds::Gathered gathered;
      gathered.round = RoundIndex{round};
      gathered.replies = 1;
      gathered.value = folds::Mean{curvature.cwiseProduct(point - best), {}};
      step = algorithm->advance(gathered).value();
    }
    const Eigen::VectorXd found = std::get<algorithms::Finished>(step).outcome.vectors.at("weights");
    EXPECT_LT((found - best).norm(), rounds == 6U ? 0.35 : 1e-3) << rounds;
    std::set<std::uint64_t> parts;
    for (const planning::ScheduledRounds& part :
         algorithms::StronglyConvexSgd::schedule(settings, {releases::L2Bound{*releases::ClipNorm::create(1.0)}, 1.0}))
      parts.insert(part.ask.records.slice.value().index);
    EXPECT_EQ(parts.size(), rounds);
  }
  EXPECT_FALSE(algorithms::StronglyConvexSgd::create({problem, 0, 2.0, 0.5}));
  EXPECT_FALSE(algorithms::StronglyConvexSgd::create({problem, 4, 0.5, 2.0}));
  EXPECT_FALSE(algorithms::StronglyConvexSgd::create({problem, 4, 0.5, 0.0}));
}

/// The bound is worked out again, and no clip nearby has a less one.
TEST(HeavyTailsTest, StronglyConvexRoundsAndClipAreThoseOfTheLeastBound) {
  for (const double order : {2.0, 4.0}) {
    const TheoremFacts facts = heavy_facts(order, 1.0);
    const TheoremChoice choice = chosen(TheoremName::HeavyTailedStronglyConvex, facts).value();
    const auto* settings = choice.method.as<algorithms::StronglyConvexSgdSettings>();
    ASSERT_NE(settings, nullptr);
    EXPECT_EQ(settings->smoothness, 1.0);
    EXPECT_EQ(settings->strong_convexity, 0.5);
    const double signal = shift_of_each(1.0, facts.delta, 1.0).value() * facts.records * std::sqrt(facts.silos);
    const auto bound_of = [&](double rounds, double clip) {
      const double bias = bias_of_clip(*facts.moment, clip);
      const double variance = 50.0 * 4.0 * clip * clip * rounds * rounds / (signal * signal) +
                              facts.gradient_variance * rounds / (facts.records * facts.silos);
      return 32.0 * std::exp(-(rounds - 1.0) / 8.0) + 72.0 * variance / (0.5 * (rounds - 1.0)) + 4.0 * bias * bias;
    };
    const auto rounds = static_cast<double>(settings->rounds);
    EXPECT_NEAR(*choice.bound / bound_of(rounds, *choice.clip), 1.0, 0.02);
    for (const double other : {0.5, 0.8, 1.25, 2.0})
      EXPECT_GT(bound_of(rounds, *choice.clip * other), bound_of(rounds, *choice.clip)) << other;
    for (const double other : {0.7, 1.4})
      EXPECT_GT(bound_of(std::round(rounds * other), *choice.clip) * 1.01, *choice.bound);
  }
  // Without a domain's end the optimum is within sqrt(2 Delta/mu) = 4 of the start, and 4 is what the bound counts.
  algorithms::Problem whole = heavy_problem();
  whole.domain = geometry::Domain::whole_space();
  TheoremFacts placeless = heavy_facts(4.0, 1.0);
  placeless.diameter = 1.0;  // of no meaning
  const double far =
      *choose_by_theorem(TheoremName::HeavyTailedStronglyConvex, placeless, whole, PlannedNoise::Accountant)
           .value()
           .bound;
  placeless.gap = 0.25;  // within 1, as from the middle of the ball
  const double near =
      *choose_by_theorem(TheoremName::HeavyTailedStronglyConvex, placeless, whole, PlannedNoise::Accountant)
           .value()
           .bound;
  EXPECT_GT(far, near);
  EXPECT_EQ(near, *chosen(TheoremName::HeavyTailedStronglyConvex, heavy_facts(4.0, 1.0)).value().bound);
  TheoremFacts flat = heavy_facts(2.0, 1.0, 100.0);
  flat.strong_convexity = 0.001;
  const TheoremChoice choice = chosen(TheoremName::HeavyTailedStronglyConvex, flat).value();
  const auto reason = std::find_if(choice.reasons.begin(), choice.reasons.end(),
                                   [](const TheoremChoice::Reason& one) { return one.name == "kappa"; });
  ASSERT_NE(reason, choice.reasons.end());
  EXPECT_NE(reason->why.find("at most n/ln n = 21.71, and is none here"), std::string::npos) << reason->why;
}

/// The proximal step takes the regulariser, and what it takes is no part of the modulus of what remains: the bound of a
/// job that has one is worked out again with less.
TEST(HeavyTailsTest, ARegulariserThatTheProximalStepTakesMakesTheBoundLarger) {
  const TheoremFacts facts = heavy_facts(4.0, 1.0);
  algorithms::Problem problem = heavy_problem();
  problem.regulariser = geometry::Regulariser::squared_l2(0.25, 50).value();
  const auto with =
      choose_by_theorem(TheoremName::HeavyTailedProximal, facts, problem, PlannedNoise::Accountant).value();
  TheoremFacts less = facts;
  less.strong_convexity = 0.5 / (1.0 + 0.25 * 0.5);
  EXPECT_NEAR(*with.bound / *chosen(TheoremName::HeavyTailedProximal, less).value().bound, 1.0, 1e-6);
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
  TheoremFacts far = heavy_facts(2.0, 1.0);
  far.moment->bound = 1e12;
  EXPECT_NE(refusal(far).find("must be from"), std::string::npos);
}

constexpr double kParetoIndex = 4.5;  // moments of order 4 exist
constexpr double kParetoScale = 0.8;

/// This plays the silos of a choice whose records are x with a one-sided heavy tail, and whose loss is |w - x|^2 / 2.
/// @return the excess risk of what it ends with, a mean over some runs
double mean_excess(const TheoremChoice& choice, const TheoremFacts& facts, Eigen::Index dimension) {
  constexpr int kRuns = 12;
  const double mean_length = kParetoScale * kParetoIndex / (kParetoIndex - 1.0);
  // Every record is a length, whose tail is Pareto's, times one of the axes: its mean is the same on each.
  const Eigen::VectorXd best = Eigen::VectorXd::Constant(dimension, mean_length / static_cast<double>(dimension));
  double out = 0.0;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    RandomSource random(run);
    const auto normal = [&] {
      return std::sqrt(-2.0 * std::log1p(-random.unit())) * std::cos(2.0 * M_PI * random.unit());
    };
    const std::unique_ptr<algorithms::FederatedAlgorithm> algorithm = choice.method->make().value();
    const auto rounds = static_cast<double>(choice.method->extent().rounds);
    const auto batch = static_cast<std::int64_t>(facts.records / rounds);
    const double shift = shift_of_each(facts.epsilon, facts.delta, 1.0).value();
    const double noise = 2.0 * *choice.clip / (static_cast<double>(batch) * shift) / std::sqrt(facts.silos);
    algorithms::Step step = algorithm->start();
    for (std::uint64_t round = 0; std::holds_alternative<queries::Query>(step); ++round) {
      const Eigen::VectorXd& point = queries::point_of(std::get<queries::Query>(step).question);
      Eigen::VectorXd sum = Eigen::VectorXd::Zero(dimension);
      const std::int64_t all = batch * static_cast<std::int64_t>(facts.silos);
      for (std::int64_t i = 0; i < all; ++i) {
        Eigen::VectorXd gradient = point;
        gradient[static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(dimension)))] -=
            kParetoScale * std::pow(1.0 - random.unit(), -1.0 / kParetoIndex);
        sum += gradient * std::min(1.0, *choice.clip / gradient.norm());
      }
      sum /= static_cast<double>(all);
      for (double& number : sum) number += noise * normal();
      folds::Gathered gathered;
      gathered.round = RoundIndex{round};
      gathered.replies = static_cast<Eigen::Index>(facts.silos);
      gathered.value = folds::Mean{sum, {}};
      step = algorithm->advance(gathered).value();
    }
    const Eigen::VectorXd& found = std::get<algorithms::Finished>(step).outcome.vectors.at("weights");
    out += 0.5 * (found - best).squaredNorm() / kRuns;
  }
  return out;
}

/// The bounds hold in runs whose records have four moments and no bound, and what runs reach falls with the records. A
/// run that stays where it starts fails: its excess is that of the start.
TEST(HeavyTailsTest, RunsOnHeavyTailedRecordsStayBelowTheirBounds) {
  constexpr Eigen::Index kDimension = 5;
  const double mean_length = kParetoScale * kParetoIndex / (kParetoIndex - 1.0);
  const double at_the_start = 0.5 * mean_length * mean_length / static_cast<double>(kDimension);
  for (const TheoremName name :
       {TheoremName::HeavyTailedConvex, TheoremName::HeavyTailedProximal, TheoremName::HeavyTailedStronglyConvex}) {
    double before = at_the_start;
    for (const double records : {1'000.0, 8'000.0}) {
      TheoremFacts facts = heavy_facts(4.0, 4.0, records);
      // E |w - x|^4 <= (1 + E^(1/4) |x|^4)^4 on the unit ball, with E |x|^4 = scale^4 4.5/.5.
      facts.moment = MomentBound{4.0, 1.0 + kParetoScale * std::pow(9.0, 0.25)};
      facts.gradient_variance = facts.moment->bound * facts.moment->bound;
      facts.strong_convexity = 1.0;
      facts.gap = 1.0;
      const TheoremChoice choice = chosen(name, facts, kDimension).value();
      const double excess = mean_excess(choice, facts, kDimension);
      EXPECT_LE(excess, *choice.bound) << to_string(name) << ", " << records;
      EXPECT_LT(excess, 0.5 * before) << to_string(name) << ", " << records;
      before = excess;
    }
  }
}

nlohmann::json job_with_moments(double order = 4.0) {
  tests::SmallFederation federation;
  federation.loss = models::Loss::LeastSquares;
  federation.evaluation_every = 0;
  federation.moments = nlohmann::json{{"order", order}, {"bound", 0.5}, {"source", "a pilot of last year"}}.dump();
  return nlohmann::json::parse(federation.job());
}

/// A job is read where others wait: every promise takes half a millisecond of that thread, whatever the number of
/// silos.
TEST(MomentClipTest, AJobOfMoreDifferentPromisesThanTheLimitIsRefused) {
  for (const char* theorem : {"", "heavy_tailed_convex", "one_pass_convex"}) {
    nlohmann::json job = job_with_moments();
    if (*theorem != '\0') job["algorithm"] = {{"theorem", theorem}};
    if (std::string_view(theorem) == "one_pass_convex") {
      job["privacy"].erase("moments");
      job["privacy"]["clip_norm"] = 1;
    }
    const nlohmann::json one = job["cohort"][0];
    job["cohort"] = nlohmann::json::array();
    for (std::size_t i = 0; i <= kPromisesMax; ++i) {
      job["cohort"].push_back(one);
      job["cohort"].back()["silo"] = fmt::format("silo-{}", i);
      job["cohort"].back()["epsilon"] = 1.0 + 0.01 * static_cast<double>(i);
    }
    job["participation"]["quorum"] = job["cohort"].size();
    const Result<jobs::ReadJob> read = jobs::read_job(job.dump(), "job");
    ASSERT_FALSE(read) << theorem;
    EXPECT_NE(read.error().message.find("at most 64 different pairs of epsilon and delta"), std::string::npos)
        << read.error().message;
    job["cohort"].erase(0);
    job["participation"]["quorum"] = job["cohort"].size();
    EXPECT_TRUE(jobs::read_job(job.dump(), "job")) << theorem;
  }
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
  const double best = balanced_clip(job.moments->oracle.moment(), signal, static_cast<double>(job.model->dimension()));
  EXPECT_NEAR(clip / best, 1.0, 1e-3);  // four digits of it are stated
  EXPECT_NE(jobs::described(*job.moments).find("a pilot of last year"), std::string::npos);
  // The order counts too.
  EXPECT_NE(jobs::parse_job(job_with_moments(2.0).dump(), "job").value().clip().value(), clip);
}

nlohmann::json job_of_coordinates(const nlohmann::json& more = nlohmann::json::object()) {
  nlohmann::json job = job_with_moments();
  job["privacy"]["moments"]["of"] = "coordinates";
  job["privacy"]["moments"].update(more);
  return job;
}

std::string refusal_of(const nlohmann::json& job) {
  const Result<jobs::Job> read = jobs::parse_job(job.dump(), "job");
  return read ? "" : read.error().message;
}

/// The threshold makes bias^2 and the variance of the plan's own noise least, whatever cuts and however many groups.
TEST(CoordinateMomentTest, AJobGetsTheThresholdThatItsNoiseAsksFor) {
  double before = 0.0;
  for (const nlohmann::json& more :
       {nlohmann::json::object(), nlohmann::json{{"influence", "smooth"}}, nlohmann::json{{"groups", 5}}}) {
    const jobs::Job job = jobs::parse_job(job_of_coordinates(more).dump(), "job").value();
    const auto& bound = std::get<releases::InfluenceBound>(job.bound);
    const MeanOracle& oracle = job.moments->oracle;
    EXPECT_EQ(job.moments->clip, bound.threshold());
    EXPECT_NE(bound.threshold(), before);
    before = bound.threshold();
    EXPECT_NEAR(bound.l2().value(), oracle.reach(bound.threshold()), 1e-9);
    const auto plans = jobs::plans_of(job).value();
    double weights = 0.0;
    for (const jobs::CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
    double noise = 0.0;
    for (const jobs::CohortMember& member : job.cohort) {
      const planning::Release& release = plans.at(member.facts.silo).segments().front().release;
      EXPECT_EQ(release.answer_size(), static_cast<Eigen::Index>(bound.groups()) * job.model->dimension());
      // What the noise of the whole sum would be on the mean of all records.
      const double own = mechanisms::noise_stddev_of_sum(release.mechanism, release.records_drawn) /
                         static_cast<double>(release.records_drawn);
      noise += std::pow(static_cast<double>(member.weight) / weights * own, 2);
    }
    const double signal = 2.0 * bound.l2().value() / std::sqrt(noise);
    EXPECT_NEAR(bound.threshold() / oracle.balanced_threshold(signal), 1.0, 1e-3);
    EXPECT_NE(jobs::described(*job.moments).find("in every coordinate"), std::string::npos);
  }
}

/// The theorems take the oracle's own bias and variance: more groups, more rounds' noise, a larger bound.
TEST(CoordinateMomentTest, TheoremsTakeWhatTheOracleSaysOfItself) {
  for (const TheoremName name :
       {TheoremName::HeavyTailedConvex, TheoremName::HeavyTailedStronglyConvex, TheoremName::HeavyTailedProximal}) {
    TheoremFacts facts = heavy_facts(4.0, 1.0);
    constexpr Eigen::Index kDimension = 50;
    const double by_norm = *chosen(name, facts, kDimension).value().bound;
    // A moment of coordinates that says as much of norms.
    facts.moment->bound /= std::sqrt(static_cast<double>(kDimension));
    facts.coordinates = CoordinateMeans{releases::Influence::Clip, 1};
    const TheoremChoice clip = chosen(name, facts, kDimension).value();
    EXPECT_NEAR(*clip.bound / by_norm, 1.0, 1e-3) << to_string(name);
    facts.coordinates->influence = releases::Influence::Smooth;
    const double smooth = *chosen(name, facts, kDimension).value().bound;
    EXPECT_GT(smooth, *clip.bound) << to_string(name);
    // A median's rounds have more noise, so that fewer records are cut; what it is off by no bound says.
    facts.coordinates = CoordinateMeans{releases::Influence::Clip, 9};
    const TheoremChoice median = chosen(name, facts, kDimension).value();
    EXPECT_FALSE(median.bound.has_value()) << to_string(name);
    EXPECT_NE(*median.clip, *clip.clip) << to_string(name);
    facts.records = 8.0;
    EXPECT_FALSE(chosen(name, facts, kDimension)) << to_string(name);
  }
}

/// A shuffled total hides a record among all silos' coins, so that every theorem promises more than silos' own noise
/// allows, and asks for a longer clip.
TEST(ShuffledMomentTest, TheoremsHaveAShuffledForm) {
  for (const TheoremName name :
       {TheoremName::HeavyTailedConvex, TheoremName::HeavyTailedStronglyConvex, TheoremName::HeavyTailedProximal,
        TheoremName::HeavyTailedLocalized, TheoremName::HeavyTailedStaged}) {
    SCOPED_TRACE(to_string(name));
    TheoremFacts facts = heavy_facts(4.0, 1.0);
    const TheoremChoice own = chosen(name, facts).value();
    facts.shuffled = ShuffledAnswers{4.0, false};
    const Result<TheoremChoice> mixed = chosen(name, facts);
    ASSERT_TRUE(mixed) << mixed.error().message;
    EXPECT_LT(*mixed->bound, *own.bound);
    EXPECT_GT(*mixed->clip, *own.clip);
    facts.shuffled->reports = true;
    EXPECT_FALSE(chosen(name, facts));
    facts.shuffled->reports = false;
    facts.coordinates = CoordinateMeans{releases::Influence::Clip, 3};
    EXPECT_FALSE(chosen(name, facts));
  }
}

nlohmann::json shuffled_job(const nlohmann::json& moments, const char* form = "counts") {
  tests::SmallFederation federation;
  federation.loss = models::Loss::LeastSquares;
  federation.evaluation_every = 0;
  federation.equal = true;
  federation.shuffle = tests::FaultWorlds::shuffle(form);
  federation.moments = moments.dump();
  return nlohmann::json::parse(federation.job());
}

/// The threshold is that of the plan's own coins, which the formula knows to a few parts in a hundred.
TEST(ShuffledMomentTest, AJobGetsTheThresholdThatItsCoinsAskFor) {
  for (const nlohmann::json& more : {nlohmann::json::object(), nlohmann::json{{"of", "coordinates"}},
                                     nlohmann::json{{"of", "coordinates"}, {"influence", "smooth"}}}) {
    nlohmann::json moments = {{"order", 4}, {"bound", 0.5}, {"source", "a pilot"}};
    moments.update(more);
    const Result<jobs::Job> job = jobs::parse_job(shuffled_job(moments).dump(), "job");
    ASSERT_TRUE(job) << job.error().message;
    const planning::Plan plan = jobs::plan_of(*job, job->cohort.front()).value();
    const planning::Release& release = plan.segments().front().release;
    const MeanOracle& oracle = job->moments->oracle;
    // Of each silo's coins; the mean over alike silos has less by the root of their number.
    const double noise = release.noise_stddev_of_mean() / std::sqrt(static_cast<double>(job->cohort.size()));
    const double signal = 2.0 * oracle.reach(job->moments->clip) / noise;
    EXPECT_NEAR(job->moments->clip / oracle.balanced_threshold(signal), 1.0, 0.1) << more;
  }
  const auto said = [&](const nlohmann::json& moments, const char* form) {
    const Result<jobs::Job> job = jobs::parse_job(shuffled_job(moments, form).dump(), "job");
    return job ? std::string() : job.error().message;
  };
  const nlohmann::json norms = {{"order", 4}, {"bound", 0.5}, {"source", "a pilot"}};
  EXPECT_NE(said(norms, "reports").find("beside shuffled reports"), std::string::npos);
  nlohmann::json groups = norms;
  groups.update({{"of", "coordinates"}, {"groups", 3}});
  EXPECT_NE(said(groups, "counts").find("not hidden by shufflers"), std::string::npos);
}

/// A phase's share of the threshold is planned like one of a clip.
TEST(CoordinateMomentTest, APhaseHasItsShareOfTheThreshold) {
  nlohmann::json job = job_of_coordinates();
  job["algorithm"] = {{"kind", "regularised_subgradient"},
                      {"rounds", 4},
                      {"step_size", 0.25},
                      {"proximity", 0.5},
                      {"clip_share", 0.1},
                      {"draw_fraction", 1}};
  const Result<jobs::Job> read = jobs::parse_job(job.dump(), "job");
  ASSERT_TRUE(read) << read.error().message;
  const planning::Plan plan = jobs::plan_of(*read, read->cohort.front()).value();
  const auto& bound = std::get<releases::InfluenceBound>(plan.segments().front().release.ask.bound);
  EXPECT_NEAR(bound.threshold(), 0.1 * read->moments->clip, 1e-12);
  EXPECT_NEAR(bound.l2().value(), 0.1 * std::get<releases::InfluenceBound>(read->bound).l2().value(), 1e-9);
  EXPECT_NEAR(read->moments->shortest, bound.threshold(), 1e-12);
}

TEST(CoordinateMomentTest, WhatDoesNotGoWithCoordinatesIsRefusedInWords) {
  for (const char* model : {R"({"kind":"softmax"})", R"({"kind":"moments"})"}) {
    tests::SmallFederation federation;
    federation.model = model;
    federation.evaluation_every = 0;
    federation.moments = R"({"of":"coordinates","order":4,"bound":1,"source":"a pilot"})";
    const Result<jobs::Job> other = jobs::parse_job(federation.job(), "job");
    ASSERT_FALSE(other) << model;
    EXPECT_NE(other.error().message.find("/privacy/moments/of: expected \"norm\", or a linear model"),
              std::string::npos)
        << other.error().message;
  }
  EXPECT_EQ(refusal_of(job_of_coordinates()), "");
  tests::SmallFederation wide;  // 255 groups of 4,201 numbers are more than 2^20
  wide.features = 4'200;
  wide.evaluation_every = 0;
  wide.moments = R"({"of":"coordinates","order":4,"bound":1,"groups":255,"source":"a pilot"})";
  EXPECT_NE(refusal_of(nlohmann::json::parse(wide.job())).find("expected at most 1048576 in all"), std::string::npos);
  EXPECT_NE(refusal_of(job_of_coordinates({{"groups", 4}})).find("expected an odd number, got 4"), std::string::npos);
  EXPECT_NE(refusal_of(job_of_coordinates({{"groups", 257}})).find("/privacy/moments/groups"), std::string::npos);
  nlohmann::json norms = job_with_moments();
  norms["privacy"]["moments"]["groups"] = 3;
  EXPECT_NE(refusal_of(norms).find("the moment is of norms"), std::string::npos);
  nlohmann::json robust = job_of_coordinates({{"groups", 3}});
  robust["aggregation"] = {{"kind", "geometric_median"}};
  EXPECT_NE(refusal_of(robust).find("beside 3 groups"), std::string::npos);
  nlohmann::json kinks = job_of_coordinates();
  kinks["algorithm"] = {{"theorem", "heavy_tailed_localized"}};
  kinks["regulariser"] = {{"kind", "none"}};
  EXPECT_NE(refusal_of(kinks).find("expected a moment of norms"), std::string::npos) << refusal_of(kinks);
  // Parts of fewer records than groups.
  nlohmann::json few = job_of_coordinates({{"groups", 255}});
  const Result<jobs::Job> read = jobs::parse_job(few.dump(), "job");
  ASSERT_TRUE(read) << read.error().message;
  const auto plans = jobs::plans_of(*read);
  ASSERT_FALSE(plans);
  EXPECT_NE(plans.error().message.find("make no 255 groups"), std::string::npos) << plans.error().message;
}

/// Every number at its extremes: a job is refused, or its clip and its bound are numbers.
TEST(CoordinateMomentTest, ExtremeNumbersAreRefusedOrPlanned) {
  for (const double order : {2.0, 2.0000001, 64.0})
    for (const double bound : {1e-9, 1.0, 1e9})
      for (const char* influence : {"clip", "smooth"})
        for (const int groups : {1, 3}) {
          const nlohmann::json job =
              job_of_coordinates({{"order", order}, {"bound", bound}, {"influence", influence}, {"groups", groups}});
          const Result<jobs::Job> read = jobs::parse_job(job.dump(), "job");
          if (!read) continue;
          EXPECT_TRUE(std::isfinite(read->moments->clip) && read->moments->clip > 0.0);
          EXPECT_TRUE(std::isfinite(read->moments->bias));
        }
}

/// What counts of a promise is how much noise keeps it: a rho with the shift of an epsilon and a delta has their clip.
TEST(MomentClipTest, ARhoHasTheClipOfTheSameNoise) {
  nlohmann::json job = job_with_moments();
  const jobs::Job before = jobs::parse_job(job.dump(), "job").value();
  for (nlohmann::json& member : job["cohort"]) {
    const double shift = accounting::gaussian_shift_for(releases::Epsilon::create(member["epsilon"]).value(),
                                                        releases::Delta::create(member["delta"]).value())
                             .value();
    member.erase("epsilon");
    member["rho"] = 0.5 * shift * shift;
  }
  const Result<jobs::Job> after = jobs::parse_job(job.dump(), "job");
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->clip().value(), before.clip().value());
  EXPECT_TRUE(jobs::plans_of(*after));
  job["cohort"][0].erase("rho");
  job["cohort"][0]["epsilon"] = 1;
  job["cohort"][0]["delta"] = 0;
  const Result<jobs::Job> pure = jobs::parse_job(job.dump(), "job");
  ASSERT_FALSE(pure);
  EXPECT_NE(pure.error().message.find("expected a delta above 0 or a rho of every silo"), std::string::npos)
      << pure.error().message;
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
  // The noise of these is not what the clip would be worked out from.
  expect("a draw_fraction of 1", [](nlohmann::json& job) { job["algorithm"]["draw_fraction"] = 0.5; });
  expect("expected no privacy.calibration", [](nlohmann::json& job) {
    job["privacy"]["calibration"] = {{"by", "hand"}, {"noise_multiplier", 3}};
  });
  const auto spider =
      nlohmann::json::parse(R"({"kind":"spider","rounds":7,"period":3,"step_size":0.4,"smoothness":1.5,"seed":4})");
  const auto local = nlohmann::json::parse(R"({"kind":"local_sgd","rounds":4,"local_steps":5,"step_size":0.1})");
  for (const nlohmann::json& other : {spider, local})
    expect("asks for something else", [&](nlohmann::json& job) {
      job["algorithm"] = other;
      job["regulariser"] = {{"kind", "none"}};
    });
  expect("/privacy/moments/bound", [](nlohmann::json& job) { job["privacy"]["moments"]["bound"] = 1e300; });
  expect("the clip would be", [](nlohmann::json& job) { job["privacy"]["moments"]["bound"] = 1e9; });
  expect("privacy.moments", [](nlohmann::json& job) {
    job["privacy"].erase("moments");
    job["privacy"]["clip_norm"] = 1;
    job["algorithm"] = {{"theorem", "heavy_tailed_convex"}};
  });
}

}  // namespace
}  // namespace undertone::theorems
