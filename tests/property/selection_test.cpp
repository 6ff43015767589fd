#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "shared/geometry/vertices.hpp"
#include "shared/mechanisms/selection/clamped_sum.hpp"
#include "shared/mechanisms/selection/exponential_mechanism.hpp"

namespace undertone::mechanisms {
namespace {

using geometry::Vertices;

/// The l1 ball, the simplex, and a polytope away from 0, in R^2.
std::vector<Vertices> sets_in_the_plane() {
  Eigen::MatrixXd columns(2, 4);
  columns << 3.0, 4.0, 3.5, 3.25,  //
      -1.0, -1.5, -2.0, -1.25;
  return {Vertices::of_l1_ball(2, 1.0).value(), Vertices::of_simplex(2, 2.0).value(),
          Vertices::listed(columns).value()};
}

std::vector<long double> law_of(const ExponentialMechanism& selection, const Vertices& vertices,
                                const std::vector<std::int64_t>& gradient_sum) {
  std::vector<std::int64_t> scores(static_cast<std::size_t>(vertices.count()));
  vertices.scores(gradient_sum, scores);
  return selection.law(scores);
}

/// Least and largest of ln P[j] / P'[j] over the candidates.
struct LogRatios {
  long double least = std::numeric_limits<long double>::infinity();
  long double largest = -std::numeric_limits<long double>::infinity();
};
LogRatios log_ratios(const std::vector<long double>& before, const std::vector<long double>& after) {
  LogRatios out;
  for (std::size_t j = 0; j < before.size(); ++j) {
    const long double ratio = std::log(before[j] / after[j]);
    out.least = std::min(out.least, ratio);
    out.largest = std::max(out.largest, ratio);
  }
  return out;
}

struct Worst {
  long double ratio = 0.0L;  // largest |ln P / P'|
  long double range = 0.0L;  // largest spread of ln P / P' over the candidates
};

/// Over all sums of two records of levels 2 in R^2 and all replacements of one of them.
Worst worst_over_neighbours(const ExponentialMechanism& selection, const Vertices& vertices) {
  std::vector<std::vector<long double>> laws;  // by gradient sum, each coordinate in -4 .. 4
  for (std::int64_t a = -4; a <= 4; ++a) {
    for (std::int64_t b = -4; b <= 4; ++b) laws.push_back(law_of(selection, vertices, {a, b}));
  }
  const auto at = [&](std::size_t a, std::size_t b) { return laws[a * 9 + b]; };  // from -4
  Worst worst;
  for (std::size_t code = 0; code < 15'625; ++code) {
    // The kept record, the other one before and after, each from -2 in both coordinates.
    const std::size_t kept[] = {code % 5, code / 5 % 5};
    const std::size_t before[] = {code / 25 % 5, code / 125 % 5};
    const std::size_t after[] = {code / 625 % 5, code / 3125};
    const LogRatios found =
        log_ratios(at(kept[0] + before[0], kept[1] + before[1]), at(kept[0] + after[0], kept[1] + after[1]));
    worst.ratio = std::max({worst.ratio, found.largest, -found.least});
    worst.range = std::max(worst.range, found.largest - found.least);
  }
  return worst;
}

ExponentialMechanism mechanism(double epsilon, std::int64_t range) {
  return ExponentialMechanism::create(releases::Epsilon::create(epsilon).value(),
                                      ScoreRange::of_differences(range).value())
      .value();
}

TEST(SelectionTest, NoReplacementMovesALikelihoodByMoreThanEpsilon) {
  for (const Vertices& vertices : sets_in_the_plane()) {
    for (const double epsilon : {0.125, 1.0, 4.0}) {  // multiples of 2^-40
      SCOPED_TRACE(epsilon);
      const Worst worst = worst_over_neighbours(mechanism(epsilon, vertices.score_range(2)), vertices);
      EXPECT_LE(worst.ratio, epsilon * (1.0 + 1e-12));
      EXPECT_LE(worst.range, epsilon * (1.0 + 1e-12));  // which is what epsilon^2 / 8 of zCDP stands on
      EXPECT_GE(worst.range, epsilon * (1.0 - 1e-12));  // attained: the noise is not more than it need be either
    }
  }
}

TEST(SelectionTest, ARangeThatIsTooSmallShowsInTheLikelihoods) {
  // With the change of one score, half the range, for the range: the worst ratio passes epsilon. The test above sees
  // it.
  for (const Vertices& vertices : sets_in_the_plane()) {
    const Worst worst = worst_over_neighbours(mechanism(1.0, vertices.score_range(2) / 2), vertices);
    EXPECT_NEAR(static_cast<double>(worst.range), 2.0, 1e-12);
    EXPECT_GT(worst.ratio, 1.05L);
  }
}

/// Vectors as a record or a hostile point may make them.
Eigen::VectorXd any_vector(Eigen::Index dimension, std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  std::uniform_int_distribution<int> kind(0, 7);
  Eigen::VectorXd out(dimension);
  for (double& value : out) {
    switch (kind(random)) {
      case 0:
        value = 1e308 * unit(random);
        break;
      case 1:
        value = 1e-310 * unit(random);
        break;
      case 2:
        value = unit(random) > 0.0 ? 3.0 : -3.0;
        break;
      default:
        value = 4.0 * unit(random);
    }
  }
  if (kind(random) == 0) out[0] = std::numeric_limits<double>::quiet_NaN();
  if (kind(random) == 0) out[dimension - 1] = -HUGE_VAL;
  return out;
}

std::vector<std::int64_t> gradient_sum(const ClampLattice& lattice, const std::vector<Eigen::VectorXd>& records) {
  ClampedSum sum(lattice, records.front().size());
  for (const Eigen::VectorXd& record : records) sum.add(record);
  std::vector<std::int64_t> out(static_cast<std::size_t>(records.front().size()));
  sum.take(out);
  return out;
}

TEST(SelectionTest, WhateverARecordHoldsItMovesALikelihoodByEpsilonAtMost) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (const Vertices& vertices : sets_in_the_plane()) {
      constexpr std::int64_t kRecords = 5;
      const ClampLattice lattice = ClampLattice::finest(3.0, kRecords, vertices.score_factor()).value();
      const ExponentialMechanism selection = mechanism(0.75, vertices.score_range(lattice.levels()));
      std::vector<Eigen::VectorXd> records(kRecords);
      for (Eigen::VectorXd& record : records) record = any_vector(2, random);
      const auto before = law_of(selection, vertices, gradient_sum(lattice, records));
      records[seed % kRecords] = any_vector(2, random);
      const auto after = law_of(selection, vertices, gradient_sum(lattice, records));
      const LogRatios found = log_ratios(before, after);
      EXPECT_LE(std::max(found.largest, -found.least), 0.75L * (1.0L + 1e-12L));
      EXPECT_LE(found.largest - found.least, 0.75L * (1.0L + 1e-12L));
    }
  }
}

