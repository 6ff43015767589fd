#include "shared/privacy/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace undertone::privacy {
namespace {

constexpr int kLog2StddevMin = 16;
constexpr int kLog2StddevMax = 40;
constexpr int kClipAttempts = 8;

/// Whether trunc(scale * vector) is an integer vector of l2 norm <= clip; decided in 128-bit integers.
bool fits(const Eigen::Ref<const Eigen::VectorXd>& vector, double scale, std::int64_t clip) {
  const auto bound = static_cast<double>(clip);
  UInt128 squared = 0;
  for (Eigen::Index j = 0; j < vector.size(); ++j) {
    const double units = std::trunc(vector[j] * scale);
    if (!(std::abs(units) <= bound)) return false;  // also keeps the conversion defined
    const auto magnitude = static_cast<UInt128>(std::abs(units));
    if (__builtin_add_overflow(squared, magnitude * magnitude, &squared)) return false;
  }
  return squared <= static_cast<UInt128>(clip) * static_cast<UInt128>(clip);
}

}  // namespace

ShiftSquaredAmount GaussianLattice::shift_squared() const {
  // (2 Lambda / 2^m)^2 in units of 2^-40 is Lambda^2 2^(42 - 2m): an integer, or one shift away from it.
  const UInt128 squared = static_cast<UInt128>(lattice.clip) * static_cast<UInt128>(lattice.clip);
  const int exponent = 42 - 2 * log2_stddev;
  if (exponent >= 0) return ShiftSquaredAmount::from_units(squared << static_cast<unsigned>(exponent));
  const auto down = static_cast<unsigned>(-exponent);
  const UInt128 whole = squared >> down;
  return ShiftSquaredAmount::from_units((whole << down) == squared ? whole : whole + 1);
}

double GaussianLattice::noise_stddev() const { return std::ldexp(lattice.step, log2_stddev); }

Result<GaussianLattice> gaussian_lattice(ClipNorm clip, GaussianShift shift, Eigen::Index dimension,
                                         std::int64_t records) {
  UNDERTONE_CHECK(dimension > 0 && records > 0);
  const double root = std::sqrt(static_cast<double>(dimension));
  double units = 0.0;
  int log2_stddev = kLog2StddevMin;
  for (; log2_stddev <= kLog2StddevMax; ++log2_stddev) {
    units = std::floor(std::ldexp(shift.value(), log2_stddev - 1) * (1.0 - 0x1p-50));  // 2 Lambda <= mu 2^m
    if (units >= 1024.0 * root || log2_stddev == kLog2StddevMax) break;
  }
  if (!(units >= root)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a shift of {} per release is too small for dimension {}: every coordinate would truncate "
                             "to zero on the finest lattice",
                             shift.value(), dimension)};
  }
  const double extreme = static_cast<double>(records) * units + std::ldexp(40.0, log2_stddev);
  if (!(extreme < 0x1p62)) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("a sum of {} records at shift {} leaves 62 bits", records, shift.value())};
  }
  GaussianLattice out;
  out.lattice.clip = static_cast<std::int64_t>(units);
  out.lattice.step = clip.value() / units;
  out.log2_stddev = log2_stddev;
  return out;
}

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

}  // namespace undertone::privacy
