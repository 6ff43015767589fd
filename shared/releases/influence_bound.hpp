#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <string_view>

#include "shared/releases/quantities.hpp"

namespace undertone::releases {

/// This is how one number of a record may influence a mean: a function psi of it that is bounded.
enum class Influence : std::uint8_t {
  /// psi(x) = min(max(x, -t), t), and |psi| <= t.
  Clip = 1,
  /// psi(x) = t E phi(x / t + |x| / t Z) with Z standard normal, phi(u) = u - u^3 / 6 where |u| <= sqrt 2 and
  /// +-U outside, U = 2 sqrt 2 / 3. Source: Catoni and Giulini; spec heavy-tailed 2.2, with a smoothing precision of 1.
  /// |psi| <= U erf(1 / sqrt 2) t, where the source has U t: for a = |x| / t the density p of a (1 + Z) is larger at v
  /// than at -v for every v > 0, and phi is odd and at most U, so that E phi = int_0^inf phi(v) (p(v) - p(-v)) dv is at
  /// most U (P[1 + Z > 0] - P[1 + Z < 0]) = U (2 Phi(1) - 1).
  Smooth = 2
};
/// "clip", "smooth"
[[nodiscard]] std::string_view to_string(Influence influence) noexcept;

/// Returns the least upper bound of |psi| at a threshold of 1, rounded up.
[[nodiscard]] double largest_influence(Influence influence) noexcept;

/// Returns psi(x). @param x finite @param threshold t > 0
[[nodiscard]] double influence_of(Influence influence, double x, double threshold);

/// Returns E phi(a + b Z), clamped to what phi can be. @param a finite @param b >= 0
/// Source: spec heavy-tailed 2.2.
[[nodiscard]] double smooth_truncation(double a, double b);

/// Every coordinate of a record's vector has a bounded influence of its own. Replacing one record moves a sum by at
/// most 2 `l2()` in l2, which the lattice enforces on the integers: no guarantee rests on how psi was computed.
///
/// The records may be divided into groups, which have none in common. Each has a noised sum of its own, and of the
/// groups' means the coordinator takes the median of each coordinate. A record is in one group, so that groups cost
/// nothing more. Source: spec heavy-tailed 2.2.
class InfluenceBound {
 public:
  static constexpr std::uint32_t kGroupsMax = 255;

  /// @param threshold t > 0, of every coordinate @param groups odd, from 1 to `kGroupsMax`
  /// @param dimension d >= 1 of a contribution
  /// @return an error where a number is out of range or the l2 norm is no double
  [[nodiscard]] static Result<InfluenceBound> create(double threshold, Influence influence, std::uint32_t groups,
                                                     Eigen::Index dimension);

  /// Returns it with both numbers so many times as large. @param factor > 0 that leaves them positive doubles
  [[nodiscard]] InfluenceBound times(double factor) const;
  /// Returns the bound of one group's sum.
  [[nodiscard]] InfluenceBound of_one_group() const noexcept;

  [[nodiscard]] double threshold() const noexcept { return threshold_; }
  [[nodiscard]] Influence influence() const noexcept { return influence_; }
  [[nodiscard]] std::uint32_t groups() const noexcept { return groups_; }
  /// What follows in l2: the largest influence times sqrt(d), rounded up.
  [[nodiscard]] const ClipNorm& l2() const noexcept { return l2_; }

  friend bool operator==(const InfluenceBound&, const InfluenceBound&) = default;

 private:
  InfluenceBound(double threshold, Influence influence, std::uint32_t groups, ClipNorm l2) noexcept
      : threshold_(threshold), influence_(influence), groups_(groups), l2_(l2) {}
  double threshold_;
  Influence influence_;
  std::uint32_t groups_;
  ClipNorm l2_;
};

/// This says for people how every coordinate is cut: "cut to at most 2 in every coordinate", and whether records are
/// divided into groups.
[[nodiscard]] std::string described(const InfluenceBound& bound);

}  // namespace undertone::releases