TEST(SelectionTest, TheOrderOfRecordsChangesNothing) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const ClampLattice lattice = ClampLattice::create(3.0, 30, 20).value();
    std::vector<Eigen::VectorXd> records(20);
    for (Eigen::VectorXd& record : records) record = any_vector(4, random);
    const std::vector<std::int64_t> sum = gradient_sum(lattice, records);
    std::shuffle(records.begin(), records.end(), random);
    EXPECT_EQ(gradient_sum(lattice, records), sum);
  }
}

TEST(SelectionTest, TheBestVertexIsTheLikeliest) {
  // Without noise to speak of, the selection is linear minimisation.
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> unit(-1.0, 1.0);
    for (const Vertices& vertices : sets_in_the_plane()) {
      const Eigen::Vector2d gradient(unit(random), unit(random));
      const ClampLattice lattice = ClampLattice::create(1.0, 30, 1).value();
      const auto law = law_of(mechanism(1024.0, vertices.score_range(lattice.levels())), vertices,
                              gradient_sum(lattice, {gradient}));
      const auto likeliest = std::max_element(law.begin(), law.end()) - law.begin();
      EXPECT_EQ(likeliest, vertices.minimiser(gradient));
    }
  }
}

}  // namespace
}  // namespace undertone::mechanisms
