#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "shared/crypto/noise_bits.hpp"
#include "shared/mechanisms/gaussian_sum/gaussian_sum.hpp"
#include "shared/noise/rounded_gaussian.hpp"

namespace undertone::mechanisms {

/// Copies of a record's vector of length at most 1, each with rounded Gaussian noise of its own on an integer lattice,
/// so much that all of them together are one Gaussian release of a shift: two records' stacked copies are at most 2
/// sqrt(copies) apart. Source: spec noninteractive-ldp 2.6 (c) with u = y x in place of (x, y), and (h).
class VectorNoise {
 public:
  static constexpr std::int64_t kNumbersMax = std::int64_t{1} << 16U;  // of a record, in all its copies
  /// Of a coordinate: a number is cut to it after noise, which is post-processing and next to never happens.
  static constexpr std::int64_t kLargest = std::int64_t{1} << 36U;
  /// @param dimension >= 1 @param copies >= 1 @return an error where there are too many numbers, or no lattice serves
  [[nodiscard]] static Result<VectorNoise> create(releases::GaussianShift shift, Eigen::Index dimension,
                                                  std::uint32_t copies);

  /// What all copies of a record together cost it.
  [[nodiscard]] releases::ShiftSquaredAmount shift_squared() const { return lattice_.shift_squared(); }
  [[nodiscard]] const GaussianLattice& lattice() const noexcept { return lattice_; }
  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }
  [[nodiscard]] std::uint32_t copies() const noexcept { return copies_; }
  /// Of the noise on one number of one copy, rounding aside.
  [[nodiscard]] double stddev() const { return lattice_.noise_stddev(); }

  /// @param vector [dimension], cut to [-1, 1] in every coordinate @param out [copies x dimension], in units of 2^-20
  template <crypto::NoiseBits Bits>
  void report(const Eigen::Ref<const Eigen::VectorXd>& vector, Bits& bits, std::span<std::int64_t> out) const {
    UNDERTONE_CHECK(vector.size() == dimension_ && out.size() == static_cast<std::size_t>(dimension_) * copies_);
    noise::fill_rounded_gaussian(bits, lattice_.log2_stddev, out);
    add(vector, out);
  }
  /// The same without noise, for simulations: `out` holds it already, in units of the lattice.
  void add(const Eigen::Ref<const Eigen::VectorXd>& vector, std::span<std::int64_t> out) const;

 private:
  VectorNoise(const GaussianLattice& lattice, Eigen::Index dimension, std::uint32_t copies)
      : lattice_(lattice), dimension_(dimension), copies_(copies) {}
  GaussianLattice lattice_;
  Eigen::Index dimension_;
  std::uint32_t copies_;
};

}  // namespace undertone::mechanisms
