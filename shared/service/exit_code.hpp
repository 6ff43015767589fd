#pragma once

#include "shared/base/result.hpp"

namespace undertone::service {

/// What `undertone` exits with.
enum ExitCode {
  kDone = 0,
  kFailed = 1,       // the run failed or was cancelled; schemas differ
  kUsage = 2,        // the command line cannot be read
  kRefused = 3,      // bad input, or a ledger that does not verify
  kUnreachable = 4,  // the coordinator cannot be reached or does not let this operator in
};

/// What the coordinator, the silo's agent and the shuffler exit with. From 3 on it says other things than `undertone`.
struct ServiceExit {
  enum Code {
    kDone = 0,         // or told to stop
    kNo = 1,           // the answer is no: an owner refused, `health` found none, the run of `run` failed
    kUsage = 2,        // the command line cannot be read
    kCannotStart = 3,  // or cannot go on, or cannot read its files
    kInterrupted = 4,  // the coordinator's `run` was told to stop before the run's end
    kHalted = 5,       // the silo's ledger does not verify: a person must look at it
  };
};

/// Prints the sentence as `undertone` does. @return the code that fits the error
[[nodiscard]] int fail(const Error& error);

}  // namespace undertone::service
