#pragma once

#include <chrono>
#include <string>

#include "shared/config/job.hpp"
#include "shared/privacy/plan.hpp"
#include "silo/ledger/ledger.hpp"

namespace undertone::silo {

/// What a run promised and what it spent, in words for the institution and in JSON for programs.
struct PrivacyStatement {
  std::string text;
  std::string json;
};

/// @param account of the run, from the ledger
/// @param release_interval of the policy: the statement names the channel of time where it is zero
/// @param noise what drew the noise: anything but secure noise voids the statement, which then says so first
[[nodiscard]] PrivacyStatement make_statement(const SiloId& silo, const std::string& dataset, const RunId& run,
                                              const config::Job& job, const privacy::Plan& plan,
                                              const privacy::SiloFacts& facts, const RunAccount& account,
                                              std::chrono::milliseconds release_interval, privacy::NoiseKind noise);

}  // namespace undertone::silo
