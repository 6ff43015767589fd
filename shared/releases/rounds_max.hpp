#pragma once

#include <cstdint>

namespace undertone::releases {

/// Rounds of one run at most: what jobs may ask for, plans may list and algorithms may be sized for.
inline constexpr std::uint64_t kRoundsMax = 1'000'000;

}  // namespace undertone::releases
