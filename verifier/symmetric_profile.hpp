#pragma once

#include <vector>

namespace undertone::verifier {

/// A corner of a profile: its height at a loss.
struct Corner {
  long double loss;
  long double height;
};
/// A convex profile by its corners, straight between them in e^loss, horizontal after the last.
using Polygon = std::vector<Corner>;

/// By the ratio e^loss. @param right of a larger loss than left
[[nodiscard]] long double slope_between(const Corner& left, const Corner& right);

/// The profile of a pair that dominates a release in both orders: h(ratio) at ratio = e^loss >= 1, convex and falling,
/// and below 1 what h(ratio) = 1 - ratio + ratio * h(1 / ratio) makes of it. Losses are >= 0 throughout.
class SymmetricProfile {
 public:
  virtual ~SymmetricProfile() = default;

  [[nodiscard]] virtual long double height(long double loss) const = 0;
  /// Derivative of the height by the ratio.
  [[nodiscard]] virtual long double slope(long double loss) const = 0;
  /// A positive loss at which the height is at most this, or the largest that is worth a corner.
  [[nodiscard]] virtual long double loss_of(long double height) const = 0;
  /// The part of the releases that read the record at all: near 0, losses are about so much smaller than without
  /// sampling.
  [[nodiscard]] virtual long double rate() const = 0;
  /// What the height, less this, is no longer certain to be above.
  [[nodiscard]] virtual long double excess() const { return 0; }
};

/// Gaussian noise on the sum of a fresh uniform subset. Its profile is that of privacy-core.md, section D.2:
/// h(ratio) = rate * G(ln(1 + (ratio - 1) / rate); mu), with G the Gaussian's.
class SubsetProfile final : public SymmetricProfile {
 public:
  /// @param mu > 0, sensitivity under replacement of one record over the standard deviation
  /// @param rate in (0, 1]
  SubsetProfile(long double mu, long double rate) : mu_(mu), rate_(rate) {}

  [[nodiscard]] long double height(long double loss) const override;
  [[nodiscard]] long double slope(long double loss) const override;
  [[nodiscard]] long double loss_of(long double height) const override;
  [[nodiscard]] long double rate() const override { return rate_; }

 private:
  long double mu_;
  long double rate_;
};

/// Any release whose profile is given.
class PolygonProfile final : public SymmetricProfile {
 public:
  /// @param polygon from a loss of 0 on, at least two corners
  explicit PolygonProfile(Polygon polygon);

  [[nodiscard]] long double height(long double loss) const override;
  [[nodiscard]] long double slope(long double loss) const override;
  [[nodiscard]] long double loss_of(long double height) const override;
  [[nodiscard]] long double rate() const override { return 1; }

 private:
  Polygon polygon_;
};

}  // namespace undertone::verifier
