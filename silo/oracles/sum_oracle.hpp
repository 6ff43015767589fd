#pragma once

#include "shared/data/split.hpp"
#include "shared/models/linear_model.hpp"
#include "shared/privacy/plan.hpp"
#include "shared/queries/query.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "silo/ledger/spend_token.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// The exact integer sum over a block's drawn records, before noise. For any two blocks that differ in one record, the
/// sums over the same draw differ by at most 2 * lattice.clip in l2: the changed record's vector leaves and another
/// enters, each verified to have integer norm <= lattice.clip; all else is equal, and integer addition is exact.
/// @param drawn positions in the block
[[nodiscard]] std::vector<std::int64_t> exact_sum(const queries::Question& question, const privacy::Release& release,
                                                  const models::Records& block, const std::vector<std::int64_t>& drawn,
                                                  const models::LinearModel& model);

/// What `answer_sum` does once a release's randomness is open: a stream, and only a granted release has one.
[[nodiscard]] queries::Answer draw_and_sum(const queries::Query& query, const privacy::Release& planned,
                                           const data::Dataset& dataset, const models::LinearModel& model,
                                           const queries::WireLattice& wire,
                                           const std::vector<std::int64_t>& permutation, ReleaseStream& stream);

/// Answers a sum question as the plan's release says. The query contributes its point and nothing else. The draw
/// comes before the first look at a record, the noise after the sum; neither depends on a record.
/// @param release the plan's entry for this round, of the same kind as the query and matching the data set
/// @param permutation of the block, secret and the run's own: where the release reads a slice of it; else not looked at
/// @param token granted by the ledger for this very round
[[nodiscard]] queries::Answer answer_sum(const queries::Query& query, const privacy::Release& release,
                                         const SpendToken& token, const data::Dataset& dataset,
                                         const models::LinearModel& model, const queries::WireLattice& wire,
                                         const std::vector<std::int64_t>& permutation, ReleaseRandomness& randomness);

}  // namespace undertone::silo
