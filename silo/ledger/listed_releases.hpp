#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/releases/cost.hpp"
#include "silo/ledger/ledger_format.hpp"

namespace undertone::silo {

/// The charged releases of a block as a reservation lists them: "LAW:UNITS*ROUNDS@K/N" groups in order (in the first
/// format "MU2*ROUNDS@K/N"), "r" after one that draws with replacement or "^STEPS" after one whose releases are made of
/// so many draws of noise, "+FROM:TO" after one that reads a part of a permutation, "~FROM:TO/POSITIONS:ROWS" after a
/// Gaussian one of all records in a bin that each record drew for itself, with "#PASS" where it did so for a later
/// pass, "=FROM:TO/POSITIONS" after a Gaussian one of all records in a part of a permutation that the charge counts on.
/// After a pure one of all records, "!FAILURE", in units of 2^-80, where its epsilon holds but for that.
/// After one that reads a part, "&LAW:UNITS@N/N+FROM:TO" for each other part that the same release reads, at no more
/// than the first one's cost: that is what an answer is charged, and a record is in one of them.
/// A sum of costs says too little: one loud release leaks more than many quiet ones of the same sum. So each
/// release must be one of the list, in its order; rounds may be skipped.
class ListedReleases {
 public:
  ListedReleases() = default;
  [[nodiscard]] static Result<ListedReleases> parse(std::string_view text, LedgerFormat format);
  /// Whether there is a list at all.
  [[nodiscard]] bool listed() const noexcept { return !groups_.empty(); }
  /// What all releases of the list cost together.
  [[nodiscard]] const releases::Cost& total() const noexcept { return total_; }
  /// Whether the cost of any of them counts on it being secret which part of the records it reads.
  [[nodiscard]] bool reads_secret_parts() const noexcept { return reads_secret_parts_; }
  /// How many draws the next release of this cost is made of; nothing if there is none left.
  [[nodiscard]] std::optional<std::uint64_t> draws_of(const releases::Cost& cost) const;
  /// The same, and takes it off the list. Groups that are passed are never looked at again.
  [[nodiscard]] std::optional<std::uint64_t> take(const releases::Cost& cost);

 private:
  struct Group {
    releases::Cost each;
    std::uint64_t rounds = 0;  // left
    std::uint64_t draws = 1;   // of each
  };
  /// The index of the next group with a release of this cost; their number if there is none.
  [[nodiscard]] std::size_t find(const releases::Cost& cost) const;

  std::vector<Group> groups_;
  std::size_t next_ = 0;
  releases::Cost total_;
  bool reads_secret_parts_ = false;
};

}  // namespace undertone::silo
