#include "shared/models/public_loss.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone::models {
namespace {

double normal(RandomSource& random) {
  return std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(6.283185307179586 * random.unit());
}

/// y = <truth, x> + noise, or the sign of a logistic draw.
Records made(std::uint64_t seed, Eigen::Index features, Eigen::Index count, bool classes, double noise) {
  RandomSource random(seed);
  Records out{Eigen::MatrixXd(features, count), Eigen::VectorXd(count)};
  for (Eigen::Index j = 0; j < count; ++j) {
    double score = 0.3;
    for (Eigen::Index f = 0; f < features; ++f) {
      out.features(f, j) = normal(random);
      score += (f % 2 == 0 ? 0.7 : -0.4) * out.features(f, j);
    }
    out.targets[j] =
        classes ? (random.chance(1.0 / (1.0 + std::exp(-score))) ? 1.0 : -1.0) : score + noise * normal(random);
  }
  return out;
}

PublicLoss loss_of(Loss loss, bool intercept, const Records& records) {
  return PublicLoss::create(LinearModel(loss, records.features.rows(), intercept), records).value();
}

TEST(PublicLossTest, MeanGradientIsThatOfTheValue) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const bool classes = seed % 2 == 0;
    const PublicLoss loss =
        loss_of(classes ? Loss::Logistic : Loss::LeastSquares, seed % 3 == 0, made(seed, 3, 17, classes, 0.5));
    RandomSource random(seed + 100);
    Eigen::VectorXd at(loss.dimension());
    for (double& number : at) number = 2.0 * random.unit() - 1.0;
    const Eigen::VectorXd gradient = loss.mean_gradient(at, PublicGradients::Raw, 1.0);
    for (Eigen::Index j = 0; j < at.size(); ++j) {
      Eigen::VectorXd up = at;
      Eigen::VectorXd down = at;
      up[j] += 1e-5;
      down[j] -= 1e-5;
      EXPECT_NEAR(gradient[j], (loss.value(up) - loss.value(down)) / 2e-5, 1e-8);
    }
  }
}

TEST(PublicLossTest, GradientsAreAsLongAsTheyAreToBe) {
  // One record of gradient (z - y) (x, 1) at 0: -2 (3, 4), of norm 10.
  Records one{Eigen::MatrixXd(2, 1), Eigen::VectorXd(1)};
  one.features << 3.0, 4.0;
  one.targets << 2.0;
  const PublicLoss loss = loss_of(Loss::LeastSquares, false, one);
  const Eigen::VectorXd at = Eigen::VectorXd::Zero(2);
  EXPECT_NEAR(loss.mean_gradient(at, PublicGradients::Raw, 1.0).norm(), 10.0, 1e-12);
  EXPECT_NEAR(loss.mean_gradient(at, PublicGradients::Clipped, 4.0).norm(), 4.0, 1e-12);
  EXPECT_NEAR(loss.mean_gradient(at, PublicGradients::Clipped, 40.0).norm(), 10.0, 1e-12);
  EXPECT_NEAR(loss.mean_gradient(at, PublicGradients::Rescaled, 40.0).norm(), 40.0, 1e-12);
  // A gradient of 0 stays 0, and a difference that vanishes, too.
  one.targets << 0.0;
  const PublicLoss flat = loss_of(Loss::LeastSquares, false, one);
  EXPECT_EQ(flat.mean_gradient(at, PublicGradients::Rescaled, 40.0), Eigen::VectorXd::Zero(2));
  EXPECT_EQ(flat.mean_difference(at, at, PublicGradients::Rescaled, 40.0), Eigen::VectorXd::Zero(2));
}

TEST(PublicLossTest, ADifferenceIsOfRecordsAndNotOfMeans) {
  const Records records = made(7, 2, 40, false, 0.2);
  const PublicLoss loss = loss_of(Loss::LeastSquares, true, records);
  const Eigen::Vector3d at(0.4, -0.2, 0.1);
  const Eigen::Vector3d from(0.1, 0.3, 0.0);
  const Eigen::VectorXd raw = loss.mean_difference(at, from, PublicGradients::Raw, 1.0);
  EXPECT_TRUE(raw.isApprox(
      loss.mean_gradient(at, PublicGradients::Raw, 1.0) - loss.mean_gradient(from, PublicGradients::Raw, 1.0), 1e-12));
  EXPECT_LT(loss.mean_difference(at, from, PublicGradients::Clipped, 1e-3).norm(), 1e-3 + 1e-12);
}

TEST(PublicLossTest, TheMinimiserHasNoGradient) {
  for (const double ridge : {0.0, 0.1}) {
    for (const bool classes : {false, true}) {
      SCOPED_TRACE(fmt::format("ridge {} classes {}", ridge, classes));
      const PublicLoss loss =
          loss_of(classes ? Loss::Logistic : Loss::LeastSquares, true, made(3, 5, 200, classes, 0.5));
      const Eigen::VectorXd least = loss.minimiser(ridge).value().weights;
      Eigen::VectorXd gradient = loss.mean_gradient(least, PublicGradients::Raw, 1.0);
      gradient.head(5) += ridge * least.head(5);
      EXPECT_LT(gradient.norm(), 1e-7);
    }
  }
}

