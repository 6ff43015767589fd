#include "shared/models/public_gradients.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/base/random_source.hpp"

namespace undertone::models {
namespace {

constexpr Eigen::Index kOpen = 30;

Network softmax() { return Network::create({{1, 1, 4}, {}, 3}).value(); }

Records open_images(std::uint64_t seed) {
  RandomSource random(seed);
  Records out{Eigen::MatrixXd(4, kOpen), Eigen::VectorXd(kOpen)};
  for (double& number : out.features.reshaped()) number = 2.0 * random.unit() - 1.0;
  for (double& target : out.targets) target = static_cast<double>(random.below(3));
  return out;
}

Eigen::VectorXd point_of(std::uint64_t seed, Eigen::Index dimension) {
  RandomSource random(seed);
  Eigen::VectorXd out(dimension);
  for (double& number : out) number = random.unit() - 0.5;
  return out;
}

/// One record's gradient, by a source of that record alone.
Eigen::VectorXd of_one(const Records& records, Eigen::Index j, const Eigen::VectorXd& at) {
  Records one{records.features.col(j), records.targets.segment(j, 1)};
  return PublicNetworkGradients::create(softmax(), one)->mean_gradient(at, PublicGradients::Raw, 1.0);
}

TEST(PublicNetworkGradientsTest, TheMeanIsTheSlopeOfTheMeanLoss) {
  const Records records = open_images(1);
  const auto source = PublicNetworkGradients::create(softmax(), records).value();
  LayeredModel model(softmax());
  const Eigen::VectorXd at = point_of(2, source.dimension());
  const Eigen::VectorXd gradient = source.mean_gradient(at, PublicGradients::Raw, 1.0);
  for (Eigen::Index k = 0; k < at.size(); ++k) {
    constexpr double kStep = 1e-5;
    Eigen::VectorXd up = at;
    Eigen::VectorXd down = at;
    up[k] += kStep;
    down[k] -= kStep;
    const double slope = (model.evaluate(up, records).loss - model.evaluate(down, records).loss) / (2.0 * kStep);
    EXPECT_NEAR(gradient[k], slope, 1e-6);
  }
}

TEST(PublicNetworkGradientsTest, EachGradientIsClippedOrMadeAsLongByItself) {
  const Records records = open_images(3);
  const auto source = PublicNetworkGradients::create(softmax(), records).value();
  const Eigen::VectorXd at = point_of(4, source.dimension());
  constexpr double kLength = 1.1;
  Eigen::VectorXd clipped = Eigen::VectorXd::Zero(at.size());
  Eigen::VectorXd rescaled = Eigen::VectorXd::Zero(at.size());
  int cut = 0;
  for (Eigen::Index j = 0; j < kOpen; ++j) {
    const Eigen::VectorXd own = of_one(records, j, at);
    cut += own.norm() > kLength ? 1 : 0;
    clipped += own * std::min(1.0, kLength / own.norm()) / kOpen;
    rescaled += own * (kLength / own.norm()) / kOpen;
  }
  ASSERT_GT(cut, 0);
  ASSERT_LT(cut, kOpen);
  EXPECT_TRUE(source.mean_gradient(at, PublicGradients::Clipped, kLength).isApprox(clipped, 1e-6));
  EXPECT_TRUE(source.mean_gradient(at, PublicGradients::Rescaled, kLength).isApprox(rescaled, 1e-6));
}

TEST(PublicNetworkGradientsTest, DifferencesAreOfTheTwoGradients) {
  const Records records = open_images(5);
  const auto source = PublicNetworkGradients::create(softmax(), records).value();
  const Eigen::VectorXd at = point_of(6, source.dimension());
  const Eigen::VectorXd from = point_of(7, source.dimension());
  const Eigen::VectorXd expected =
      source.mean_gradient(at, PublicGradients::Raw, 1.0) - source.mean_gradient(from, PublicGradients::Raw, 1.0);
  EXPECT_TRUE(source.mean_difference(at, from, PublicGradients::Raw, 1.0).isApprox(expected, 1e-9));
  EXPECT_LE(source.mean_difference(at, from, PublicGradients::Clipped, 0.01).norm(), 0.01 * (1.0 + 1e-9));
}

TEST(PublicNetworkGradientsTest, RefusesRecordsThatAreNoneOfTheModels) {
  const auto said = [](auto change) {
    Records records = open_images(8);
    change(records);
    const auto made = PublicNetworkGradients::create(softmax(), std::move(records));
    return made ? std::string("accepted") : made.error().message;
  };
  EXPECT_EQ(said([](Records& /*as they are*/) {}), "accepted");
  EXPECT_NE(said([](Records& of) {
              of = {Eigen::MatrixXd(4, 0), Eigen::VectorXd(0)};
            }).find("at least one"),
            std::string::npos);
  EXPECT_NE(said([](Records& of) { of.features.conservativeResize(3, Eigen::NoChange); }).find("4 features"),
            std::string::npos);
  EXPECT_NE(said([](Records& of) { of.features(0, 0) = std::numeric_limits<double>::infinity(); }).find("not finite"),
            std::string::npos);
  for (const double target : {3.0, -1.0, 0.5, std::nan("")})
    EXPECT_NE(said([&](Records& of) { of.targets[0] = target; }).find("no class"), std::string::npos) << target;
  // Work is bounded before anything is computed: 2^32 products of records and weights.
  const Network wide = Network::create({{1, 1, 65'536}, {}, 1000}).value();
  ASSERT_EQ(PublicNetworkGradients::records_max(wide), 65);
  const auto refused =
      PublicNetworkGradients::create(wide, {Eigen::MatrixXd::Zero(65'536, 66), Eigen::VectorXd::Zero(66)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
}

}  // namespace
}  // namespace undertone::models
