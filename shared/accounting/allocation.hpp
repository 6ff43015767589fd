#pragma once

#include <cstdint>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::accounting {

/// How a silo secretly chooses the one part of its records that reads a record.
enum class PartAssignment : std::uint8_t {
  IndependentBins,      // every record draws its part alone; the sizes of the parts stay secret
  FixedWithUnreadSlot,  // a uniform permutation into parts of fixed sizes and at least one slot that nobody reads
};

/// Alike parts of one pass.
struct AllocatedParts {
  std::uint64_t parts = 0;
  double weight = 0.0;  // with this probability each of them is the part that reads a record
  double shift = 0.0;   // 2 C / sigma x sqrt(reads): replace-one, of all releases that read one such part together
  friend bool operator==(const AllocatedParts&, const AllocatedParts&) = default;
};

/// Releases each of which reads one secret part of the records, together: what hides a record is that nobody knows in
/// which of them it was. Replace-one; whoever asks may choose every question by the answers before it. A part of fixed
/// size is read in consecutive rounds; bins in any order.
/// Source: spec random-allocation, theorems A (bins) and B (fixed sizes).
class Allocation {
 public:
  static constexpr std::uint64_t kPartsMax = 1'000'000;  // of all groups together
  static constexpr std::size_t kGroupsMax = 64;
  static constexpr std::uint64_t kEpochsMax = 10'000;
  static constexpr double kShiftMax = 40.0;  // beyond it whoever is in a part is as good as published

  /// @param unread the probability that no part reads the record; above 0 for fixed sizes. It and the weights add up to
  /// 1, to 1e-12
  /// @param epochs passes, each with a draw of its own that knows nothing of the others. Passes over one draw are one
  /// epoch with larger shifts, for bins; for fixed sizes they have no account here
  /// @return an error that names what is out of range
  [[nodiscard]] static Result<Allocation> create(PartAssignment assignment, std::vector<AllocatedParts> groups,
                                                 double unread, std::uint64_t epochs);

  [[nodiscard]] PartAssignment assignment() const noexcept { return assignment_; }
  [[nodiscard]] const std::vector<AllocatedParts>& groups() const noexcept { return groups_; }
  [[nodiscard]] double unread() const noexcept { return unread_; }
  [[nodiscard]] std::uint64_t epochs() const noexcept { return epochs_; }
  /// The largest shift of a part: what one pass costs where the parts are told, by parallel composition.
  [[nodiscard]] double largest_shift() const;
  /// The same with every shift so many times as large. @return an error where a shift is above the largest
  [[nodiscard]] Result<Allocation> scaled(double factor) const;

  friend bool operator==(const Allocation&, const Allocation&) = default;

 private:
  Allocation(PartAssignment assignment, std::vector<AllocatedParts> groups, double unread, std::uint64_t epochs);
  PartAssignment assignment_;
  std::vector<AllocatedParts> groups_;
  double unread_;
  std::uint64_t epochs_;
};

}  // namespace undertone::accounting
