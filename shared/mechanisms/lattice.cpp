#include "shared/mechanisms/lattice.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/result.hpp"
#include "shared/releases/fixed_amount.hpp"

namespace undertone::mechanisms {
namespace {

constexpr int kClipAttempts = 8;

/// Whether trunc(scale * vector) is an integer vector of l2 norm <= clip; decided in 128-bit integers.
bool fits(const Eigen::Ref<const Eigen::VectorXd>& vector, double scale, std::int64_t clip) {
  const auto bound = static_cast<double>(clip);
  releases::UInt128 squared = 0;
  for (Eigen::Index j = 0; j < vector.size(); ++j) {
    const double units = std::trunc(vector[j] * scale);
    if (!(std::abs(units) <= bound)) return false;  // also keeps the conversion defined
    const auto magnitude = static_cast<releases::UInt128>(std::abs(units));
    if (__builtin_add_overflow(squared, magnitude * magnitude, &squared)) return false;
  }
  return squared <= static_cast<releases::UInt128>(clip) * static_cast<releases::UInt128>(clip);
}

}  // namespace

void add_clipped(Eigen::Ref<Eigen::VectorXd> vector, const Lattice& lattice, std::span<std::int64_t> sum) {
  UNDERTONE_CHECK(static_cast<std::size_t>(vector.size()) == sum.size());
  if (!vector.allFinite()) return;
  const double largest = vector.cwiseAbs().maxCoeff();
  if (!(largest > 0.0)) return;
  vector /= largest;  // no square overflows or underflows: an infinite norm would switch the clip off
  const double norm_units = vector.norm() * (largest / lattice.step);
  const double clip_units = static_cast<double>(lattice.clip) * (1.0 - 0x1p-20);
  double scale = norm_units <= clip_units ? largest / lattice.step : clip_units / vector.norm();
  for (int attempt = 0; attempt < kClipAttempts; ++attempt, scale *= 1.0 - 0x1p-10) {
    if (!fits(vector, scale, lattice.clip)) continue;
    for (Eigen::Index j = 0; j < vector.size(); ++j) {
      sum[static_cast<std::size_t>(j)] += static_cast<std::int64_t>(std::trunc(vector[j] * scale));
    }
    return;
  }
}

}  // namespace undertone::mechanisms
