#include "shared/statistics/cut_means.hpp"

#include <cmath>

#include "shared/base/result.hpp"

namespace undertone::statistics {

double cut_bias(const MomentBound& moment, double threshold) {
  UNDERTONE_CHECK(moment.order >= 2.0 && moment.bound > 0.0 && threshold > 0.0);
  const double k = moment.order;
  return moment.bound / k * std::exp((k - 1.0) * (std::log((k - 1.0) / k) + std::log(moment.bound / threshold)));
}

double best_threshold(const MomentBound& moment, double noise) {
  UNDERTONE_CHECK(moment.order >= 2.0 && moment.bound > 0.0 && noise > 0.0);
  return moment.bound * (moment.order - 1.0) / moment.order * std::pow(noise, -1.0 / moment.order);
}

}  // namespace undertone::statistics
