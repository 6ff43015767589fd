#include "shared/statistics/score_fit.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>
#include <vector>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/random_source.hpp"
#include "tests/support/seeded_normals.hpp"

namespace undertone::statistics {
namespace {

Eigen::VectorXd numbers_of(const std::vector<double>& numbers) {
  return Eigen::Map<const Eigen::VectorXd>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}

/// A covariate vector no longer than 1: of every length, and often of length 1.
Eigen::VectorXd covariates_within(Eigen::Index p, RandomSource& random) {
  Eigen::VectorXd out(p);
  for (double& number : out) number = 2.0 * random.unit() - 1.0;
  const double length = random.chance(0.5) ? 1.0 : random.unit();
  return out * (length / std::max(out.norm(), 1e-9));
}

double logistic(double score) { return 1.0 / (1.0 + std::exp(-score)); }

/// Records of a logistic regression of three covariates, the constant last: rows x, and y in {0, 1}.
struct LogisticRecords {
  Eigen::MatrixXd x;  // [n, p]
  Eigen::VectorXd y;
  LogisticRecords(Eigen::Index n, const Eigen::VectorXd& coefficients, std::uint64_t seed)
      : x(n, coefficients.size()), y(n) {
    tests::Normals normals(seed);
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j + 1 < x.cols(); ++j) x(i, j) = std::clamp(0.4 * normals.next(), -1.0, 1.0);
      x(i, x.cols() - 1) = 1.0;
      y[i] = normals.source().unit() < logistic(x.row(i).dot(coefficients)) ? 1.0 : 0.0;
    }
    x /= std::sqrt(static_cast<double>(x.cols()));
  }
  [[nodiscard]] ScoreSums at(const Eigen::VectorXd& theta) const {
    Eigen::VectorXd total = Eigen::VectorXd::Zero(score_numbers(x.cols()));
    Eigen::VectorXd one(total.size());
    for (Eigen::Index i = 0; i < x.rows(); ++i) {
      score_moments(y[i] - logistic(x.row(i).dot(theta)), x.row(i).transpose(), one);
      total += one;
    }
    return score_sums(total, x.cols());
  }
  [[nodiscard]] double log_likelihood(const Eigen::VectorXd& theta) const {
    double sum = 0.0;
    for (Eigen::Index i = 0; i < x.rows(); ++i) {
      const double score = x.row(i).dot(theta);
      sum += y[i] * score - std::log1p(std::exp(score));
    }
    return sum;
  }
};

TEST(ScoreMomentsTest, TwoRecordsAreTwoApartAtMostAndNearlySoWhereScoresAreSteep) {
  // Row 31: with the factor 4 of the information the two lesser parts cost nothing beside the score.
  RandomSource random(41);
  double farthest = 0.0;
  for (int i = 0; i < 20'000; ++i) {
    const auto p = static_cast<Eigen::Index>(1 + random.below(5));
    Eigen::VectorXd one(score_numbers(p));
    Eigen::VectorXd other(score_numbers(p));
    const Eigen::VectorXd x = covariates_within(p, random);
    const auto any_residual = [&] { return random.chance(0.3) ? 1.0 : 2.0 * random.unit() - 1.0; };
    score_moments(any_residual(), x, one);
    score_moments(any_residual(), random.chance(0.5) ? Eigen::VectorXd(-x) : covariates_within(p, random), other);
    farthest = std::max(farthest, (one - other).norm());
  }
  EXPECT_LE(farthest, 2.0 * (1.0 + 1e-12));
  EXPECT_GT(farthest, 0.99 * 2.0);
  EXPECT_EQ(score_distance(ScoreLink::Logistic), 2.0);
}

TEST(ScoreMomentsTest, MoreInformationThanTheFactorAllowsWouldCost) {
  // Row 31, the factor of 24 in place of 16: the bound of the text rises above 2, and so would a pair of records.
  const auto squared = [](double r, double s, double factor) {
    return std::pow(r + s, 2) * (1.0 + 0.5 * std::pow(r - s, 2)) +
           factor * (std::pow(r * (1.0 - r), 2) + std::pow(s * (1.0 - s), 2));
  };
  double at_16 = 0.0;
  double at_24 = 0.0;
  for (int i = 0; i <= 400; ++i) {
    for (int j = 0; j <= 400; ++j) {
      at_16 = std::max(at_16, squared(i / 400.0, j / 400.0, 16.0));
      at_24 = std::max(at_24, squared(i / 400.0, j / 400.0, 24.0));
    }
  }
  EXPECT_NEAR(std::sqrt(at_16), 2.0, 1e-12);
  EXPECT_NEAR(std::sqrt(at_24), 2.050691, 1e-6);
}

