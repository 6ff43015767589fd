#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace undertone::wire {

/// What an envelope can hold, by the number of its field in undertone.proto.
enum class Kind : std::uint8_t {
  Hello = 4,
  Welcome,
  Heartbeat,
  Fault,
  JobOffer,
  JobAnswer,
  Query,
  QueryRefused,
  Reply,
  Chunk,
  Receipt,
  JobEnded,
  JobEndedSeen,
  JobPending,
  SealedReply,
  SealedReplyTaken,
  SealedReplyRefused,
  ReplyHandedOver,
  BatchOpen,
  BatchOpened,
  BatchRefused,
  BatchCollected,
  BatchClose,
  BatchForward,
  BatchFailed,
  BatchDelivered,
  BatchAbandon,
};
inline constexpr std::uint8_t kKindFirst = 4;
inline constexpr std::uint8_t kKindLast = 30;

/// A name for logs and sentences, e.g. "query".
[[nodiscard]] std::string_view name_of(Kind kind) noexcept;

/// Kinds of messages, as one role says them to another.
class KindSet {
 public:
  constexpr KindSet(std::initializer_list<Kind> kinds) noexcept {
    for (const Kind kind : kinds) bits_ |= bit(kind);
  }
  [[nodiscard]] static constexpr KindSet all() noexcept {
    KindSet out{};
    out.bits_ = ~std::uint32_t{0};
    return out;
  }
  [[nodiscard]] constexpr bool contains(Kind kind) const noexcept { return (bits_ & bit(kind)) != 0; }

 private:
  static constexpr std::uint32_t bit(Kind kind) noexcept { return std::uint32_t{1} << static_cast<unsigned>(kind); }
  std::uint32_t bits_ = 0;
};

// Who says what to whom. docs/protocol.md has the same in a table.
inline constexpr KindSet kSiloToCoordinator{Kind::Hello,        Kind::Heartbeat,       Kind::Fault, Kind::JobAnswer,
                                            Kind::JobPending,   Kind::QueryRefused,    Kind::Reply, Kind::Receipt,
                                            Kind::JobEndedSeen, Kind::ReplyHandedOver, Kind::Chunk};
inline constexpr KindSet kCoordinatorToSilo{Kind::Welcome, Kind::Heartbeat, Kind::Fault,   Kind::JobOffer,
                                            Kind::Query,   Kind::Chunk,     Kind::JobEnded};
inline constexpr KindSet kSiloToShuffler{Kind::Hello, Kind::Heartbeat, Kind::Fault, Kind::SealedReply, Kind::Chunk};
inline constexpr KindSet kCoordinatorToShuffler{Kind::Hello,          Kind::Heartbeat,   Kind::Fault,
                                                Kind::JobOffer,       Kind::BatchOpen,   Kind::BatchClose,
                                                Kind::BatchDelivered, Kind::BatchAbandon};
inline constexpr KindSet kShufflerToSilo{Kind::Welcome, Kind::Heartbeat, Kind::Fault, Kind::SealedReplyTaken,
                                         Kind::SealedReplyRefused};
inline constexpr KindSet kShufflerToCoordinator{Kind::Welcome,      Kind::Heartbeat,    Kind::Fault,
                                                Kind::BatchOpened,  Kind::BatchRefused, Kind::BatchCollected,
                                                Kind::BatchForward, Kind::Chunk,        Kind::BatchFailed};

}  // namespace undertone::wire
