#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/privacy/fixed_amount.hpp"
#include "shared/queries/query.hpp"

namespace undertone::queries {

/// The exact weighted mean of replies, added up in 128-bit integers as they arrive: one accumulator whatever their
/// number, and the same result in any order of arrival.
class LatticeFold {
 public:
  static constexpr std::uint64_t kWeightMax = std::uint64_t{1} << 32;

  LatticeFold(Eigen::Index dimension, int step_log2)
      : step_log2_(step_log2), sums_(static_cast<std::size_t>(dimension), 0) {}

  /// @param values [dimension], each of magnitude at most 2^62, in steps of 2^step_log2
  /// @param weight the silo's public integer weight, 1 .. 2^32
  void add(const std::vector<std::int64_t>& values, std::uint64_t weight);

  [[nodiscard]] Eigen::Index replies() const noexcept { return replies_; }
  [[nodiscard]] Eigen::Index dimension() const noexcept { return static_cast<Eigen::Index>(sums_.size()); }
  /// [dimension], in real units; the weights of those that answered add to 1. At least one reply.
  [[nodiscard]] Eigen::VectorXd mean() const;

 private:
  int step_log2_;
  std::vector<privacy::Int128> sums_;
  std::uint64_t weight_total_ = 0;
  Eigen::Index replies_ = 0;
};

/// What a round's replies folded into.
struct Gathered {
  RoundIndex round;
  Eigen::Index replies = 0;  // >= 1
  Eigen::VectorXd mean;      // [dimension of the release]
};

}  // namespace undertone::queries
