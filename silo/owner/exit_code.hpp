#pragma once

#include "shared/base/result.hpp"

namespace undertone::silo {

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

}  // namespace undertone::silo
