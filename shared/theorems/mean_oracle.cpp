#include "shared/theorems/mean_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace undertone::theorems {
namespace {

/// The variance of a median of Gaussian means is at most so many times that of their mean.
constexpr double kMedianGrowth = std::numbers::pi / 2.0;

/// A smooth influence is u - u^3/6 near 0, so that no moment beyond the third makes its bias smaller.
constexpr double kSmoothOrderMax = 3.0;

/// This bounds sup_u E |V - phi(V)| / |u|^k with V = u (1 + Z): phi differs from V by c |V|^k at most, where c is the
/// larger of 2^((3 - k)/2) / 6, for |V| <= sqrt 2, and of (k - 1)^(k - 1) / (k^k U^(k - 1)), for what is cut at U = 2
/// sqrt 2 / 3. E |1 + Z|^k is at most 2^(3 - k) 4.1826^(k - 2), since its logarithm is convex in k.
/// @param order from 2 to 3
double smooth_bias(double order) {
  constexpr double largest = 2.0 * std::numbers::sqrt2 / 3.0;
  const double near = std::pow(2.0, (3.0 - order) / 2.0) / 6.0;
  const double far = std::pow(order - 1.0, order - 1.0) / (std::pow(order, order) * std::pow(largest, order - 1.0));
  constexpr double kThird = 4.18260;  // E |1 + Z|^3, rounded up
  return std::max(near, far) * std::pow(2.0, kSmoothOrderMax - order) * std::pow(kThird, order - 2.0);
}

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
  const double order = std::min(moment_.order, kSmoothOrderMax);
  return root * smooth_bias(order) * moment_.bound * std::pow(moment_.bound / threshold, order - 1.0);
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
  const double order = smooth ? std::min(moment_.order, kSmoothOrderMax) : moment_.order;
  const double unit = 2.0 * reach(1.0) / signal;
  const double variance = dimension_ * unit * unit * noise_growth();
  // In units of the moment's bound, so that no power overflows.
  const double scaled = with({moment_.order, 1.0}).bias(1.0);
  return moment_.bound * std::pow((order - 1.0) * scaled * scaled / variance, 0.5 / order);
}

}  // namespace undertone::theorems
