#include "shared/statistics/cut_means.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/result.hpp"

namespace undertone::statistics {

double cut_bias(const MomentBound& moment, double threshold, Influence influence) {
  UNDERTONE_CHECK(moment.order >= 2.0 && moment.bound > 0.0 && threshold > 0.0);
  if (influence == Influence::Smooth) {
    const double order = std::min(moment.order, kSmoothOrderMax);
    return smooth_bias(order) * moment.bound * std::exp((order - 1.0) * std::log(moment.bound / threshold));
  }
  const double k = moment.order;
  return moment.bound / k * std::exp((k - 1.0) * (std::log((k - 1.0) / k) + std::log(moment.bound / threshold)));
}

double best_threshold(const MomentBound& moment, double noise, Influence influence) {
  UNDERTONE_CHECK(moment.order >= 2.0 && moment.bound > 0.0 && noise > 0.0);
  if (influence == Influence::Smooth) {
    const double order = std::min(moment.order, kSmoothOrderMax);
    return moment.bound *
           std::pow((order - 1.0) * smooth_bias(order) / (noise * largest_influence(influence)), 1.0 / order);
  }
  return moment.bound * (moment.order - 1.0) / moment.order * std::pow(noise, -1.0 / moment.order);
}

}  // namespace undertone::statistics
