#include <cmath>
#include <gtest/gtest.h>

#include "shared/algorithms/proximal/prox_svrg.hpp"
#include "shared/algorithms/proximal/proximal_sgd.hpp"
#include "shared/algorithms/proximal/spider.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/algorithms/sgd/local_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "tests/support/measured.hpp"
#include "tests/support/noisy_cohort.hpp"

/// Every algorithm of federated-core 3.1 to 3.5 on the table of problems with known optima, its silos' answers exact
/// but for Gaussian noise, against what its theorem promises with all constants, and against the exact risk where there
/// is a closed form.
namespace undertone::tests {
namespace {

using algorithms::AcceleratedPhase;
using algorithms::AcceleratedSgd;
using algorithms::AcceleratedSgdSettings;
using algorithms::AcceleratedStage;
using algorithms::Averaging;
using algorithms::Method;
using algorithms::MinibatchSgdSettings;
using algorithms::ProximalSgdSettings;
using algorithms::ProxSvrgSettings;
using algorithms::RecordUse;
using algorithms::SpiderAlternateSettings;
using algorithms::SpiderSettings;

Measured excess_of(const KnownProblem& known, const Method& settings, const NoisyCohort::Setup& setup) {
  return average(kRuns, [&](std::uint64_t seed) {
    NoisyCohort::Setup seeded = setup;
    seeded.seed = seed;
    const auto algorithm = Method(settings)->make().value();
    return known.excess(NoisyCohort(known, seeded).train(*algorithm));
  });
}

double silos_of(const KnownProblem& known) { return static_cast<double>(known.silos.size()); }
double dimension_of(const KnownProblem& known) { return static_cast<double>(known.problem.dimension); }
/// Of F, its l2 part included.
double whole_smoothness(const KnownProblem& known) { return known.smoothness + known.problem.regulariser.l2(); }
/// The standard deviation of a silo's answer with which the mean's variance, all coordinates together, is this.
double stddev_for(const KnownProblem& known, double variance) {
  return std::sqrt(variance * silos_of(known) / dimension_of(known));
}

std::vector<KnownProblem> chosen(const std::function<bool(const KnownProblem&)>& wanted) {
  std::vector<KnownProblem> out;
  for (const KnownProblem& known : known_problems())
    if (wanted(known)) out.push_back(known);
  return out;
}
std::vector<KnownProblem> smooth_convex() {
  return chosen(
      [](const KnownProblem& known) { return known.strong_convexity > 0.0 && known.problem.regulariser.is_smooth(); });
}
/// Proximal-PL with the modulus of their smooth part.
std::vector<KnownProblem> composite() {
  return chosen(
      [](const KnownProblem& known) { return known.strong_convexity > 0.0 && known.problem.regulariser.l2() == 0.0; });
}

/// A point of W.
Eigen::VectorXd somewhere(const KnownProblem& known, NormalSource& normals) {
  Eigen::VectorXd point = Eigen::VectorXd::Zero(known.problem.dimension);
  normals.add(1.0, point);
  known.problem.domain.project(point);
  return point;
}

TEST(KnownProblemsTest, AreWhatTheTableSays) {
  for (const KnownProblem& known : known_problems()) {
    SCOPED_TRACE(known.name);
    NormalSource normals(3);
    const double beta = whole_smoothness(known);
    // Zero at a minimiser of a convex problem alone, and at a stationary point of any other.
    EXPECT_LE(known.stationarity(known.minimiser, 1.0 / beta), 1e-22);
    for (int i = 0; i < 300; ++i) {
      const Eigen::VectorXd w = somewhere(known, normals);
      const Eigen::VectorXd v = somewhere(known, normals);
      EXPECT_GE(known.excess(w), 0.5 * known.strong_convexity * (w - known.minimiser).squaredNorm() - 1e-12);
      for (const SiloObjective& silo : known.silos) {
        EXPECT_LE(silo.gradient(w).norm(), known.gradient_bound);
        EXPECT_LE((silo.gradient(w) - silo.gradient(v)).norm(), known.smoothness * (w - v).norm() * (1.0 + 1e-12));
        const Eigen::VectorXd direction = 1e-5 * (v - w);
        const double slope = silo.value(w + direction) - silo.value(w - direction);
        EXPECT_NEAR(slope, 2.0 * silo.gradient(w).dot(direction), 1e-8 * (1.0 + std::abs(slope)));
      }
    }
  }
}

TEST(MinibatchSgdConvergenceTest, KeepsTheBoundOfItsLemmaForUniformAverages) {
  // Lemma 103: D^2 / (2 eta R) + eta / 2 (G^2 + d sigma^2 / M), eta <= 1 / beta.
  for (const KnownProblem& known : smooth_convex()) {
    SCOPED_TRACE(known.name);
    const double longest = known.gradient_bound + known.problem.regulariser.l2() * 4.0;
    const double variance = 4.0 * longest * longest;
    const double second_moment = longest * longest + variance;
    constexpr double kRounds = 80;
    const double step = std::min(1.0 / whole_smoothness(known), known.distance() / std::sqrt(kRounds * second_moment));
    const double bound = known.distance() * known.distance() / (2.0 * step * kRounds) + step / 2.0 * second_moment;
    const MinibatchSgdSettings settings{known.problem, 80, step, {}};
    expect_held(excess_of(known, settings, {{stddev_for(known, variance)}}), bound, 0.03);
  }
}

TEST(MinibatchSgdConvergenceTest, KeepsTheBoundForGeometricAverages) {
  // ||w_{r+1} - w*||^2 <= q ||w_r - w*||^2 - 2 eta (F(w_r) - F*) + eta^2 ||g||^2 in expectation, q = 1 - mu eta. Times
  // gamma_r = q^{-(r+1)} and added up, with sum gamma_r = (q^{-R} - 1) / (mu eta):
  // E F(output) - F* <= mu D^2 q^R / (2 (1 - q^R)) + eta / 2 (G^2 + d sigma^2 / M).
  for (const KnownProblem& known : smooth_convex()) {
    SCOPED_TRACE(known.name);
    const double mu = known.strong_convexity;
    const double longest = known.gradient_bound + known.problem.regulariser.l2() * 4.0;
    const double variance = 4.0 * longest * longest;
    constexpr double kRounds = 120;
    const double step = std::min(0.5 / whole_smoothness(known), 4.0 / (mu * kRounds));
    const double left = std::pow(1.0 - mu * step, kRounds);
    const double bound = mu * known.distance() * known.distance() * left / (2.0 * (1.0 - left)) +
                         step / 2.0 * (longest * longest + variance);
    const MinibatchSgdSettings settings{known.problem, 120, step, {Averaging::Kind::Geometric, 1.0 - mu * step}};
    expect_held(excess_of(known, settings, {{stddev_for(known, variance)}}), bound, 0.002);
  }
}

/// Proposition 172 for mu = 0: 4 upsilon D^2 / (R (R+1)) + 4 V^2 (R+2) / (3 upsilon).
double accelerated_bound(double upsilon, double distance, double variance, double rounds) {
  return 4.0 * upsilon * distance * distance / (rounds * (rounds + 1.0)) +
         4.0 * variance * (rounds + 2.0) / (3.0 * upsilon);
}

TEST(AcceleratedSgdConvergenceTest, KeepsItsBoundOnTheObjectiveItself) {
  for (const KnownProblem& known : smooth_convex()) {
    for (const double part : {0.01, 1.0}) {
      SCOPED_TRACE(known.name);
      const double variance = part * std::pow(known.gradient_bound, 2.0);
      constexpr double kRounds = 30;
      const double upsilon =
          std::max(2.0 * whole_smoothness(known), std::sqrt(variance) * std::pow(kRounds, 1.5) / known.distance());
      const double bound = accelerated_bound(upsilon, known.distance(), variance, kRounds);
      const AcceleratedSgdSettings settings{known.problem, {{0.0, 0.0, {}, {{30, upsilon}}}}, RecordUse::Shared};
      expect_held(excess_of(known, settings, {{stddev_for(known, variance)}}), bound, 0.006);
    }
  }
}

TEST(AcceleratedSgdConvergenceTest, KeepsItsBoundOnTheRegularisedObjective) {
  // F + lambda/2 ||w - w_0||^2, lambda = V / (D sqrt(R)), upsilon = 2 (beta + lambda): mu > 0 makes the terms of
  // Proposition 172 smaller, and lambda D^2 / 2 is lost on the way back to F, whose optimum is the farther one.
  for (const KnownProblem& known : smooth_convex()) {
    SCOPED_TRACE(known.name);
    const double deviation = 0.3 * known.gradient_bound;
    constexpr double kRounds = 40;
    const double lambda = deviation / (known.distance() * std::sqrt(kRounds));
    const double upsilon = 2.0 * (whole_smoothness(known) + lambda);
    // With mu = lambda the noise term of the proposition is at most 8 V^2 / (mu (R+1)) as well.
    const double rough = accelerated_bound(upsilon, known.distance(), 0.0, kRounds) +
                         8.0 * deviation * deviation / (lambda * (kRounds + 1.0));
    const double bound = std::min(rough, accelerated_bound(upsilon, known.distance(), deviation * deviation, kRounds)) +
                         0.5 * lambda * known.distance() * known.distance();
    const AcceleratedSgdSettings settings{known.problem, {{lambda, lambda, {}, {{40, upsilon}}}}, RecordUse::Shared};
    expect_held(excess_of(known, settings, {{stddev_for(known, deviation * deviation)}}), bound, 0.015);
  }
}

TEST(AcceleratedSgdConvergenceTest, KeepsItsBoundInOnePassOverSilosOfWhichTwoAnswer) {
  // Theorem 124: V^2 = phi^2 / (M K) + ((N-M)/(N-1)) upsilon^2 / M + d sigma^2 / M; the draw's part is in the noise.
  const KnownProblem known = far_apart_silos();
  const double silos = silos_of(known);
  constexpr double kAnswering = 2;
  const double apart = known.heterogeneity(known.minimiser);  // the same everywhere: the curvature is shared
  EXPECT_NEAR(apart, known.heterogeneity(known.problem.start()), 1e-9 * apart);
  constexpr double kStddev = 2.0;
  const double variance =
      (silos - kAnswering) / (silos - 1.0) * apart / kAnswering + dimension_of(known) * kStddev * kStddev / kAnswering;
  constexpr double kRounds = 50;
  const double upsilon =
      std::max(2.0 * known.smoothness, std::sqrt(variance) * std::pow(kRounds, 1.5) / known.distance());
  const AcceleratedSgdSettings settings{known.problem, {{0.0, 0.0, {}, {{50, upsilon}}}}, RecordUse::OnePass};
  const Measured measured = excess_of(known, settings, {{kStddev}, 0, 2});
  expect_held(measured, accelerated_bound(upsilon, known.distance(), variance, kRounds), 0.03);
}

TEST(AcceleratedSgdConvergenceTest, EveryStageHalvesTheGapUnderNoise) {
  // B.1.6.1: R_k = ceil(max{4 sqrt(2 beta / mu), 128 V^2 / (3 mu Gap 2^{-(k+1)})}),
  // upsilon_k = max{2 beta, sqrt(mu V^2 R_k (R_k + 1) (R_k + 2) / (3 Gap 2^{-(k-1)}))}; then E F(q_k) - F* <= Gap
  // 2^{-k}.
  for (const KnownProblem& known : smooth_convex()) {
    SCOPED_TRACE(known.name);
    constexpr int kStages = 4;
    const double beta = whole_smoothness(known);
    const double mu = known.strong_convexity;
    const double gap = known.gap();
    const double variance = mu * gap * 0.2;
    std::vector<AcceleratedStage> stages;
    std::vector<std::uint64_t> ends;
    for (int k = 1; k <= kStages; ++k) {
      const double rounds = std::ceil(
          std::max(4.0 * std::sqrt(2.0 * beta / mu), 128.0 * variance / (3.0 * mu * std::ldexp(gap, -(k + 1)))));
      const double upsilon = std::max(2.0 * beta, std::sqrt(mu * variance * rounds * (rounds + 1.0) * (rounds + 2.0) /
                                                            (3.0 * std::ldexp(gap, -(k - 1)))));
      stages.push_back({static_cast<std::uint64_t>(rounds), upsilon});
      ends.push_back(stages.back().rounds + (ends.empty() ? 0 : ends.back()));
    }
    const AcceleratedSgdSettings settings{known.problem, {{0.0, mu, {}, stages}}, RecordUse::Shared};
    std::vector<std::vector<double>> after(kStages);  // stage by stage, one number a run
    for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
      const auto algorithm = AcceleratedSgd::create(settings).value();
      std::uint64_t round = 0;
      (void)NoisyCohort(known, {{stddev_for(known, variance)}, seed})
          .train(*algorithm, [&](const algorithms::FederatedAlgorithm& running) {
            ++round;
            for (std::size_t k = 0; k < kStages; ++k)
              if (round == ends[k]) after[k].push_back(known.excess(running.candidate()));
          });
    }
    for (std::size_t k = 0; k < kStages; ++k) {
      SCOPED_TRACE(k + 1);
      const Measured measured = average(kRuns, [&](std::uint64_t seed) { return after[k].at(seed); });
      expect_held(measured, std::ldexp(gap, -static_cast<int>(k) - 1), 0.0015);
    }
  }
}

TEST(ProximalSgdConvergenceTest, KeepsTheBoundOfItsStepOverAllRounds) {
  // B.45: E[F - F*]_{r+1} <= (1 - 1/(2 kappa)) E[F - F*]_r + 2 d sigma^2 / (beta M), every record read. Two lengths:
  // while the first term rules and when the second does.
  for (const KnownProblem& known : composite()) {
    SCOPED_TRACE(known.name);
    const double kappa = known.smoothness / known.strong_convexity;
    const double shrink = 1.0 - 1.0 / (2.0 * kappa);
    for (const double rounds : {3.0, std::ceil(6.0 * kappa)}) {
      const double variance = known.gap() * known.smoothness * 0.02;
      const double left = std::pow(shrink, rounds);
      const double bound = left * known.gap() + 2.0 * variance / known.smoothness * (1.0 - left) / (1.0 - shrink);
      const ProximalSgdSettings settings{known.problem, static_cast<std::uint64_t>(rounds), 0.5 / known.smoothness};
      expect_held(excess_of(known, settings, {{stddev_for(known, variance)}}), bound, 0.002);
    }
  }
}

/// Of one restart of `rounds` differences: 24 kappa Gap / R + (3/mu) (d (sigma1^2 + sigma2^2) / (2M)), B.64 with all
/// silos.
double svrg_floor(const KnownProblem& known, double anchor_variance, double difference_variance) {
  return 3.0 / known.strong_convexity * 0.5 * (anchor_variance + difference_variance);
}

TEST(ProxSvrgConvergenceTest, KeepsTheBoundOfItsTheorem) {
  for (const KnownProblem& known : composite()) {
    SCOPED_TRACE(known.name);
    const double kappa = known.smoothness / known.strong_convexity;
    constexpr std::uint64_t kInner = 8;
    const auto epochs = static_cast<std::uint64_t>(std::ceil(30.0 * kappa / kInner));
    const double anchor = 0.02 * known.strong_convexity * known.gap();
    const double difference = 0.05 * known.strong_convexity * known.gap();
    const double bound =
        24.0 * kappa * known.gap() / static_cast<double>(epochs * kInner) + svrg_floor(known, anchor, difference);
    const Measured measured = average(kRuns, [&](std::uint64_t seed) {
      const ProxSvrgSettings settings{known.problem, 1, epochs, kInner, 0.125 / known.smoothness, {}, seed};
      const auto algorithm = Method(settings)->make().value();
      return known.excess(
          NoisyCohort(known, {{stddev_for(known, anchor), stddev_for(known, difference)}, seed}).train(*algorithm));
    });
    expect_held(measured, bound, 0.015);
  }
}

TEST(ProxSvrgConvergenceTest, EveryRestartHalvesTheGapDownToTheNoise) {
  // With E Q >= 48 kappa a restart leaves half the gap plus the floor, so four leave Gap / 16 + 2 floors at most.
  for (const KnownProblem& known : composite()) {
    SCOPED_TRACE(known.name);
    const double kappa = known.smoothness / known.strong_convexity;
    constexpr std::uint64_t kInner = 8;
    const auto epochs = static_cast<std::uint64_t>(std::ceil(48.0 * kappa / kInner));
    const double anchor = 0.01 * known.strong_convexity * known.gap();
    const double difference = 0.02 * known.strong_convexity * known.gap();
    const double bound = known.gap() / 16.0 + 2.0 * svrg_floor(known, anchor, difference);
    const Measured measured = average(kRuns, [&](std::uint64_t seed) {
      const ProxSvrgSettings settings{known.problem, 4, epochs, kInner, 0.125 / known.smoothness, {}, seed};
      const auto algorithm = Method(settings)->make().value();
      return known.excess(
          NoisyCohort(known, {{stddev_for(known, anchor), stddev_for(known, difference)}, seed}).train(*algorithm));
    });
    expect_held(measured, bound, 0.001);
  }
}

TEST(SpiderConvergenceTest, KeepsTheBoundOnStationarityOfItsTheorem) {
  // Theorem 149 with all silos: E ||G_eta||^2 <= 16 (Gap / (eta R) + d sigma1^2 / M), eta = 1 / (2 beta), where
  // q <= 1 / (eta^2 tau2^2), tau2^2 = 8 d sigma2^2 / M; here with equality. The smaller R is ruled by the gap, the
  // larger by the noise.
  constexpr std::uint64_t kPeriod = 6;
  for (const KnownProblem& known :
       chosen([](const KnownProblem& one) { return one.problem.regulariser.l2() == 0.0; })) {
    for (const std::uint64_t rounds : {6U, 120U}) {
      SCOPED_TRACE(known.name);
      const double step = 0.5 / known.smoothness;
      const double anchor = 0.1 * known.gap() / step / 6.0;
      const double per_distance = 1.0 / (step * std::sqrt(8.0 * static_cast<double>(kPeriod)));
      const double bound = 16.0 * (known.gap() / (step * static_cast<double>(rounds)) + anchor);
      const NoisyCohort::Noise noise{
          stddev_for(known, anchor),
          2.0 * known.gradient_bound / known.smoothness * stddev_for(known, per_distance * per_distance),
          stddev_for(known, per_distance * per_distance)};
      const Measured measured = average(kRuns, [&](std::uint64_t seed) {
        const SpiderSettings settings{known.problem, rounds, kPeriod, step, known.smoothness, seed};
        const auto algorithm = Method(settings)->make().value();
        return known.stationarity(NoisyCohort(known, {noise, seed}).train(*algorithm), step);
      });
      expect_held(measured, bound, 0.01);
    }
  }
}

TEST(SpiderAlternateConvergenceTest, KeepsTheBoundThatDescentGives) {
  // A step from w along v = grad F(w) + e with eta <= 1 / beta: F falls by eta/2 ||grad F||^2 - eta/2 ||e||^2 at least.
  // Added up over the first gradient and all pairs, and one step more with e = 0 from the last point, the output's mean
  // over the 2p points after the first is at most Gap / (eta p) + the mean of ||e||^2: d sigma2^2 / M at every step, of
  // fresh gradients, and d sigma1^2 / M at every other, of differences.
  const KnownProblem known = nonconvex_valley();
  for (const std::uint64_t pairs : {4U, 60U}) {
    SCOPED_TRACE(pairs);
    const double step = 0.5 / known.smoothness;
    const double fresh = 0.05 * known.gap();
    const double difference = 0.2 * known.gap();
    const double bound = known.gap() / (step * static_cast<double>(pairs)) + fresh + 0.5 * difference;
    const Measured measured = average(8 * kRuns, [&](std::uint64_t seed) {
      const SpiderAlternateSettings settings{known.problem, pairs, step, {}, seed};
      const auto algorithm = Method(settings)->make().value();
      return known.stationarity(
          NoisyCohort(known, {{stddev_for(known, fresh), stddev_for(known, difference)}, seed}).train(*algorithm),
          step);
    });
    expect_held(measured, bound, 0.2);
  }
}

/// A quadratic in all of space, so that no projection bends what follows: every iterate is the noise through a linear
/// filter, and the expected risk has a closed form.
KnownProblem unbounded_quadratic() {
  KnownProblem known = far_apart_silos();
  known.problem.domain = geometry::Domain::whole_space();
  return known;
}

/// sum_j curvature_j / 2 (start_j(curvature)^2 offset_j^2 + variance noise_j(curvature)).
/// @param start what is left of the starting point's offset @param noise the sum of squares of the noise's filter
double exact_risk(const KnownProblem& known, double variance, const std::function<double(double)>& start,
                  const std::function<double(double)>& noise) {
  const Eigen::VectorXd curvature = Eigen::VectorXd::LinSpaced(known.problem.dimension, 0.25, 1.0);
  double sum = 0.0;
  for (Eigen::Index j = 0; j < curvature.size(); ++j) {
    sum += 0.5 * curvature[j] *
           (std::pow(start(curvature[j]) * known.minimiser[j], 2.0) +
            variance / dimension_of(known) * noise(curvature[j]));
  }
  return sum;
}

/// Means of 4000 runs: their standard error is 1 to 2 % of the risk, so that a step or a noise that is off by a tenth
/// is ten of them away. Six: 2e-9.
constexpr std::uint64_t kManyRuns = 4000;

Measured many(const KnownProblem& known, const Method& settings, double variance) {
  return average(kManyRuns, [&](std::uint64_t seed) {
    const auto algorithm = Method(settings)->make().value();
    return known.excess(NoisyCohort(known, {{stddev_for(known, variance)}, seed}).train(*algorithm));
  });
}

TEST(ExactRiskTest, OfMinibatchSgdIsThatOfItsFilter) {
  // w_r - w* = q^r (w_0 - w*) - eta sum_{s<r} q^{r-1-s} noise_s, q = 1 - eta a; the output is the mean over r < R with
  // weights in proportion to ratio^-r: noise_s counts with eta times the mean over r of q^{r-1-s}, r > s.
  const KnownProblem known = unbounded_quadratic();
  constexpr int kRounds = 12;
  constexpr double kStep = 0.4;
  for (const double ratio : {1.0, 0.75}) {
    SCOPED_TRACE(ratio);
    double weights = 0.0;
    for (int r = 0; r < kRounds; ++r) weights += std::pow(ratio, -r);
    const auto start = [&](double a) {
      double sum = 0.0;
      for (int r = 0; r < kRounds; ++r) sum += std::pow(ratio, -r) / weights * std::pow(1.0 - kStep * a, r);
      return sum;
    };
    const auto noise = [&](double a) {
      double squares = 0.0;
      for (int s = 0; s < kRounds; ++s) {
        double sum = 0.0;
        for (int r = s + 1; r < kRounds; ++r)
          sum += std::pow(ratio, -r) / weights * std::pow(1.0 - kStep * a, r - 1 - s);
        squares += std::pow(kStep * sum, 2.0);
      }
      return squares;
    };
    const Averaging averaging{ratio == 1.0 ? Averaging::Kind::Uniform : Averaging::Kind::Geometric, ratio};
    const Measured measured = many(known, MinibatchSgdSettings{known.problem, kRounds, kStep, averaging}, 1.0);
    EXPECT_NEAR(measured.mean, exact_risk(known, 1.0, start, noise), 6.0 * measured.error);
    EXPECT_LE(measured.error, 0.03 * measured.mean);
  }
}

TEST(ExactRiskTest, OfProximalSgdIsThatOfItsFilter) {
  // The last iterate, and noise_s counts with eta q^{R-1-s}.
  const KnownProblem known = unbounded_quadratic();
  constexpr int kRounds = 6;
  constexpr double kStep = 0.5;
  const auto start = [](double a) { return std::pow(1.0 - kStep * a, kRounds); };
  const auto noise = [](double a) {
    const double q = std::pow(1.0 - kStep * a, 2.0);
    return kStep * kStep * (1.0 - std::pow(q, kRounds)) / (1.0 - q);
  };
  const Measured measured = many(known, ProximalSgdSettings{known.problem, kRounds, kStep}, 0.2);
  EXPECT_NEAR(measured.mean, exact_risk(known, 0.2, start, noise), 6.0 * measured.error);
  EXPECT_LE(measured.error, 0.03 * measured.mean);
}

/// One coordinate of AC-SA as federated-core 3.2 and 8 write it, through all phases and stages, as an offset from w*.
/// @param from the start, and the first centre @param struck the round, counted from 1, of a unit of noise
double accelerated_response(const std::vector<AcceleratedPhase>& phases, double a, double from, std::uint64_t struck) {
  double aggregate = from;
  std::uint64_t round = 0;
  for (const AcceleratedPhase& phase : phases) {
    const double centre = aggregate;
    const double mu = phase.strong_convexity;
    for (const AcceleratedStage& stage : phase.stages) {
      double w = aggregate;
      for (std::uint64_t step = 1; step <= stage.rounds; ++step) {
        const auto r = static_cast<double>(step);
        const double alpha = 2.0 / (r + 1.0);
        const double eta = 4.0 * stage.upsilon / (r * (r + 1.0));
        const double middle = ((1.0 - alpha) * (mu + eta) * aggregate + alpha * ((1.0 - alpha) * mu + eta) * w) /
                              (eta + (1.0 - alpha * alpha) * mu);
        const double slope = a * middle + phase.proximity * (middle - centre) + (++round == struck ? 1.0 : 0.0);
        w = (alpha * mu * middle + ((1.0 - alpha) * mu + eta) * w - alpha * slope) / (mu + eta);
        aggregate = alpha * w + (1.0 - alpha) * aggregate;
      }
    }
  }
  return aggregate;
}

TEST(ExactRiskTest, OfAcceleratedSgdIsThatOfItsFilter) {
  // In two phases of which the first has two stages: the proximity's centre, the modulus and the restarts all count.
  const KnownProblem known = unbounded_quadratic();
  const AcceleratedSgdSettings settings{
      known.problem, {{0.3, 0.3, {}, {{4, 3.0}, {3, 4.0}}}, {1.0, 1.0, {}, {{4, 5.0}}}}, RecordUse::Shared};
  const auto start = [&](double a) { return accelerated_response(settings.phases, a, 1.0, 0); };
  const auto noise = [&](double a) {
    double sum = 0.0;
    for (std::uint64_t struck = 1; struck <= settings.rounds(); ++struck)
      sum += std::pow(accelerated_response(settings.phases, a, 0.0, struck), 2.0);
    return sum;
  };
  const Measured measured = many(known, settings, 0.5);
  EXPECT_NEAR(measured.mean, exact_risk(known, 0.5, start, noise), 6.0 * measured.error);
  EXPECT_LE(measured.error, 0.03 * measured.mean);
}

TEST(ExactRiskTest, OfProxSvrgIsThatOfItsFilter) {
  // v = a w^t + anchor's noise + difference's noise, the anchor's the same for a whole epoch: two epochs of Q, whose
  // anchors' noises count with (1 - q^t) / a inside the epoch and q^Q, ..., after it. The output is each w^t of both
  // with equal probability, so the risk is the mean of theirs.
  const KnownProblem known = unbounded_quadratic();
  constexpr int kInner = 5;
  constexpr int kEpochs = 2;
  constexpr double kStep = 0.35;
  constexpr double kAnchor = 0.1;
  constexpr double kDifference = 0.3;
  double risk = 0.0;
  for (int t = 0; t < kEpochs * kInner; ++t) {
    const auto start = [&](double a) { return std::pow(1.0 - kStep * a, t); };
    const auto noise = [&](double a) {
      const double q = 1.0 - kStep * a;
      double anchors = 0.0;
      for (int epoch = 0; epoch * kInner < t; ++epoch) {
        const int inside = std::min(kInner, t - epoch * kInner);
        const int after = t - epoch * kInner - inside;
        anchors += std::pow(std::pow(q, after) * (1.0 - std::pow(q, inside)) / a, 2.0);
      }
      const double differences = kStep * kStep * (1.0 - std::pow(q, 2.0 * t)) / (1.0 - q * q);
      return kAnchor * anchors + kDifference * differences;
    };
    risk += exact_risk(known, 1.0, start, noise) / (kEpochs * kInner);
  }
  const Measured measured = average(kManyRuns, [&](std::uint64_t seed) {
    const auto algorithm = Method(ProxSvrgSettings{known.problem, 1, kEpochs, kInner, kStep, {}, seed})->make().value();
    return known.excess(
        NoisyCohort(known, {{stddev_for(known, kAnchor), stddev_for(known, kDifference)}, seed}).train(*algorithm));
  });
  EXPECT_NEAR(measured.mean, risk, 6.0 * measured.error);
  EXPECT_LE(measured.error, 0.03 * measured.mean);
}

TEST(ExactRiskTest, OfSpiderIsThatOfItsFilter) {
  // h_r = a w_r + the anchor's noise + every difference's since: what strikes in round r stays until the next anchor.
  const KnownProblem known = unbounded_quadratic();
  constexpr int kRounds = 9;
  constexpr int kPeriod = 4;
  constexpr double kStep = 0.35;
  constexpr double kAnchor = 0.05;
  constexpr double kDifference = 0.02;
  const auto response = [](double a, double from, int struck, int rounds) {
    double w = from;
    for (int r = 0; r < rounds; ++r) {
      const bool heard = struck <= r && struck / kPeriod == r / kPeriod;
      w -= kStep * (a * w + (heard ? 1.0 : 0.0));
    }
    return w;
  };
  double risk = 0.0;
  for (int rounds = 1; rounds <= kRounds; ++rounds) {  // the output is each of w_1 .. w_R with equal probability
    const auto start = [&](double a) { return response(a, 1.0, kRounds, rounds); };
    const auto noise = [&](double a) {
      double sum = 0.0;
      for (int r = 0; r < rounds; ++r)
        sum += (r % kPeriod == 0 ? kAnchor : kDifference) * std::pow(response(a, 0.0, r, rounds), 2.0);
      return sum;
    };
    risk += exact_risk(known, 1.0, start, noise) / kRounds;
  }
  const Measured measured = average(kManyRuns, [&](std::uint64_t seed) {
    const auto algorithm = Method(SpiderSettings{known.problem, kRounds, kPeriod, kStep, {}, seed})->make().value();
    return known.excess(
        NoisyCohort(known, {{stddev_for(known, kAnchor), stddev_for(known, kDifference)}, seed}).train(*algorithm));
  });
  EXPECT_NEAR(measured.mean, risk, 6.0 * measured.error);
  EXPECT_LE(measured.error, 0.03 * measured.mean);
}

}  // namespace
}  // namespace undertone::tests
