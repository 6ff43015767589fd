#pragma once

#include <cstdio>

#include "shared/base/result.hpp"

namespace undertone::service {

/// What `undertone` exits with. 4: the coordinator cannot be reached or does not let this operator in.
enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kRefused = 3, kUnreachable = 4 };

/// Prints the sentence. @return the code that fits the error
[[nodiscard]] inline int fail(const Error& error) {
  fmt::print(stderr, "undertone: {}\n", error.message);
  switch (error.code) {
    case ErrorCode::QuorumMissed:
    case ErrorCode::Cancelled:
      return kFailed;
    case ErrorCode::Unreachable:
    case ErrorCode::Unauthorized:
      return kUnreachable;
    default:
      return kRefused;
  }
}

}  // namespace undertone::service
