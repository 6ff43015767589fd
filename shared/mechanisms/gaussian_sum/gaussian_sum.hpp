#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string>

#include "shared/base/result.hpp"
#include "shared/mechanisms/lattice.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// A lattice and the noise on it, for one Gaussian release of a sum.
struct GaussianLattice {
  Lattice lattice;
  int log2_stddev = 0;  // m: the noise's standard deviation is 2^m lattice units
  /// Of two records' integer vectors, the square of the largest l2 distance, where that is a fact about them: below
  /// 2^87.
  std::optional<releases::UInt128> distance_squared = {};

  /// mu^2 = (2 Lambda / 2^m)^2 of one release under replacement of one record, rounded up; or what the vectors'
  /// distance makes of it. The changed record leaves the sum with one vector of norm <= Lambda and enters it with
  /// another.
  [[nodiscard]] releases::ShiftSquaredAmount shift_squared() const;
  /// Of the noise on the sum, real units.
  [[nodiscard]] double noise_stddev() const;
};

/// The coarsest lattice whose shift is at most `shift` and that represents vectors of `dimension` well: the smallest m
/// in [16, 40] with Lambda >= 2^10 sqrt(dimension), so that truncation loses at most a thousandth of the clip norm.
/// @param records how many vectors are added up @param parts into how many each is divided, which are truncated by
/// themselves: Lambda is then as many times larger
/// @return an error where no m serves (Lambda < sqrt(dimension)), or the sum could leave 62 bits
/// Source: spec privacy-core B.1, solved for Lambda.
[[nodiscard]] Result<GaussianLattice> gaussian_lattice(releases::ClipNorm clip, releases::GaussianShift shift,
                                                       Eigen::Index dimension, std::int64_t records,
                                                       std::int64_t parts = 1);

/// Of vectors of whole counts of which two are at most the root of `distance_squared` counts apart: U lattice units a
/// count, the most that the shift allows, at the smallest m in [16, 40] with U >= 2^10. Nothing is rounded.
/// @param distance_squared 1 .. 2^16 @param records how many vectors are added up
/// @return an error where no m serves (U < 1), or the sum could leave 62 bits. Source: spec statistics 1.
[[nodiscard]] Result<GaussianLattice> gaussian_counts(std::int64_t distance_squared, releases::GaussianShift shift,
                                                      std::int64_t records);
/// Of vectors with coordinates in [-1.5, 1.5] of which two are at most `distance` apart, each coordinate rounded to one
/// of Lambda units, or cut to one; so many that rounding all records to one side moves their sum by a thousandth of the
/// noise at most, where 62 bits have the room: ceil(distance Lambda + sqrt(dimension)) + 1 units then bound the
/// integers' distance, the one for what computing a coordinate in doubles may be off. Source: spec statistics 1.
[[nodiscard]] Result<GaussianLattice> gaussian_values(double distance, releases::GaussianShift shift,
                                                      Eigen::Index dimension, std::int64_t records);

/// Every number of it, to the last bit: what makes it one that no other is taken for. Digests are of it, so it never
/// changes.
[[nodiscard]] std::string canonical_text(const GaussianLattice& gaussian);

}  // namespace undertone::mechanisms
