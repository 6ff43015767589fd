#pragma once

#include <Eigen/Core>

#include "shared/base/result.hpp"

namespace undertone::data {

/// Maps each feature x to (x - mean) / scale by PUBLIC statistics: of public data, or what everybody knows of such
/// features. Means and scales computed from private records are a release of those records; nothing here computes any.
class Standardisation {
 public:
  /// @param mean [d], finite, in the features' units @param scale [d], finite, > 0, same units
  [[nodiscard]] static Result<Standardisation> create(const Eigen::VectorXd& mean, const Eigen::VectorXd& scale);

  /// @param features [d, n], changed in place
  void apply(Eigen::Ref<Eigen::MatrixXd> features) const;

 private:
  Standardisation(const Eigen::VectorXd& mean, const Eigen::VectorXd& scale) : mean_(mean), scale_(scale) {}
  Eigen::VectorXd mean_;
  Eigen::VectorXd scale_;
};

}  // namespace undertone::data
