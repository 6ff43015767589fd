#include "shared/mechanisms/generalised_gaussian_sum/generalised_gaussian_sum.hpp"

#include <cmath>

#include "shared/accounting/renyi.hpp"
#include "shared/base/exact_text.hpp"
#include "shared/geometry/regular_norm.hpp"

namespace undertone::mechanisms {
namespace {

constexpr int kLog2ClipMax = 40;
constexpr double kScaleEnough = 0x1p16;  // lattice units: rounding to them is nothing beside the noise
constexpr double kSumMax = 0x1p60;       // as much again is left for the noise

/// A computed l_q norm, which a record was clipped by, is too small by a factor of at most 1 + (d + 64) 2^-50: a power
/// of a coordinate relative to the largest is off by (q + 64) 2^-53 of it (q for what the quotient was rounded, the
/// rest the power's own error), d additions by d 2^-53 of the sum, and the q-th root takes a q-th of both.
double norm_error(double dimension) { return 1.0 + (dimension + 64.0) * 0x1p-50; }

}  // namespace

double GeneralisedGaussianLattice::noise_stddev() const {
  // E ||z||_r^2 = d scale^2, of which each coordinate has its share.
  const double square = static_cast<double>(dimension) * geometry::coordinate_share(noise.norm(), dimension);
  return noise.scale() * std::sqrt(square) * lattice.step;
}

Result<GeneralisedGaussianLattice> generalised_gaussian_lattice(const releases::DualBound& bound, double norm,
                                                                releases::Rho rho, Eigen::Index dimension,
                                                                std::int64_t records) {
  UNDERTONE_CHECK(dimension > 0 && records > 0);
  if (!(norm > 2.0 && norm <= bound.exponent())) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("generalised Gaussian noise in l_r for records bounded in {} needs r in (2, q], got {}",
                             releases::norm_name(bound.exponent()), norm)};
  }
  if (static_cast<std::size_t>(dimension) > noise::GeneralisedGaussian::kSizeMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("generalised Gaussian noise is drawn on at most {} numbers, got {}",
                             noise::GeneralisedGaussian::kSizeMax, dimension)};
  }
  UNDERTONE_TRY(const releases::RhoAmount asked, releases::RhoAmount::rounded_down(rho.value()));
  if (asked.units() == 0)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("rho of a release must be at least 2^-40, got {}", rho.value())};
  const auto d = static_cast<double>(dimension);
  const double l2 = bound.l2().value();
  // ||v||_r <= d^(1/r - 1/q) ||v||_q, of q = infinity too; rounding towards zero makes no norm larger.
  const double growth = std::pow(d, 1.0 / norm - 1.0 / bound.exponent()) * norm_error(d) * (1.0 + 0x1p-40);
  const double per_root = std::sqrt((norm - 1.0) / (2.0 * asked.value_rounded_down())) * (1.0 + 0x1p-45);
  Lattice lattice;
  double sensitivity = 0.0;
  double scale = 0.0;
  for (int log2 = static_cast<int>(std::ceil(0.5 * std::log2(d))) + 10; log2 <= kLog2ClipMax; ++log2) {
    lattice.clip = std::int64_t{1} << static_cast<unsigned>(log2);
    lattice.step = l2 / static_cast<double>(lattice.clip);
    sensitivity = 2.0 * (bound.clip().value() / lattice.step) * growth;
    scale = sensitivity * per_root;
    if (scale >= kScaleEnough) break;
  }
  if (!(static_cast<double>(records) * static_cast<double>(lattice.clip) < kSumMax)) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("sums of {} records of {} lattice units leave 60 bits", records, lattice.clip)};
  }
  UNDERTONE_TRY(const noise::GeneralisedGaussian noise, noise::GeneralisedGaussian::create(norm, scale));
  UNDERTONE_TRY(const releases::Rho spent, accounting::generalised_gaussian_rho(norm, scale, sensitivity));
  UNDERTONE_TRY(const releases::RhoAmount cost, releases::RhoAmount::rounded_up(spent.value()));
  UNDERTONE_CHECK(cost <= asked);
  return GeneralisedGaussianLattice{lattice, noise, sensitivity, dimension, cost};
}

std::string canonical_text(const GeneralisedGaussianLattice& noise) {
  return fmt::format("generalised:{}:{}:{}:{}:{}", noise.lattice.clip, exact_text(noise.lattice.step),
                     exact_text(noise.noise.norm()), exact_text(noise.noise.scale()), noise.cost.to_string());
}

}  // namespace undertone::mechanisms
