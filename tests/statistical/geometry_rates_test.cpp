#include <algorithm>
#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <random>

#include "shared/algorithms/mirror/mirror_descent.hpp"
#include "shared/algorithms/mirror/mirror_geometry.hpp"
#include "shared/algorithms/mirror/noisy_mirror_descent.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/theorems/theorem_parameters.hpp"
#include "tests/support/fitted_slope.hpp"
#include "tests/support/measured_page.hpp"
#include "tests/support/noisy_cohort.hpp"
#include "tests/support/repetitions.hpp"

/// C20 of spec non-euclidean 4: how the excess risk of mirror descent over the simplex falls with the records and with
/// epsilon, and rises with the dimension, at the noise of real plans. Slopes on log-log axes, each over three octaves.
namespace undertone {
namespace {

/// The specification's. A fitted slope varies by some 0.02 over seeds, and the seeds are fixed; noise charged by
/// another power of n, epsilon or d is off by 1/2.
constexpr double kTolerance = 0.15;
/// Of the bound: a gap that every run must see, since a method that never moves has all of the largest gap for its
/// excess.
constexpr double kSeen = 4.0;

struct Setting {
  std::int64_t records = 32'000;
  double epsilon = 0.5;
  Eigen::Index dimension = 64;
};

/// As many rounds as make the noise as long as the gradients in l_inf, and the step of the bound: Theorem 3 of Asi,
/// Feldman, Koren and Talwar 2021, at the planned noise in place of its closed form.
struct Tuned {
  std::uint64_t rounds = 1;
  double step_size = 0.0;
  double noise_stddev = 0.0;  // of a coordinate of the mean
  double bound = 0.0;         // of the excess risk
};

double planned_stddev(const Setting& setting, std::uint64_t rounds) {
  releases::Ask ask{
      releases::GradientMap{},
      {},
      releases::DualBound::create(releases::ClipNorm::create(1.0).value(), INFINITY, setting.dimension).value(),
      setting.dimension};
  const releases::SiloFacts facts{SiloId::create("one").value(), setting.records, 0, false,
                                  releases::ApproximateDp{releases::Epsilon::create(setting.epsilon).value(),
                                                          releases::Delta::create(1e-6).value()}};
  return planning::make_plan({{ask, rounds}}, facts).value().release({0})->noise_stddev_of_mean();
}

Tuned tuned(const Setting& setting) {
  const double once = planned_stddev(setting, 1);
  Tuned out;
  const double squared_once = algorithms::noise_norm_squared(INFINITY, setting.dimension, once * once);
  out.rounds = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::floor(1.0 / squared_once)));
  out.noise_stddev = planned_stddev(setting, out.rounds);
  const double variance = out.noise_stddev * out.noise_stddev;
  const double squared = algorithms::noisy_gradient_squared(INFINITY, setting.dimension, 1.0, variance);
  const double log_d = std::log(static_cast<double>(setting.dimension));
  out.step_size = std::sqrt(2.0 * log_d / (static_cast<double>(out.rounds) * squared));
  out.bound = log_d / (out.step_size * static_cast<double>(out.rounds)) + 0.5 * out.step_size * squared;
  return out;
}

/// G2: f = <z, x> with mean (1/2 - gap, 1/2, ..), of excess gap (1 - x_1). The gap that the noise hides worst is as
/// small as the noise, and the excess is then of its size: the most of a grid of gaps, of means over seeds.
double worst_excess(const Setting& setting) {
  constexpr int kSeeds = 12;
  const Tuned numbers = tuned(setting);
  algorithms::Problem problem;
  problem.dimension = setting.dimension;
  problem.domain = geometry::Domain::simplex(1.0).value();
  const geometry::MirrorMap map(geometry::EntropyMap::create(1.0, setting.dimension).value());
  double worst = 0.0;
  for (const double part : {kSeen, 1.0, 0.7, 0.5, 0.35, 0.25, 0.18}) {
    const double gap = part * numbers.bound;
    double mean = 0.0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      tests::NormalSource noise(seed * 7919 + static_cast<std::uint64_t>(1e3 * part));
      const auto algorithm =
          algorithms::MirrorDescent::create({problem, map, numbers.rounds, numbers.step_size}).value();
      algorithms::Step next = algorithm->start();
      while (const auto* query = std::get_if<queries::Query>(&next)) {
        Eigen::VectorXd gradient = Eigen::VectorXd::Constant(setting.dimension, 0.5);
        gradient[0] -= gap;
        noise.add(numbers.noise_stddev, gradient);
        next = algorithm->advance({query->round, 1, folds::Mean{gradient}, setting.records}).value();
      }
      mean += gap * (1.0 - std::get<algorithms::Finished>(next).outcome.vectors.at("weights")[0]) / kSeeds;
    }
    if (part == kSeen) {
      EXPECT_LE(mean, 0.25 * gap);
    }
    worst = std::max(worst, mean);
  }
  return worst;
}

