#include "shared/wire/envelope_view.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <optional>

#include "shared/wire/messages.hpp"
#include "shared/wire/undertone.pb.h"

namespace undertone::wire {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

static_assert(static_cast<int>(Kind::Hello) == v1::Envelope::kHelloFieldNumber &&
              static_cast<int>(Kind::Chunk) == v1::Envelope::kChunkFieldNumber &&
              static_cast<int>(Kind::JobPending) == v1::Envelope::kJobPendingFieldNumber &&
              static_cast<int>(Kind::SealedReply) == v1::Envelope::kSealedReplyFieldNumber &&
              static_cast<int>(Kind::BatchAbandon) == v1::Envelope::kBatchAbandonFieldNumber);

constexpr int kFieldsMax = 16;  // of an envelope; ours has four, and later ones may have more

// Of whole payloads: version, run and round of an envelope take 80 bytes of each, later fields may take some more.
constexpr std::size_t kSmallBytesMax = 1024;
constexpr std::size_t kWelcomeBytesMax = 4096;  // sixteen receipts of 150 bytes
constexpr std::size_t kNameBytes = 64 + 2;      // of a silo, with its tag and length
constexpr std::size_t kSilosBytesMax = kBatchSilosMax * kNameBytes + kSmallBytesMax;

/// A field that a message may repeat, and how often.
struct Repeated {
  int field = 0;
  std::size_t most = 0;
};

std::optional<Repeated> repeated_of(Kind kind) {
  switch (kind) {
    case Kind::Welcome:
      return Repeated{v1::Welcome::kReceiptsFieldNumber, kReceiptsMax};
    case Kind::BatchOpen:
      return Repeated{v1::BatchOpen::kExpectedFieldNumber, kBatchSilosMax};
    case Kind::BatchCollected:
      return Repeated{v1::BatchCollected::kSilosFieldNumber, kBatchSilosMax};
    case Kind::BatchClose:
      return Repeated{v1::BatchClose::kSilosFieldNumber, kBatchSilosMax};
    default:
      return std::nullopt;
  }
}

CodedInputStream stream_of(std::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
}

bool at_end(const CodedInputStream& in, std::string_view bytes) {
  return in.CurrentPosition() >= static_cast<int>(bytes.size());
}

Error not_an_envelope() { return {ErrorCode::Malformed, "a frame that is not an envelope"}; }

}  // namespace

std::string_view name_of(Kind kind) noexcept {
  static constexpr std::array<std::string_view, kKindLast - kKindFirst + 1> kNames = {"hello",
                                                                                      "welcome",
                                                                                      "heartbeat",
                                                                                      "fault",
                                                                                      "job_offer",
                                                                                      "job_answer",
                                                                                      "query",
                                                                                      "query_refused",
                                                                                      "reply",
                                                                                      "chunk",
                                                                                      "receipt",
                                                                                      "job_ended",
                                                                                      "job_ended_seen",
                                                                                      "job_pending",
                                                                                      "sealed_reply",
                                                                                      "sealed_reply_taken",
                                                                                      "sealed_reply_refused",
                                                                                      "reply_handed_over",
                                                                                      "batch_open",
                                                                                      "batch_opened",
                                                                                      "batch_refused",
                                                                                      "batch_collected",
                                                                                      "batch_close",
                                                                                      "batch_forward",
                                                                                      "batch_failed",
                                                                                      "batch_delivered",
                                                                                      "batch_abandon"};
  return kNames[static_cast<std::size_t>(kind) - kKindFirst];
}

Result<EnvelopeView> view_envelope(std::string_view payload) {
  CodedInputStream in = stream_of(payload);
  std::optional<EnvelopeView> out;
  for (int fields = 0; !at_end(in, payload); ++fields) {
    if (fields == kFieldsMax)
      return Error{ErrorCode::LimitExceeded, fmt::format("an envelope of more than {} fields", kFieldsMax)};
    const std::uint32_t next = in.ReadTag();
    const int number = WireFormatLite::GetTagFieldNumber(next);
    if (number < kKindFirst || number > kKindLast ||
        WireFormatLite::GetTagWireType(next) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (next == 0 || !WireFormatLite::SkipField(&in, next)) return not_an_envelope();
      continue;
    }
    int size = 0;
    if (!in.ReadVarintSizeAsInt(&size)) return not_an_envelope();
    const auto begin = static_cast<std::size_t>(in.CurrentPosition());
    if (!in.Skip(size)) return not_an_envelope();
    if (out) return Error{ErrorCode::Malformed, "an envelope with more than one message"};
    out = EnvelopeView{static_cast<Kind>(number), payload.substr(begin, static_cast<std::size_t>(size))};
  }
  if (!out) return Error{ErrorCode::Malformed, "an envelope without a message"};
  return *out;
}

std::size_t payload_bytes_max(Kind kind, std::size_t frame_bytes_max) noexcept {
  switch (kind) {
    case Kind::Chunk:
      return frame_bytes_max;
    case Kind::JobOffer:
      return std::min(frame_bytes_max, kJobOfferBytesMax + kSmallBytesMax);
    case Kind::Welcome:
      return std::min(frame_bytes_max, kWelcomeBytesMax);
    case Kind::BatchOpen:
    case Kind::BatchCollected:
    case Kind::BatchClose:
      return std::min(frame_bytes_max, kSilosBytesMax);
    default:
      return std::min(frame_bytes_max, kSmallBytesMax);
  }
}

Status check_bounds(const EnvelopeView& view, std::size_t payload_bytes, std::size_t frame_bytes_max) {
  const std::size_t most = payload_bytes_max(view.kind, frame_bytes_max);
  if (payload_bytes > most) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{} of {} bytes, at most {} are allowed", name_of(view.kind), payload_bytes, most)};
  }
  const std::optional<Repeated> repeated = repeated_of(view.kind);
  if (!repeated) return {};
  CodedInputStream in = stream_of(view.body);
  std::size_t count = 0;
  while (!at_end(in, view.body)) {
    const std::uint32_t next = in.ReadTag();
    if (WireFormatLite::GetTagFieldNumber(next) == repeated->field && ++count > repeated->most) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("{} with more than {} elements", name_of(view.kind), repeated->most)};
    }
    if (next == 0 || !WireFormatLite::SkipField(&in, next)) return not_an_envelope();
  }
  return {};
}

}  // namespace undertone::wire
