#pragma once

#include <vector>

#include "shared/accounting/loss_law.hpp"
#include "shared/accounting/pass_profile.hpp"
#include "shared/base/result.hpp"

namespace undertone::accounting {

/// Losses 0, +-step, ... at which a profile is evaluated: the one after L is step + growth L beyond it.
struct LossGrid {
  double step = 0.0;
  double growth = 0.0;
};

/// The losses that show the law of one pass to some percent of delta: fine beside its spread, coarser in the tail.
[[nodiscard]] Result<LossGrid> loss_grid_of(const Allocation& allocation, AllocationGrid grid);

/// A law of finitely many losses: of a pair (P, Q) that dominates one pass in both orders.
struct PassLosses {
  std::vector<long double> losses;  // increasing
  std::vector<long double> q;       // their masses under Q; under P each is e^loss times as much
  double infinite = 0.0;            // P's mass of an infinite loss
};

/// The losses of `pass_law`, with its arguments.
[[nodiscard]] Result<PassLosses> pass_losses(const Allocation& allocation, const LossGrid& losses, double left_out,
                                             AllocationGrid grid);

/// Delta at epsilon of a pass together with Gaussian releases of every record, whose shifts' squares add up to that of
/// `shift`, from above: E(P l - e^epsilon Q)+ with l = dN(shift)/dN(0), which is the sum over the losses of what P has
/// of each times the Gaussian profile at epsilon - loss. Nothing is discretised but the pass. Source: spec
/// random-allocation, theorem A: a round that always reads the record is in every set A, so that it multiplies by its
/// own pair.
[[nodiscard]] double delta_beside_gaussian(const PassLosses& pass, releases::GaussianShift shift, double epsilon);

/// The privacy loss of a pair that dominates one pass, in both orders, for compositions with whatever else reads the
/// records: its profile is the largest convex function below upper values at the grid's losses. The true profile is
/// convex and below these values, hence below the chords between them.
/// @param left_out delta at the largest loss that is held; what is beyond counts as infinite
/// @return an error where a step is not in (0, 1] or growth in [0, 0.1], or a loss above 40 would have to be held
/// Source: spec random-allocation, section 5, "Epochs".
[[nodiscard]] Result<LossLawPtr> pass_law(const Allocation& allocation, const LossGrid& losses, double left_out,
                                          AllocationGrid grid);

}  // namespace undertone::accounting
