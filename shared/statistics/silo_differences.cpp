#include "shared/statistics/silo_differences.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace undertone::statistics {
namespace {

constexpr std::size_t kSilosMin = 5;

}  // namespace

Result<RandomEffects> random_effects(std::span<const SiloEstimate> silos, Confidence confidence) {
  if (silos.size() < kSilosMin) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("silos as a sample of silos: expected {} or more, got {}", kSilosMin, silos.size())};
  }
  double weights = 0.0;
  double squares = 0.0;
  double mean = 0.0;
  for (const SiloEstimate& silo : silos) {
    if (!std::isfinite(silo.value) || !(std::isfinite(silo.variance) && silo.variance > 0.0)) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("silos as a sample of silos: expected finite estimates with variances > 0, got {} with {}",
                      silo.value, silo.variance)};
    }
    const double weight = 1.0 / silo.variance;
    weights += weight;
    squares += weight * weight;
    mean += weight * silo.value;
  }
  mean /= weights;
  const auto freedom = static_cast<double>(silos.size() - 1);
  RandomEffects out;
  for (const SiloEstimate& silo : silos) out.heterogeneity += (silo.value - mean) * (silo.value - mean) / silo.variance;
  out.between_variance = std::max(0.0, (out.heterogeneity - freedom) / (weights - squares / weights));
  const boost::math::chi_squared equal(freedom);
  out.equality_p_value = boost::math::cdf(boost::math::complement(equal, out.heterogeneity));
  double whole = 0.0;
  for (const SiloEstimate& silo : silos) {
    const double weight = 1.0 / (silo.variance + out.between_variance);
    whole += weight;
    out.mean += weight * silo.value;
  }
  out.mean /= whole;
  double spread = 0.0;
  for (const SiloEstimate& silo : silos)
    spread += (silo.value - out.mean) * (silo.value - out.mean) / (silo.variance + out.between_variance);
  const boost::math::students_t law(freedom);
  const double half = boost::math::quantile(boost::math::complement(law, 0.5 * confidence.alpha())) *
                      std::sqrt(std::max(1.0, spread / freedom) / whole);
  out.interval = {out.mean - half, out.mean + half};
  return out;
}

}  // namespace undertone::statistics
