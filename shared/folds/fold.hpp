#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/queries/query.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "shared/releases/fixed_amount.hpp"

namespace undertone::folds {

/// The exact weighted mean of replies, added up in integers as they arrive: one accumulator whatever their number, and
/// the same result in any order of arrival. 64-bit integers serve as long as no sum can leave them, 128-bit ones then.
class LatticeFold {
 public:
  static constexpr std::uint64_t kWeightMax = std::uint64_t{1} << 32;

  /// @param type of the replies: 32-bit ones can be added up in 64 bits
  LatticeFold(Eigen::Index dimension, int step_log2, queries::ReplyType type);

  /// @param values [dimension], each of magnitude at most 2^62 (2^31 for 32-bit replies), in steps of 2^step_log2
  /// @param weight the silo's public integer weight, 1 .. 2^32
  void add(const std::vector<std::int64_t>& values, std::uint64_t weight);

  [[nodiscard]] Eigen::Index replies() const noexcept { return replies_; }
  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }
  /// [dimension], in real units; the weights of those that answered add to 1. At least one reply.
  [[nodiscard]] Eigen::VectorXd mean() const;

 private:
  /// Moves on to 128 bits.
  void widen();
  Eigen::Index dimension_;
  int step_log2_;
  std::vector<std::int64_t> narrow_;  // until widened
  std::vector<releases::Int128> wide_;
  std::uint64_t weight_total_ = 0;
  Eigen::Index replies_ = 0;
};

/// What a round's replies folded into.
struct Gathered {
  RoundIndex round;
  Eigen::Index replies = 0;  // >= 1
  Eigen::VectorXd mean;      // [dimension of the release]; or what the job asks for in its place, @see Aggregation
};

}  // namespace undertone::folds