TEST(ScoreMomentsTest, TwoRecordsOfTheLogLinkAreAtMostTheRootOfSixteenThirdsApart) {
  // Row 31, the log link with kappa_2 = 1: 2 + 2 K + 1 / (2 K) for K = 3 / 2.
  RandomSource random(43);
  Eigen::VectorXd one(score_numbers(2));
  Eigen::VectorXd other(score_numbers(2));
  double farthest = 0.0;
  const auto take = [&](double share, double mean, double angle, double length, double other_share, double other_mean,
                        double other_angle, double other_length) {
    log_score_moments(share, mean, length * numbers_of({std::cos(angle), std::sin(angle)}), one);
    log_score_moments(other_share, other_mean,
                      other_length * numbers_of({std::cos(other_angle), std::sin(other_angle)}), other);
    farthest = std::max(farthest, (one - other).norm());
  };
  // The two records that the text names: both with a mean of nearly Y and a label of 0, and an angle between.
  const double nearly = std::nextafter(1.0, 0.0);
  take(0.0, nearly, 0.0, 1.0, 0.0, nearly, std::acos(-1.0 / 3.0), 1.0);
  EXPECT_NEAR(farthest, std::sqrt(16.0 / 3.0), 1e-9);
  take(1.0, 0.0, 0.0, 1.0, 0.0, nearly, 0.0, 1.0);
  const auto any = [&] { return random.chance(0.3) ? 0.0 : random.chance(0.4) ? nearly : random.unit(); };
  for (int i = 0; i < 400'000; ++i) {
    take(any(), any(), 0.0, random.chance(0.7) ? 1.0 : random.unit(), any(), any(), std::numbers::pi * random.unit(),
         random.chance(0.7) ? 1.0 : random.unit());
  }
  EXPECT_LE(farthest, std::sqrt(16.0 / 3.0) * (1.0 + 1e-9));
  EXPECT_GT(score_distance(ScoreLink::Log), farthest);
}

TEST(ScoreMomentsTest, NumbersOfTheLogLinkAreCutOrCountAsNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Eigen::VectorXd out(score_numbers(2));
  Eigen::VectorXd cut(score_numbers(2));
  for (const auto& [share, mean] : {std::pair(nan, 0.5), std::pair(0.5, nan)}) {
    log_score_moments(share, mean, numbers_of({0.5, 0.5}), out);
    EXPECT_TRUE(out.isZero());
  }
  log_score_moments(7.0, -3.0, numbers_of({3.0, 4.0}), out);
  log_score_moments(1.0, 0.0, numbers_of({0.6, 0.8}), cut);
  EXPECT_TRUE(out.isApprox(cut, 1e-15));
  log_score_moments(0.25, HUGE_VAL, numbers_of({0.6, 0.8}), out);  // a mean that is cut has no slope
  EXPECT_TRUE(out.tail(3).isZero());
  EXPECT_NEAR(out[1], -0.75 * 0.8, 1e-15);
  const ExposureFeature exposure{0, 0.25};
  EXPECT_EQ(exposure.of(-1.0), 0.25);
  EXPECT_EQ(exposure.of(1.0), 1.0);
  EXPECT_EQ(exposure.of(5.0), 1.0);
  EXPECT_EQ(exposure.of(-5.0), 0.25);
  EXPECT_EQ(exposure.of(nan), 0.0);
}

TEST(ScoreMomentsTest, WhatIsNoNumberCountsAsNothingAndWhatIsTooLongIsCut) {
  Eigen::VectorXd out(score_numbers(2));
  score_moments(std::numeric_limits<double>::quiet_NaN(), numbers_of({0.5, 0.5}), out);
  EXPECT_TRUE(out.isZero());
  score_moments(0.5, numbers_of({std::numeric_limits<double>::infinity(), 0.5}), out);
  EXPECT_TRUE(out.isZero());
  // A norm may lose what is no number, whatever stands beside it.
  Eigen::VectorXd four(score_numbers(4));
  for (int pattern = 1; pattern < 81; ++pattern) {
    Eigen::VectorXd x(4);
    for (int i = 0, rest = pattern; i < 4; ++i, rest /= 3)
      x[i] = rest % 3 == 0 ? 0.0 : rest % 3 == 1 ? 0.5 : std::numeric_limits<double>::quiet_NaN();
    score_moments(0.5, x, four);
    EXPECT_TRUE(four.allFinite()) << pattern;
    EXPECT_TRUE(x.allFinite() || four.isZero()) << pattern;
    log_score_moments(0.5, 0.25, x, four);
    EXPECT_TRUE(four.allFinite()) << pattern;
    EXPECT_TRUE(x.allFinite() || four.isZero()) << pattern;
  }
  Eigen::VectorXd cut(score_numbers(2));
  score_moments(7.0, numbers_of({3.0, 4.0}), out);
  score_moments(1.0, numbers_of({0.6, 0.8}), cut);
  EXPECT_TRUE(out.isApprox(cut, 1e-15));
}

