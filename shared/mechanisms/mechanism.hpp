#pragma once

#include <variant>

#include "shared/mechanisms/binomial_sum/binomial_sum.hpp"
#include "shared/mechanisms/gaussian_sum/gaussian_sum.hpp"
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
using Mechanism = std::variant<Unplanned, GaussianLattice, ExactPublicSum, BinomialSum>;

}  // namespace undertone::mechanisms