// This is the dearest file that is read: all numbers that one may have, and a least-squares problem that is too large
// to be solved exactly and too badly conditioned for a descent to end by itself.
TEST(PublicLossTest, ADescentOverTheDearestFileIsBounded) {
  constexpr Eigen::Index kFeatures = 1024;
  constexpr Eigen::Index kCount = PublicLoss::kNumbersMax / kFeatures;
  constexpr auto kPass = static_cast<std::uint64_t>(PublicLoss::kNumbersMax);
  RandomSource random(5);
  Records records{Eigen::MatrixXd(kFeatures, kCount), Eigen::VectorXd(kCount)};
  for (double& number : records.features.reshaped()) number = random.unit() - 0.5;
  for (Eigen::Index f = 0; f < kFeatures; ++f) records.features.row(f) /= std::pow(1.0 + static_cast<double>(f), 2);
  for (double& number : records.targets) number = random.unit() - 0.5;
  const PublicLoss loss = loss_of(Loss::LeastSquares, false, records);
  const WorkMeter meter(UINT64_MAX);
  const Result<Minimiser> found = loss.minimiser(0.0);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->weights.allFinite());
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31U;
  EXPECT_GT(meter.done(), kMost / 2);           // the bound ends it, and nothing else
  EXPECT_LE(meter.done(), kMost + 64 * kPass);  // a step that has begun is tried sixty times at most
}

TEST(PublicLossTest, RefusesWhatSettlesNoWeights) {
  const PublicLoss few = loss_of(Loss::LeastSquares, false, made(1, 5, 4, false, 0.5));
  const auto none = few.minimiser(0.0);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("4 public records do not settle 5 weights"), std::string::npos);
  EXPECT_TRUE(few.minimiser(0.1));
  EXPECT_FALSE(few.minimiser(-1.0));
  EXPECT_FALSE(few.minimiser(std::numeric_limits<double>::quiet_NaN()));
}

TEST(PublicLossTest, RefusesOtherRecords) {
  const LinearModel model(Loss::LeastSquares, 2, false);
  Records records{Eigen::MatrixXd::Ones(2, 3), Eigen::VectorXd::Ones(3)};
  EXPECT_TRUE(PublicLoss::create(model, records));
  EXPECT_FALSE(PublicLoss::create(model, Records{Eigen::MatrixXd(2, 0), Eigen::VectorXd(0)}));
  EXPECT_FALSE(PublicLoss::create(model, Records{Eigen::MatrixXd::Ones(3, 3), Eigen::VectorXd::Ones(3)}));
  EXPECT_FALSE(PublicLoss::create(LinearModel(Loss::Hinge, 2, false), records));
  records.targets[1] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(PublicLoss::create(model, records));
}

// Records of the law have gradients (w - truth)^T x x + noise x at w; at the truth V^2 = noise^2 d exactly. 24 fitted
// weights of 48 records: at their own minimiser the residuals have lost half of their variance, so that the plug-in
// estimate is off by 2, where the other half's is at least the truth: E = noise^2 d (1 + d / (n - d - 1)) there.
TEST(PublicLossTest, VarianceIsOfRecordsThatWereNotFitted) {
  constexpr Eigen::Index kFeatures = 12;
  constexpr double kNoise = 0.5;
  const double truth = kNoise * kNoise * kFeatures;
  double crossed = 0.0;
  double fitted = 0.0;
  constexpr int kSeeds = 40;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Records records = made(static_cast<std::uint64_t>(seed), kFeatures, 48, false, kNoise);
    records.targets.array() -= 0.3;
    const PublicLoss loss = loss_of(Loss::LeastSquares, false, records);
    crossed += loss.cross_fitted_variance(PublicGradients::Raw, 1.0, 1e-9).value() / kSeeds;
    const Eigen::VectorXd own = loss.minimiser(0.0).value().weights;
    const Eigen::VectorXd residuals = records.targets - records.features.transpose() * own;
    fitted +=
        (residuals.array().square() * records.features.colwise().squaredNorm().transpose().array()).mean() / kSeeds;
  }
  EXPECT_LT(fitted, 0.85 * truth);
  EXPECT_GT(crossed, truth);
  EXPECT_LT(crossed, 2.0 * truth);
}

// Files are often sorted by their label: a half of one class says nothing of the other.
TEST(PublicLossTest, VarianceDoesNotDependOnHowAFileIsSorted) {
  double drawn = 0.0;
  double sorted = 0.0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Records records = made(seed, 4, 60, true, 0.0);
    std::vector<Eigen::Index> order(60);
    std::iota(order.begin(), order.end(), Eigen::Index{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](Eigen::Index a, Eigen::Index b) { return records.targets[a] < records.targets[b]; });
    const Records by_label{records.features(Eigen::all, order), records.targets(order)};
    drawn += loss_of(Loss::Logistic, true, records).cross_fitted_variance(PublicGradients::Raw, 1.0, 1e-3).value();
    sorted += loss_of(Loss::Logistic, true, by_label).cross_fitted_variance(PublicGradients::Raw, 1.0, 1e-3).value();
  }
  EXPECT_NEAR(sorted / drawn, 1.0, 0.1);
}

TEST(PublicLossTest, AGradientThatIsNotFiniteCountsAsNone) {
  Records records{Eigen::MatrixXd::Constant(1, 2, 1.0), Eigen::VectorXd::Zero(2)};
  records.features(0, 1) = 1e200;
  const PublicLoss loss = loss_of(Loss::LeastSquares, false, records);
  const Eigen::VectorXd at = Eigen::VectorXd::Constant(1, 1e150);
  EXPECT_TRUE(loss.mean_gradient(at, PublicGradients::Raw, 1.0).allFinite());
  EXPECT_TRUE(loss.mean_gradient(at, PublicGradients::Clipped, 1.0).allFinite());
}

}  // namespace
}  // namespace undertone::models
