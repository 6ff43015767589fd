#include "shared/mechanisms/laplace_sum/laplace_sum.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/bisection.hpp"
#include "shared/base/exact_text.hpp"

namespace undertone::mechanisms {
namespace {

using releases::UInt128;

constexpr unsigned kLaplaceFractionBits = 40;
constexpr unsigned kDenominatorBitsMax = 20;
constexpr UInt128 kNumeratorMax = UInt128{1} << 40U;
constexpr double kLaplaceEpsilonMax = 1024.0;

/// @param sensitivity in lattice units, real: rounded down to a whole one, since integers move by whole ones
Result<LaplaceLattice> on_lattice(const Lattice& lattice, double sensitivity, releases::Epsilon epsilon,
                                  std::int64_t records) {
  if (records < 1 || records > LaplaceSum::kSumMax / lattice.clip) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("sums of {} records of {} lattice units leave 61 bits", records, lattice.clip)};
  }
  if (!(sensitivity <= static_cast<double>(IntegerL1Sensitivity::kMax))) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("an l1 sensitivity of {:.6g} lattice units, at most {} is allowed", sensitivity,
                             IntegerL1Sensitivity::kMax)};
  }
  UNDERTONE_TRY(const IntegerL1Sensitivity moved,
                IntegerL1Sensitivity::create(static_cast<std::int64_t>(std::floor(sensitivity))));
  UNDERTONE_TRY(const LaplaceSum noise, LaplaceSum::create(epsilon, moved));
  return LaplaceLattice{lattice, noise};
}

UInt128 quotient_up(UInt128 numerator, UInt128 denominator) { return (numerator + denominator - 1) / denominator; }

}  // namespace

Result<IntegerL1Sensitivity> IntegerL1Sensitivity::create(std::int64_t value) {
  if (value < 1 || value > kMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("an l1 sensitivity must be in 1 .. {} lattice units, got {}", kMax, value)};
  }
  return IntegerL1Sensitivity(value);
}

Result<LaplaceSum> LaplaceSum::create(releases::Epsilon epsilon, IntegerL1Sensitivity sensitivity) {
  if (!(epsilon.value() <= kLaplaceEpsilonMax)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the epsilon of a Laplace sum must be at most {}, got {}",
                                                         kLaplaceEpsilonMax, epsilon.value())};
  }
  const Result<releases::EpsilonAmount> asked = releases::EpsilonAmount::rounded_down(epsilon.value());
  if (!asked) return asked.error();
  if (asked->units() == 0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the epsilon of a Laplace sum must be at least 2^-40, got {}", epsilon.value())};
  }
  const UInt128 moved = static_cast<UInt128>(sensitivity.value()) << kLaplaceFractionBits;  // below 2^79
  for (unsigned bits = kDenominatorBitsMax + 1; bits-- > 0;) {
    const UInt128 numerator = quotient_up(moved << bits, asked->units());  // the shifted number is below 2^99
    if (numerator > kNumeratorMax) continue;
    const noise::Rational scale{static_cast<std::uint64_t>(numerator), std::uint64_t{1} << bits};
    // sensitivity / scale <= asked, and what is asked is a whole number of units: rounding up does not pass it.
    const auto spent = releases::EpsilonAmount::from_units(quotient_up(moved << bits, numerator));
    return LaplaceSum(sensitivity, scale, spent);
  }
  return Error{ErrorCode::InvalidArgument,
               fmt::format("Laplace noise for sensitivity {} at epsilon {} has a scale above 2^40 lattice units",
                           sensitivity.value(), epsilon.value())};
}

accounting::ApproximateEvent LaplaceSum::event() const {
  // At most 2^50 units: the double is exact.
  return {releases::Epsilon::create(epsilon_.value_rounded_up()).value(), 0.0};
}

double LaplaceSum::scale_value() const noexcept {
  return static_cast<double>(scale_.numerator) / static_cast<double>(scale_.denominator);
}

double LaplaceSum::variance() const {
  // 2 q / (1 - q)^2 = 1 / (2 sinh(1 / (2 b))^2): nothing cancels at large b, nothing overflows at small b but to 0.
  const double half = std::sinh(0.5 / scale_value());
  return 0.5 / half / half;
}

double LaplaceSum::log_tail(std::int64_t magnitude) const {
  UNDERTONE_CHECK(magnitude >= 0);
  const double scale = scale_value();
  return std::log(2.0) - std::log1p(std::exp(-1.0 / scale)) - (static_cast<double>(magnitude) + 1.0) / scale;
}

