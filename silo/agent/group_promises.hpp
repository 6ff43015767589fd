#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shared/planning/plan.hpp"
#include "silo/ledger/ledger.hpp"

namespace undertone::silo {

/// What a run that protects records promises somebody who has several of them. It holds for so many records at most and
/// as long as n is public anyway, so it is no promise to persons.
struct GroupPromise {
  std::int64_t records = 0;       // k, of the same data set
  std::optional<double> epsilon;  // at the run's whole delta; nothing where none is known, or only one beyond 30
};

/// For 5, 10 and 20 records, as far as the silo has so many; else for all that it has. Gaussian releases that draw
/// records afresh are taken by the hypergeometric or binomial law of how many of the k are drawn; everything else as if
/// every release read all k, from what was reserved. Of delta, samplers take their share at this epsilon.
/// @param account of the run, from the ledger
/// @param secret_draws whether nobody knows whom a draw took; else draws save nothing
/// Source: spec person-unit 3.2, 10.
[[nodiscard]] std::vector<GroupPromise> group_promises(const planning::Plan& plan, const releases::SiloFacts& facts,
                                                       const RunAccount& account, bool secret_draws);

/// The same for all records of the silo together, training and holdout: what the run promises the silo itself against
/// everybody outside. It is computed as for any other number of records, and not the record's epsilon times n. Source:
/// thesis B.1.3.2, B.1.5.5, B.2.3.2; spec federated-core 1.
[[nodiscard]] GroupPromise silo_promise(const planning::Plan& plan, const releases::SiloFacts& facts,
                                        const RunAccount& account, bool secret_draws);

/// Whether some release has a cost that holds but for a failure: nothing is then known of several records together.
[[nodiscard]] bool holds_but_for_failures(const planning::Plan& plan);

}  // namespace undertone::silo
