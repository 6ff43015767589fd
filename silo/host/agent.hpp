#pragma once

#include <functional>
#include <memory>

#include "silo/host/silo_config.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

using MakeRandomness = std::function<std::unique_ptr<ReleaseRandomness>(const SiloId&)>;

/// Exit codes of the agent.
enum ExitCode { kStopped = 0, kRefused = 1, kUsage = 2, kCannotStart = 3, kHalted = 5 };

/// A ledger that does not verify halts the silo; everything else only keeps it from starting.
[[nodiscard]] inline ExitCode exit_code_of(const Error& error) {
  return error.code == ErrorCode::LedgerCorrupt || error.code == ErrorCode::LedgerRolledBack ? kHalted : kCannotStart;
}

/// Prints the sentence. @return the code
int fail(const Error& error, ExitCode code = kCannotStart);

/// Records and keys are in memory: no core dump, and no other process of this user looks in. What is written is the
/// owner's alone. Every command begins with it.
void protect_process();

/// Opens data and ledger and serves until SIGINT or SIGTERM. @return an exit code
[[nodiscard]] int run_agent(const std::filesystem::path& config_file, const MakeRandomness& make_randomness);

}  // namespace undertone::silo
