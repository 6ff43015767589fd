#include "shared/data/pca.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/base/random_source.hpp"
#include "shared/data/standardisation.hpp"

namespace undertone::data {
namespace {

/// Records that vary along a few random directions, more along the first, about a point that is not 0.
Eigen::MatrixXd low_rank(Eigen::Index features, Eigen::Index records, Eigen::Index rank, std::uint64_t seed) {
  RandomSource source(seed);
  const auto draw = [&](Eigen::Index rows, Eigen::Index columns) {
    Eigen::MatrixXd out(rows, columns);
    for (Eigen::Index i = 0; i < out.size(); ++i) out.data()[i] = 2.0 * source.unit() - 1.0;
    return out;
  };
  const Eigen::MatrixXd directions = draw(features, rank);
  Eigen::MatrixXd scores = draw(rank, records);
  for (Eigen::Index i = 0; i < rank; ++i) scores.row(i) /= static_cast<double>(i + 1);
  const Eigen::VectorXd origin = draw(features, 1);
  return (directions * scores).colwise() + origin;
}

Eigen::MatrixXd projected(const PrincipalComponents& components, const Eigen::MatrixXd& features) {
  Eigen::MatrixXd scores(components.directions.cols(), features.cols());
  components.project(features, scores);
  return scores;
}

Eigen::MatrixXd reconstructed(const PrincipalComponents& components, const Eigen::MatrixXd& features) {
  Eigen::MatrixXd out(features.rows(), features.cols());
  components.reconstruct(projected(components, features), out);
  return out;
}

// About (10, -4): (3, 1), (1, 3), (-3, -1), (-1, -3). The covariance is 1/4 [20 12; 12 20] = [5 3; 3 5], whose
// eigenvalues are 8 along (1, 1) and 2 along (1, -1).
Eigen::MatrixXd four_points() {
  Eigen::MatrixXd points(2, 4);
  points << 13, 11, 7, 9, -3, -1, -5, -7;
  return points;
}

TEST(PublicPcaTest, FindsTheHandComputedComponents) {
  const PrincipalComponents out = public_pca(four_points(), 2).value();
  const double half = std::sqrt(0.5);
  EXPECT_TRUE(out.origin.isApprox(Eigen::Vector2d(10, -4)));
  EXPECT_TRUE(out.variances.isApprox(Eigen::Vector2d(8, 2)));
  EXPECT_TRUE(out.directions.col(0).isApprox(Eigen::Vector2d(half, half)));
  EXPECT_TRUE(out.directions.col(1).isApprox(Eigen::Vector2d(half, -half)));  // of equal entries the first is positive
  Eigen::MatrixXd scores(2, 4);
  scores << 4, 4, -4, -4, 2, -2, -2, 2;
  EXPECT_TRUE(projected(out, four_points()).isApprox(scores * half));
}

TEST(PublicPcaTest, TheLargestEntryOfEachDirectionIsPositiveWhateverTheRecordsSigns) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const Eigen::MatrixXd features = low_rank(6, 40, 6, seed);
    const PrincipalComponents out = public_pca(features, 4).value();
    const PrincipalComponents mirrored = public_pca(-features, 4).value();
    for (Eigen::Index j = 0; j < 4; ++j) {
      Eigen::Index largest = 0;
      out.directions.col(j).cwiseAbs().maxCoeff(&largest);
      EXPECT_GT(out.directions(largest, j), 0.0);
    }
    EXPECT_TRUE(out.directions.isApprox(mirrored.directions, 1e-10));
  }
}

TEST(PublicPcaTest, ReconstructsRecordsOfLowRankAndLosesTheVarianceItLeavesOut) {
  const Eigen::MatrixXd features = low_rank(8, 1300, 3, 7);  // more records than one block of the covariance
  const PrincipalComponents whole = public_pca(features, 3).value();
  EXPECT_TRUE(reconstructed(whole, features).isApprox(features, 1e-10));
  EXPECT_TRUE((whole.directions.transpose() * whole.directions).isIdentity(1e-12));
  // The mean squared error of the first two is the third one's variance.
  const PrincipalComponents two = public_pca(features, 2).value();
  const double error = (reconstructed(two, features) - features).squaredNorm() / 1300;
  EXPECT_NEAR(error, whole.variances[2], 1e-10);
  EXPECT_GE(whole.variances[0], whole.variances[1]);
  EXPECT_GE(whole.variances[1], whole.variances[2]);
}

