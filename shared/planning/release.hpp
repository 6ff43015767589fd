#pragma once

#include <cstdint>
#include <optional>

#include "shared/mechanisms/mechanism.hpp"
#include "shared/releases/ask.hpp"
#include "shared/releases/cost.hpp"

namespace undertone::planning {

/// One entry of a plan.
struct Release {
  releases::Ask ask;
  std::int64_t records_drawn = 0;  // K: what the sum is divided by to be a mean
  std::int64_t population = 0;     // n: records of the slice or the block, of which K <= n are drawn, secretly
  mechanisms::Mechanism mechanism = mechanisms::Unplanned{};
  std::int64_t block_records = 0;             // of the whole block
  releases::Slice::Positions positions = {};  // of the block's permutation that are read: all of them without a slice
  /// This says how the sum of a silo's public records leaves, and how many they are, where an ask is beside public
  /// records.
  std::optional<mechanisms::ExactPublicSum> beside = {};
  std::int64_t public_records = 0;
  std::int64_t rows = 0;  // that bins are padded to: the work looks like that of so many records, whatever is in them

  /// @pre planned, a sum
  [[nodiscard]] const mechanisms::Lattice& lattice() const;
  /// Whether the exact sum of public records leaves. Every other release is charged.
  [[nodiscard]] bool is_public() const noexcept {
    return std::holds_alternative<mechanisms::ExactPublicSum>(mechanism);
  }
  /// How many numbers a reply has: of reports those of every record, whose number is public.
  [[nodiscard]] Eigen::Index answer_size() const noexcept {
    return ask.reports() == nullptr ? ask.answer_size() : static_cast<Eigen::Index>(records_drawn) * ask.report_size();
  }
  /// The release with its clip norm, its lattice's step and its noise scaled to what two points so far apart allow;
  /// itself where it has no smoothness. In lattice units nothing changes, so the shift is the same.
  /// @param distance finite, >= 0: of the very points that are evaluated, in l_p of `ask.distance_exponent()`
  [[nodiscard]] Release scaled_to(double distance) const;
  /// The release of the public block of an answer that has two. @pre the silo has public records
  [[nodiscard]] Release beside_release() const;
  /// The release of one group's records, which has a sum and noise of its own. @param group below ask.groups()
  [[nodiscard]] Release of_group(std::uint32_t group) const;
  /// How many draws and noises one message is made of.
  [[nodiscard]] std::uint64_t draws() const noexcept { return ask.draws(); }
  /// What one draw costs a record that was drawn once; zero for public records and for nothing else.
  /// @see mechanisms::cost_of @pre planned
  [[nodiscard]] releases::Cost cost_of_draw() const { return mechanisms::cost_of(mechanism); }
  /// The sum of all its draws: what a message costs where a record is in every one of them.
  [[nodiscard]] releases::Cost cost() const;
  /// Returns the standard deviation of the noise on each coordinate of one silo's mean, in real units: of a local run
  /// that of each step, and of groups an upper bound of what the median of their means has.
  /// @see mechanisms::noise_stddev_of_sum
  [[nodiscard]] double noise_stddev_of_mean() const;
  /// Returns that of the noise on each number of an answer: of groups that on the mean of the smallest group.
  [[nodiscard]] double noise_stddev_of_answer() const;
  /// Whether the records are in bins that each of them drew for itself, so that their number is secret.
  [[nodiscard]] bool reads_bins() const noexcept {
    return ask.records.slice && ask.records.slice->assignment == releases::Slice::Assignment::Bins;
  }
  /// Whether the noise counts on nobody knowing which records are read.
  [[nodiscard]] bool hides_part() const noexcept {
    return ask.records.slice && ask.records.slice->assignment != releases::Slice::Assignment::Permutation;
  }
  /// The most records that a sum can hold.
  [[nodiscard]] std::int64_t records_max() const noexcept { return reads_bins() ? rows : records_drawn; }
  [[nodiscard]] bool sampled() const noexcept { return ask.records.with_replacement || records_drawn < population; }
  /// Whether some draw may leave a record of the block out.
  [[nodiscard]] bool reads_part() const noexcept {
    return ask.records.with_replacement || records_drawn < block_records;
  }
};

}  // namespace undertone::planning