template <class Change>
double fitted(const std::vector<double>& values, const Change& change) {
  std::vector<double> x;
  std::vector<double> y;
  for (const double value : values) {
    Setting setting;
    change(setting, value);
    const double excess = worst_excess(setting);
    std::printf("at %g: %llu rounds, excess %.4g\n", value, static_cast<unsigned long long>(tuned(setting).rounds),
                excess);
    x.push_back(std::log(value));
    y.push_back(std::log(excess));
  }
  return tests::slope(x, y);
}

TEST(GeometryRatesTest, MirrorDescentsExcessFallsWithTheRecords) {
  const double slope = fitted({8'000, 16'000, 32'000, 64'000}, [](Setting& setting, double value) {
    setting.records = static_cast<std::int64_t>(value);
  });
  EXPECT_NEAR(slope, -1.0, kTolerance);
  tests::expect_on_page("geometry.md", "over records: mirror descent # (theory -1)", {slope}, 2);
}

TEST(GeometryRatesTest, AndWithEpsilon) {
  if (!tests::whole())
    GTEST_SKIP() << "the steps are those of the slope over records: UNDERTONE_TESTS_WHOLE=1 runs it, too";
  const double slope = fitted({0.125, 0.25, 0.5, 1.0}, [](Setting& setting, double value) { setting.epsilon = value; });
  EXPECT_NEAR(slope, -1.0, kTolerance);
  tests::expect_on_page("geometry.md", "Over epsilon: mirror descent #,", {slope}, 2);
}

TEST(GeometryRatesTest, AndRisesWithTheRootOfTheDimension) {
  // sqrt(d) ln d: of the logarithms, root(ln d) of the noise's largest coordinate and root(ln d) of the range, a slope
  // of 1/2 + 1/ln d in the middle, ln 90 = 4.5.
  const double slope = fitted(
      {32, 64, 128, 256}, [](Setting& setting, double value) { setting.dimension = static_cast<Eigen::Index>(value); });
  const double theory = 0.5 + 1.0 / std::log(90.0);
  EXPECT_NEAR(slope, theory, kTolerance);
  tests::expect_on_page("geometry.md", "mirror descent # (root(d) and the roots of two logarithms: #)", {slope, theory},
                        2);
}

/// Noise of density exp(-||z||_r^2/(2 scale^2)): the textbook's direction and radius, in floating point.
Eigen::VectorXd regular_noise(double r, double scale, Eigen::Index d, std::mt19937_64& random) {
  std::gamma_distribution<double> coordinate(1.0 + 1.0 / r);
  std::gamma_distribution<double> radius(0.5 * static_cast<double>(d));
  std::uniform_real_distribution<double> side(-1.0, 1.0);
  Eigen::VectorXd out(d);
  for (double& value : out) value = side(random) * std::pow(coordinate(random), 1.0 / r);
  return out * (scale * std::sqrt(2.0 * radius(random)) / geometry::lp_norm(out, r));
}

/// Noisy mirror descent over the l1 ball with noise of the generalised law: f = -gap x_1, as above the worst gap.
double worst_regular_excess(const Setting& setting) {
  constexpr int kSeeds = 12;
  const Eigen::Index d = setting.dimension;
  algorithms::Problem problem;
  problem.dimension = d;
  problem.domain = geometry::Domain::l1_ball(1.0).value();
  theorems::TheoremFacts facts;
  facts.silos = facts.answering = 1.0;
  facts.records = static_cast<double>(setting.records);
  facts.epsilon = setting.epsilon;
  facts.delta = 1e-6;
  facts.lipschitz = 1.0;
  facts.diameter = facts.gap = 2.0;
  facts.smoothness = facts.gradient_variance = 1.0;
  const theorems::TheoremChoice choice = theorems::choose_by_theorem(theorems::TheoremName::NoisyMirrorConvex, facts,
                                                                     problem, theorems::PlannedNoise::Accountant)
                                             .value();
  const auto& settings = *choice.method.as<algorithms::NoisyMirrorDescentSettings>();
  algorithms::GradientShape shape{
      releases::DualBound::create(releases::ClipNorm::create(1.0).value(), INFINITY, d).value(), 1.0};
  shape.noise_norm = settings.noise_norm().exponent;
  const planning::Plan plan =
      planning::make_plan(choice.method->schedule(shape),
                          {SiloId::create("one").value(), setting.records, 0, false,
                           releases::ApproximateDp{releases::Epsilon::create(setting.epsilon).value(),
                                                   releases::Delta::create(1e-6).value()}})
          .value();
  const auto& lattice = std::get<mechanisms::GeneralisedGaussianLattice>(plan.release({0})->mechanism);
  const double scale = lattice.noise.scale() * lattice.lattice.step / static_cast<double>(setting.records);
  double worst = 0.0;
  for (const double part : {kSeen, 1.0, 0.7, 0.5, 0.35, 0.25, 0.18}) {
    const double gap = part * *choice.bound;
    double mean = 0.0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      std::mt19937_64 random(seed);
      const auto algorithm = choice.method->make().value();
      algorithms::Step next = algorithm->start();
      while (const auto* query = std::get_if<queries::Query>(&next)) {
        Eigen::VectorXd gradient = regular_noise(*shape.noise_norm, scale, d, random);
        gradient[0] -= gap;
        next = algorithm->advance({query->round, 1, folds::Mean{gradient}, setting.records}).value();
      }
      mean += gap * (1.0 - std::get<algorithms::Finished>(next).outcome.vectors.at("weights")[0]) / kSeeds;
    }
    if (part == kSeen) {
      EXPECT_LE(mean, 0.25 * gap);
    }
    worst = std::max(worst, mean);
  }
  return worst;
}