TEST(PublicPcaTest, ScoresHaveMeanZeroAndTheVariancesOfTheComponents) {
  const Eigen::MatrixXd features = low_rank(5, 200, 5, 3);
  const PrincipalComponents out = public_pca(features, 5).value();
  const Eigen::MatrixXd scores = projected(out, features);
  EXPECT_LT(scores.rowwise().mean().cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_TRUE((scores * scores.transpose() / 200).isApprox(Eigen::MatrixXd(out.variances.asDiagonal()), 1e-10));
}

TEST(PublicPcaTest, RefusesWhatHasNoComponents) {
  EXPECT_FALSE(public_pca(four_points(), 0));
  EXPECT_FALSE(public_pca(four_points(), -1));
  EXPECT_FALSE(public_pca(four_points(), 3));
  EXPECT_FALSE(public_pca(four_points().leftCols(2), 2));  // two points have one direction
  EXPECT_FALSE(public_pca(Eigen::MatrixXd(2, 0), 1));
  EXPECT_FALSE(public_pca(Eigen::MatrixXd(0, 4), 1));
  EXPECT_EQ(public_pca(Eigen::MatrixXd::Zero(kPcaFeaturesMax + 1, 2), 1).error().code, ErrorCode::LimitExceeded);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Eigen::MatrixXd features = four_points();
    features(1, 2) = bad;
    EXPECT_FALSE(public_pca(features, 1));
  }
}

TEST(NoisedPcaTest, AgreesWithPublicPcaWhereThereIsNoNoise) {
  const Eigen::MatrixXd features = low_rank(6, 100, 6, 5);
  const Eigen::MatrixXd product = features * features.transpose() / 100;
  const Eigen::MatrixXd second_moment = (product + product.transpose()) / 2;
  const Eigen::VectorXd mean = features.rowwise().mean();
  const PrincipalComponents noised = noised_pca(second_moment, mean, 3).value();
  const PrincipalComponents exact = public_pca(features, 3).value();
  EXPECT_TRUE(noised.directions.isApprox(exact.directions, 1e-8));
  EXPECT_TRUE(noised.variances.isApprox(exact.variances, 1e-10));
}

TEST(NoisedPcaTest, AMatrixThatNoiseMadeIndefiniteHasComponentsStill) {
  const Eigen::Matrix2d second_moment = Eigen::Vector2d(4, -1).asDiagonal();
  const PrincipalComponents out = noised_pca(second_moment, Eigen::Vector2d(1, 0), 2).value();
  EXPECT_TRUE(out.variances.isApprox(Eigen::Vector2d(3, -1)));  // 4 - 1^2, and as it is
  EXPECT_TRUE(out.directions.isApprox(Eigen::Matrix2d::Identity()));
}

TEST(NoisedPcaTest, RefusesMomentsThatDoNotFit) {
  const Eigen::Matrix2d identity = Eigen::Matrix2d::Identity();
  const Eigen::Vector2d zero = Eigen::Vector2d::Zero();
  EXPECT_TRUE(noised_pca(identity, zero, 2));
  EXPECT_FALSE(noised_pca(identity, zero, 3));
  EXPECT_FALSE(noised_pca(identity, zero, 0));
  EXPECT_FALSE(noised_pca(identity, Eigen::Vector3d::Zero(), 1));
  EXPECT_FALSE(noised_pca(Eigen::MatrixXd::Zero(2, 3), zero, 1));
  Eigen::Matrix2d uneven = identity;
  uneven(0, 1) = 1e-9;
  EXPECT_FALSE(noised_pca(uneven, zero, 1));
  Eigen::Matrix2d unset = identity;
  unset(1, 1) = std::nan("");
  EXPECT_FALSE(noised_pca(unset, zero, 1));
  EXPECT_FALSE(noised_pca(identity, Eigen::Vector2d(0, std::nan("")), 1));
}

TEST(StandardisationTest, SubtractsTheMeanAndDividesByTheScale) {
  Eigen::MatrixXd features(2, 2);
  features << 5, 1, 10, 40;
  Standardisation::create(Eigen::Vector2d(3, 20), Eigen::Vector2d(2, 10)).value().apply(features);
  Eigen::MatrixXd expected(2, 2);
  expected << 1, -1, -1, 2;
  EXPECT_EQ(features, expected);
}

TEST(StandardisationTest, RefusesScalesThatDivideNothing) {
  const Eigen::Vector2d mean(0, 0);
  for (const double scale : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(Standardisation::create(mean, Eigen::Vector2d(1, scale))) << scale;
  EXPECT_FALSE(Standardisation::create(Eigen::Vector2d(0, std::nan("")), Eigen::Vector2d(1, 1)));
  EXPECT_FALSE(Standardisation::create(mean, Eigen::Vector3d(1, 1, 1)));
}

}  // namespace
}  // namespace undertone::data
