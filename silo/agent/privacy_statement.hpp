#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"
#include "silo/ledger/ledger.hpp"
#include "silo/policy/permit.hpp"

namespace undertone::silo {

/// What a run promised and what it spent, in words for the institution and in JSON for programs.
struct PrivacyStatement {
  std::string text;
  std::string json;
};

/// Whether advisory UA-2026-1 concerns a run: sums of a network's records drawn without replacement, some of them by a
/// version in which a record's place in a draw could show.
[[nodiscard]] bool concerned_by_places(const jobs::Job& job, const RunAccount& account);

/// What is said of such a run whose plan cannot be made again. @param why it cannot
[[nodiscard]] PrivacyStatement make_unplanned_statement(const SiloId& silo, const std::string& dataset,
                                                        const RunId& run, const RunAccount& account,
                                                        const std::string& why);

/// What a statement says of the data set beside its run.
struct StatedDataset {
  bool alone = false;                 // of persons: the owner lets each record without an id be a person of its own
  bool frozen = false;                // it is served from a snapshot: a secret hash says where its records stand
  std::optional<Permit> permit = {};  // that it needs
};

/// @param account of the run, from the ledger
/// @param release_interval of the policy: the statement names the channel of time where it is zero
/// @param noise what drew the noise: anything but secure noise voids the statement, which then says so first
[[nodiscard]] PrivacyStatement make_statement(const SiloId& silo, const std::string& dataset, const RunId& run,
                                              const jobs::Job& job, const planning::Plan& plan,
                                              const releases::SiloFacts& facts, const RunAccount& account,
                                              std::chrono::milliseconds release_interval, crypto::NoiseKind noise,
                                              const StatedDataset& dataset_facts = {});

}  // namespace undertone::silo
