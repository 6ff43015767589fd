#pragma once

#include <Eigen/Core>
#include <string_view>
#include <vector>

#include "shared/models/linear_model.hpp"

namespace undertone::models {

/// First and second moments of features.
struct Moments {
  Eigen::VectorXd mean;           // [features]
  Eigen::MatrixXd second_moment;  // [features, features], the mean of x x^T, symmetric
};

/// The mean of phi(x) = (x, x_a^2 for all a, sqrt(2) x_a x_b for all a < b, row by row) as a loss: 1/2 |w - phi(x)|^2,
/// whose minimiser it is; the target is not read. |phi(x)|^2 = |x|^2 + |x|^4. From w = 0 one gradient step of size 1 is
/// the mean itself, so that one release of noised gradients gives both moments.
class MomentsModel {
 public:
  explicit MomentsModel(Eigen::Index features) : features_(features) {}

  [[nodiscard]] Eigen::Index features() const noexcept { return features_; }
  [[nodiscard]] Eigen::Index dimension() const noexcept { return features_ + features_ * (features_ + 1) / 2; }

  /// @param x [features] @param out [dimension], phi(x)
  void embed(const Eigen::Ref<const Eigen::VectorXd>& x, Eigen::Ref<Eigen::VectorXd> out) const;
  /// Its inverse on means of embeddings. @param weights [dimension]
  [[nodiscard]] Moments moments(const Eigen::Ref<const Eigen::VectorXd>& weights) const;

  /// The gradient of record j's loss, not clipped. @param out [dimension]
  void gradient(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
                Eigen::Ref<Eigen::VectorXd> out) const;

  /// loss, capped at its scale: what it is at most for features in [-1, 1] and means of such.
  [[nodiscard]] std::vector<std::string_view> metric_names() const { return {"loss"}; }
  [[nodiscard]] std::vector<double> metric_scales() const;
  [[nodiscard]] static bool has_bins() noexcept { return false; }
  /// Record j's metrics minus 1/2, each in [-1/2, 1/2]. @param out [metrics]
  void centred_metrics(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
                       Eigen::Ref<Eigen::VectorXd> out) const;

 private:
  Eigen::Index features_;
};

}  // namespace undertone::models
