#pragma once

#include <boost/system/result.hpp>
#include <fmt/format.h>
#include <string>

namespace undertone {

/// What kind of failure this is. The kind may cross the wire; the message is for the owner of the process alone.
enum class ErrorCode {
  InvalidArgument,   // a value outside its range
  InvalidConfig,     // a file that a person wrote
  InvalidData,       // a data file
  Malformed,         // bytes that are not what the format says
  LimitExceeded,     // well-formed, but larger than the configured bound
  ProtocolMismatch,  // no common protocol version
  Unauthorized,      // wrong role, wrong identity
  PolicyRefused,     // the silo's policy does not allow it
  BudgetExhausted,   // the ledger does not allow it
  UnplannedQuery,    // not the next unused release of the plan
  UnknownRun,        // no job was accepted under this run
  LedgerCorrupt,     // the ledger does not verify
  LedgerRolledBack,  // an older copy of the ledger
  DatasetChanged,    // the data are not those the ledger was opened for
  StorageFailed,     // the disk or the database refused
  NoRoom,            // the disk is full; nothing was written
  Unreachable,       // network
  QuorumMissed,      // too few replies
  Cancelled,         // by the operator
  Internal,
};

/// A stable lower-case name, e.g. "policy_refused".
[[nodiscard]] std::string_view to_string(ErrorCode code) noexcept;
/// Whether a disk or a database failed, for whatever reason.
[[nodiscard]] constexpr bool is_of_storage(ErrorCode code) noexcept {
  return code == ErrorCode::StorageFailed || code == ErrorCode::NoRoom;
}

/// An expected failure: its kind, and a sentence that says where, what was expected and what was found.
struct Error {
  ErrorCode code;
  std::string message;
};

template <class T>
using Result = boost::system::result<T, Error>;
using Status = Result<void>;

/// Called by `Result::value()` on an error, which only tests do.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& location);

namespace detail {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}

}  // namespace undertone

/// Stops the process when an invariant of the program itself is broken, or the job's work that it stands in. Never for
/// input. @see contained
#define UNDERTONE_CHECK(condition)                                                       \
  do {                                                                                   \
    if (!(condition)) ::undertone::detail::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)

#define UNDERTONE_DETAIL_JOIN2(a, b) a##b
#define UNDERTONE_DETAIL_JOIN(a, b) UNDERTONE_DETAIL_JOIN2(a, b)
#define UNDERTONE_DETAIL_TRY(expression)                  \
  do {                                                    \
    const auto& undertone_tried = (expression);           \
    if (!undertone_tried) return undertone_tried.error(); \
  } while (false)
#define UNDERTONE_DETAIL_TRY_VALUE(tried, declaration, ...) \
  auto tried = (__VA_ARGS__);                               \
  if (!tried) return std::move(tried).error();              \
  declaration = *std::move(tried)
#define UNDERTONE_DETAIL_TRY_NAMED(...) \
  UNDERTONE_DETAIL_TRY_VALUE(UNDERTONE_DETAIL_JOIN(undertone_tried_, __LINE__), __VA_ARGS__)

/// Passes a failure on: returns from the function with the error, or goes on where there is none. Not for coroutines,
/// which have co_return.
///   UNDERTONE_TRY(store.commit());                              // of a Status; or the value is not wanted
///   UNDERTONE_TRY(const Lattice lattice, lattice_for(round));   // of a Result: its value, moved, gets a name
/// The expression is evaluated once. A comma outside parentheses needs a pair of them.
#define UNDERTONE_TRY(first, ...) UNDERTONE_DETAIL_TRY##__VA_OPT__(_NAMED)(first __VA_OPT__(, ) __VA_ARGS__)
