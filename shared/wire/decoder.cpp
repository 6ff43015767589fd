#include <algorithm>
#include <cstring>
#include <utility>

#include "shared/base/spans.hpp"
#include "shared/wire/assembly.hpp"
#include "shared/wire/chunk_view.hpp"
#include "shared/wire/codec.hpp"
#include "shared/wire/envelope_view.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/from_proto.hpp"

namespace undertone::wire {
namespace {

template <class T>
T get(std::string_view bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value =
        static_cast<T>(value | static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i)));
  }
  return value;
}

std::uint64_t memory_of(v1::ElementType element, std::uint64_t dimension) {
  return element == v1::ELEMENT_TYPE_BYTES ? dimension : 8 * dimension;
}

Kind kind_of(const v1::Envelope& envelope) { return static_cast<Kind>(envelope.body_case()); }

}  // namespace

std::uint64_t Decoder::assembling_bytes() const noexcept {
  return assembly_ != nullptr && assembly_->wanted ? memory_of(assembly_->element, assembly_->dimension) : 0;
}

void Decoder::wipe() {
  if (assembly_ != nullptr || !buffer_.empty()) return;
  buffer_.resize(buffer_.capacity());
  ::explicit_bzero(buffer_.data(), buffer_.size());
  buffer_.clear();
}

Decoder::Decoder(Limits limits) : limits_(limits) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

Result<std::vector<Message>> Decoder::feed(std::string_view bytes) {
  const Span span(Activity::Decoding);
  std::vector<Message> out;
  while (true) {
    const std::size_t header_missing = buffer_.size() < kFrameHeaderBytes ? kFrameHeaderBytes - buffer_.size() : 0;
    const std::size_t header_taken = std::min(header_missing, bytes.size());
    buffer_.append(bytes.substr(0, header_taken));
    bytes.remove_prefix(header_taken);
    if (buffer_.size() < kFrameHeaderBytes) return out;
    if (std::string_view(buffer_).substr(0, 4) != kMagic) return malformed("this is not Undertone's protocol");
    const auto version = get<std::uint16_t>(buffer_, 4);
    const auto type = get<std::uint16_t>(buffer_, 6);
    const auto length = get<std::uint32_t>(buffer_, 8);
    if (version != kFrameVersion || type != kEnvelopeFrame) {
      return malformed(
          fmt::format("frame version {} type {}, expected {} and {}", version, type, kFrameVersion, kEnvelopeFrame));
    }
    if (length > limits_.frame_bytes_max) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("a frame of {} bytes, at most {} are allowed", length, limits_.frame_bytes_max)};
    }
    const std::size_t taken = std::min<std::size_t>(kFrameHeaderBytes + length - buffer_.size(), bytes.size());
    buffer_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (buffer_.size() < kFrameHeaderBytes + length) return out;
    const std::string_view payload = std::string_view(buffer_).substr(kFrameHeaderBytes);
    if (const std::optional<ChunkView> chunk = view_chunk(payload)) {
      UNDERTONE_TRY(on_chunk(chunk->offset, chunk->elements, out));
      buffer_.clear();
      continue;
    }
    UNDERTONE_TRY(admit(payload));
    v1::Envelope envelope;
    const bool parsed = envelope.ParseFromArray(payload.data(), static_cast<int>(length));
    buffer_.clear();
    if (!parsed) return malformed("a frame that is not an envelope");
    UNDERTONE_TRY(on_envelope(envelope, out));
  }
}

Status Decoder::admit(std::string_view payload) const {
  UNDERTONE_TRY(const EnvelopeView view, view_envelope(payload));
  if (!kinds_.contains(view.kind)) return malformed(fmt::format("this peer does not send {}", name_of(view.kind)));
  if (view.kind == Kind::Chunk && assembly_ == nullptr) return malformed("a part of a vector that was not announced");
  if (assembly_ != nullptr && view.kind != Kind::Chunk && view.kind != Kind::Heartbeat)
    return malformed("another message inside a vector");
  return check_bounds(view, payload.size(), limits_.frame_bytes_max);
}

