#include <algorithm>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <utility>

#include "shared/base/large_memory.hpp"
#include "shared/wire/codec.hpp"
#include "shared/wire/frame.hpp"

namespace undertone::wire {
namespace {

Error malformed(const std::string& what) { return {ErrorCode::Malformed, what}; }

template <class T>
T get(std::string_view bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value =
        static_cast<T>(value | static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i)));
  }
  return value;
}

/// A peer's text stands in logs and on terminals: nothing but printable ASCII is let in.
bool is_acceptable(const std::string& text, std::size_t bytes_max) {
  return text.size() <= bytes_max && std::all_of(text.begin(), text.end(), is_printable);
}

Result<Refusal> from_proto(v1::Refusal refusal) {
  if (refusal < v1::REFUSAL_INVALID_JOB || refusal > v1::REFUSAL_PAUSED) return malformed("an unknown refusal");
  return static_cast<Refusal>(refusal);
}

std::optional<ErrorCode> from_proto(v1::FaultCode code) {
  switch (code) {
    case v1::FAULT_CODE_PROTOCOL_MISMATCH:
      return ErrorCode::ProtocolMismatch;
    case v1::FAULT_CODE_MALFORMED:
      return ErrorCode::Malformed;
    case v1::FAULT_CODE_UNAUTHORIZED:
      return ErrorCode::Unauthorized;
    case v1::FAULT_CODE_LIMIT_EXCEEDED:
      return ErrorCode::LimitExceeded;
    default:
      return std::nullopt;
  }
}

Result<queries::Receipt> from_proto(const v1::LedgerReceipt& receipt) {
  const Result<Digest> hash = digest_from_bytes(receipt.hash());
  const Result<Digest> ledger = digest_from_bytes(receipt.ledger());
  if (receipt.sequence() == 0 || !hash || !ledger || receipt.signature().size() != 64) {
    return malformed("a ledger receipt of the wrong form");
  }
  return queries::Receipt{*ledger, receipt.sequence(), *hash, receipt.signature()};
}

Result<Hello> from_proto(const v1::Hello& hello) {
  if (hello.protocol_min() == 0 || hello.protocol_max() < hello.protocol_min() ||
      !is_acceptable(hello.build(), kBuildBytesMax)) {
    return malformed("a hello with an empty protocol range or a build name that is not short printable text");
  }
  return Hello{hello.protocol_min(), hello.protocol_max(), hello.build()};
}

Result<Welcome> from_proto(const v1::Welcome& welcome) {
  if (welcome.protocol() == 0 || !is_acceptable(welcome.build(), kBuildBytesMax))
    return malformed("a welcome without a protocol or with a build name that is not short printable text");
  if (welcome.receipts_size() > static_cast<int>(kReceiptsMax)) return malformed("a welcome with too many receipts");
  Welcome out{welcome.protocol(), welcome.build(), {}};
  for (const v1::LedgerReceipt& kept : welcome.receipts()) {
    Result<queries::Receipt> receipt = from_proto(kept);
    if (!receipt) return receipt.error();
    out.receipts.push_back(*std::move(receipt));
  }
  return out;
}

Result<Fault> from_proto(const v1::Fault& fault) {
  const std::optional<ErrorCode> code = from_proto(fault.code());
  if (!code) return malformed("an unknown fault");
  if (!is_acceptable(fault.sentence(), kSentenceBytesMax))
    return malformed("a fault with a sentence that is not short printable text");
  return Fault{*code, fault.sentence()};
}

Result<JobAnswer> from_proto(const v1::JobAnswer& answer, const RunId& run) {
  if (answer.accepted()) {
    if (answer.refusal() != v1::REFUSAL_UNSPECIFIED) return malformed("a job both accepted and refused");
    return JobAnswer{run, std::nullopt};
  }
  const Result<Refusal> refusal = from_proto(answer.refusal());
  if (!refusal) return refusal.error();
  return JobAnswer{run, *refusal};
}

