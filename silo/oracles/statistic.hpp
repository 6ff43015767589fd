#pragma once

#include <cstdint>
#include <vector>

#include "shared/mechanisms/lattice.hpp"
#include "shared/releases/ask.hpp"
#include "silo/oracles/record_sums.hpp"

namespace undertone::silo {

/// Exact integer totals of numbers of the drawn records themselves, in units of the lattice.
/// An indicator adds 1 where its number is exactly 1, else nothing. Any other number is clamped to the range and
/// rounded to the nearest unit; what is not finite counts as the range's middle. The range's ends are whole units, so
/// that replacing a record moves a coordinate by at most (high - low) / step, or 1 of an indicator, whatever the
/// records hold, and each coordinate by itself: that is a fact about integers. Source: spec statistics 1.
/// @param range of numbers, whose ends are multiples of the lattice's step; not looked at for indicators
/// @return [coordinates]
[[nodiscard]] std::vector<std::int64_t> statistic_totals(const releases::StatisticMap& statistic,
                                                         const releases::RangeBound& range,
                                                         const mechanisms::Lattice& lattice,
                                                         const RecordSums::Drawn& drawn);

}  // namespace undertone::silo
