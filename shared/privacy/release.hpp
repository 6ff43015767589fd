#pragma once

#include <cstdint>

#include "shared/privacy/ask.hpp"
#include "shared/privacy/fixed_amount.hpp"
#include "shared/privacy/mechanism.hpp"

namespace undertone::privacy {

/// One entry of a plan.
struct Release {
  ReleaseShape shape;
  std::int64_t records_drawn = 0;  // K: what the sum is divided by to be a mean
  std::int64_t population = 0;     // n: records of the slice or the block, of which K <= n are drawn, secretly
  Mechanism mechanism = Unplanned{};
  std::int64_t block_records = 0;   // of the whole block
  Slice::Positions positions = {};  // of the block's permutation that are read: all of them without a slice

  /// @pre planned
  [[nodiscard]] const Lattice& lattice() const;
  /// Whether the exact sum of public records leaves. Every other release is charged.
  [[nodiscard]] bool is_public() const noexcept { return std::holds_alternative<ExactPublicSum>(mechanism); }
  /// The release with its clip norm, its lattice's step and its noise scaled to what two points so far apart allow;
  /// itself where it has no smoothness. In lattice units nothing changes, so the shift is the same.
  /// @param distance finite, >= 0: of the very points that are evaluated
  [[nodiscard]] Release scaled_to(double distance) const;
  /// How many draws and noises one message is made of: the steps of a local run, else one.
  [[nodiscard]] std::uint64_t draws() const noexcept { return shape.local ? shape.local->steps : 1; }
  /// mu^2 of one draw for a record that was drawn once, rounded up; zero for public records and for nothing else. For a
  /// binomial sum this is mu^2 of a Gaussian release that costs at least as much; the failure probability is charged
  /// apart. @pre planned
  [[nodiscard]] ShiftSquaredAmount cost_of_draw() const;
  /// The sum of all its draws: what a message costs where a record is in every one of them.
  [[nodiscard]] ShiftSquaredAmount cost() const;
  /// Of the noise on each coordinate of one silo's mean, real units: a local run's of each step, a binomial sum's with
  /// the largest variance that rounding can add. Zero for public records.
  [[nodiscard]] double noise_stddev_of_mean() const;
  [[nodiscard]] bool sampled() const noexcept { return shape.with_replacement || records_drawn < population; }
  /// Whether some draw may leave a record of the block out.
  [[nodiscard]] bool reads_part() const noexcept { return shape.with_replacement || records_drawn < block_records; }
};

}  // namespace undertone::privacy