std::int64_t LaplaceSum::half_width(double alpha) const {
  UNDERTONE_CHECK(alpha > 0.0 && alpha < 1.0);
  // log_tail falls with the magnitude: double, then halve.
  const double wanted = std::log(alpha);
  std::int64_t high = 0;
  while (log_tail(high) > wanted) high = 2 * high + 1;
  const auto serves = [&](std::int64_t magnitude) { return !(log_tail(magnitude) > wanted); };
  return bisect_integers(SearchRange<std::int64_t>{-1, high}, serves).high;
}

Result<LaplaceLattice> laplace_lattice(releases::ClipNorm clip, releases::Epsilon epsilon, Eigen::Index dimension,
                                       std::int64_t records) {
  UNDERTONE_CHECK(dimension >= 1);
  const double root = std::sqrt(static_cast<double>(dimension));
  Lattice lattice;
  lattice.clip = std::int64_t{1} << static_cast<unsigned>(std::ceil(std::log2(root)) + 10.0);
  lattice.step = clip.value() / static_cast<double>(lattice.clip);
  // The factor keeps the rounding of the root on the safe side.
  return on_lattice(lattice, 2.0 * static_cast<double>(lattice.clip) * root * (1.0 + 0x1p-40), epsilon, records);
}

Result<LaplaceLattice> laplace_counts(releases::Epsilon epsilon, Eigen::Index dimension, std::int64_t records) {
  UNDERTONE_CHECK(dimension >= 1);
  return on_lattice({1, 1.0}, static_cast<double>(dimension), epsilon, records);
}

Result<LaplaceLattice> laplace_values(const releases::RangeBound& range, releases::Epsilon epsilon,
                                      Eigen::Index dimension, std::int64_t records) {
  UNDERTONE_CHECK(dimension >= 1);
  constexpr double kMagnitudeMax = 0x1p20;
  const double low = std::ldexp(range.low, -kValueStepLog2);
  const double high = std::ldexp(range.high, -kValueStepLog2);
  const double largest = std::max(std::abs(low), std::abs(high));
  if (!(low < high && largest <= std::ldexp(kMagnitudeMax, -kValueStepLog2) && std::floor(low) == low &&
        std::floor(high) == high)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("a range of values must have ends that are multiples of 2^{}, of magnitude at most {}, got "
                    "[{}, {}]",
                    kValueStepLog2, kMagnitudeMax, range.low, range.high)};
  }
  const Lattice lattice{static_cast<std::int64_t>(largest), std::ldexp(1.0, kValueStepLog2)};
  return on_lattice(lattice, (high - low) * static_cast<double>(dimension), epsilon, records);
}

Result<LaplaceLattice> laplace_cells(std::int64_t distance, releases::Epsilon epsilon, std::int64_t records) {
  return on_lattice({1, 1.0}, static_cast<double>(distance), epsilon, records);
}

Result<LaplaceLattice> laplace_moments(double distance, releases::Epsilon epsilon, Eigen::Index dimension,
                                       std::int64_t records) {
  UNDERTONE_CHECK(dimension >= 1);
  const double units = std::ldexp(1.0, -kValueStepLog2);
  if (!(distance * units <= static_cast<double>(IntegerL1Sensitivity::kMax)))
    return Error{ErrorCode::InvalidArgument, "contributions this far apart in l1 have no discrete Laplace noise"};
  const double moved = std::ceil(distance * units) + static_cast<double>(dimension) + 1.0;
  return on_lattice({static_cast<std::int64_t>(units), 1.0 / units}, moved, epsilon, records);
}

double LaplaceSum::log_overflow(std::int64_t sum_max, std::int64_t wire_max, std::int64_t dimension) const {
  UNDERTONE_CHECK(sum_max >= 0 && sum_max <= wire_max && dimension >= 1);
  return std::log(static_cast<double>(dimension)) + log_tail(wire_max - sum_max);
}

std::string canonical_text(const LaplaceLattice& laplace) {
  const noise::Rational scale = laplace.noise.scale();
  return fmt::format("laplace:{}:{}:{}:{}/{}", laplace.lattice.clip, exact_text(laplace.lattice.step),
                     laplace.noise.sensitivity().value(), scale.numerator, scale.denominator);
}

}  // namespace undertone::mechanisms
