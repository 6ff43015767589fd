#include "shared/statistics/standardising.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::statistics {

Result<PaidStandardisation> standardisation_from_moments(const Eigen::VectorXd& first, const Eigen::VectorXd& second,
                                                         double mean_noise_stddev) {
  if (first.size() < 1 || first.size() != second.size() || !first.allFinite() || !second.allFinite() ||
      !(std::isfinite(mean_noise_stddev) && mean_noise_stddev > 0.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a standardisation: expected as many finite means as mean squares, one or more, with a "
                             "noise stddev > 0, got {} and {} with {}",
                             first.size(), second.size(), mean_noise_stddev)};
  }
  const double least = std::min(1.0 / 3.0, std::max(0.02, 2.4 * mean_noise_stddev));
  PaidStandardisation out;
  out.mean = first.cwiseMax(-1.0).cwiseMin(1.0);
  out.scale =
      (second - first.cwiseAbs2()).array() + mean_noise_stddev * mean_noise_stddev;  // less the noise's own square
  out.scale = out.scale.cwiseMax(least).cwiseMin(1.0).cwiseSqrt();
  out.clip_radius = 1.3 * std::sqrt(static_cast<double>(first.size() + 1));
  return out;
}

Result<StandardisationShare> standardisation_share(Eigen::Index features, double bound_ratio, double shift,
                                                   std::int64_t records) {
  if (features < 1 || records < 1 || !(std::isfinite(bound_ratio) && bound_ratio > 0.0) ||
      !(std::isfinite(shift) && shift > 0.0)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("a standardisation's share: expected features, records, a bound ratio and a shift > 0, got "
                    "{}, {}, {} and {}",
                    features, records, bound_ratio, shift)};
  }
  StandardisationShare out;
  out.noise_ratio =
      2.0 * std::sqrt(static_cast<double>(features)) * bound_ratio / (shift * static_cast<double>(records));
  const bool pays = out.noise_ratio <= std::min(1.0, bound_ratio / 10.0);
  out.share = pays ? std::clamp(20.0 * out.noise_ratio * out.noise_ratio, 0.02, 0.2) : 0.0;
  return out;
}

}  // namespace undertone::statistics
