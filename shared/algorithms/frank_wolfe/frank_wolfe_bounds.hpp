#pragma once

#include <cstdint>
#include <variant>

#include "shared/accounting/renyi.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::algorithms {

/// What all selections of a run cost together: pure epsilon-DP, or rho-zCDP.
using SelectionBudget = std::variant<releases::Epsilon, accounting::Rho>;

/// Public constants of an objective over a polytope, for one voter.
struct FrankWolfeConstants {
  /// Gamma: sup over theta_1, theta_2 in C and g in (0, 1] of (2/g^2) (L(theta_3) - L(theta_1) - <theta_3 - theta_1,
  /// grad L(theta_1)>), theta_3 = theta_1 + g (theta_2 - theta_1). Of (1/2n) ||X theta - y||^2 it is max ||X (a -
  /// b)||^2 / n over vertices a, b.
  double curvature = 0.0;
  /// How far replacing one record moves the difference of two vertices' scores <v, grad L>: 2 U max ||v_i - v_k||_1 / n
  /// where every coordinate of a record's gradient is clamped to U. Of the l1 ball of radius r it is 4 U r / n.
  double score_range = 0.0;
  std::int64_t vertices = 0;  // |S|, >= 1
};

/// epsilon of each of so many selections, rounded down: epsilon / questions, or sqrt(8 rho / questions), since each
/// costs epsilon^2 / 8 of zCDP. @param questions >= 1
[[nodiscard]] double selection_epsilon(const SelectionBudget& budget, std::uint64_t questions);

/// A bound on E L(theta_T) - min over C of L, where no gradient is longer than the clamp and the objective is convex:
///   2 Gamma/(T+1) + (range / epsilon_0) ln |S|,  epsilon_0 = selection_epsilon of T-1 questions.
/// Proof: gap_{t+1} <= (1 - mu_t) gap_t + mu_t E_t + mu_t^2 Gamma/2, with E_t the selection's expected error, and by
/// induction gap_T <= 2 Gamma/(T+1) + max_t E_t. The lattice of the gradients moves a
/// coordinate of their mean by half a step at most, which adds no more than ||C||_1 steps.
/// @param iterates T >= 2
/// Source: spec constraint-geometry 2.5 (Theorems 5.4, 5.5), non-euclidean 1.5 P1.
[[nodiscard]] double frank_wolfe_risk(const FrankWolfeConstants& constants, const SelectionBudget& budget,
                                      std::uint64_t iterates);

/// The T in 2 .. iterates_max with the least such bound. Up to rounding (4 Gamma / (k ln |S|))^(2/3) at rho, where
/// k sqrt(T-1) is the scale of a selection. @param iterates_max >= 2
[[nodiscard]] std::uint64_t best_iterates(const FrankWolfeConstants& constants, const SelectionBudget& budget,
                                          std::uint64_t iterates_max);

}  // namespace undertone::algorithms
