#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "shared/base/ids.hpp"

namespace undertone {

/// A set of rounds, kept as ranges: a run that skips nothing takes the memory of one range, however long it is.
class RoundSet {
 public:
  struct Range {
    std::uint64_t from = 0;
    std::uint64_t to = 0;  // one past the last
    friend auto operator<=>(const Range&, const Range&) = default;
  };

  /// Adds a round. @pre it is later than every round of the set
  void append(RoundIndex round);
  /// How many rounds of the set lie in [from, to).
  [[nodiscard]] std::uint64_t count(std::uint64_t from, std::uint64_t to) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }

  friend auto operator<=>(const RoundSet&, const RoundSet&) = default;

 private:
  std::vector<Range> ranges_;  // ascending, with a gap between any two
};

}  // namespace undertone