/// Names of silos, ascending, each once.
Result<std::vector<SiloId>> from_proto(const google::protobuf::RepeatedPtrField<std::string>& names) {
  if (static_cast<std::size_t>(names.size()) > kBatchSilosMax)
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("a batch of {} silos, at most {} are allowed", names.size(), kBatchSilosMax)};
  std::vector<SiloId> out;
  out.reserve(static_cast<std::size_t>(names.size()));
  for (const std::string& name : names) {
    Result<SiloId> silo = SiloId::create(name);
    if (!silo) return malformed("a batch of a silo without a proper name");
    if (!out.empty() && !(out.back() < *silo)) return malformed("a batch whose silos are not in ascending order");
    out.push_back(*std::move(silo));
  }
  return out;
}

Result<BatchOpen> from_proto(const v1::BatchOpen& open, const RunId& run, RoundIndex round) {
  Result<std::vector<SiloId>> expected = from_proto(open.expected());
  if (!expected) return expected.error();
  const Result<Digest> query = digest_from_bytes(open.query());
  constexpr std::uint64_t kDeadlineMax = std::uint64_t{1} << 40U;
  if (expected->empty() || !query || open.replies_min() == 0 || open.message_bytes() == 0 || open.unit_bytes() == 0 ||
      open.word_bytes() > 8 || open.deadline_ms() == 0 || open.deadline_ms() > kDeadlineMax) {
    return malformed("a batch with a number outside its range");
  }
  return BatchOpen{run,
                   round,
                   open.attempt(),
                   *std::move(expected),
                   open.replies_min(),
                   open.message_bytes(),
                   open.unit_bytes(),
                   open.word_bytes(),
                   *query,
                   std::chrono::milliseconds(open.deadline_ms())};
}

/// What a query says of sealing: both keys or neither.
Result<std::optional<SealingTerms>> sealing_of(const v1::Query& query) {
  if (query.sealing_key().empty() && query.reply_mac_key().empty()) return std::optional<SealingTerms>();
  const Result<Digest> key = digest_from_bytes(query.sealing_key());
  const Result<Digest> mac = digest_from_bytes(query.reply_mac_key());
  if (!key || !mac) return malformed("a query with a sealing key of the wrong length");
  return std::optional<SealingTerms>({*key, *mac});
}

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

/// A part of a vector where it lies in a frame's payload.
struct ChunkView {
  std::uint64_t offset = 0;
  std::string_view elements;
};

constexpr std::uint32_t tag(int field, WireFormatLite::WireType type) { return WireFormatLite::MakeTag(field, type); }

/// The body of a chunk of the usual form: an offset, then elements. @return nothing for any other form
std::optional<ChunkView> view_chunk_body(CodedInputStream& in) {
  using Chunk = v1::VectorChunk;
  ChunkView out;
  std::uint32_t next = in.ReadTag();
  if (next == tag(Chunk::kOffsetFieldNumber, WireFormatLite::WIRETYPE_VARINT)) {
    if (!in.ReadVarint64(&out.offset)) return std::nullopt;
    next = in.ReadTag();
  }
  int size = 0;
  const void* at = nullptr;
  int available = 0;
  if (next != tag(Chunk::kElementsFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED) ||
      !in.ReadVarintSizeAsInt(&size) || !in.GetDirectBufferPointer(&at, &available) || size != available) {
    return std::nullopt;
  }
  out.elements = {static_cast<const char*>(at), static_cast<std::size_t>(size)};
  return out;
}

/// Looks at an envelope that holds a chunk without copying it. @return nothing for everything else, well-formed or not:
/// the parser is then asked
std::optional<ChunkView> view_chunk(std::string_view payload) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(payload.data()), static_cast<int>(payload.size()));
  std::uint32_t next = in.ReadTag();
  if (next == tag(v1::Envelope::kProtocolVersionFieldNumber, WireFormatLite::WIRETYPE_VARINT)) {
    std::uint64_t version = 0;
    if (!in.ReadVarint64(&version)) return std::nullopt;
    next = in.ReadTag();
  }
  int size = 0;
  if (next != tag(v1::Envelope::kChunkFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED) ||
      !in.ReadVarintSizeAsInt(&size) || size != static_cast<int>(payload.size()) - in.CurrentPosition()) {
    return std::nullopt;
  }
  return view_chunk_body(in);
}

/// Whether every bit of a coordinate's exponent is set. Written without a branch, so that a chunk is checked at the
/// speed at which it is copied.
bool any_not_finite(const double* values, std::size_t count) {
  std::uint64_t bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, values + i, sizeof bits);
    constexpr std::uint64_t kExponent = 0x7ff0'0000'0000'0000;
    bad |= static_cast<std::uint64_t>((bits & kExponent) == kExponent);
  }
  return bad != 0;
}

}  // namespace

