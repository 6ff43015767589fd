#pragma once

#include <vector>

#include "shared/base/result.hpp"
#include "shared/statistics/means.hpp"

namespace undertone::statistics {

/// Finite numbers, records >= 1, weights > 0 that sum to 1 (to 1e-9); with squares: two records and a square each.
[[nodiscard]] Status check_moments(const std::vector<SiloMoments>& silos, bool squares);

}  // namespace undertone::statistics
