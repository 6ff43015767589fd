#pragma once

#include <string>
#include <variant>

#include "shared/releases/quantities.hpp"

namespace undertone::releases {

/// (epsilon, delta)-DP.
struct ApproximateDp {
  Epsilon epsilon;
  Delta delta;
};
/// epsilon-DP: delta is 0, no noise is Gaussian, and nothing is credited to sampling.
struct PureDp {
  Epsilon epsilon;
};
/// rho-zCDP. Source: Bun and Steinke 2016. A ledger counts epsilon and delta, so it is charged as an epsilon at a
/// delta.
struct ConcentratedDp {
  Rho rho;
  Delta delta;
  Epsilon epsilon;  // at least what rho is at delta
};

/// What a silo promises for replacement of any one record, over a whole run.
using Target = std::variant<ApproximateDp, PureDp, ConcentratedDp>;

/// The epsilon that a ledger charges for the target, at most.
[[nodiscard]] const Epsilon& epsilon_of(const Target& target) noexcept;
/// The delta that it charges: 0 of a pure target.
[[nodiscard]] double delta_of(const Target& target) noexcept;
/// "epsilon 1, delta 1e-05", "epsilon 1, delta 0", "rho 0.5: epsilon 4.1 at delta 1e-06"
[[nodiscard]] std::string to_string(const Target& target);

}  // namespace undertone::releases
