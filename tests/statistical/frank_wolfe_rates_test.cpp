#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "shared/algorithms/frank_wolfe/private_tree_frank_wolfe.hpp"
#include "shared/algorithms/mirror/noisy_frank_wolfe.hpp"
#include "shared/algorithms/mirror/tree_frank_wolfe.hpp"
#include "tests/support/fitted_slope.hpp"
#include "tests/support/measured_page.hpp"
#include "tests/support/noisy_cohort.hpp"

/// C20 of spec non-euclidean 4 of the Frank-Wolfe methods over the simplex: how the excess risk falls with the records
/// and with epsilon at the noise of real plans, on exact gradients of a population. Slopes on log-log axes.
namespace undertone {
namespace {

/// The specification's. A fitted slope varies by some 0.02 over seeds, and the seeds are fixed; noise that is charged
/// by the wrong power of the records, of epsilon or of 2^T is off by 1/4 at least.
constexpr double kSlopeTolerance = 0.15;

algorithms::Problem on_the_simplex(Eigen::Index d) {
  algorithms::Problem problem;
  problem.dimension = d;
  problem.domain = geometry::Domain::simplex(1.0).value();
  return problem;
}

releases::SiloFacts silo_of(std::int64_t records, double epsilon, bool pure) {
  const auto promised = releases::Epsilon::create(epsilon).value();
  const releases::Target target =
      pure ? releases::Target(releases::PureDp{promised})
           : releases::Target(releases::ApproximateDp{promised, releases::Delta::create(1e-6).value()});
  return {SiloId::create("one").value(), records, 0, false, target};
}

/// The most of a grid of gaps around the noise, of means over seeds: where the noise hides a gap it costs all of it, so
/// that smaller ones cost less, and one that is far above the noise must be seen.
template <class Excess>
double worst_over_gaps(double largest, int seeds, const Excess& excess) {
  double worst = 0.0;
  double gap = largest;
  for (int halving = 0; halving < 6; ++halving, gap *= 0.5) {
    double mean = 0.0;
    for (int seed = 1; seed <= seeds; ++seed) mean += excess(gap, static_cast<std::uint64_t>(seed)) / seeds;
    if (gap == largest) {
      EXPECT_LE(mean, 0.25 * gap);  // a method that learns nothing has all of it
    }
    worst = std::max(worst, mean);
  }
  return worst;
}

/// A curator's trees over the simplex of R^1024.
struct Trees {
  std::int64_t root_records = 0;  // b
  double epsilon = 1.0;
  std::uint64_t depth = 0;  // T
  bool pure = false;
};

constexpr Eigen::Index kWide = 1024;

/// The theorems' privacy term: the excess of f(x) = -gap x_1, which K exact steps minimise but for 1/K^2.
double excess_of_noise(const Trees& trees) {
  const geometry::Vertices vertices = geometry::Vertices::of_simplex(kWide, 1.0).value();
  const algorithms::PrivateTreeFrankWolfeSettings settings{on_the_simplex(kWide), vertices, trees.depth, 1.0};
  const auto t = static_cast<std::int64_t>(trees.depth);
  const auto records = (trees.root_records * (4 * t + t * (t + 1)) + 3) / 4;  // b (T + T (T+1)/4)
  const planning::Plan plan =
      planning::make_plan(algorithms::PrivateTreeFrankWolfe::schedule(
                              settings, {releases::MaxBound{releases::CoordinateBound::create(1.0).value()}, 1.0}),
                          silo_of(records, trees.epsilon, trees.pure))
          .value();
  const auto scale_at = [&](RoundIndex round) {
    const auto& selection = std::get<mechanisms::PathSelection>(plan.release(round)->mechanism);
    return selection.draw.expected_loss_max(static_cast<std::size_t>(kWide)) / std::log(static_cast<double>(kWide)) *
           selection.lattice.unit() * vertices.unit();
  };
  const double last = scale_at({algorithms::tree_rounds(trees.depth) - 1});
  return worst_over_gaps(16.0 * last, 24, [&](double gap, std::uint64_t seed) {
    RandomSource random(seed * 104'729);
    const auto algorithm = algorithms::PrivateTreeFrankWolfe::create(settings).value();
    algorithms::Step next = algorithm->start();
    Eigen::VectorXd scores(kWide);
    while (const auto* query = std::get_if<queries::Query>(&next)) {
      const double scale = scale_at(query->round);
      for (double& score : scores) score = scale * std::log(-std::log(random.unit() + 0x1p-54));  // less a Gumbel
      scores[0] -= gap;
      Eigen::Index chosen = 0;
      scores.minCoeff(&chosen);
      next = algorithm->advance({query->round, 1, folds::Tally{{{chosen, 1.0}}}, records}).value();
    }
    return gap * (1.0 - std::get<algorithms::Finished>(next).outcome.vectors.at("weights")[0]);
  });
}

/// Of what noise adds over its own axis, b or epsilon, a point for each depth.
double tree_slope(const std::vector<Trees>& points, double (*axis)(const Trees&)) {
  std::vector<double> x;
  std::vector<double> y;
  for (const Trees& point : points) {
    const double excess = excess_of_noise(point);
    std::printf("b %lld, epsilon %g, T %d: noise adds %.4g\n", static_cast<long long>(point.root_records),
                point.epsilon, static_cast<int>(point.depth), excess);
    x.push_back(std::log(axis(point)));
    y.push_back(std::log(excess));
  }
  const double out = tests::slope(x, y);
  std::printf("slope %.3f\n", out);
  return out;
}

double records_of(const Trees& trees) { return static_cast<double>(trees.root_records); }
double epsilon_of(const Trees& trees) { return trees.epsilon; }

TEST(FrankWolfeRatesTest, PureTreesFallWithTheRootOfTheRecordsAndOfEpsilon) {
  // T = ln2(b epsilon ..)/2: four times the noise's axis asks for one more phase. b is n over T + T (T+1)/4, the log n
  // of Theorem 6.
  const double records = tree_slope(
      {{2560, 1.0, 3, true}, {10'240, 1.0, 4, true}, {40'960, 1.0, 5, true}, {163'840, 1.0, 6, true}}, records_of);
  const double epsilon =
      tree_slope({{10'240, 0.25, 3, true}, {10'240, 1.0, 4, true}, {10'240, 4.0, 5, true}}, epsilon_of);
  EXPECT_NEAR(records, -0.5, kSlopeTolerance);
  EXPECT_NEAR(epsilon, -0.5, kSlopeTolerance);
  tests::expect_on_page("geometry.md", "pure # (-1/2), with delta", {records}, 2);
  tests::expect_on_page("geometry.md", "selecting trees # if pure", {epsilon}, 2);
}

TEST(FrankWolfeRatesTest, APhaseMoreDoublesPureNoiseAndMultipliesTheOtherByRootTwo) {
  // At equal b and epsilon: what the two theorems differ by. Of few leaves the accountant has less noise than zCDP
  // says.
  std::vector<double> slopes;
  for (const bool pure : {true, false}) {
    std::vector<double> x;
    std::vector<double> y;
    for (const std::uint64_t depth : {4U, 5U, 6U, 7U}) {
      x.push_back(static_cast<double>(depth) * std::log(2.0));
      y.push_back(std::log(excess_of_noise({40'960, 1.0, depth, pure})));
    }
    const double slope = tests::slope(x, y);
    std::printf("%s: slope over 2^T %.3f\n", pure ? "pure" : "with delta", slope);
    EXPECT_NEAR(slope, pure ? 1.0 : 0.5, kSlopeTolerance);
    slopes.push_back(slope);
  }
  tests::expect_on_page("geometry.md", "multiplies their noise by 2^# and 2^#.", slopes, 2);
}

TEST(FrankWolfeRatesTest, TreesOfTwoParametersFallFaster) {
  // T = 2/3 ln2(b epsilon ..): 2^(3/2) times the axis for one more phase; Theorem 7.
  const double records =
      tree_slope({{6400, 1.0, 4}, {18'112, 1.0, 5}, {51'200, 1.0, 6}, {144'896, 1.0, 7}}, records_of);
  const double epsilon = tree_slope({{51'200, 0.35355, 5}, {51'200, 1.0, 6}, {51'200, 2.8284, 7}}, epsilon_of);
  EXPECT_NEAR(records, -2.0 / 3.0, kSlopeTolerance);
  EXPECT_NEAR(epsilon, -2.0 / 3.0, kSlopeTolerance);
  tests::expect_on_page("geometry.md", "with delta # (-2/3)", {records}, 2);
  tests::expect_on_page("geometry.md", "and # if with delta.", {epsilon}, 2);
}

constexpr Eigen::Index kNarrow = 64;

/// f(x) = -gap x_1 of a method whose silos send noised vectors. Gaps are halves of `largest` times the noise that all
/// answers add up to where points are `apart` in l1.
template <class Algorithm, class Settings>
double vector_excess(const Settings& settings, std::int64_t records, double epsilon, double apart, double largest) {
  const planning::Plan plan =
      planning::make_plan(
          Algorithm::schedule(
              settings,
              {releases::DualBound::create(releases::ClipNorm::create(1.0).value(), INFINITY, kNarrow).value(), 1.0}),
          silo_of(records, epsilon, false))
          .value();
  double variance = 0.0;
  for (std::uint64_t round = 0; round < settings.extent().rounds; ++round)
    variance += std::pow(plan.release({round})->scaled_to(apart).noise_stddev_of_mean(), 2.0);
  return worst_over_gaps(largest * std::sqrt(variance), 24, [&](double gap, std::uint64_t seed) {
    tests::NormalSource noise(seed * 7919);
    const auto algorithm = Algorithm::create(settings).value();
    algorithms::Step next = algorithm->start();
    while (const auto* query = std::get_if<queries::Query>(&next)) {
      Eigen::VectorXd answer = Eigen::VectorXd::Zero(kNarrow);
      double distance = 0.0;
      if (const auto* two = std::get_if<queries::GradientDifferenceQuestion>(&query->question))
        distance = (two->point.head(kNarrow) - two->point.tail(kNarrow)).lpNorm<1>();
      else
        answer[0] = -gap;
      noise.add(plan.release(query->round)->scaled_to(distance).noise_stddev_of_mean(), answer);
      next = algorithm->advance({query->round, 1, folds::Mean{answer}, records}).value();
    }
    return gap * (1.0 - std::get<algorithms::Finished>(next).outcome.vectors.at("weights")[0]);
  });
}

geometry::FrankWolfeSet narrow_simplex() {
  return geometry::FrankWolfeSet::create(geometry::Simplex{1.0}, 1.0, kNarrow).value();
}

double vector_slope(const std::vector<double>& values, const std::function<double(double)>& excess_at) {
  std::vector<double> x;
  std::vector<double> y;
  for (const double value : values) {
    const double excess = excess_at(value);
    std::printf("at %g: excess %.4g\n", value, excess);
    x.push_back(std::log(value));
    y.push_back(std::log(excess));
  }
  const double out = tests::slope(x, y);
  std::printf("slope %.3f\n", out);
  return out;
}

double noisy_frank_wolfe(double n, double epsilon) {
  const algorithms::NoisyFrankWolfeSettings settings{on_the_simplex(kNarrow), narrow_simplex(),
                                                     static_cast<std::uint64_t>(std::sqrt(n)),
                                                     std::log(n) / (2.0 * std::sqrt(n)), 1.0};
  return vector_excess<algorithms::NoisyFrankWolfe>(settings, static_cast<std::int64_t>(n), epsilon,
                                                    2.0 * settings.step_size, 8.0);
}

TEST(FrankWolfeRatesTest, NoisyFrankWolfesPrivacyTermFallsByThreeQuarters) {
  // [B] Theorem 12, W = sqrt n rounds of steps ln n/(2 sqrt n): ln n n^(-3/4), and ln n adds 1/ln n to the slope, of n
  // in the middle.
  const double middle = std::log(32'768.0);
  const double records =
      vector_slope({4'096, 16'384, 65'536, 262'144}, [](double n) { return noisy_frank_wolfe(n, 0.5); });
  const double epsilon =
      vector_slope({0.125, 0.25, 0.5, 1.0}, [](double of_noise) { return noisy_frank_wolfe(65'536, of_noise); });
  EXPECT_NEAR(records, -0.75 + 1.0 / middle, kSlopeTolerance);
  EXPECT_NEAR(epsilon, -1.0, kSlopeTolerance);
  tests::expect_on_page("geometry.md", "noisy Frank-Wolfe # (-3/4 and a logarithm: #)", {records, -0.75 + 1.0 / middle},
                        2);
  tests::expect_on_page("geometry.md", "vectors of noisy Frank-Wolfe #,", {epsilon}, 2);
}

TEST(FrankWolfeRatesTest, NoisedTreesFallWithTheRecords) {
  // Of one depth, whose noise is all that the excess of a linear loss is made of: 1/(n epsilon).
  const algorithms::TreeFrankWolfeSettings settings{on_the_simplex(kNarrow), narrow_simplex(), 4, 1.0};
  const auto excess = [&](double n, double epsilon) {
    return vector_excess<algorithms::TreeFrankWolfe>(settings, static_cast<std::int64_t>(n), epsilon, 0.5, 0.5);
  };
  const double records = vector_slope({16'384, 32'768, 65'536, 131'072}, [&](double n) { return excess(n, 1.0); });
  const double epsilon = vector_slope({0.25, 0.5, 1.0, 2.0}, [&](double of_noise) { return excess(65'536, of_noise); });
  EXPECT_NEAR(records, -1.0, kSlopeTolerance);
  EXPECT_NEAR(epsilon, -1.0, kSlopeTolerance);
  tests::expect_on_page("geometry.md", "trees of vectors #,", {records}, 2);
  tests::expect_on_page("geometry.md", "vectors of trees #,", {epsilon}, 2);
}

}  // namespace
}  // namespace undertone