/// How much room to make for a vector of which `have` elements came and `coming` come now: all of it once an eighth was
/// really received, until then twice what was.
std::size_t room_for(std::size_t have, std::size_t coming, std::uint64_t dimension) {
  const std::size_t needed = have + coming;
  if (needed >= dimension / 8) return dimension;
  return std::max(needed, std::min<std::size_t>(2 * have, dimension));
}

/// The header of a vector on its way, and what has come of it, in its final form.
struct Decoder::Assembly {
  RunId run;
  v1::Envelope header;
  v1::ElementType element = v1::ELEMENT_TYPE_UNSPECIFIED;
  std::uint64_t dimension = 0;
  std::uint64_t received = 0;        // elements
  Eigen::VectorXd point;             // of a query
  std::vector<std::int64_t> values;  // of a reply
  std::string bytes;                 // of sealed units

  template <class Wire>
  Status append_point(std::string_view more) {
    const std::size_t count = more.size() / sizeof(Wire);
    if (received + count > static_cast<std::uint64_t>(point.size())) {
      Eigen::VectorXd larger(static_cast<Eigen::Index>(room_for(received, count, dimension)));
      expect_much(larger.data(), static_cast<std::size_t>(larger.size()) * sizeof(double));
      larger.head(static_cast<Eigen::Index>(received)) = point.head(static_cast<Eigen::Index>(received));
      point = std::move(larger);
    }
    double* to = point.data() + received;
    for (std::size_t i = 0; i < count; ++i) {
      Wire element_value{};
      std::memcpy(&element_value, more.data() + i * sizeof(Wire), sizeof(Wire));
      to[i] = static_cast<double>(element_value);
    }
    if (any_not_finite(to, count)) return malformed("a point with a coordinate that is not finite");
    received += count;
    return {};
  }
  template <class Wire>
  Status append_values(std::string_view more) {
    const std::size_t count = more.size() / sizeof(Wire);
    if (received + count > values.capacity()) {
      values.reserve(room_for(received, count, dimension));
      expect_much(values.data(), values.capacity() * sizeof(std::int64_t));
    }
    values.resize(received + count);
    std::int64_t* to = values.data() + received;
    bool beyond = false;
    for (std::size_t i = 0; i < count; ++i) {
      Wire element_value{};
      std::memcpy(&element_value, more.data() + i * sizeof(Wire), sizeof(Wire));
      to[i] = static_cast<std::int64_t>(element_value);
      beyond |= to[i] < -(std::int64_t{1} << 62) || to[i] > (std::int64_t{1} << 62);
    }
    if (beyond) return malformed("a reply with a value beyond 2^62");
    received += count;
    return {};
  }
  Status append_bytes(std::string_view more) {
    if (received + more.size() > bytes.capacity()) {
      bytes.reserve(room_for(received, more.size(), dimension));
      expect_much(bytes.data(), bytes.capacity());
    }
    bytes.append(more);
    received += more.size();
    return {};
  }
  Status append(std::string_view more) {
    switch (element) {
      case v1::ELEMENT_TYPE_BYTES:
        return append_bytes(more);
      case v1::ELEMENT_TYPE_F32:
        return append_point<float>(more);
      case v1::ELEMENT_TYPE_F64:
        return append_point<double>(more);
      case v1::ELEMENT_TYPE_I32:
        return append_values<std::int32_t>(more);
      case v1::ELEMENT_TYPE_I64:
        return append_values<std::int64_t>(more);
      default:
        return malformed("a vector of an unknown type");
    }
  }