TEST(GeometryRatesTest, SoDoesThatOfNoiseInTheNormItself) {
  if (!tests::whole())
    GTEST_SKIP() << "its noise has a test of its own, and a minute is a lot: UNDERTONE_TESTS_WHOLE=1 runs it";
  // Theorem 10 of Bassily, Guzman and Nandi 2021: 1/(n epsilon), of n and epsilon alike.
  std::vector<double> x;
  std::vector<double> y;
  for (const double n : {8'000.0, 16'000.0, 32'000.0, 64'000.0}) {
    const double excess = worst_regular_excess({static_cast<std::int64_t>(n), 0.5, 32});
    std::printf("at %g: excess %.4g\n", n, excess);
    x.push_back(std::log(n));
    y.push_back(std::log(excess));
  }
  EXPECT_NEAR(tests::slope(x, y), -1.0, kTolerance);
  tests::expect_on_page("geometry.md", "with noise in the norm itself # (-1)", {tests::slope(x, y)}, 2);
}

/// Means of n records of f = <z, x>, z_1 of mean 1/2 - gap, without privacy: rounds of one pass each.
TEST(GeometryRatesTest, WithoutNoiseTheRecordsAreAllThatIsLacking) {
  if (!tests::whole())
    GTEST_SKIP()
        << "no noise is in it, and the steps are those of the slope over records: UNDERTONE_TESTS_WHOLE=1 runs it";
  // The sampling term: 1/sqrt n. As many rounds as records leave the optimisation below it.
  constexpr Eigen::Index kDimension = 64;
  constexpr int kSeeds = 60;
  std::vector<double> x;
  std::vector<double> y;
  for (const double n : {1024.0, 2048.0, 4096.0, 8192.0}) {
    const double log_d = std::log(static_cast<double>(kDimension));
    double worst = 0.0;
    for (const double part : {2.0 * kSeen, 4.0, 2.0, 1.4, 1.0, 0.7, 0.5}) {
      const double gap = part * std::sqrt(0.5 * log_d / n);
      double mean = 0.0;
      for (int seed = 1; seed <= kSeeds; ++seed) {
        std::mt19937_64 random(static_cast<std::uint64_t>(seed));
        Eigen::VectorXd drawn(kDimension);
        for (Eigen::Index j = 0; j < kDimension; ++j) {
          std::binomial_distribution<int> ones(static_cast<int>(n), j == 0 ? 0.5 - gap : 0.5);
          drawn[j] = ones(random) / n;
        }
        algorithms::Problem problem;
        problem.dimension = kDimension;
        problem.domain = geometry::Domain::simplex(1.0).value();
        const geometry::MirrorMap map(geometry::EntropyMap::create(1.0, kDimension).value());
        const auto rounds = static_cast<std::uint64_t>(n);
        const auto algorithm =
            algorithms::MirrorDescent::create({problem, map, rounds, std::sqrt(2.0 * log_d / n)}).value();
        algorithms::Step next = algorithm->start();
        while (const auto* query = std::get_if<queries::Query>(&next))
          next = algorithm->advance({query->round, 1, folds::Mean{drawn}, static_cast<std::int64_t>(n)}).value();
        mean += gap * (1.0 - std::get<algorithms::Finished>(next).outcome.vectors.at("weights")[0]) / kSeeds;
      }
      if (part == 2.0 * kSeen) {
        EXPECT_LE(mean, 0.25 * gap);
      }
      worst = std::max(worst, mean);
    }
    std::printf("at %g: excess %.4g\n", n, worst);
    x.push_back(std::log(n));
    y.push_back(std::log(worst));
  }
  EXPECT_NEAR(tests::slope(x, y), -0.5, kTolerance);
  tests::expect_on_page("geometry.md", "The sampling term alone # (-1/2)", {tests::slope(x, y)}, 2);
}

}  // namespace
}  // namespace undertone
