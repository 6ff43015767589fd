#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/crypto/noise_bits.hpp"
#include "shared/noise/rounded_gaussian.hpp"
#include "shared/releases/ask.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// A direction near a record's own: g, a vector of rounded Gaussian integers that is not too short, is drawn again and
/// again until it is in the cap <g, u> >= gamma ||g|| around the record's unit vector u, which a coin of chance p
/// decides, or until it is outside; g / ||g|| is reported. Over m it is an unbiased estimate of u.
///
/// Privacy. The law of g, whatever rounding made of it, is one and the same for every record, and P[g | u] = P[g] (p /
/// c(u) or (1 - p) / q(u)), c(u) and q(u) = 1 - c(u) the chances of being in and out. Were g normal, c would be that of
/// a uniform direction, the same for every u, and the level ln(p q / (c (1 - p))). Rounding g to integers of standard
/// deviation 2^40, and computing <g, u> in doubles, moves a cap's edge by so little that |c(u) - c| <= eta, which
/// `slack` bounds; the level is chosen so much below epsilon. No floating-point number decides but in that way, and
/// what is made of g afterwards is post-processing.
/// How many vectors are drawn is independent of the coin and of which vectors they were, and its law is that of c(u):
/// the number tells nothing of the record but what rounding moves c by. How long each of them takes is the sampler's
/// own time.
///
/// PrivUnitG is the same with the half space <g, u> >= t in the cap's place, t in standard deviations, and reports g
/// itself: no length is divided by, so that no vector is too short, and the edge moves by less.
/// Source: Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018; spec public-data 3.1 (Algorithm 12,
/// corrected), 3.2, 3.3.
class PrivUnit {
 public:
  static constexpr double kEpsilonMax = 16.0;
  static constexpr Eigen::Index kDimensionMax = 4096;
  static constexpr double kCapMin = 0x1p-10;  // less likely caps are not drawn from: that takes so many attempts
  static constexpr std::int64_t kUnits = std::int64_t{1} << 20U;  // of a report's coordinate, per 1
  static constexpr double kGaussianMax = 64.0;  // of a reported Gaussian coordinate, to which it is cut

  /// What is drawn around a record's vector: a direction from a cap (PrivUnit), or a Gaussian vector from a half space
  /// (PrivUnitG).
  enum class Law : std::uint8_t { Sphere, Gaussian };

  /// @param dimension of the records' vectors, 2 .. kDimensionMax
  /// @return an error where epsilon is out of range, or its best cap is too unlikely
  [[nodiscard]] static Result<PrivUnit> create(releases::Epsilon epsilon, Eigen::Index dimension,
                                               releases::UnitAdapter adapter, Law law = Law::Sphere);

  /// Never above the epsilon asked for.
  [[nodiscard]] releases::EpsilonAmount epsilon() const noexcept { return epsilon_; }
  [[nodiscard]] releases::UnitAdapter adapter() const noexcept { return adapter_; }
  [[nodiscard]] Law law() const noexcept { return law_; }
  /// Of a record's vector and of its report; a lift draws in one dimension more.
  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }
  [[nodiscard]] double threshold() const noexcept { return threshold_; }  // gamma, or t
  [[nodiscard]] double in_cap() const noexcept { return in_cap_; }        // p
  /// m: a report over it estimates the record's vector, but of normalised ones their direction.
  [[nodiscard]] double scale() const noexcept { return scale_; }
  /// Of an estimate's distance from the vector, its mean square, at most: that of the estimate's length, which is 1 / m
  /// whatever is drawn from a cap.
  [[nodiscard]] double square_max() const noexcept { return square_max_; }
  /// Of the vectors that are drawn for one report, the expected number, at most.
  [[nodiscard]] double attempts() const noexcept { return 1.0 / cap_ + 1.0 / (1.0 - cap_); }
  /// Of one coordinate of an estimate, at most, whatever the record.
  [[nodiscard]] double variance_max() const noexcept { return variance_max_; }
  /// eta above, for directions in so many dimensions. @param threshold gamma in (0, 1)
  [[nodiscard]] static double slack(Eigen::Index dimension, double threshold);
  /// The same of Gaussian vectors, whatever the threshold.
  [[nodiscard]] static double gaussian_slack(Eigen::Index dimension);

  /// A report of a vector. @param vector [dimension], of length at most 1 but for rounding @param out [dimension], in
  /// units of 1 / kUnits
  template <crypto::NoiseBits Bits>
  void report(const Eigen::Ref<const Eigen::VectorXd>& vector, Bits& bits, std::span<std::int64_t> out) const {
    UNDERTONE_CHECK(vector.size() == dimension_ && out.size() == static_cast<std::size_t>(dimension_));
    const Eigen::VectorXd unit = adapted(vector, crypto::uniform_below(bits, kCoin));
    const bool in_cap = crypto::uniform_below(bits, kCoin) < in_cap_units_;
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(unit.size()));
    Eigen::VectorXd direction(unit.size());
    std::array<Eigen::VectorXd, 2> first;  // outside the cap and in it
    while (first[0].size() == 0 || first[1].size() == 0) {
      noise::fill_rounded_gaussian(bits, kLog2Stddev, drawn);
      for (Eigen::Index j = 0; j < direction.size(); ++j)
        direction[j] = static_cast<double>(drawn[static_cast<std::size_t>(j)]);
      const double length = law_ == Law::Sphere ? direction.norm() : std::ldexp(1.0, kLog2Stddev);
      if (!(length >= kNormMin)) continue;
      Eigen::VectorXd& own = first[direction.dot(unit) >= threshold_ * length ? 1 : 0];
      if (own.size() == 0) own = direction / length;
    }
    const Eigen::VectorXd& reported = first[in_cap ? 1 : 0];
    for (std::size_t j = 0; j < out.size(); ++j) {
      const double number = std::clamp(reported[static_cast<Eigen::Index>(j)], -kGaussianMax, kGaussianMax);
      out[j] = std::llrint(number * static_cast<double>(kUnits));
    }
  }

 private:
  static constexpr int kLog2Stddev = 40;
  static constexpr double kNormMin =
      0x1p36;  // of a vector that is looked at: too short a one has too coarse a direction
  static constexpr std::uint64_t kCoin = std::uint64_t{1} << 52U;
  PrivUnit() = default;
  /// The unit vector that is fed, made by the adapter. @param coin uniform below kCoin
  [[nodiscard]] Eigen::VectorXd adapted(const Eigen::Ref<const Eigen::VectorXd>& vector, std::uint64_t coin) const;
  releases::EpsilonAmount epsilon_;
  releases::UnitAdapter adapter_ = releases::UnitAdapter::Round;
  Law law_ = Law::Sphere;
  Eigen::Index dimension_ = 2;
  double threshold_ = 0.0;
  double cap_ = 0.5;  // c
  double in_cap_ = 0.0;
  std::uint64_t in_cap_units_ = 0;
  double scale_ = 0.0;
  double variance_max_ = 0.0;
  double square_max_ = 0.0;
};

}  // namespace undertone::mechanisms