/// Poisson's likelihood in units of the largest count: its score over Y, its information over Y.
TEST(ScoreFitTest, SumsOfTheLogLinkAreTheGradientAndTheHessianOfItsLikelihood) {
  RandomSource random(5);
  const Eigen::Index n = 150;
  const Eigen::MatrixXd x = [&] {
    Eigen::MatrixXd out(n, 3);
    for (double& number : out.reshaped()) number = (2.0 * random.unit() - 1.0) / std::sqrt(3.0);
    return out;
  }();
  Eigen::VectorXd share(n);
  Eigen::VectorXd exposure(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    share[i] = random.unit();
    exposure[i] = 0.1 + 0.1 * random.unit();  // no mean is cut
  }
  const auto at = [&](const Eigen::VectorXd& theta) {
    Eigen::VectorXd total = Eigen::VectorXd::Zero(score_numbers(3));
    Eigen::VectorXd one(total.size());
    for (Eigen::Index i = 0; i < n; ++i) {
      log_score_moments(share[i], exposure[i] * std::exp(x.row(i).dot(theta)), x.row(i).transpose(), one);
      total += one;
    }
    return score_sums(total, 3, ScoreLink::Log);
  };
  const auto likelihood = [&](const Eigen::VectorXd& theta) {
    double sum = 0.0;
    for (Eigen::Index i = 0; i < n; ++i)
      sum += share[i] * x.row(i).dot(theta) - exposure[i] * std::exp(x.row(i).dot(theta));
    return sum;
  };
  const Eigen::VectorXd theta = numbers_of({0.4, -0.3, -1.2});
  const ScoreSums sums = at(theta);
  constexpr double kStep = 1e-5;
  for (Eigen::Index j = 0; j < 3; ++j) {
    const Eigen::VectorXd step = kStep * Eigen::VectorXd::Unit(3, j);
    EXPECT_NEAR(sums.score[j], (likelihood(theta + step) - likelihood(theta - step)) / (2.0 * kStep), 1e-5);
    const Eigen::VectorXd column = (at(theta - step).score - at(theta + step).score) / (2.0 * kStep);
    EXPECT_TRUE(sums.information.col(j).isApprox(column, 1e-6));
  }
}

TEST(ScoreFitTest, SumsAreTheGradientAndTheHessianOfTheLikelihood) {
  const LogisticRecords records(200, numbers_of({1.0, -0.7, -0.5}), 3);
  const Eigen::VectorXd theta = numbers_of({0.4, 0.3, -0.9});
  const ScoreSums sums = records.at(theta);
  constexpr double kStep = 1e-5;
  for (Eigen::Index j = 0; j < 3; ++j) {
    const Eigen::VectorXd step = kStep * Eigen::VectorXd::Unit(3, j);
    EXPECT_NEAR(sums.score[j],
                (records.log_likelihood(theta + step) - records.log_likelihood(theta - step)) / (2.0 * kStep), 1e-5);
    const Eigen::VectorXd column = (records.at(theta - step).score - records.at(theta + step).score) / (2.0 * kStep);
    EXPECT_TRUE(sums.information.col(j).isApprox(column, 1e-7));
  }
}

/// Two steps and the fit, without noise.
ScoreFit fit_without_noise(const LogisticRecords& records) {
  const double norm = std::sqrt(3.0);
  ScoresAt at{numbers_of({0.0, 0.0, norm * std::log(records.y.mean() / (1.0 - records.y.mean()))}), {}, 0.0, norm};
  for (int i = 0; i < 2; ++i) {
    at.sums = records.at(at.point);
    const Eigen::VectorXd next = next_score_point(at);
    at.moved_before = (next - at.point).norm();
    at.point = next;
  }
  at.sums = records.at(at.point);
  return fit_scores(at, records.y.mean());
}

