#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::mechanisms {

/// What clamped vectors are counted in: a coordinate adds the integer nearest to it times `per_unit`, within [-levels,
/// levels].
struct ClampUnits {
  double per_unit = 0.0;     // > 0
  std::int64_t levels = 0;   // 1 .. 2^30
  std::int64_t records = 0;  // that are added up at most
  friend bool operator==(const ClampUnits&, const ClampUnits&) = default;
};

/// The integers that a sum of coordinatewise clamped vectors is made of. In every coordinate a record adds the integer
/// nearest to its vector's coordinate / step within [-levels, levels]: half a step is lost besides what the clamp
/// takes. The step is bound / levels, and exact, since levels are a power of two.
class ClampLattice {
 public:
  static constexpr int kLog2LevelsMin = 4;
  static constexpr int kLog2LevelsMax = 30;
  static constexpr std::int64_t kRecordsMax = std::int64_t{1} << 31U;

  /// @param bound U > 0: what a coordinate is clamped to, real units @param log2_levels kLog2LevelsMin ..
  /// kLog2LevelsMax
  /// @param records how many are added up at most, 1 .. kRecordsMax
  [[nodiscard]] static Result<ClampLattice> create(double bound, int log2_levels, std::int64_t records);
  /// The finest lattice of whose sums no score leaves 2^60.
  /// @param score_factor |score| <= score_factor max_i |sum_i|, >= 1. @see geometry::Vertices::score_factor
  /// @return an error where even kLog2LevelsMin leaves it
  [[nodiscard]] static Result<ClampLattice> finest(double bound, std::int64_t records, std::int64_t score_factor);

  [[nodiscard]] double bound() const noexcept { return bound_; }
  [[nodiscard]] int log2_levels() const noexcept { return log2_levels_; }
  [[nodiscard]] std::int64_t levels() const noexcept { return std::int64_t{1} << static_cast<unsigned>(log2_levels_); }
  [[nodiscard]] double step() const noexcept;
  [[nodiscard]] std::int64_t records() const noexcept { return records_; }

  /// Units per real unit, levels / bound.
  [[nodiscard]] double per_unit() const noexcept { return per_unit_; }
  [[nodiscard]] ClampUnits units() const noexcept;

  friend bool operator==(const ClampLattice&, const ClampLattice&) = default;

 private:
  ClampLattice(double bound, int log2_levels, std::int64_t records) noexcept;
  double bound_;
  double per_unit_;  // levels / bound
  int log2_levels_;
  std::int64_t records_;
};

/// The exact integer sum of records' vectors, clamped coordinate by coordinate. What one record adds is within
/// [-levels, levels]^d whatever it holds: that is a fact about integers. Replacing one record moves every coordinate by
/// at most 2 levels, so the sum by 2 levels in the maximum norm and 2 d levels in l1. A vector that is not finite in
/// some coordinate adds nothing at all, as in every other clipped sum. The order of records changes nothing.
class ClampedSum {
 public:
  /// @param dimension d >= 1
  ClampedSum(const ClampUnits& units, Eigen::Index dimension);
  ClampedSum(const ClampLattice& lattice, Eigen::Index dimension) : ClampedSum(lattice.units(), dimension) {}

  /// Adds one record's vector. @param vector [d], any doubles
  void add(const Eigen::Ref<const Eigen::VectorXd>& vector);
  /// Adds several records' vectors. @param vectors [d, records], any doubles
  void add_block(const Eigen::Ref<const Eigen::MatrixXd>& vectors);
  /// Adds the vectors a_i (x_i, 1) or a_i x_i: a linear model's gradients, a_i its derivatives.
  /// @param factors [count] the numbers a_i, any @param features [d, n], or [d - 1, n] where the last coordinate is 1
  /// @param positions [count] of the columns x_i
  void add_linear(std::span<const double> factors, const Eigen::MatrixXd& features,
                  std::span<const std::int64_t> positions);

  /// The sum so far, which then begins again at zero. @param out [d], in lattice units
  void take(std::span<std::int64_t> out);
  /// The same, added to what is there. @param sum [d], in lattice units
  void take_onto(std::span<std::int64_t> sum);

 private:
  void flush();
  ClampUnits units_;
  std::int64_t records_ = 0;
  std::int64_t together_ = 0;  // in the block
  Eigen::VectorXd vector_;     // a record of `add_linear`
  Eigen::ArrayXd block_;       // exact integers below 2^53
  std::vector<std::int64_t> sum_;
};

}  // namespace undertone::mechanisms