  Result<Message> finish() {
    const RoundIndex round{header.round()};
    if (header.has_sealed_reply()) {
      const Result<Digest> terms = digest_from_bytes(header.sealed_reply().terms());
      if (!terms) return terms.error();
      return Message(SealedReply{run, round, *terms, header.sealed_reply().unit_bytes(),
                                 header.sealed_reply().word_bytes(), std::move(bytes)});
    }
    if (header.has_batch_forward())
      return Message(BatchForward{run, round, header.batch_forward().replies(), std::move(bytes)});
    if (header.has_query()) {
      const Result<std::optional<SealingTerms>> sealing = sealing_of(header.query());
      if (!sealing) return sealing.error();
      const bool narrow = element == v1::ELEMENT_TYPE_F32;
      queries::Question question =
          queries::question_of(static_cast<privacy::QuestionKind>(header.query().kind()), std::move(point));
      return Message(QueryMessage{
          run, narrow ? queries::PointType::F32 : queries::PointType::F64, {round, std::move(question)}, *sealing});
    }
    const v1::Reply& reply = header.reply();
    const bool narrow = element == v1::ELEMENT_TYPE_I32;
    queries::Answer answer = queries::NoisedSums{};
    if (reply.form() == v1::ANSWER_FORM_PUBLIC_SUMS) {
      answer = queries::PublicSums{std::move(values)};
    } else {
      answer = queries::NoisedSums{std::move(values)};
    }
    const auto noise = reply.noise() == v1::NOISE_KIND_SECURE ? privacy::NoiseKind::Secure : privacy::NoiseKind::Test;
    const Result<Digest> query = digest_from_bytes(reply.query());
    if (!query) return query.error();
    return Message(ReplyMessage{run,
                                *query,
                                narrow ? queries::ReplyType::I32 : queries::ReplyType::I64,
                                {round, reply.step_log2(), noise, std::move(answer)}});
  }
};

std::uint64_t Decoder::assembling_bytes() const noexcept {
  if (assembly_ == nullptr) return 0;
  return assembly_->element == v1::ELEMENT_TYPE_BYTES ? assembly_->dimension : 8 * assembly_->dimension;
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
      if (Status taken_in = on_chunk(chunk->offset, chunk->elements, out); !taken_in) return taken_in.error();
      buffer_.clear();
      continue;
    }
    v1::Envelope envelope;
    const bool parsed = envelope.ParseFromArray(payload.data(), static_cast<int>(length));
    buffer_.clear();
    if (!parsed) return malformed("a frame that is not an envelope");
    if (Status accepted = on_envelope(envelope, out); !accepted) return accepted.error();
  }
}

