#include "shared/models/moments_model.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/result.hpp"

namespace undertone::models {

void MomentsModel::embed(const Eigen::Ref<const Eigen::VectorXd>& x, Eigen::Ref<Eigen::VectorXd> out) const {
  UNDERTONE_CHECK(x.size() == features_ && out.size() == dimension());
  out.head(features_) = x;
  out.segment(features_, features_) = x.cwiseAbs2();
  Eigen::Index next = 2 * features_;
  for (Eigen::Index a = 0; a + 1 < features_; ++a) {
    const Eigen::Index rest = features_ - a - 1;
    out.segment(next, rest) = std::sqrt(2.0) * x[a] * x.tail(rest);
    next += rest;
  }
}

Moments MomentsModel::moments(const Eigen::Ref<const Eigen::VectorXd>& weights) const {
  UNDERTONE_CHECK(weights.size() == dimension());
  Moments out{weights.head(features_), weights.segment(features_, features_).asDiagonal()};
  Eigen::Index next = 2 * features_;
  for (Eigen::Index a = 0; a + 1 < features_; ++a) {
    for (Eigen::Index b = a + 1; b < features_; ++b) {
      out.second_moment(a, b) = weights[next++] / std::sqrt(2.0);
      out.second_moment(b, a) = out.second_moment(a, b);
    }
  }
  return out;
}

void MomentsModel::gradient(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
                            Eigen::Ref<Eigen::VectorXd> out) const {
  embed(records.features.col(j), out);
  out = weights - out;
}

std::vector<double> MomentsModel::metric_scales() const {
  const auto f = static_cast<double>(features_);
  return {2.0 * (f + f * f)};  // 1/2 (2 |phi|)^2
}

void MomentsModel::centred_metrics(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                                   Eigen::Index j, Eigen::Ref<Eigen::VectorXd> out) const {
  Eigen::VectorXd difference(dimension());
  gradient(weights, records, j, difference);
  const double share = 0.5 * difference.squaredNorm() / metric_scales().front();
  out[0] = (share < 1.0 ? share : 1.0) - 0.5;  // what is no number is the worst
}

}  // namespace undertone::models
