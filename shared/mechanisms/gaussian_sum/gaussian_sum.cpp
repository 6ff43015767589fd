#include "shared/mechanisms/gaussian_sum/gaussian_sum.hpp"

#include <cmath>

namespace undertone::mechanisms {
namespace {

constexpr int kLog2StddevMin = 16;
constexpr int kLog2StddevMax = 40;

}  // namespace

releases::ShiftSquaredAmount GaussianLattice::shift_squared() const {
  // (2 Lambda / 2^m)^2 in units of 2^-40 is Lambda^2 2^(42 - 2m): an integer, or one shift away from it.
  const releases::UInt128 squared =
      static_cast<releases::UInt128>(lattice.clip) * static_cast<releases::UInt128>(lattice.clip);
  const int exponent = 42 - 2 * log2_stddev;
  if (exponent >= 0) return releases::ShiftSquaredAmount::from_units(squared << static_cast<unsigned>(exponent));
  const auto down = static_cast<unsigned>(-exponent);
  const releases::UInt128 whole = squared >> down;
  return releases::ShiftSquaredAmount::from_units((whole << down) == squared ? whole : whole + 1);
}

double GaussianLattice::noise_stddev() const { return std::ldexp(lattice.step, log2_stddev); }

Result<GaussianLattice> gaussian_lattice(releases::ClipNorm clip, releases::GaussianShift shift, Eigen::Index dimension,
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

}  // namespace undertone::mechanisms
