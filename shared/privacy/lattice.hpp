#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "shared/base/result.hpp"
#include "shared/privacy/fixed_amount.hpp"
#include "shared/privacy/quantities.hpp"

namespace undertone::privacy {

/// The integers that one release is made of. A record contributes an integer vector of l2 norm at most `clip`; one
/// unit stands for `step` of the real quantity.
struct Lattice {
  std::int64_t clip = 0;  // Lambda, in lattice units, > 0
  double step = 0.0;      // g, real units per lattice unit: metadata, never arithmetic on private data after quantising
};

/// A lattice and the noise on it, for one Gaussian release of a sum.
struct GaussianLattice {
  Lattice lattice;
  int log2_stddev = 0;  // m: the noise's standard deviation is 2^m lattice units

  /// mu^2 = (2 Lambda / 2^m)^2 of one release under replacement of one record, rounded up.
  /// The changed record leaves the sum with one vector of norm <= Lambda and enters it with another.
  [[nodiscard]] ShiftSquaredAmount shift_squared() const;
  /// Of the noise on the sum, real units.
  [[nodiscard]] double noise_stddev() const;
};

/// The coarsest lattice whose shift is at most `shift` and that represents vectors of `dimension` well: the smallest m
/// in [16, 40] with Lambda >= 2^10 sqrt(dimension), so that truncation loses at most a thousandth of the clip norm.
/// @param records how many vectors are added up
/// @return an error where no m serves (Lambda < sqrt(dimension)), or the sum could leave 62 bits
/// Source: spec privacy-core B.1, solved for Lambda.
[[nodiscard]] Result<GaussianLattice> gaussian_lattice(ClipNorm clip, GaussianShift shift, Eigen::Index dimension,
                                                       std::int64_t records);

/// Adds one record's vector to an exact integer sum, clipped so that what is added has integer l2 norm at most
/// `lattice.clip`, verified on the integers themselves. A vector with a NaN or an infinity adds nothing.
/// @param vector [dimension] in real units; used as scratch
/// @param sum [dimension] in lattice units
void add_clipped(Eigen::Ref<Eigen::VectorXd> vector, const Lattice& lattice, std::span<std::int64_t> sum);

}  // namespace undertone::privacy
