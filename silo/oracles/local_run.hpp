#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "shared/planning/plan.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "silo/oracles/record_sums.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// The iterate after the release's noisy steps from a public point:
///   w <- w - eta (gradient of one record, drawn afresh and clipped, + Gaussian noise of the release's lattice)
/// Every step's noised gradient could be published, so what is made of them is post-processing: the message costs what
/// its draws cost. What leaves the wire's type is clamped to it.
/// @param start [d] @return [d] wire steps
/// Source: federated-core 3.6.
[[nodiscard]] std::vector<std::int64_t> local_run(const Eigen::VectorXd& start, const planning::Release& release,
                                                  const models::Records& block, const queries::WireLattice& wire,
                                                  RecordSums& sums, ReleaseStream& stream);

}  // namespace undertone::silo
