#pragma once

#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/base/result.hpp"

namespace undertone::data {

/// Concentrations outside of this are refused: beyond it a draw is one part alone, or all parts equal, to rounding.
inline constexpr double kConcentrationMin = 1e-6;
inline constexpr double kConcentrationMax = 1e6;

/// One draw of the symmetric Dirichlet distribution: Gamma(concentration) variates, divided by their sum.
/// @param parts > 0
/// @return [parts], each in [0, 1], with sum 1 to rounding
/// Source: Marsaglia and Tsang 2000, A Simple Method for Generating Gamma Variables, with their step for shapes below
/// 1, carried out on logarithms so that small shapes do not end as zeros alone.
[[nodiscard]] Result<std::vector<double>> dirichlet_proportions(std::size_t parts, double concentration,
                                                                RandomSource& source);

}  // namespace undertone::data
