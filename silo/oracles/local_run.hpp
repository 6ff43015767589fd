#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "shared/data/block_reader.hpp"
#include "shared/planning/plan.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "silo/oracles/record_sums.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// What a local run begins with.
struct LocalStart {
  Eigen::VectorXd point;         // w_r: [d]
  Eigen::VectorXd control = {};  // c, the cohort's control variate: [d], or empty where there are none
  Eigen::VectorXd variate = {};  // c_i, the silo's own, made of what it said before: of the same size
};

/// The iterate after the release's noisy steps from a public point:
///   w <- w - eta (mean gradient of b records, drawn afresh without replacement and clipped, + Gaussian noise of the
///                 release's lattice + lambda (w - w_r) + c - c_i)
/// Every step's noised gradient could be published, so what is made of them is post-processing: the message costs what
/// its draws cost. What leaves the wire's type is clamped to it.
/// Of persons, draws are of persons, and every step looks at the same ones of a person's records.
/// @param persons of a block of persons: which of their records are looked at; null of one of records
/// @return [d] wire steps
/// Source: federated-core 3.6; lambda: Li et al. 2020 (FedProx), Algorithm 2; c: Karimireddy et al. 2020 (SCAFFOLD),
/// Algorithm 1.
[[nodiscard]] std::vector<std::int64_t> local_run(const LocalStart& start, const planning::Release& release,
                                                  const data::BlockReader& block, const PersonDraw* persons,
                                                  const queries::WireLattice& wire, RecordSums& sums,
                                                  ReleaseStream& stream);

/// The iterate after the release's own Frank-Wolfe steps 2/(t+1) from a public point, each to a vertex that the
/// exponential mechanism chooses by all records' gradients, clamped coordinate by coordinate. Every choice could be
/// published, so that the message costs what its choices cost. What leaves the wire's type is clamped to it.
/// @param persons as of `local_run`
/// @return [d] wire steps
/// Source: spec constraint-geometry 2.5, non-euclidean 3.2 F.
[[nodiscard]] std::vector<std::int64_t> local_choices(const Eigen::VectorXd& start, const planning::Release& release,
                                                      const data::BlockReader& block, const PersonDraw* persons,
                                                      const queries::WireLattice& wire, RecordSums& sums,
                                                      ReleaseStream& stream);

/// c_i after a run: c_i - c + (w_r - w_i)/(K eta), w_i where it ended, as everybody read it. It is the mean of the
/// noised gradients of its steps, so nothing is charged for it. Source: SCAFFOLD, Algorithm 1, option II.
/// @param end [d] wire steps @return [d]
[[nodiscard]] Eigen::VectorXd variate_after(const LocalStart& start, const releases::LocalSteps& steps,
                                            const std::vector<std::int64_t>& end, const queries::WireLattice& wire);

/// A secret order of what was drawn, for sums that could depend on places.
[[nodiscard]] std::vector<std::int64_t> reordered(const std::vector<std::int64_t>& drawn,
                                                  const std::vector<std::int64_t>& order);

}  // namespace undertone::silo
