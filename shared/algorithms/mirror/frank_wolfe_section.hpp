#pragma once

#include <string_view>

#include "shared/algorithms/method.hpp"
#include "shared/geometry/frank_wolfe_set.hpp"

/// What the Frank-Wolfe methods of one pass share: a set in the setup of l_p, and a public smoothness in it.
namespace undertone::algorithms {

/// A job's `set`: the domain in the norm that it names. A problem is noted, and something harmless returned.
[[nodiscard]] geometry::FrankWolfeSet parse_frank_wolfe_set(config::Section& parent, const Problem& problem);
/// A job's `smoothness`, which differences' noise rests on.
[[nodiscard]] double parse_needed_smoothness(config::Section& section);

/// Gradients are bounded in the dual of the set's norm.
[[nodiscard]] MethodTraits frank_wolfe_traits(const geometry::FrankWolfeSet& set, double smoothness);

/// Whether a problem is one of these methods over this set. @param algorithm a literal, for the error
/// @return an error where the smoothness is none, the dimension is another, there is a regulariser, or the start lies
/// outside the set
[[nodiscard]] Status check_frank_wolfe_problem(std::string_view algorithm, const geometry::FrankWolfeSet& set,
                                               double smoothness, const Problem& problem);

}  // namespace undertone::algorithms
