#include "shared/theorems/mean_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace undertone::theorems {
namespace {

/// The variance of a median of Gaussian means is at most so many times that of their mean.
constexpr double kMedianGrowth = std::numbers::pi / 2.0;

}  // namespace

MeanOracle MeanOracle::with(const MomentBound& moment) const {
  MeanOracle out = *this;
  out.moment_ = moment;
  return out;
}

MomentBound MeanOracle::of_norms() const {
  return coordinates_ ? MomentBound{moment_.order, std::sqrt(dimension_) * moment_.bound} : moment_;
}

double MeanOracle::bias(double threshold) const {
  if (!coordinates_) return bias_of_clip(moment_, threshold);
  const double root = std::sqrt(dimension_);
  if (coordinates_->influence == releases::Influence::Clip) return root * bias_of_clip(moment_, threshold);
  const double order = std::min(moment_.order, statistics::kSmoothOrderMax);
  return root * statistics::smooth_bias(order) * moment_.bound * std::pow(moment_.bound / threshold, order - 1.0);
}

double MeanOracle::reach(double threshold) const {
  if (!coordinates_) return threshold;
  return releases::largest_influence(coordinates_->influence) * std::sqrt(dimension_) * threshold;
}

double MeanOracle::noise_growth() const {
  if (!coordinates_ || coordinates_->groups == 1) return 1.0;
  return kMedianGrowth * static_cast<double>(coordinates_->groups);
}

double MeanOracle::draw_growth() const { return !coordinates_ || coordinates_->groups == 1 ? 1.0 : kMedianGrowth; }

double MeanOracle::balanced_threshold(double signal) const {
  // bias(t) = b t^-(q - 1), and the noise's variance is v t^2: least where (q - 1) b^2 = v t^(2 q).
  const bool smooth = coordinates_ && coordinates_->influence == releases::Influence::Smooth;
  const double order = smooth ? std::min(moment_.order, statistics::kSmoothOrderMax) : moment_.order;
  const double unit = 2.0 * reach(1.0) / signal;
  const double variance = dimension_ * unit * unit * noise_growth();
  // In units of the moment's bound, so that no power overflows.
  const double scaled = with({moment_.order, 1.0}).bias(1.0);
  return moment_.bound * std::pow((order - 1.0) * scaled * scaled / variance, 0.5 / order);
}

}  // namespace undertone::theorems
