#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <string>

#include "shared/accounting/accountant.hpp"
#include "shared/base/result.hpp"
#include "shared/crypto/noise_bits.hpp"
#include "shared/mechanisms/lattice.hpp"
#include "shared/noise/discrete_samplers.hpp"
#include "shared/releases/ask.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// How far replacing one record moves a vector of integer sums in l1, at most, in units of its lattice.
class IntegerL1Sensitivity {
 public:
  static constexpr std::int64_t kMax = std::int64_t{1} << 38U;
  /// @param value in 1 .. kMax
  [[nodiscard]] static Result<IntegerL1Sensitivity> create(std::int64_t value);
  [[nodiscard]] std::int64_t value() const noexcept { return value_; }
  friend bool operator==(const IntegerL1Sensitivity&, const IntegerL1Sensitivity&) = default;

 private:
  explicit IntegerL1Sensitivity(std::int64_t value) noexcept : value_(value) {}
  std::int64_t value_;
};

/// Integer sums with independent discrete Laplace noise on every coordinate, P[z] proportional to exp(-|z| / b):
/// epsilon-DP for b = sensitivity / epsilon, whatever the dimension, since for integer vectors P[Z = z] / P[Z = z + v]
/// <= exp(||v||_1 / b). The noise is exact and truncated nowhere.
/// Source: Ghosh, Roughgarden, Sundararajan 2009; Canonne, Kamath, Steinke 2020; spec privacy-core B.3, B.4.
class LaplaceSum {
 public:
  /// The sums before noise are of at most this magnitude.
  static constexpr std::int64_t kSumMax = std::int64_t{1} << 61U;

  /// The scale is the least multiple of 1 / s that is at least sensitivity / epsilon, s the largest power of two <=
  /// 2^20 that keeps its numerator within 2^40: below a millionth more noise where b >= 1, and integers for the
  /// sampler.
  /// @param epsilon rounded down to a multiple of 2^-40; at most 1024
  /// @return an error where the scale leaves 2^40
  [[nodiscard]] static Result<LaplaceSum> create(releases::Epsilon epsilon, IntegerL1Sensitivity sensitivity);

  [[nodiscard]] IntegerL1Sensitivity sensitivity() const noexcept { return sensitivity_; }
  /// b as the sampler takes it.
  [[nodiscard]] noise::Rational scale() const noexcept { return scale_; }
  /// sensitivity / b, rounded up to a multiple of 2^-40: what a release costs. Never above the epsilon asked for.
  [[nodiscard]] releases::EpsilonAmount epsilon() const noexcept { return epsilon_; }
  /// The same for accountants. Its losses are not those of continuous Laplace noise: for a sensitivity of one unit they
  /// are +-epsilon and nothing between, which is the dearest that epsilon-DP allows.
  [[nodiscard]] accounting::ApproximateEvent event() const;

  /// Of the noise on one coordinate, in squared units: 2 q / (1 - q)^2 with q = e^(-1/b), which is below 2 b^2.
  [[nodiscard]] double variance() const;
  /// ln P[|Z| > magnitude] of one coordinate: ln(2 / (1 + q)) - (magnitude + 1) / b. @param magnitude >= 0
  [[nodiscard]] double log_tail(std::int64_t magnitude) const;
  /// The smallest k with P[|Z| > k] <= alpha: the sum lies within k of what is released, with probability 1 - alpha.
  /// Source: spec statistics 2.1. @param alpha in (0, 1)
  [[nodiscard]] std::int64_t half_width(double alpha) const;
  /// ln of a bound on the probability that one of the released numbers leaves [-wire_max, wire_max]: d P[|Z| > wire_max
  /// - sum_max]. Of a 64-bit wire, with |sums| <= kSumMax, it is below -2^20 (b <= 2^40): that does not happen.
  /// @param sum_max in 0 .. wire_max: bound on the sums' magnitude before noise @param dimension >= 1
  [[nodiscard]] double log_overflow(std::int64_t sum_max, std::int64_t wire_max, std::int64_t dimension) const;

  /// Adds the noise in place. Time: drawing takes longer for larger noise, so who can time it learns of the noise;
  /// replies are held to a fixed interval where that matters (decision 11).
  /// @param sums in lattice units, each of magnitude at most kSumMax
  template <crypto::NoiseBits Bits>
  void add_noise(std::span<std::int64_t> sums, Bits& bits) const {
    for (std::int64_t& sum : sums) {
      UNDERTONE_CHECK(sum >= -kSumMax && sum <= kSumMax);
      const std::int64_t noise = noise::sample_discrete_laplace(scale_, bits);
      UNDERTONE_CHECK(!__builtin_add_overflow(sum, noise, &sum));  // P < e^(-2^20), see log_overflow
    }
  }

 private:
  LaplaceSum(IntegerL1Sensitivity sensitivity, noise::Rational scale, releases::EpsilonAmount epsilon) noexcept
      : sensitivity_(sensitivity), scale_(scale), epsilon_(epsilon) {}
  [[nodiscard]] double scale_value() const noexcept;
  IntegerL1Sensitivity sensitivity_;
  noise::Rational scale_;
  releases::EpsilonAmount epsilon_;
};

/// A lattice and the noise on it, for one Laplace release of a sum.
struct LaplaceLattice {
  Lattice lattice;
  LaplaceSum noise;
};

/// Of vectors that are clipped to integer l2 norm Lambda, a power of two of at least 2^10 sqrt(dimension): replacing
/// one moves the sum by at most floor(2 Lambda sqrt(dimension)) in l1.
/// @param records how many vectors are added up
/// @return an error where the sum could leave 61 bits, or the sensitivity or the scale its own bound
[[nodiscard]] Result<LaplaceLattice> laplace_lattice(releases::ClipNorm clip, releases::Epsilon epsilon,
                                                     Eigen::Index dimension, std::int64_t records);
/// Of vectors of indicators, which are counted: a unit is one record, and replacing one moves each count by at most 1.
[[nodiscard]] Result<LaplaceLattice> laplace_counts(releases::Epsilon epsilon, Eigen::Index dimension,
                                                    std::int64_t records);
/// The step of a lattice of values.
inline constexpr int kValueStepLog2 = -20;
/// Of vectors whose coordinates are clamped to [low, high], at 2^20 units per real unit: replacing one moves every
/// coordinate by at most high - low.
/// @param range whose ends are multiples of 2^-20 of magnitude at most 2^20
[[nodiscard]] Result<LaplaceLattice> laplace_values(const releases::RangeBound& range, releases::Epsilon epsilon,
                                                    Eigen::Index dimension, std::int64_t records);

/// Of vectors of whole counts of which two are at most `distance` counts apart in l1: a unit is one record.
[[nodiscard]] Result<LaplaceLattice> laplace_cells(std::int64_t distance, releases::Epsilon epsilon,
                                                   std::int64_t records);
/// Of vectors with coordinates in [-1.5, 1.5] of which two are at most `distance` apart in l1, at 2^20 units per real
/// unit, each coordinate rounded: ceil(distance 2^20) + dimension + 1 units bound the integers' distance.
/// Source: spec statistics 1.
[[nodiscard]] Result<LaplaceLattice> laplace_moments(double distance, releases::Epsilon epsilon, Eigen::Index dimension,
                                                     std::int64_t records);

/// Every number of it, to the last bit: what makes it one that no other is taken for. Digests are of it, so it never
/// changes.
[[nodiscard]] std::string canonical_text(const LaplaceLattice& laplace);

}  // namespace undertone::mechanisms
