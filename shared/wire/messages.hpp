#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/queries/query.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "shared/wire/receipt.hpp"

namespace undertone::wire {

inline constexpr std::uint32_t kProtocolMin = 1;
inline constexpr std::uint32_t kProtocolMax = 3;

/// Ledgers of one silo that a coordinator keeps receipts of.
inline constexpr std::size_t kReceiptsMax = 16;
/// Of a job's file. @see jobs::kJobBytesMax
inline constexpr std::size_t kJobOfferBytesMax = std::size_t{1} << 20U;

/// Of what explains a refusal.
inline constexpr std::size_t kExplanationBytesMax = 512;

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
  std::vector<wire::Receipt> receipts;  // at most kReceiptsMax
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
  // What the silo's owner lets be said of a refusal: at most kExplanationBytesMax of printable ASCII, often nothing.
  std::string explanation = {};
};
/// What the answers to a query are sealed with, where the coordinator opens them: its key for the job, whose
/// fingerprint the job holds, and the run's reply key. The same for every silo. @see sealed::SealingPublicKey,
/// sealed::ReplyMacKey
struct SealingTerms {
  Digest public_key{};
  Digest mac_key{};
};
struct QueryMessage {
  RunId run;
  queries::PointType type = queries::PointType::F64;
  queries::Query query;
  std::optional<SealingTerms> sealing = {};  // from protocol 3 on
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
  wire::Receipt receipt;
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

/// The rest is spoken from protocol 3 on, with and about shufflers.

/// Most bytes of a sealed message or a forwarded batch: eight for each element that a vector may have.
inline constexpr std::uint64_t kBytesPerElement = 8;
/// Shufflers of a job.
inline constexpr std::size_t kShufflersMax = 2;
/// Silos that a batch can expect.
inline constexpr std::size_t kBatchSilosMax = 4096;

/// A silo's answer for one shuffler, of sealed units of equal length. @see sealed::seal
struct SealedReply {
  RunId run;
  RoundIndex round;
  Digest terms{};  // sealed::terms_digest: the shuffler mixes replies of the same terms alone
  // What the silo made: a shuffler that was told to cut or to add otherwise does not take it.
  std::uint64_t unit_bytes = 0;
  std::uint32_t word_bytes = 0;  // 0 where units are mixed
  std::string units;
};
/// To the silo: its reply is on the shuffler's disk.
struct SealedReplyTaken {
  RunId run;
  RoundIndex round;
  std::optional<Digest> receipt = {};  // sealed::receipt_of; none of shufflers that know of none
};
/// Why a shuffler does not take a silo's reply.
enum class ReplyRefusal : std::uint8_t {
  UnknownBatch = 1,  // not opened, or not yet
  Closed,            // nothing is added to the batch any more
  NotExpected,
  WrongLength,
  Different,   // the silo has sent another reply in this batch
  OtherTerms,  // made to be cut or added otherwise than the batch is, or the silo's own of before was of others
};
[[nodiscard]] std::string_view to_string(ReplyRefusal refusal) noexcept;
struct SealedReplyRefused {
  RunId run;
  RoundIndex round;
  ReplyRefusal refusal = ReplyRefusal::UnknownBatch;
};
/// From a silo to the coordinator: every shuffler of the job has taken its reply.
struct ReplyHandedOver {
  RunId run;
  RoundIndex round;
  std::map<std::string, Digest> receipts = {};  // by shuffler, at most kShufflersMax
};

/// From the coordinator to a shuffler that knows the run's job: collect a round's replies.
struct BatchOpen {
  RunId run;
  RoundIndex round;
  std::uint32_t attempt = 0;
  std::vector<SiloId> expected;  // ascending, each once
  std::uint64_t replies_min = 0;
  std::uint64_t message_bytes = 0;  // of a silo's sealed units
  std::uint64_t unit_bytes = 0;     // of each
  std::uint32_t word_bytes = 0;     // of a number of a share, 1 .. 8, where units are opened and added; 0: mixed unread
  Digest query{};                   // queries::query_digest: what shares must be sealed for
  std::chrono::milliseconds deadline{0};
  std::optional<Digest> receipt_key = {};  // of the receipts that it gives silos. @see sealed::receipt_key
};
/// To the coordinator: silos may be asked.
struct BatchOpened {
  RunId run;
  RoundIndex round;
  std::uint32_t attempt = 0;
};
/// Why a shuffler does not open a batch.
enum class BatchRefusal : std::uint8_t {
  UnknownJob = 1,  // offer the job first
  NotOfJob,        // the job does not name this shuffler, or what is asked is not what the job says
  InvalidSpec,     // silos out of order or repeated, or a number outside the limits
  Busy,            // too many batches, runs or bytes are held already
  Past,            // the run is further than this round
  Different,       // this round was opened otherwise
};
[[nodiscard]] std::string_view to_string(BatchRefusal refusal) noexcept;
struct BatchRefused {
  RunId run;
  RoundIndex round;
  std::uint32_t attempt = 0;
  BatchRefusal refusal = BatchRefusal::InvalidSpec;
};
/// From a shuffler that adds: whose shares it has. Nothing more is taken until the coordinator says what to add.
struct BatchCollected {
  RunId run;
  RoundIndex round;
  std::uint32_t attempt = 0;
  std::vector<SiloId> silos;  // ascending
};
/// To a shuffler that adds: the silos whose shares all shufflers of the job have.
struct BatchClose {
  RunId run;
  RoundIndex round;
  std::uint32_t attempt = 0;
  std::vector<SiloId> silos;  // ascending, at least the job's minimum
};
/// A closed batch: all units permuted, or one total. Final.
struct BatchForward {
  RunId run;
  RoundIndex round;
  std::uint64_t replies = 0;  // of so many silos
  std::string units;
};
/// Nothing of this attempt was forwarded, nor will be.
struct BatchFailed {
  RunId run;
  RoundIndex round;
  std::uint32_t attempt = 0;
  std::uint64_t replies = 0;
};
/// The coordinator has the batch, and what follows from it, on disk.
struct BatchDelivered {
  RunId run;
  RoundIndex round;
};
/// The coordinator gives the round up.
struct BatchAbandon {
  RunId run;
  RoundIndex round;
};

/// Everything that crosses the wire.
using Message =
    std::variant<Hello, Welcome, Heartbeat, Fault, JobOffer, JobAnswer, QueryMessage, QueryRefused, ReplyMessage,
                 ReceiptMessage, JobEnded, JobEndedSeen, JobPending, SealedReply, SealedReplyTaken, SealedReplyRefused,
                 ReplyHandedOver, BatchOpen, BatchOpened, BatchRefused, BatchCollected, BatchClose, BatchForward,
                 BatchFailed, BatchDelivered, BatchAbandon>;

/// A name for logs, e.g. "query".
[[nodiscard]] std::string_view name_of(const Message& message) noexcept;

/// The highest protocol both ranges hold, or an error whose sentence names both.
[[nodiscard]] Result<std::uint32_t> negotiate(const Hello& hello, std::uint32_t own_min, std::uint32_t own_max);

}  // namespace undertone::wire
