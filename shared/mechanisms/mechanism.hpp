#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "shared/mechanisms/binomial_sum/binomial_sum.hpp"
#include "shared/mechanisms/direction_sum/direction_sum.hpp"
#include "shared/mechanisms/gaussian_sum/gaussian_sum.hpp"
#include "shared/mechanisms/generalised_gaussian_sum/generalised_gaussian_sum.hpp"
#include "shared/mechanisms/laplace_sum/laplace_sum.hpp"
#include "shared/mechanisms/local_reports/local_reports.hpp"
#include "shared/mechanisms/objective_perturbation/perturbed_objective.hpp"
#include "shared/mechanisms/selection/clamped_sum.hpp"
#include "shared/mechanisms/selection/exponential_mechanism.hpp"
#include "shared/mechanisms/selection/path_selection.hpp"
#include "shared/releases/cost.hpp"
#include "shared/releases/silo_facts.hpp"

namespace undertone::mechanisms {

/// What a release is before anybody has chosen how it leaves: it costs nothing that could be said, and nothing of it
/// may leave.
struct Unplanned {};
/// The exact sum of public records leaves: the one mechanism that costs nothing.
struct ExactPublicSum {
  releases::PublicBlock records;
  Lattice lattice;
};
/// Counts of which nobody sees less than the total over the silos of a round: each silo rounds its sum to a grid and
/// adds the coins of its records. Source: spec heavy-tailed 3.1.
struct BinomialSum {
  Lattice lattice;  // binomial_lattice of the parameters
  BinomialParameters parameters;
  BinomialShift shift;  // of a total that holds the coins of the honest silos the plan counts on
};
/// One candidate by the exponential mechanism, from scores of the exact sum of clamped records.
struct Selection {
  ClampLattice lattice;
  ExponentialMechanism draw;
};
using Mechanism =
    std::variant<Unplanned, GaussianLattice, ExactPublicSum, BinomialSum, LaplaceLattice, Selection, LocalReports,
                 PathSelection, PerturbedObjective, GeneralisedGaussianLattice, DirectionSum>;

/// "Gaussian, exactly rounded to a lattice", for people.
[[nodiscard]] std::string_view name_of(const Mechanism& mechanism) noexcept;
/// What one release costs a record that it reads once, by its own noise, rounded up. A binomial sum's is mu^2 of a
/// Gaussian release that costs at least as much; its failure is charged apart. A selection along a path costs a record
/// of its dearest node this; of a perturbed objective too the failure is charged apart. @pre planned
[[nodiscard]] releases::Cost cost_of(const Mechanism& mechanism);
/// The integers that a sum is made of; null of a selection and of what is not planned.
[[nodiscard]] const Lattice* lattice_of(const Mechanism& mechanism) noexcept;
/// Of the noise on a coordinate of a silo's sum over so many records, real units; a binomial sum's with the largest
/// variance that rounding can add; of reports the largest that the sum estimated from so many can have, whatever the
/// records. Zero of public records, and of a selection, which has no noise of that kind.
/// @pre planned
[[nodiscard]] double noise_stddev_of_sum(const Mechanism& mechanism, std::int64_t records);
/// The mechanism on a lattice whose step is `factor` times as long: in lattice units nothing changes, so neither does
/// what it costs. @pre a sum
[[nodiscard]] Mechanism with_step_scaled(Mechanism mechanism, double factor);

/// Every number of the mechanism, to the last bit: each kind says its own. Digests of plans are of it. @pre planned
[[nodiscard]] std::string canonical_text(const Mechanism& mechanism);

}  // namespace undertone::mechanisms
