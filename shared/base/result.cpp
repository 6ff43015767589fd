#include "shared/base/result.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "shared/base/contained.hpp"

namespace undertone {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "invalid_argument";
    case ErrorCode::InvalidConfig:
      return "invalid_config";
    case ErrorCode::InvalidData:
      return "invalid_data";
    case ErrorCode::Malformed:
      return "malformed";
    case ErrorCode::LimitExceeded:
      return "limit_exceeded";
    case ErrorCode::ProtocolMismatch:
      return "protocol_mismatch";
    case ErrorCode::Unauthorized:
      return "unauthorized";
    case ErrorCode::PolicyRefused:
      return "policy_refused";
    case ErrorCode::BudgetExhausted:
      return "budget_exhausted";
    case ErrorCode::UnplannedQuery:
      return "unplanned_query";
    case ErrorCode::UnknownRun:
      return "unknown_run";
    case ErrorCode::LedgerCorrupt:
      return "ledger_corrupt";
    case ErrorCode::LedgerRolledBack:
      return "ledger_rolled_back";
    case ErrorCode::DatasetChanged:
      return "dataset_changed";
    case ErrorCode::StorageFailed:
      return "storage_failed";
    case ErrorCode::NoRoom:
      return "no_room";
    case ErrorCode::Unreachable:
      return "unreachable";
    case ErrorCode::QuorumMissed:
      return "quorum_missed";
    case ErrorCode::Cancelled:
      return "cancelled";
    case ErrorCode::Internal:
      return "internal";
  }
  return "internal";
}

void throw_exception_from_error(const Error& error, const boost::source_location& location) {
  throw std::runtime_error(fmt::format("{}:{}: {}", location.file_name(), location.line(), error.message));
}

namespace detail {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: %s does not hold\n", file, line, condition);
  if (Containment::holds()) throw BrokenInvariant(fmt::format("{}:{}: {} does not hold", file, line, condition));
  std::abort();
}

}  // namespace detail
}  // namespace undertone
