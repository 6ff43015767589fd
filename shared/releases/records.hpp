#pragma once

#include <cstdint>

namespace undertone::releases {

/// Disjoint parts of a silo's records, fixed before a job by record position alone. A record is in one block, so what
/// different blocks release composes in parallel.
enum class Block : std::uint8_t { Training = 1, Holdout = 2 };

/// Consecutive positions of a block's secret permutation, which a run draws once and which does not depend on values: a
/// record is at one position, so releases of disjoint slices compose in parallel.
struct Slice {
  /// Equal: `of` parts of floor(n / of) records. Halving: floor(n/2), floor(n/4), ... records, `of` parts at most.
  enum class Cut : std::uint8_t { Equal, Halving };
  Cut cut = Cut::Equal;
  std::uint64_t index = 0;  // below `of`
  std::uint64_t of = 1;

  struct Positions {
    std::int64_t from = 0;
    std::int64_t to = 0;
    friend bool operator==(const Positions&, const Positions&) = default;
  };
  /// @return where the slice lies in a permutation of `records`; empty where there are too few
  [[nodiscard]] Positions positions(std::int64_t records) const;
};

}  // namespace undertone::releases