Status Decoder::on_envelope(const v1::Envelope& envelope, std::vector<Message>& out) {
  using Body = v1::Envelope::BodyCase;
  const Body body = envelope.body_case();
  RunId run;
  const bool needs_run = body == Body::kJobOffer || body == Body::kJobAnswer || body == Body::kQuery ||
                         body == Body::kQueryRefused || body == Body::kReply || body == Body::kJobEnded ||
                         body == Body::kJobEndedSeen || body == Body::kJobPending ||
                         (body >= Body::kSealedReply && body <= Body::kBatchAbandon);
  if (needs_run) {
    UNDERTONE_TRY(const RunId parsed, RunId::from_bytes(envelope.run()));
    run = parsed;
  }
  const RoundIndex round{envelope.round()};
  const auto emit = [&out](auto&& parsed) -> Status {
    if (!parsed) return parsed.error();
    out.emplace_back(*std::forward<decltype(parsed)>(parsed));
    return {};
  };
  const auto begin = [&](v1::ElementType element, std::uint64_t dimension) -> Status {
    const bool of_bytes = element == v1::ELEMENT_TYPE_BYTES;
    const std::uint64_t most = of_bytes ? kBytesPerElement * limits_.dimension_max : limits_.dimension_max;
    // `check` has seen to it that questions at no point, and no others, have none.
    const bool no_point = envelope.has_query() && !asked_at_point(envelope.query());
    if ((dimension == 0 && !no_point) || dimension > most) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("a {} {}, at least 1 and at most {} are allowed",
                               of_bytes ? "number of bytes" : "vector of dimension", dimension, most)};
    }
    VectorHeader header{kind_of(envelope), run, round, dimension, width_of(element), memory_of(element, dimension)};
    if (body == Body::kSealedReply) {
      UNDERTONE_TRY(const Digest terms, digest_from_bytes(envelope.sealed_reply().terms()));
      header.terms = terms;
      header.unit_bytes = envelope.sealed_reply().unit_bytes();
      header.word_bytes = envelope.sealed_reply().word_bytes();
    }
    assembly_ = std::make_unique<Assembly>();
    assembly_->wanted = !wanted_ || wanted_(header);
    assembly_->run = run;
    assembly_->header = envelope;
    assembly_->element = element;
    assembly_->dimension = dimension;
    return dimension == 0 ? complete(out) : Status();
  };
  switch (body) {
    case Body::kHello:
      return emit(from_proto(envelope.hello()));
    case Body::kWelcome:
      return emit(from_proto(envelope.welcome()));
    case Body::kHeartbeat:
      out.emplace_back(Heartbeat{});
      return {};
    case Body::kFault:
      return emit(from_proto(envelope.fault()));
    case Body::kJobOffer:
      out.emplace_back(JobOffer{run, envelope.job_offer().job()});
      return {};
    case Body::kJobAnswer:
      return emit(from_proto(envelope.job_answer(), run));
    case Body::kQuery:
      UNDERTONE_TRY(check(envelope.query()));
      return begin(envelope.query().element(), envelope.query().dimension());
    case Body::kQueryRefused:
      return emit(from_proto(envelope.query_refused(), run, round));
    case Body::kReply:
      UNDERTONE_TRY(check(envelope.reply()));
      return begin(envelope.reply().element(), envelope.reply().dimension());
    case Body::kChunk:
      return on_chunk(envelope.chunk().offset(), envelope.chunk().elements(), out);
    case Body::kReceipt: {
      UNDERTONE_TRY(wire::Receipt receipt, from_proto(envelope.receipt()));
      out.emplace_back(ReceiptMessage{std::move(receipt)});
      return {};
    }
    case Body::kJobEnded:
      out.emplace_back(JobEnded{run, envelope.job_ended().succeeded()});
      return {};
    case Body::kJobEndedSeen:
      out.emplace_back(JobEndedSeen{run});
      return {};
    case Body::kJobPending:
      out.emplace_back(JobPending{run});
      return {};
    case Body::kSealedReply:
      UNDERTONE_TRY(check(envelope.sealed_reply()));
      return begin(v1::ELEMENT_TYPE_BYTES, envelope.sealed_reply().bytes());
    case Body::kSealedReplyTaken:
      return emit(from_proto(envelope.sealed_reply_taken(), run, round));
    case Body::kSealedReplyRefused:
      return emit(from_proto(envelope.sealed_reply_refused(), run, round));
    case Body::kReplyHandedOver:
      return emit(from_proto(envelope.reply_handed_over(), run, round));
    case Body::kBatchOpen:
      return emit(from_proto(envelope.batch_open(), run, round));
    case Body::kBatchOpened:
      out.emplace_back(BatchOpened{run, round, envelope.batch_opened().attempt()});
      return {};
    case Body::kBatchRefused:
      return emit(from_proto(envelope.batch_refused(), run, round));
    case Body::kBatchCollected:
      return emit(from_proto(envelope.batch_collected(), run, round));
    case Body::kBatchClose:
      return emit(from_proto(envelope.batch_close(), run, round));
    case Body::kBatchForward:
      UNDERTONE_TRY(check(envelope.batch_forward()));
      return begin(v1::ELEMENT_TYPE_BYTES, envelope.batch_forward().bytes());
    case Body::kBatchFailed:
      out.emplace_back(BatchFailed{run, round, envelope.batch_failed().attempt(), envelope.batch_failed().replies()});
      return {};
    case Body::kBatchDelivered:
      out.emplace_back(BatchDelivered{run, round});
      return {};
    case Body::kBatchAbandon:
      out.emplace_back(BatchAbandon{run, round});
      return {};
    case Body::BODY_NOT_SET:
      return malformed("an envelope without a message");
  }
  return malformed("an envelope with an unknown message");
}

Status Decoder::on_chunk(std::uint64_t offset, std::string_view elements, std::vector<Message>& out) {
  if (assembly_ == nullptr) return malformed("a part of a vector that was not announced");
  const std::size_t width = width_of(assembly_->element);
  if (elements.empty() || elements.size() % width != 0 ||
      elements.size() / width > assembly_->dimension - assembly_->received || offset != assembly_->received) {
    return malformed("a part of a vector that does not continue it");
  }
  if (assembly_->wanted) {
    UNDERTONE_TRY(assembly_->append(elements));
  } else {
    assembly_->received += elements.size() / width;
  }
  return assembly_->received < assembly_->dimension ? Status() : complete(out);
}

Status Decoder::complete(std::vector<Message>& out) {
  if (!assembly_->wanted) {
    assembly_.reset();
    return {};
  }
  Result<Message> message = assembly_->finish();
  assembly_.reset();
  if (!message) return message.error();
  out.push_back(*std::move(message));
  return {};
}

}  // namespace undertone::wire
