#pragma once

#include <cstdint>

#include "shared/mechanisms/mechanism.hpp"
#include "shared/releases/ask.hpp"
#include "shared/releases/fixed_amount.hpp"

namespace undertone::planning {

/// One entry of a plan.
struct Release {
  releases::ReleaseShape shape;
  std::int64_t records_drawn = 0;  // K: what the sum is divided by to be a mean
  std::int64_t population = 0;     // n: records of the slice or the block, of which K <= n are drawn, secretly
  mechanisms::Mechanism mechanism = mechanisms::Unplanned{};
  std::int64_t block_records = 0;             // of the whole block
  releases::Slice::Positions positions = {};  // of the block's permutation that are read: all of them without a slice

  /// @pre planned
  [[nodiscard]] const mechanisms::Lattice& lattice() const;
  /// Whether the exact sum of public records leaves. Every other release is charged.
  [[nodiscard]] bool is_public() const noexcept {
    return std::holds_alternative<mechanisms::ExactPublicSum>(mechanism);
  }
  /// The release with its clip norm, its lattice's step and its noise scaled to what two points so far apart allow;
  /// itself where it has no smoothness. In lattice units nothing changes, so the shift is the same.
  /// @param distance finite, >= 0: of the very points that are evaluated
  [[nodiscard]] Release scaled_to(double distance) const;
  /// How many draws and noises one message is made of: the steps of a local run, else one.
  [[nodiscard]] std::uint64_t draws() const noexcept { return shape.local ? shape.local->steps : 1; }
  /// mu^2 of one draw for a record that was drawn once, rounded up; zero for public records and for nothing else. For a
  /// binomial sum this is mu^2 of a Gaussian release that costs at least as much; the failure probability is charged
  /// apart. @pre planned
  [[nodiscard]] releases::ShiftSquaredAmount cost_of_draw() const;
  /// The sum of all its draws: what a message costs where a record is in every one of them.
  [[nodiscard]] releases::ShiftSquaredAmount cost() const;
  /// Of the noise on each coordinate of one silo's mean, real units: a local run's of each step, a binomial sum's with
  /// the largest variance that rounding can add. Zero for public records.
  [[nodiscard]] double noise_stddev_of_mean() const;
  [[nodiscard]] bool sampled() const noexcept { return shape.with_replacement || records_drawn < population; }
  /// Whether some draw may leave a record of the block out.
  [[nodiscard]] bool reads_part() const noexcept { return shape.with_replacement || records_drawn < block_records; }
};

}  // namespace undertone::planning
