#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/queries/query.hpp"
#include "shared/queries/receipt.hpp"
#include "shared/queries/wire_lattice.hpp"

namespace undertone::wire {

inline constexpr std::uint32_t kProtocolMin = 1;
inline constexpr std::uint32_t kProtocolMax = 2;

/// Ledgers of one silo that a coordinator keeps receipts of.
inline constexpr std::size_t kReceiptsMax = 16;

/// Why a silo will not, as it tells the coordinator; its owner reads the sentence.
enum class Refusal : std::uint8_t {
  InvalidJob = 1,
  Policy,
  Budget,
  Unplanned,
  UnknownRun,
  Unavailable,
  Owner,
  Withdrawn,
  Paused
};
/// What a peer of an older protocol is told in its place; nothing where silence says it best.
[[nodiscard]] std::optional<Refusal> refusal_for(Refusal refusal, std::uint32_t protocol) noexcept;
[[nodiscard]] std::string_view to_string(Refusal refusal) noexcept;

struct Hello {
  std::uint32_t protocol_min = kProtocolMin;
  std::uint32_t protocol_max = kProtocolMax;
  std::string build;
};
struct Welcome {
  std::uint32_t protocol = kProtocolMax;
  std::string build;
  std::vector<queries::Receipt> receipts;  // at most kReceiptsMax
};
struct Heartbeat {};
struct Fault {
  ErrorCode code = ErrorCode::Malformed;
  std::string sentence;
};
struct JobOffer {
  RunId run;
  std::string job;
};
struct JobAnswer {
  RunId run;
  std::optional<Refusal> refusal;  // none: accepted
};
struct QueryMessage {
  RunId run;
  queries::PointType type = queries::PointType::F64;
  queries::Query query;
};
struct QueryRefused {
  RunId run;
  RoundIndex round;
  Refusal refusal = Refusal::Unplanned;
};
struct ReplyMessage {
  RunId run;
  Digest query{};
  queries::ReplyType type = queries::ReplyType::I64;
  queries::Reply reply;
};
struct ReceiptMessage {
  queries::Receipt receipt;
};
struct JobEnded {
  RunId run;
  bool succeeded = false;
};
struct JobEndedSeen {
  RunId run;
};
/// The silo's owner has not decided yet. From protocol 2 on.
struct JobPending {
  RunId run;
};

/// Everything that crosses the wire.
using Message = std::variant<Hello, Welcome, Heartbeat, Fault, JobOffer, JobAnswer, QueryMessage, QueryRefused,
                             ReplyMessage, ReceiptMessage, JobEnded, JobEndedSeen, JobPending>;

/// A name for logs, e.g. "query".
[[nodiscard]] std::string_view name_of(const Message& message) noexcept;

/// The highest protocol both ranges hold, or an error whose sentence names both.
[[nodiscard]] Result<std::uint32_t> negotiate(const Hello& hello, std::uint32_t own_min, std::uint32_t own_max);

}  // namespace undertone::wire
