#pragma once

#include <cmath>
#include <compare>

#include "shared/base/result.hpp"

namespace undertone::releases {

/// A finite number > 0 that means one thing. Construction is the only gate; there is no conversion either way.
template <class Meaning>
class Positive {
 public:
  [[nodiscard]] static Result<Positive> create(double value) {
    if (!(std::isfinite(value) && value > 0.0)) {  // this way round, NaN is refused too
      return Error{ErrorCode::InvalidArgument, fmt::format("{} must be finite and > 0, got {}", Meaning::kName, value)};
    }
    return Positive(value);
  }
  [[nodiscard]] double value() const noexcept { return value_; }
  friend auto operator<=>(const Positive&, const Positive&) = default;

 private:
  explicit Positive(double value) noexcept : value_(value) {}
  double value_;
};

struct EpsilonMeaning {
  static constexpr const char* kName = "epsilon";
};
struct RhoMeaning {
  static constexpr const char* kName = "rho";
};
struct GaussianShiftMeaning {
  static constexpr const char* kName = "a Gaussian shift";
};
struct ClipNormMeaning {
  static constexpr const char* kName = "a clip norm";
};
struct CoordinateBoundMeaning {
  static constexpr const char* kName = "a bound on every coordinate";
};

/// The epsilon of (epsilon, delta)-DP.
using Epsilon = Positive<EpsilonMeaning>;

/// Zero-concentrated DP budget of one or more releases. Gaussian noise of shift mu has mu^2/2. Source: Bun and Steinke
/// 2016.
using Rho = Positive<RhoMeaning>;

/// mu = sensitivity / noise standard deviation of a Gaussian mechanism, both of the declared neighbouring relation.
/// Gaussian releases with shifts mu_1, mu_2, ... compose to exactly one with shift sqrt(mu_1^2 + mu_2^2 + ...).
using GaussianShift = Positive<GaussianShiftMeaning>;

/// l2 bound enforced on every record's contribution to a sum, in the contribution's unit. The sensitivity of the sum
/// under replacement of one record is twice this.
using ClipNorm = Positive<ClipNormMeaning>;

/// Largest magnitude that any coordinate of a record's contribution may have, in the contribution's unit.
using CoordinateBound = Positive<CoordinateBoundMeaning>;

/// The delta of (epsilon, delta)-DP, in (0, 1).
class Delta {
 public:
  [[nodiscard]] static Result<Delta> create(double value) {
    if (!(value > 0.0 && value < 1.0)) {
      return Error{ErrorCode::InvalidArgument, fmt::format("delta must be in (0, 1), got {}", value)};
    }
    return Delta(value);
  }
  [[nodiscard]] double value() const noexcept { return value_; }
  friend auto operator<=>(const Delta&, const Delta&) = default;

 private:
  explicit Delta(double value) noexcept : value_(value) {}
  double value_;
};

}  // namespace undertone::releases
