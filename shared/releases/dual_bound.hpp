#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>

#include "shared/releases/quantities.hpp"

namespace undertone::releases {

/// ||x||_q <= clip for a q > 2, infinity among them: of gradients that an algorithm measures in the dual of its own
/// norm l_p, 1/p + 1/q = 1. Replacing one record moves a sum by at most 2 clip in l_q. Gaussian noise is of l2: what is
/// within the bound is within d^(1/2 - 1/q) clip in l2, which the lattice enforces on the integers, so that there no
/// guarantee rests on how l_q was computed. Generalised Gaussian noise rests on it, and adds what it may be off by.
/// Source: spec non-euclidean 1.1 and P2 of 1.5.
class DualBound {
 public:
  /// @param exponent q > 2, infinity where every coordinate is bounded alone @param dimension d >= 1 of a contribution
  /// @return an error where q is out of range or the l2 norm is no double
  [[nodiscard]] static Result<DualBound> create(ClipNorm clip, double exponent, Eigen::Index dimension);

  /// In l_q.
  [[nodiscard]] const ClipNorm& clip() const noexcept { return clip_; }
  /// q.
  [[nodiscard]] double exponent() const noexcept { return exponent_; }
  /// p = q/(q - 1) in [1, 2), of the norm that points are apart in.
  [[nodiscard]] double primal_exponent() const noexcept;
  /// What follows in l2: d^(1/2 - 1/q) clip, rounded up.
  [[nodiscard]] const ClipNorm& l2() const noexcept { return l2_; }

  /// Of differences of gradients at two points: a record's is clipped to min(clip, smoothness x the points' distance in
  /// l_p), and the noise is as much less. Public, never read off records.
  std::optional<double> smoothness = {};

  /// The bound with both norms so many times as large. @param factor > 0 that leaves them positive doubles
  [[nodiscard]] DualBound times(double factor) const;

  friend bool operator==(const DualBound&, const DualBound&) = default;

 private:
  DualBound(ClipNorm clip, double exponent, ClipNorm l2) noexcept : clip_(clip), exponent_(exponent), l2_(l2) {}
  ClipNorm clip_;
  double exponent_;
  ClipNorm l2_;
};

/// For people: "l_3" and "l_inf".
[[nodiscard]] std::string norm_name(double exponent);

}  // namespace undertone::releases
