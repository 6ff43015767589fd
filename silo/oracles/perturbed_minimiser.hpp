#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/data/block_reader.hpp"
#include "shared/mechanisms/objective_perturbation/perturbed_objective.hpp"
#include "shared/models/linear_model.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// What objective perturbation minimises over: of each record y v, where v is (x, 1), or x where the dimension has no
/// room for the constant, scaled to a norm of at most r as a whole, and y is 1 for a positive target and else -1. A
/// record with a NaN or an infinity is the vector 0, which pulls at nothing.
/// Norms are at most r as real numbers, whatever was rounded: records longer than r (1 - 2^-30), as computed, are
/// scaled to that. The minimisation is of these doubles themselves.
/// @param block of n records with d or d - 1 features @return [d, n]
[[nodiscard]] Eigen::MatrixXd signed_clipped_records(const data::BlockReader& block, double record_norm,
                                                     Eigen::Index dimension);

/// A point within mechanism.accuracy() of the minimiser over C of
///   (1/n) sum_i ln(1 + exp(-<v_i, theta>)) + (zeta/2) ||theta - theta_0||^2 + <b, theta>,
/// b not rounded to its lattice: where mechanism.iterations() steps of the accelerated projected gradient method end.
/// It is one function of its arguments, and always makes all the steps. It is not private: only
/// mechanism.output_units(...) of it, with the output's noise added, may leave.
/// Records are added in their order, in doubles, a coordinate's sum being compensated: the error that the mechanism's
/// facts allow for does not grow with n. Source of that: Kahan 1965; Higham 2002, 4.3.
/// O(iterations n d) time, and a copy of the block.
/// @param block of mechanism.facts().records records, with d or d - 1 features
/// @param start theta_0, public: [d], of a norm of at most mechanism.facts().start_norm and in C, to 2^-20 of 1 + that
/// @param noise b's integers: [d], rounded Gaussians of deviation 2^kNoiseLog2Stddev
/// @return [d]
[[nodiscard]] Eigen::VectorXd perturbed_minimiser(const data::BlockReader& block,
                                                  const mechanisms::ObjectivePerturbation& mechanism,
                                                  const Eigen::Ref<const Eigen::VectorXd>& start,
                                                  std::span<const std::int64_t> noise);

/// What leaves: that point on the output's lattice with the output's noise, both noises drawn before any record is
/// looked at. What leaves the wire's type is clamped to it. @return [d] wire steps
[[nodiscard]] std::vector<std::int64_t> noised_minimiser(const Eigen::VectorXd& start,
                                                         const mechanisms::PerturbedObjective& objective,
                                                         const data::BlockReader& block,
                                                         const queries::WireLattice& wire, ReleaseStream& stream);

}  // namespace undertone::silo
