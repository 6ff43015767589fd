#pragma once

#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// How AC-SA handles an objective without strong convexity.
enum class ConvexForm : std::uint8_t {
  Regularised,  // on F + lambda/2 ||w - w_0||^2, lambda = V/(D sqrt R): what Theorems 124 and 129 state
  Direct,       // on F, upsilon = max{2 beta, V R^(3/2) / D}: the same rate by Proposition 172
};

/// Stages of AC-SA on a strongly convex objective, and what they come to.
struct StagePlan {
  std::vector<algorithms::AcceleratedStage> stages;  // at least one
  std::uint64_t halvings = 0;  // U, how many stages halve the gap for certain; 0: one stage, for what it does
  double risk = 0.0;           // E F - F* after them, at most
};

/// As many whole stages as fit into R rounds:
///   R_k = ceil(max{4 sqrt(2 beta/mu), 128 V^2 / (3 mu Delta 2^-(k+1))}),
///   upsilon_k = max{2 beta, sqrt(mu V^2 R_k (R_k+1) (R_k+2) / (3 Delta 2^-(k-1)))},
/// each of which halves the gap. Where not even the first fits, V^2/(mu R) is within a constant of the gap and one
/// stage of R rounds does what Proposition 172 says.
/// @param distance bound on ||w_0 - w*||; the gap gives another, sqrt(2 Delta / mu) @param variance V^2
/// Source: B.1.6.1, its layout as in federated-core 8 and misprint M2.
[[nodiscard]] Result<StagePlan> plan_stages(double smoothness, double strong_convexity, double gap, double distance,
                                            double variance, std::uint64_t rounds);

/// Disjoint batches of K records, R = floor(n/K) rounds, for the population risk: Theorems 36, 124.
[[nodiscard]] Result<TheoremChoice> choose_one_pass_convex(const TheoremConditions& conditions, ConvexForm form);
[[nodiscard]] Result<TheoremChoice> choose_one_pass_strongly_convex(const TheoremConditions& conditions);

/// The same records in all rounds, for the empirical risk: Theorems 37, 129. Of the batches that the theorem leaves
/// open, the least with which the draw of records asks for no more rounds than the smooth problem does.
[[nodiscard]] Result<TheoremChoice> choose_accelerated_convex(const TheoremConditions& conditions, ConvexForm form);
[[nodiscard]] Result<TheoremChoice> choose_accelerated_strongly_convex(const TheoremConditions& conditions);

/// Phases on disjoint parts of n/2, n/4, ... records, all of a part in every round: federated-core 3.8 (Gao, Lowy,
/// Zhou, Wright 2024). The phases end with the first whose 4 L^2 / mu_i is below the rate.
[[nodiscard]] Result<TheoremChoice> choose_localized_convex(const TheoremConditions& conditions);
[[nodiscard]] Result<TheoremChoice> choose_localized_strongly_convex(const TheoremConditions& conditions);

}  // namespace undertone::theorems
