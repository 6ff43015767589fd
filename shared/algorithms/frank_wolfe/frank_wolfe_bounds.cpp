#include "shared/algorithms/frank_wolfe/frank_wolfe_bounds.hpp"

#include <cmath>

#include "shared/algorithms/number.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::algorithms {

double selection_epsilon(const SelectionBudget& budget, std::uint64_t questions) {
  UNDERTONE_CHECK(questions >= 1);
  constexpr double kRoundedDown = 1.0 - 0x1p-50;
  return std::visit(
      Overloaded{[&](releases::Epsilon epsilon) { return epsilon.value() / number(questions) * kRoundedDown; },
                 [&](accounting::Rho rho) { return std::sqrt(8.0 * rho.value() / number(questions)) * kRoundedDown; }},
      budget);
}

double frank_wolfe_risk(const FrankWolfeConstants& constants, const SelectionBudget& budget, std::uint64_t iterates) {
  UNDERTONE_CHECK(iterates >= 2 && constants.vertices >= 1);
  const double scale = constants.score_range / selection_epsilon(budget, iterates - 1);
  return 2.0 * constants.curvature / (number(iterates) + 1.0) +
         scale * std::log(static_cast<double>(constants.vertices));
}

std::uint64_t best_iterates(const FrankWolfeConstants& constants, const SelectionBudget& budget,
                            std::uint64_t iterates_max) {
  UNDERTONE_CHECK(iterates_max >= 2);
  // The bound falls, then rises: over T >= 2 its slope changes sign once, as (T+1)^2 and (T+1)^2 / sqrt(T-1) grow.
  std::uint64_t low = 2;
  std::uint64_t high = iterates_max;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const bool falls = frank_wolfe_risk(constants, budget, middle + 1) < frank_wolfe_risk(constants, budget, middle);
    if (falls) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace undertone::algorithms
