#include "shared/service/exit_code.hpp"

#include "shared/service/program.hpp"

namespace undertone::service {
namespace {

ExitCode exit_code_of(const Error& error) {
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

}  // namespace

int fail(const Error& error) { return kUndertone.fail(error, exit_code_of(error)); }

}  // namespace undertone::service
