#pragma once

#include <utility>

#include "shared/base/ids.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::silo {

/// The right to draw noise for one release. Only the ledger makes one, against a reservation that is on disk; it moves
/// and is used up by committing the release.
class SpendToken {
 public:
  SpendToken(SpendToken&& other) noexcept
      : run_(other.run_),
        round_(other.round_),
        block_(other.block_),
        cost_(other.cost_),
        query_(other.query_),
        at_(other.at_),
        valid_(std::exchange(other.valid_, false)) {}
  SpendToken& operator=(SpendToken&&) = delete;
  SpendToken(const SpendToken&) = delete;
  SpendToken& operator=(const SpendToken&) = delete;
  ~SpendToken() = default;

  [[nodiscard]] const RunId& run() const noexcept { return run_; }
  [[nodiscard]] RoundIndex round() const noexcept { return round_; }
  [[nodiscard]] bool valid() const noexcept { return valid_; }

 private:
  friend class Ledger;
  SpendToken(RunId run, RoundIndex round, releases::Block block, const releases::Cost& cost, Digest query,
             std::int64_t at)
      : run_(run), round_(round), block_(block), cost_(cost), query_(query), at_(at) {}
  RunId run_;
  RoundIndex round_;
  releases::Block block_;
  releases::Cost cost_;
  Digest query_;
  std::int64_t at_;  // when it was granted: before any record was looked at, so that the entry tells nothing of how
                     // long that took
  bool valid_ = true;
};

}  // namespace undertone::silo