TEST(ScoreFitTest, WhatTheLastStepLeavesIsInEveryInterval) {
  // Strong effects: three steps are still off by more than the records' own error allows for.
  const LogisticRecords records(20'000, numbers_of({4.0, -2.0, 0.0}), 6);
  const ScoreFit fit = fit_without_noise(records);
  ASSERT_NE(fit.carries, Carries::Nothing);
  Eigen::VectorXd maximum = fit.coefficients;
  for (int i = 0; i < 20; ++i) {
    const ScoreSums sums = records.at(maximum);
    maximum += sums.information.ldlt().solve(sums.score);
  }
  for (Eigen::Index j = 0; j < 3; ++j) {
    const double off = std::abs(fit.coefficients[j] - maximum[j]);
    EXPECT_LE(off, fit.remainder(Eigen::Vector3d::Unit(j)) + (j == 2 ? fit.widening : 0.0) + 1e-9) << j;
  }
  EXPECT_GT(std::abs(fit.coefficients[0] - maximum[0]), 1e-3);  // there is something to cover
}

TEST(ScoreFitTest, SeparatedLabelsAreRefusedHoweverManyRecordsThereAre) {
  for (const Eigen::Index n : {500, 50'000}) {
    LogisticRecords records(n, numbers_of({0.0, 0.0, 0.0}), 9);
    for (Eigen::Index i = 0; i < n; ++i) records.y[i] = records.x(i, 0) > 0.0 ? 1.0 : 0.0;
    const ScoreFit fit = fit_without_noise(records);
    EXPECT_EQ(fit.carries, Carries::Nothing) << n;
    EXPECT_FALSE(to_string(fit.refusal).empty());
  }
}

TEST(ScoreFitTest, WithoutNoiseThreeStepsReachTheMaximumOfTheLikelihood) {
  const LogisticRecords records(2000, numbers_of({1.0, -0.7, -0.5}), 5);
  const double norm = std::sqrt(3.0);
  Eigen::VectorXd theta = numbers_of({0.0, 0.0, norm * std::log(records.y.mean() / (1.0 - records.y.mean()))});
  for (int i = 0; i < 2; ++i) theta = next_score_point({theta, records.at(theta), 0.0, norm});
  const ScoreFit fit = fit_scores({theta, records.at(theta), 0.0, norm}, records.y.mean());
  ASSERT_EQ(fit.carries, Carries::Enough);
  EXPECT_EQ(fit.noise_variance(numbers_of({1.0, 1.0, 1.0})), 0.0);
  // Newton's own steps, from the fit: nothing moves any more.
  EXPECT_LT(records.at(fit.coefficients).score.norm(), 1e-4);
  Eigen::VectorXd maximum = fit.coefficients;
  for (int i = 0; i < 5; ++i) {
    const ScoreSums sums = records.at(maximum);
    maximum += sums.information.ldlt().solve(sums.score);
  }
  EXPECT_LT((fit.coefficients - maximum).norm(), 1e-6);
}

TEST(ScoreFitTest, TheSpecsRowsOfOneSolve) {
  // Rows 36 to 38. There the constant is first, here it is last.
  const double sigma =
      2.0 / (accounting::gaussian_shift_for(*releases::Epsilon::create(1.0), *releases::Delta::create(1e-6)).value() *
             std::sqrt(0.65));
  EXPECT_NEAR(sigma, 10.48014, 1e-4);
  ScoreSums sums{numbers_of({9, -14, 11}), Eigen::MatrixXd(3, 3), Eigen::MatrixXd(3, 3)};
  sums.information << 61, 3, 6, 3, 58, -4, 6, -4, 330;
  sums.meat << 66, 1, 9, 1, 52, -7, 9, -7, 320;
  const ScoreFit fit = fit_scores({numbers_of({1.5, -1.0, -0.8}), sums, 10.48014, std::sqrt(3.0)}, 0.35);
  const auto near = [](const Eigen::VectorXd& found, const std::vector<double>& printed) {
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(found[static_cast<Eigen::Index>(i)], printed[i], 3e-6 * std::abs(printed[i]));
  };
  near(fit.coefficients, {1.657016, -1.247606, -0.7725228});
  Eigen::Vector3d noise;
  Eigen::Vector3d robust;
  for (Eigen::Index j = 0; j < 3; ++j) {
    noise[j] = fit.noise_variance(Eigen::Vector3d::Unit(j));
    robust[j] = fit.robust_variance(Eigen::Vector3d::Unit(j));
  }
  near(noise, {0.02998419, 0.03312555, 0.001033087});
  near(fit.inverse.diagonal(), {0.01646687, 0.0173021, 0.003038674});
  near(robust, {0.02187398, 0.019994, 0.003076058});
  EXPECT_NEAR(fit.widening, 0.001359889, 1e-8);
  EXPECT_NEAR(fit.rho, 12.33756, 1e-4);
}

TEST(ScoreFitTest, LittleInformationAndAPointOnTheBoundAreRefused) {
  ScoreSums sums{numbers_of({1.0, 1.0}), Eigen::MatrixXd::Identity(2, 2), Eigen::MatrixXd::Identity(2, 2)};
  const Eigen::VectorXd origin = Eigen::VectorXd::Zero(2);
  // rho = 1 / (sigma / (4 sqrt 2) sqrt 4), so that it is 3 at sigma 0.9428.
  EXPECT_EQ(fit_scores({origin, sums, 0.95, 1.0}, 0.5).carries, Carries::Nothing);
  EXPECT_EQ(fit_scores({origin, sums, 0.93, 1.0}, 0.5).carries, Carries::Barely);
  EXPECT_EQ(fit_scores({origin, sums, 0.4, 1.0}, 0.5).carries, Carries::Enough);
  sums.information(1, 1) = -1.0;
  EXPECT_EQ(fit_scores({origin, sums, 0.0, 1.0}, 0.5).carries, Carries::Nothing);
  sums.information(1, 1) = 0.0;
  EXPECT_EQ(fit_scores({origin, sums, 0.0, 1.0}, 0.5).carries, Carries::Nothing);
  sums.information(1, 1) = 1.0;
  const Eigen::VectorXd far = next_score_point({numbers_of({4.5, 0.0}), sums, 0.0, 1.0});
  EXPECT_TRUE(on_score_bound(far, 1.0));
  EXPECT_EQ(fit_scores({far, sums, 0.0, 1.0}, 0.5).carries, Carries::Nothing);
}

TEST(ScoreFitTest, StepsAreBoundedWhateverIsTold) {
  RandomSource random(8);
  for (int i = 0; i < 2000; ++i) {
    const double size = std::pow(10.0, 24.0 * random.unit() - 6.0);
    Eigen::VectorXd total(score_numbers(3));
    for (double& number : total) number = size * (2.0 * random.unit() - 1.0);
    const ScoresAt at{numbers_of({1.0, -1.0, 0.5}), score_sums(total, 3), std::pow(10.0, 12.0 * random.unit() - 6.0),
                      2.0};
    const Eigen::VectorXd next = next_score_point(at);
    ASSERT_TRUE(next.allFinite());
    ASSERT_LE((next - at.point).norm(), 3.5 * (1.0 + 1e-9));
    const ScoreFit fit = fit_scores(at, 0.3);
    if (fit.carries == Carries::Nothing) continue;
    const Eigen::VectorXd a = Eigen::Vector3d(1.0, -1.0, 2.0);
    ASSERT_TRUE(fit.coefficients.allFinite() && fit.noise_variance(a) >= 0.0 && fit.robust_variance(a) >= 0.0);
  }
}

TEST(ScoreFitTest, WhatIsStatedHasBothIntervalsAndARefusalHasNone) {
  ScoreSums sums{numbers_of({9, -14, 11}), Eigen::MatrixXd(3, 3), Eigen::MatrixXd(3, 3)};
  sums.information << 61, 3, 6, 3, 58, -4, 6, -4, 330;
  sums.meat << 66, 1, 9, 1, 52, -7, 9, -7, 320;
  const ScoreFit fit = fit_scores({numbers_of({1.5, -1.0, -0.8}), sums, 10.48014, std::sqrt(3.0)}, 0.35);
  const Confidence confidence = *Confidence::create(0.95);
  const Stated slope = state_combination(fit, 0.5 * Eigen::Vector3d::UnitX(), confidence);
  EXPECT_NEAR(*slope.value, 0.5 * fit.coefficients[0], 1e-12);
  EXPECT_NEAR(slope.noise.half_width(), 0.5 * confidence.z() * std::sqrt(0.02998419), 1e-6);
  EXPECT_NEAR(slope.population->half_width(), 0.5 * confidence.z() * std::sqrt(0.02998419 + 0.02187398), 1e-6);
  const Stated constant = state_combination(fit, Eigen::Vector3d::UnitZ(), confidence);
  EXPECT_NEAR(constant.noise.half_width(), confidence.z() * std::sqrt(0.001033087) + 0.001359889, 1e-7);
  ScoreFit refused = fit;
  refused.carries = Carries::Nothing;
  refused.refusal = ScoreRefusal::Information;
  const Stated none = state_combination(refused, 0.5 * Eigen::Vector3d::UnitX(), confidence);
  EXPECT_FALSE(none.value || none.population);
  EXPECT_NE(none.note.find("refused"), std::string::npos);
}

}  // namespace
}  // namespace undertone::statistics
