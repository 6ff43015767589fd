#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "shared/base/result.hpp"
#include "shared/mechanisms/lattice.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// A lattice and the noise on it, for one Gaussian release of a sum.
struct GaussianLattice {
  Lattice lattice;
  int log2_stddev = 0;  // m: the noise's standard deviation is 2^m lattice units

  /// mu^2 = (2 Lambda / 2^m)^2 of one release under replacement of one record, rounded up.
  /// The changed record leaves the sum with one vector of norm <= Lambda and enters it with another.
  [[nodiscard]] releases::ShiftSquaredAmount shift_squared() const;
  /// Of the noise on the sum, real units.
  [[nodiscard]] double noise_stddev() const;
};

/// The coarsest lattice whose shift is at most `shift` and that represents vectors of `dimension` well: the smallest m
/// in [16, 40] with Lambda >= 2^10 sqrt(dimension), so that truncation loses at most a thousandth of the clip norm.
/// @param records how many vectors are added up
/// @return an error where no m serves (Lambda < sqrt(dimension)), or the sum could leave 62 bits
/// Source: spec privacy-core B.1, solved for Lambda.
[[nodiscard]] Result<GaussianLattice> gaussian_lattice(releases::ClipNorm clip, releases::GaussianShift shift,
                                                       Eigen::Index dimension, std::int64_t records);

}  // namespace undertone::mechanisms
