#include "shared/models/linear_loss.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

#include "shared/base/column_products.hpp"
#include "shared/base/random_source.hpp"
#include "shared/models/linear_model.hpp"

namespace undertone::models {
namespace {

LinearLoss loss_of(Loss kind, const LinearLoss::Options& options = {}) {
  return LinearLoss::create(kind, options).value();
}

constexpr Loss kAll[] = {Loss::Logistic, Loss::LeastSquares, Loss::Hinge, Loss::Absolute, Loss::Quantile, Loss::Huber};

TEST(LinearLossTest, ValuesAsComputedByHand) {
  EXPECT_NEAR(loss_of(Loss::Logistic).value(0.0, 1.0), std::log(2.0), 1e-15);
  EXPECT_EQ(loss_of(Loss::LeastSquares).value(3.0, 1.0), 2.0);
  EXPECT_EQ(loss_of(Loss::Hinge).value(0.25, 1.0), 0.75);
  EXPECT_EQ(loss_of(Loss::Hinge).value(-2.0, -1.0), 0.0);
  EXPECT_EQ(loss_of(Loss::Absolute).value(-1.0, 2.0), 3.0);
  // level 1/4: a target above the score costs a quarter of the distance, one below three quarters.
  LinearLoss::Options quarter;
  quarter.level = 0.25;
  EXPECT_EQ(loss_of(Loss::Quantile, quarter).value(0.0, 4.0), 1.0);
  EXPECT_EQ(loss_of(Loss::Quantile, quarter).value(4.0, 0.0), 3.0);
  LinearLoss::Options two;
  two.threshold = 2.0;
  EXPECT_EQ(loss_of(Loss::Huber, two).value(1.0, 0.0), 0.5);
  EXPECT_EQ(loss_of(Loss::Huber, two).value(5.0, 0.0), 8.0);  // 2 (5 - 1)
}

TEST(LinearLossTest, DerivativesAreTheSlopesOfTheValues) {
  RandomSource random(3);
  for (const Loss kind : kAll) {
    LinearLoss::Options options;
    options.level = 0.3;
    options.threshold = 0.7;
    const LinearLoss loss = loss_of(kind, options);
    for (int i = 0; i < 400; ++i) {
      const double target = loss.classifies() ? (random.chance(0.5) ? 1.0 : -1.0) : 4.0 * random.unit() - 2.0;
      const double z = 6.0 * random.unit() - 3.0;
      constexpr double kStep = 1e-6;
      const double up = loss.value(z + kStep, target);
      const double down = loss.value(z - kStep, target);
      const double here = loss.value(z, target);
      if (std::abs((up - here) - (here - down)) > 1e-8) continue;  // a kink lies within the step
      EXPECT_NEAR(loss.derivative(z, target, 1.0), (up - down) / (2.0 * kStep), 1e-6) << to_string(kind) << " at " << z;
    }
  }
}

/// min over v of phi(v, y) + beta/(2 |x|^2) (z - v)^2: of scores, since only the part of w along x matters.
double envelope(const LinearLoss& sharp, double beta, double norm_squared, double z, double target) {
  const auto at = [&](double v) { return sharp.value(v, target) + 0.5 * beta / norm_squared * (z - v) * (z - v); };
  double low = z - 2.0 * norm_squared / beta - 1.0;
  double high = z + 2.0 * norm_squared / beta + 1.0;
  for (int i = 0; i < 200; ++i) {  // convex: golden section
    const double a = low + 0.381966 * (high - low);
    const double b = low + 0.618034 * (high - low);
    (at(a) < at(b) ? high : low) = at(a) < at(b) ? b : a;
  }
  return at(0.5 * (low + high));
}

TEST(LinearLossTest, SmoothedGradientsAreThoseOfTheMoreauEnvelope) {
  RandomSource random(5);
  for (const Loss kind : {Loss::Hinge, Loss::Absolute, Loss::Quantile}) {
    LinearLoss::Options options;
    options.level = 0.2;
    const LinearLoss sharp = loss_of(kind, options);
    for (int i = 0; i < 100; ++i) {
      const double beta = std::pow(10.0, 2.0 * random.unit() - 1.0);
      const double norm_squared = 0.2 + 3.0 * random.unit();
      options.smoothing = beta;
      const LinearLoss smooth = loss_of(kind, options);
      const double target = sharp.classifies() ? (random.chance(0.5) ? 1.0 : -1.0) : 2.0 * random.unit() - 1.0;
      const double z = 6.0 * random.unit() - 3.0;
      constexpr double kStep = 1e-4;
      const double slope = (envelope(sharp, beta, norm_squared, z + kStep, target) -
                            envelope(sharp, beta, norm_squared, z - kStep, target)) /
                           (2.0 * kStep);
      // The step may span a bend of the envelope's derivative, whose slope is at most beta / |x|^2.
      EXPECT_NEAR(smooth.derivative(z, target, norm_squared), slope, 1e-6 + kStep * beta / norm_squared);
      // f_beta <= f <= f_beta + L^2 / (2 beta)
      const double below = envelope(sharp, beta, norm_squared, z, target);
      const double lipschitz = sharp.lipschitz(std::sqrt(norm_squared)).value();
      EXPECT_LE(below, sharp.value(z, target) + 1e-9);
      EXPECT_LE(sharp.value(z, target), below + 0.5 * lipschitz * lipschitz / beta + 1e-9);
    }
  }
}

TEST(LinearLossTest, ItsConstantsBoundTheGradient) {
  RandomSource random(7);
  for (const Loss kind : kAll) {
    for (const bool smoothed : {false, true}) {
      LinearLoss::Options options;
      options.level = 0.8;
      options.threshold = 1.5;
      const bool kinked = kind == Loss::Hinge || kind == Loss::Absolute || kind == Loss::Quantile;
      if (smoothed && !kinked) continue;
      if (smoothed) options.smoothing = 2.0;
      const LinearLoss loss = loss_of(kind, options);
      EXPECT_EQ(loss.is_smooth(), smoothed || !kinked);
      for (int i = 0; i < 300; ++i) {
        const double norm = 0.1 + 2.0 * random.unit();
        const double target = loss.classifies() ? (random.chance(0.5) ? 1.0 : -1.0) : 4.0 * random.unit() - 2.0;
        const double z = 8.0 * random.unit() - 4.0;
        const double other = z + 2.0 * random.unit() - 1.0;
        const double here = loss.derivative(z, target, norm * norm) * norm;
        EXPECT_LE(std::abs(here), loss.lipschitz(norm).value_or(INFINITY) * (1.0 + 1e-12));
        // Two models whose scores differ by so much are at least |z - z'| / |x| apart.
        const double there = loss.derivative(other, target, norm * norm) * norm;
        const double beta = loss.smoothness(norm).value_or(INFINITY);
        EXPECT_LE(std::abs(here - there), beta * std::abs(z - other) / norm * (1.0 + 1e-9) + 1e-12);
      }
    }
  }
}

TEST(LinearLossTest, ARecordsFactorDependsOnNothingBesideIt) {
  constexpr double kOdd[] = {0.0, -0.0, 1e-320, 36.0, -36.0, 709.0, -746.0, 1e300, -1e300, HUGE_VAL, -HUGE_VAL};
  RandomSource random(5);
  for (const Loss kind : kAll) {
    LinearLoss::Options options;
    if (kind == Loss::Absolute) options.smoothing = 0.7;  // one that looks at norms
    const LinearLoss loss = loss_of(kind, options);
    for (std::size_t count = 0; count < 70; ++count) {
      std::vector<double> scores(count);
      std::vector<double> targets(count);
      std::vector<double> norms_squared(count);
      for (std::size_t i = 0; i < count; ++i) {
        scores[i] = random.below(4) == 0 ? kOdd[random.below(std::size(kOdd))] : 20.0 * (random.unit() - 0.5);
        targets[i] = random.chance(0.5) ? 1.0 : -1.0;
        norms_squared[i] = 3.0 * random.unit();
      }
      if (count > 0) scores[random.below(count)] = std::nan("");
      std::vector<double> factors = scores;
      loss.derivatives(factors, targets, norms_squared);
      for (std::size_t i = 0; i < count; ++i) {
        const double alone = loss.derivative(scores[i], targets[i], norms_squared[i]);
        EXPECT_EQ(std::bit_cast<std::uint64_t>(factors[i]), std::bit_cast<std::uint64_t>(alone))
            << to_string(kind) << " at " << scores[i] << ", number " << i << " of " << count;
        if (kind != Loss::Logistic) continue;
        EXPECT_EQ(std::isnan(alone), std::isnan(scores[i]));
        if (std::isnan(alone)) continue;
        EXPECT_NEAR(alone, -targets[i] / (1.0 + std::exp(targets[i] * scores[i])), 1e-15) << scores[i];
      }
    }
  }
}

TEST(LinearModelTest, ProductsAreTheSameOnEveryProcessor) {
  RandomSource random(6);
  for (Eigen::Index rows = 1; rows < 70; ++rows) {
    Eigen::MatrixXd columns(rows, 20);
    Eigen::VectorXd w(rows);
    for (double& value : columns.reshaped()) value = 2.0 * random.unit() - 1.0;
    for (double& value : w) value = 2.0 * random.unit() - 1.0;
    std::vector<std::int64_t> positions(17);
    for (std::int64_t& position : positions) position = static_cast<std::int64_t>(random.below(20));
    std::vector<double> products(17);
    std::vector<double> squares(17);
    std::vector<double> portable(17);
    std::vector<double> portable_squares(17);
    column_products(columns, positions, w, products, squares);
    column_products(columns, positions, w, portable, portable_squares, VectorUnits::None);
    EXPECT_EQ(products, portable);
    EXPECT_EQ(squares, portable_squares);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      EXPECT_NEAR(products[i], columns.col(positions[i]).dot(w), 1e-13);
      EXPECT_NEAR(squares[i], columns.col(positions[i]).squaredNorm(), 1e-13);
    }
  }
}

TEST(LinearLossTest, LogitsAreClippedWhereTheJobSaysSo) {
  LinearLoss::Options options;
  options.logit_max = 15.0;
  const LinearLoss clipped = loss_of(Loss::Logistic, options);
  EXPECT_EQ(clipped.value(1e9, -1.0), clipped.value(15.0, -1.0));
  EXPECT_EQ(clipped.derivative(-1e9, 1.0, 1.0), clipped.derivative(-15.0, 1.0, 1.0));
  EXPECT_EQ(clipped.derivative(3.0, 1.0, 1.0), loss_of(Loss::Logistic).derivative(3.0, 1.0, 1.0));
}

TEST(LinearLossTest, ARecordWithoutFeaturesMovesNothing) {
  LinearLoss::Options options;
  options.smoothing = 1.0;
  for (const Loss kind : {Loss::Hinge, Loss::Absolute, Loss::Quantile})
    EXPECT_EQ(loss_of(kind, options).derivative(0.0, 1.0, 0.0), 0.0);
}

TEST(LinearLossTest, RefusesOptionsThatDoNotFit) {
  const auto refused = [](Loss kind, auto set) {
    LinearLoss::Options options;
    set(options);
    return !LinearLoss::create(kind, options);
  };
  for (const double bad : {0.0, 1.0, -0.5, std::nan("")})
    EXPECT_TRUE(refused(Loss::Quantile, [&](auto& o) { o.level = bad; })) << bad;
  for (const double bad : {0.0, -1.0, std::nan(""), static_cast<double>(INFINITY)}) {
    EXPECT_TRUE(refused(Loss::Huber, [&](auto& o) { o.threshold = bad; })) << bad;
    EXPECT_TRUE(refused(Loss::Hinge, [&](auto& o) { o.smoothing = bad; })) << bad;
    EXPECT_TRUE(refused(Loss::Logistic, [&](auto& o) { o.logit_max = bad; })) << bad;
  }
  EXPECT_TRUE(refused(Loss::Logistic, [](auto& o) { o.smoothing = 1.0; }));
  EXPECT_TRUE(refused(Loss::Hinge, [](auto& o) { o.logit_max = 1.0; }));
}

}  // namespace
}  // namespace undertone::models
