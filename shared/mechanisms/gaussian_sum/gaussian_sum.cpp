#include "shared/mechanisms/gaussian_sum/gaussian_sum.hpp"

#include <cmath>

#include "shared/base/exact_text.hpp"

namespace undertone::mechanisms {
namespace {

constexpr int kLog2StddevMin = 16;
constexpr int kLog2StddevMax = 40;
constexpr double kUnitsEnough = 1024.0;  // of a count, or of what one coordinate may be

/// The lattice once its units are found, unless a sum could leave 62 bits.
Result<GaussianLattice> with_units(double units, int log2_stddev, std::int64_t records, const char* what) {
  if (!(units >= 1.0))
    return Error{ErrorCode::InvalidArgument, fmt::format("a shift this small leaves no whole unit of a {}", what)};
  if (!(static_cast<double>(records) * units + std::ldexp(40.0, log2_stddev) < 0x1p62))
    return Error{ErrorCode::LimitExceeded, fmt::format("a sum of {} records leaves 62 bits", records)};
  GaussianLattice out;
  out.lattice = {static_cast<std::int64_t>(units), 1.0 / units};
  out.log2_stddev = log2_stddev;
  return out;
}

/// mu^2 2^(2m) of an integer distance, in units of 2^-40, rounded up.
releases::ShiftSquaredAmount shift_squared_of(releases::UInt128 distance_squared, int log2_stddev) {
  const int exponent = 40 - 2 * log2_stddev;
  if (exponent >= 0)
    return releases::ShiftSquaredAmount::from_units(distance_squared << static_cast<unsigned>(exponent));
  const auto down = static_cast<unsigned>(-exponent);
  const releases::UInt128 whole = distance_squared >> down;
  return releases::ShiftSquaredAmount::from_units((whole << down) == distance_squared ? whole : whole + 1);
}

}  // namespace

releases::ShiftSquaredAmount GaussianLattice::shift_squared() const {
  // (2 Lambda / 2^m)^2 in units of 2^-40 is (2 Lambda)^2 2^(40 - 2m): an integer, or one shift away from it.
  const releases::UInt128 twice = 2 * static_cast<releases::UInt128>(lattice.clip);
  return shift_squared_of(distance_squared.value_or(twice * twice), log2_stddev);
}

double GaussianLattice::noise_stddev() const { return std::ldexp(lattice.step, log2_stddev); }

Result<GaussianLattice> gaussian_lattice(releases::ClipNorm clip, releases::GaussianShift shift, Eigen::Index dimension,
                                         std::int64_t records, std::int64_t parts) {
  UNDERTONE_CHECK(dimension > 0 && records > 0 && parts > 0);
  const double root = std::sqrt(static_cast<double>(dimension));
  double units = 0.0;
  int log2_stddev = kLog2StddevMin;
  for (; log2_stddev <= kLog2StddevMax; ++log2_stddev) {
    units = std::floor(std::ldexp(shift.value(), log2_stddev - 1) * (1.0 - 0x1p-50));  // 2 Lambda <= mu 2^m
    if (units >= 1024.0 * root * static_cast<double>(parts) || log2_stddev == kLog2StddevMax) break;
  }
  if (!(units >= root * static_cast<double>(parts))) {
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

Result<GaussianLattice> gaussian_counts(std::int64_t distance_squared, releases::GaussianShift shift,
                                        std::int64_t records) {
  UNDERTONE_CHECK(distance_squared >= 1 && distance_squared <= (std::int64_t{1} << 16U) && records > 0);
  const double distance = std::sqrt(static_cast<double>(distance_squared)) * (1.0 + 0x1p-50);
  double units = 0.0;
  int log2_stddev = kLog2StddevMin;
  for (; log2_stddev <= kLog2StddevMax; ++log2_stddev) {
    units = std::floor(std::ldexp(shift.value(), log2_stddev) / distance * (1.0 - 0x1p-50));
    if (units >= kUnitsEnough || log2_stddev == kLog2StddevMax) break;
  }
  Result<GaussianLattice> out = with_units(units, log2_stddev, records, "count");
  if (!out) return out;
  const auto whole = static_cast<releases::UInt128>(out->lattice.clip);
  out->distance_squared = static_cast<releases::UInt128>(distance_squared) * whole * whole;
  return out;
}

Result<GaussianLattice> gaussian_values(double distance, releases::GaussianShift shift, Eigen::Index dimension,
                                        std::int64_t records) {
  UNDERTONE_CHECK(distance > 0.0 && dimension > 0 && records > 0);
  const auto n = static_cast<double>(records);
  const double root = std::sqrt(static_cast<double>(dimension));
  double units = 0.0;
  int log2_stddev = kLog2StddevMin;
  for (; log2_stddev <= kLog2StddevMax; ++log2_stddev) {
    const double allowed = std::ldexp(shift.value(), log2_stddev) * (1.0 - 0x1p-50);
    units = std::floor((allowed - root - 2.0) / distance * (1.0 - 0x1p-50));
    if (log2_stddev == kLog2StddevMax) break;
    // So fine that what all records may be off by when they are rounded, all to one side, is a thousandth of the noise,
    // as long as their sum has room.
    const bool finer = std::ldexp(1.0, log2_stddev) < 1024.0 * n && n * units + std::ldexp(40.0, log2_stddev) < 0x1p60;
    if (units >= kUnitsEnough * root && !finer) break;
  }
  Result<GaussianLattice> out = with_units(units, log2_stddev, records, "number");
  if (!out) return out;
  const auto whole = static_cast<releases::UInt128>(std::ceil((distance * units + root) * (1.0 + 0x1p-50))) + 1;
  out->distance_squared = whole * whole;
  return out;
}

std::string canonical_text(const GaussianLattice& gaussian) {
  const std::string distance = gaussian.distance_squared ? ":" + releases::to_decimal(*gaussian.distance_squared) : "";
  return fmt::format("gaussian:{}:{}:{}{}", gaussian.lattice.clip, exact_text(gaussian.lattice.step),
                     gaussian.log2_stddev, distance);
}

}  // namespace undertone::mechanisms