Status Decoder::on_envelope(const v1::Envelope& envelope, std::vector<Message>& out) {
  using Body = v1::Envelope::BodyCase;
  const Body body = envelope.body_case();
  if (assembly_ != nullptr && body != Body::kChunk && body != Body::kHeartbeat) {
    return malformed("another message inside a vector");
  }
  RunId run;
  const bool needs_run = body == Body::kJobOffer || body == Body::kJobAnswer || body == Body::kQuery ||
                         body == Body::kQueryRefused || body == Body::kReply || body == Body::kJobEnded ||
                         body == Body::kJobEndedSeen || body == Body::kJobPending ||
                         (body >= Body::kSealedReply && body <= Body::kBatchAbandon);
  if (needs_run) {
    const Result<RunId> parsed = RunId::from_bytes(envelope.run());
    if (!parsed) return parsed.error();
    run = *parsed;
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
    if (dimension == 0 || dimension > most) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("a {} {}, at least 1 and at most {} are allowed",
                               of_bytes ? "number of bytes" : "vector of dimension", dimension, most)};
    }
    assembly_ = std::make_unique<Assembly>();
    assembly_->run = run;
    assembly_->header = envelope;
    assembly_->element = element;
    assembly_->dimension = dimension;
    return {};
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
    case Body::kQuery: {
      const v1::Query& query = envelope.query();
      if (query.kind() < v1::QUESTION_KIND_GRADIENT || query.kind() > v1::QUESTION_KIND_LOCAL_RUN)
        return malformed("a question of no known kind");
      const bool two_points = query.kind() == v1::QUESTION_KIND_GRADIENT_DIFFERENCE;
      if (two_points && query.dimension() % 2 != 0) return malformed("two points of an odd dimension together");
      if (query.element() != v1::ELEMENT_TYPE_F32 && query.element() != v1::ELEMENT_TYPE_F64)
        return malformed("a point that is neither f32 nor f64");
      if (const Result<std::optional<SealingTerms>> sealing = sealing_of(query); !sealing) return sealing.error();
      return begin(query.element(), query.dimension());
    }
    case Body::kQueryRefused: {
      const Result<Refusal> refusal = from_proto(envelope.query_refused().refusal());
      if (!refusal) return refusal.error();
      out.emplace_back(QueryRefused{run, RoundIndex{envelope.round()}, *refusal});
      return {};
    }
    case Body::kReply: {
      const v1::Reply& reply = envelope.reply();
      if (reply.form() != v1::ANSWER_FORM_NOISED_SUMS && reply.form() != v1::ANSWER_FORM_PUBLIC_SUMS)
        return malformed("an unknown form of answer");
      if (reply.element() != v1::ELEMENT_TYPE_I32 && reply.element() != v1::ELEMENT_TYPE_I64)
        return malformed("a reply that is neither i32 nor i64");
      if (reply.noise() != v1::NOISE_KIND_SECURE && reply.noise() != v1::NOISE_KIND_TEST)
        return malformed("a reply that does not say who drew its noise");
      if (reply.step_log2() < -60 || reply.step_log2() > 60) return malformed("a reply's step outside 2^-60 .. 2^60");
      return begin(reply.element(), reply.dimension());
    }
    case Body::kChunk:
      return on_chunk(envelope.chunk().offset(), envelope.chunk().elements(), out);
    case Body::kReceipt: {
      Result<queries::Receipt> receipt = from_proto(envelope.receipt());
      if (!receipt) return receipt.error();
      out.emplace_back(ReceiptMessage{*std::move(receipt)});
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
      if (envelope.sealed_reply().terms().size() != Digest().size())
        return malformed("a sealed reply without the digest of its terms");
      if (envelope.sealed_reply().unit_bytes() == 0 || envelope.sealed_reply().word_bytes() > 8)
        return malformed("a sealed reply with a number outside its range");
      return begin(v1::ELEMENT_TYPE_BYTES, envelope.sealed_reply().bytes());
    case Body::kSealedReplyTaken:
      out.emplace_back(SealedReplyTaken{run, round});
      return {};
    case Body::kSealedReplyRefused: {
      const v1::ReplyRefusal refusal = envelope.sealed_reply_refused().refusal();
      if (refusal < v1::REPLY_REFUSAL_UNKNOWN_BATCH || refusal > v1::REPLY_REFUSAL_OTHER_TERMS)
        return malformed("an unknown refusal of a sealed reply");
      out.emplace_back(SealedReplyRefused{run, round, static_cast<ReplyRefusal>(refusal)});
      return {};
    }
    case Body::kReplyHandedOver:
      out.emplace_back(ReplyHandedOver{run, round});
      return {};
    case Body::kBatchOpen:
      return emit(from_proto(envelope.batch_open(), run, round));
    case Body::kBatchOpened:
      out.emplace_back(BatchOpened{run, round, envelope.batch_opened().attempt()});
      return {};
    case Body::kBatchRefused: {
      const v1::BatchRefusal refusal = envelope.batch_refused().refusal();
      if (refusal < v1::BATCH_REFUSAL_UNKNOWN_JOB || refusal > v1::BATCH_REFUSAL_DIFFERENT)
        return malformed("an unknown refusal of a batch");
      out.emplace_back(
          BatchRefused{run, round, envelope.batch_refused().attempt(), static_cast<BatchRefusal>(refusal)});
      return {};
    }
    case Body::kBatchCollected: {
      Result<std::vector<SiloId>> silos = from_proto(envelope.batch_collected().silos());
      if (!silos) return silos.error();
      out.emplace_back(BatchCollected{run, round, envelope.batch_collected().attempt(), *std::move(silos)});
      return {};
    }
    case Body::kBatchClose: {
      Result<std::vector<SiloId>> silos = from_proto(envelope.batch_close().silos());
      if (!silos) return silos.error();
      out.emplace_back(BatchClose{run, round, envelope.batch_close().attempt(), *std::move(silos)});
      return {};
    }
    case Body::kBatchForward:
      if (envelope.batch_forward().replies() == 0) return malformed("a batch of no replies");
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
  if (Status appended = assembly_->append(elements); !appended) return appended;
  if (assembly_->received < assembly_->dimension) return {};
  Result<Message> message = assembly_->finish();
  assembly_.reset();
  if (!message) return message.error();
  out.push_back(*std::move(message));
  return {};
}

}  // namespace undertone::wire
