#pragma once

#include "shared/base/result.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::silo {

using enum service::ServiceExit::Code;

/// A ledger that does not verify halts the silo; everything else only keeps it from starting.
[[nodiscard]] inline service::ServiceExit::Code exit_code_of(const Error& error) {
  return error.code == ErrorCode::LedgerCorrupt || error.code == ErrorCode::LedgerRolledBack ? kHalted : kCannotStart;
}

/// Prints the sentence. @return the code
[[nodiscard]] int fail(const Error& error, service::ServiceExit::Code code = kCannotStart);

/// Records and keys are in memory: no core dump, and no other process of this user looks in. What is written is the
/// owner's alone. Every command begins with it.
void protect_process();

}  // namespace undertone::silo
