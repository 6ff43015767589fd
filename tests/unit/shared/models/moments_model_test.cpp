#include "shared/models/moments_model.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/base/random_source.hpp"

namespace undertone::models {
namespace {

Records some_records(Eigen::Index features, Eigen::Index count) {
  RandomSource random(5);
  Records out{Eigen::MatrixXd(features, count), Eigen::VectorXd::Zero(count)};
  for (double& entry : out.features.reshaped()) entry = 2.0 * random.unit() - 1.0;
  return out;
}

TEST(MomentsModelTest, AnEmbeddingIsAsLongAsItsRecordSays) {
  for (const Eigen::Index features : {1, 2, 5}) {
    const MomentsModel model(features);
    EXPECT_EQ(model.dimension(), features + features * (features + 1) / 2);
    const Records records = some_records(features, 20);
    Eigen::VectorXd phi(model.dimension());
    for (Eigen::Index j = 0; j < records.count(); ++j) {
      const double square = records.features.col(j).squaredNorm();
      model.embed(records.features.col(j), phi);
      EXPECT_NEAR(phi.squaredNorm(), square + square * square, 1e-12);
    }
  }
}

TEST(MomentsModelTest, AStepOfOneFromZeroIsTheMoments) {
  const MomentsModel model(4);
  const Records records = some_records(4, 50);
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(model.dimension());
  Eigen::VectorXd gradient(model.dimension());
  Eigen::VectorXd mean = weights;
  for (Eigen::Index j = 0; j < records.count(); ++j) {
    model.gradient(weights, records, j, gradient);
    mean += gradient / 50.0;
  }
  weights -= mean;
  const Moments moments = model.moments(weights);
  EXPECT_TRUE(moments.mean.isApprox(records.features.rowwise().mean(), 1e-12));
  EXPECT_TRUE(moments.second_moment.isApprox(records.features * records.features.transpose() / 50.0, 1e-12));
  EXPECT_EQ(moments.second_moment, moments.second_moment.transpose());
}

TEST(MomentsModelTest, TheGradientIsOfHalfTheSquaredDistance) {
  const MomentsModel model(3);
  const Records records = some_records(3, 1);
  const Eigen::VectorXd weights = Eigen::VectorXd::LinSpaced(model.dimension(), -1.0, 1.0);
  Eigen::VectorXd phi(model.dimension());
  Eigen::VectorXd gradient(model.dimension());
  model.embed(records.features.col(0), phi);
  model.gradient(weights, records, 0, gradient);
  constexpr double kStep = 1e-5;
  for (Eigen::Index i = 0; i < weights.size(); ++i) {
    Eigen::VectorXd up = weights;
    Eigen::VectorXd down = weights;
    up[i] += kStep;
    down[i] -= kStep;
    const double slope = 0.5 * ((up - phi).squaredNorm() - (down - phi).squaredNorm()) / (2.0 * kStep);
    EXPECT_NEAR(gradient[i], slope, 1e-9);
  }
}

TEST(MomentsModelTest, MetricsStayInTheirRangeWhateverTheRecord) {
  const MomentsModel model(2);
  Records records = some_records(2, 3);
  records.features(0, 1) = std::numeric_limits<double>::quiet_NaN();
  records.features.col(2).setConstant(1e200);
  const Eigen::VectorXd weights = Eigen::VectorXd::Zero(model.dimension());
  Eigen::VectorXd metrics(1);
  model.centred_metrics(weights, records, 0, metrics);
  const double square = records.features.col(0).squaredNorm();
  EXPECT_NEAR(metrics[0], 0.5 * (square + square * square) / model.metric_scales().front() - 0.5, 1e-12);
  for (const Eigen::Index j : {1, 2}) {
    model.centred_metrics(weights, records, j, metrics);
    EXPECT_EQ(metrics[0], 0.5);
  }
}

}  // namespace
}  // namespace undertone::models
