#pragma once

#include <cstdint>
#include <optional>

#include "shared/releases/influence_bound.hpp"
#include "shared/theorems/moment_bound.hpp"

namespace undertone::theorems {

/// This is how gradients are cut and averaged, coordinate by coordinate.
struct CoordinateMeans {
  releases::Influence influence = releases::Influence::Clip;
  std::uint32_t groups = 1;  // of records, whose means' median is taken: odd

  friend bool operator==(const CoordinateMeans&, const CoordinateMeans&) = default;
};

/// This is the one place where data meets noise: a mean of records' gradients, each cut at a threshold, with noise. An
/// optimiser asks it for its bias and its variance, whatever it does inside. It is a function of public numbers.
/// Source: spec heavy-tailed 2, 5.7.
class MeanOracle {
 public:
  /// Each gradient is clipped in l2. @param moment of their norms @param dimension d >= 1
  MeanOracle(const MomentBound& moment, double dimension) : moment_(moment), dimension_(dimension) {}
  /// Each coordinate has an influence of its own. @param moment of every coordinate: E |g_j|^k <= bound^k for all j
  MeanOracle(const MomentBound& moment, double dimension, const CoordinateMeans& coordinates)
      : moment_(moment), dimension_(dimension), coordinates_(coordinates) {}

  [[nodiscard]] const MomentBound& moment() const noexcept { return moment_; }
  [[nodiscard]] const std::optional<CoordinateMeans>& coordinates() const noexcept { return coordinates_; }
  [[nodiscard]] std::uint32_t groups() const noexcept { return coordinates_ ? coordinates_->groups : 1; }
  /// Returns the same oracle of another moment.
  [[nodiscard]] MeanOracle with(const MomentBound& moment) const;

  /// Returns a bound on the moment of the same order of gradients' norms: of coordinates sqrt(d) times theirs.
  [[nodiscard]] MomentBound of_norms() const;
  /// Returns how far, in l2, the mean of what is added up is from the mean of the gradients at most: of groups that of
  /// each of them. Their median may be off by more where tails are on one side, of which nothing is known here.
  /// @param threshold t > 0, of a norm or of every coordinate
  [[nodiscard]] double bias(double threshold) const;
  /// Returns the l2 norm that a record's contribution is within.
  [[nodiscard]] double reach(double threshold) const;
  /// Returns by how much a median of groups varies more than a mean of all records, for Gaussian noise: the noise of a
  /// group is on fewer records. 1 without groups.
  [[nodiscard]] double noise_growth() const;
  /// Returns the same of the draw of records, of which each group holds fewer.
  [[nodiscard]] double draw_growth() const;
  /// Returns the threshold with which bias^2 and the noise's variance together are least.
  /// @param signal A: of a mean whose records are within C in l2, the noise on a coordinate has the standard deviation
  /// 2 C / A
  [[nodiscard]] double balanced_threshold(double signal) const;

 private:
  MomentBound moment_;
  double dimension_;
  std::optional<CoordinateMeans> coordinates_ = {};
};

}  // namespace undertone::theorems
