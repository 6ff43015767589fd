#include <algorithm>
#include <array>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <type_traits>

#include "shared/base/large_memory.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/base/spans.hpp"
#include "shared/wire/codec.hpp"
#include "shared/wire/frame.hpp"

namespace undertone::wire {
namespace {

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xffU));
}

void append_header(std::string& out, std::size_t payload_bytes) {
  out.append(kMagic);
  put<std::uint16_t>(out, kFrameVersion);
  put<std::uint16_t>(out, kEnvelopeFrame);
  put<std::uint32_t>(out, static_cast<std::uint32_t>(payload_bytes));
}

void append_frame(std::string& out, const v1::Envelope& envelope) {
  append_header(out, envelope.ByteSizeLong());
  UNDERTONE_CHECK(envelope.AppendToString(&out));
}

/// The elements of a message's vector, where they are; converted to the wire's type chunk by chunk.
struct Elements {
  const double* doubles = nullptr;
  const std::int64_t* integers = nullptr;
  std::size_t count = 0;
  bool narrow = false;
  const char* bytes = nullptr;

  [[nodiscard]] std::size_t width() const { return bytes != nullptr ? 1 : narrow ? 4 : 8; }
  /// Appends elements `from` to `to`. The caller has made sure that they fit the type.
  void append(std::size_t from, std::size_t to, std::string& out) const {
    if (bytes != nullptr) {
      out.append(bytes + from, to - from);
    } else if (doubles != nullptr) {
      narrow ? convert<float>(doubles + from, to - from, out) : convert<double>(doubles + from, to - from, out);
    } else {
      narrow ? convert<std::int32_t>(integers + from, to - from, out)
             : convert<std::int64_t>(integers + from, to - from, out);
    }
  }

 private:
  template <class Wire, class Value>
  static void convert(const Value* values, std::size_t size, std::string& out) {
    if constexpr (std::is_same_v<Wire, Value>) {
      out.append(reinterpret_cast<const char*>(values), size * sizeof(Wire));
      return;
    }
    std::array<Wire, 4096> block{};
    for (std::size_t at = 0; at < size; at += block.size()) {
      const std::size_t count = std::min(block.size(), size - at);
      for (std::size_t i = 0; i < count; ++i) block[i] = static_cast<Wire>(values[at + i]);
      out.append(reinterpret_cast<const char*>(block.data()), count * sizeof(Wire));
    }
  }
};

/// One envelope with a chunk. Its last field, the elements, is written from where they are: the message before it says
/// everything else.
void append_chunk(std::string& out, const Elements& elements, std::size_t from, std::size_t to) {
  using google::protobuf::internal::WireFormatLite;
  using google::protobuf::io::CodedOutputStream;
  const std::size_t bytes = (to - from) * elements.width();
  const auto varint = [](std::string& text, std::size_t value) {
    std::array<std::uint8_t, 10> digits{};
    const std::uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, digits.data());
    text.append(reinterpret_cast<const char*>(digits.data()), static_cast<std::size_t>(end - digits.data()));
  };
  const auto field = [&](std::string& text, int number, std::size_t size) {
    varint(text, WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    varint(text, size);
  };
  v1::VectorChunk chunk;
  chunk.set_offset(from);
  std::string body = chunk.SerializeAsString();
  field(body, v1::VectorChunk::kElementsFieldNumber, bytes);
  v1::Envelope envelope;
  envelope.set_protocol_version(kProtocolMax);
  std::string head = envelope.SerializeAsString();
  field(head, v1::Envelope::kChunkFieldNumber, body.size() + bytes);
  head += body;
  append_header(out, head.size() + bytes);
  out += head;
  elements.append(from, to, out);
}

/// Text of ours, as it may cross the wire.
std::string printable(const std::string& text, std::size_t bytes_max) {
  std::string out = text.substr(0, bytes_max);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !is_printable(c); }, '?');
  return out;
}

v1::Refusal to_proto(Refusal refusal) { return static_cast<v1::Refusal>(refusal); }

v1::FaultCode to_proto(ErrorCode code) {
  switch (code) {
    case ErrorCode::ProtocolMismatch:
      return v1::FAULT_CODE_PROTOCOL_MISMATCH;
    case ErrorCode::Unauthorized:
      return v1::FAULT_CODE_UNAUTHORIZED;
    case ErrorCode::LimitExceeded:
      return v1::FAULT_CODE_LIMIT_EXCEEDED;
    default:
      return v1::FAULT_CODE_MALFORMED;
  }
}

void to_proto(const wire::Receipt& receipt, v1::LedgerReceipt& out) {
  out.set_sequence(receipt.sequence);
  out.set_hash(std::string(as_bytes(receipt.hash)));
  out.set_signature(receipt.signature);
  out.set_ledger(std::string(as_bytes(receipt.ledger)));
}

v1::QuestionKind to_proto(releases::QuestionKind kind) { return static_cast<v1::QuestionKind>(kind); }

v1::AnswerForm form_of(const queries::Answer& answer) {
  return std::visit(
      Overloaded{[](const queries::NoisedSums& /*sums*/) { return v1::ANSWER_FORM_NOISED_SUMS; },
                 [](const queries::PublicSums& /*sums*/) { return v1::ANSWER_FORM_PUBLIC_SUMS; },
                 [](const queries::Selected& /*one*/) { return v1::ANSWER_FORM_SELECTED; },
                 [](const queries::Reports& /*all*/) { return v1::ANSWER_FORM_REPORTS; },
                 [](const queries::SumsBesidePublic& /*two*/) { return v1::ANSWER_FORM_SUMS_BESIDE_PUBLIC; }},
      answer);
}

/// Fills an envelope from each message; a vector's elements are pointed at, to be sent in chunks.
struct Filler {
  v1::Envelope& envelope;
  Elements& elements;

  void operator()(const Hello& hello) const {
    envelope.mutable_hello()->set_protocol_min(hello.protocol_min);
    envelope.mutable_hello()->set_protocol_max(hello.protocol_max);
    envelope.mutable_hello()->set_build(printable(hello.build, kBuildBytesMax));
  }
  void operator()(const Welcome& welcome) const {
    envelope.mutable_welcome()->set_protocol(welcome.protocol);
    envelope.mutable_welcome()->set_build(printable(welcome.build, kBuildBytesMax));
    for (const wire::Receipt& receipt : welcome.receipts)
      to_proto(receipt, *envelope.mutable_welcome()->add_receipts());
  }
  void operator()(const Heartbeat& /*heartbeat*/) const { envelope.mutable_heartbeat(); }
  void operator()(const Fault& fault) const {
    envelope.mutable_fault()->set_code(to_proto(fault.code));
    envelope.mutable_fault()->set_sentence(printable(fault.sentence, kSentenceBytesMax));
  }
  void operator()(const JobOffer& offer) const {
    envelope.set_run(offer.run.bytes());
    envelope.mutable_job_offer()->set_job(offer.job);
  }
  void operator()(const JobAnswer& answer) const {
    envelope.set_run(answer.run.bytes());
    envelope.mutable_job_answer()->set_accepted(!answer.refusal);
    if (answer.refusal) envelope.mutable_job_answer()->set_refusal(to_proto(*answer.refusal));
    if (answer.refusal) envelope.mutable_job_answer()->set_explanation(answer.explanation);
  }
  void operator()(const QueryMessage& message) const {
    const Eigen::VectorXd& point = queries::point_of(message.query.question);
    const auto count = static_cast<std::size_t>(point.size());
    envelope.set_run(message.run.bytes());
    envelope.set_round(message.query.round.value);
    v1::Query& query = *envelope.mutable_query();
    query.set_kind(to_proto(queries::kind_of(message.query.question)));
    query.set_dimension(count);
    const bool narrow = message.type == queries::PointType::F32;
    query.set_element(narrow ? v1::ELEMENT_TYPE_F32 : v1::ELEMENT_TYPE_F64);
    if (message.sealing) {
      query.set_sealing_key(std::string(as_bytes(message.sealing->public_key)));
      query.set_reply_mac_key(std::string(as_bytes(message.sealing->mac_key)));
    }
    elements = {point.data(), nullptr, count, narrow};
  }
  void operator()(const QueryRefused& refused) const {
    envelope.set_run(refused.run.bytes());
    envelope.set_round(refused.round.value);
    envelope.mutable_query_refused()->set_refusal(to_proto(refused.refusal));
  }
  void operator()(const ReplyMessage& message) const {
    const std::vector<std::int64_t>& values = queries::values_of(message.reply.answer);
    envelope.set_run(message.run.bytes());
    envelope.set_round(message.reply.round.value);
    v1::Reply& reply = *envelope.mutable_reply();
    reply.set_form(form_of(message.reply.answer));
    reply.set_dimension(values.size());
    reply.set_step_log2(message.reply.step_log2);
    reply.set_noise(message.reply.noise == crypto::NoiseKind::Secure ? v1::NOISE_KIND_SECURE : v1::NOISE_KIND_TEST);
    reply.set_query(std::string(as_bytes(message.query)));
    const bool narrow = message.type == queries::ReplyType::I32;
    reply.set_element(narrow ? v1::ELEMENT_TYPE_I32 : v1::ELEMENT_TYPE_I64);
    elements = {nullptr, values.data(), values.size(), narrow};
  }
  void operator()(const ReceiptMessage& message) const { to_proto(message.receipt, *envelope.mutable_receipt()); }
  void operator()(const JobEnded& ended) const {
    envelope.set_run(ended.run.bytes());
    envelope.mutable_job_ended()->set_succeeded(ended.succeeded);
  }
  void operator()(const JobEndedSeen& seen) const {
    envelope.set_run(seen.run.bytes());
    envelope.mutable_job_ended_seen();
  }
  void operator()(const JobPending& pending) const {
    envelope.set_run(pending.run.bytes());
    envelope.mutable_job_pending();
  }
  void operator()(const SealedReply& message) const {
    of_round(message);
    envelope.mutable_sealed_reply()->set_terms(std::string(as_bytes(message.terms)));
    envelope.mutable_sealed_reply()->set_bytes(message.units.size());
    envelope.mutable_sealed_reply()->set_unit_bytes(message.unit_bytes);
    envelope.mutable_sealed_reply()->set_word_bytes(message.word_bytes);
    elements = {nullptr, nullptr, message.units.size(), false, message.units.data()};
  }
  void operator()(const SealedReplyTaken& message) const {
    of_round(message);
    v1::SealedReplyTaken& taken = *envelope.mutable_sealed_reply_taken();
    if (message.receipt) taken.set_receipt(std::string(as_bytes(*message.receipt)));
  }
  void operator()(const SealedReplyRefused& message) const {
    of_round(message);
    envelope.mutable_sealed_reply_refused()->set_refusal(static_cast<v1::ReplyRefusal>(message.refusal));
  }
  void operator()(const ReplyHandedOver& message) const {
    of_round(message);
    v1::ReplyHandedOver& handed_over = *envelope.mutable_reply_handed_over();
    for (const auto& [shuffler, receipt] : message.receipts) {
      v1::ShufflerReceipt& shown = *handed_over.add_receipts();
      shown.set_shuffler(shuffler);
      shown.set_receipt(std::string(as_bytes(receipt)));
    }
  }
  void operator()(const BatchOpen& message) const {
    of_round(message);
    v1::BatchOpen& open = *envelope.mutable_batch_open();
    open.set_attempt(message.attempt);
    for (const SiloId& silo : message.expected) open.add_expected(silo.name());
    open.set_replies_min(message.replies_min);
    open.set_message_bytes(message.message_bytes);
    open.set_unit_bytes(message.unit_bytes);
    open.set_word_bytes(message.word_bytes);
    open.set_query(std::string(as_bytes(message.query)));
    open.set_deadline_ms(static_cast<std::uint64_t>(message.deadline.count()));
    if (message.receipt_key) open.set_receipt_key(std::string(as_bytes(*message.receipt_key)));
  }
  void operator()(const BatchOpened& message) const {
    of_round(message);
    envelope.mutable_batch_opened()->set_attempt(message.attempt);
  }
  void operator()(const BatchRefused& message) const {
    of_round(message);
    envelope.mutable_batch_refused()->set_attempt(message.attempt);
    envelope.mutable_batch_refused()->set_refusal(static_cast<v1::BatchRefusal>(message.refusal));
  }
  void operator()(const BatchCollected& message) const {
    of_round(message);
    envelope.mutable_batch_collected()->set_attempt(message.attempt);
    for (const SiloId& silo : message.silos) envelope.mutable_batch_collected()->add_silos(silo.name());
  }
  void operator()(const BatchClose& message) const {
    of_round(message);
    envelope.mutable_batch_close()->set_attempt(message.attempt);
    for (const SiloId& silo : message.silos) envelope.mutable_batch_close()->add_silos(silo.name());
  }
  void operator()(const BatchForward& message) const {
    of_round(message);
    envelope.mutable_batch_forward()->set_replies(message.replies);
    envelope.mutable_batch_forward()->set_bytes(message.units.size());
    elements = {nullptr, nullptr, message.units.size(), false, message.units.data()};
  }
  void operator()(const BatchFailed& message) const {
    of_round(message);
    envelope.mutable_batch_failed()->set_attempt(message.attempt);
    envelope.mutable_batch_failed()->set_replies(message.replies);
  }
  void operator()(const BatchDelivered& message) const {
    of_round(message);
    envelope.mutable_batch_delivered();
  }
  void operator()(const BatchAbandon& message) const {
    of_round(message);
    envelope.mutable_batch_abandon();
  }
  template <class Rounded>
  void of_round(const Rounded& message) const {
    envelope.set_run(message.run.bytes());
    envelope.set_round(message.round.value);
  }
};

}  // namespace

std::string Encoder::encode(const Message& message) {
  const Span span(Activity::Encoding);
  ++messages_encoded_;
  v1::Envelope envelope;
  envelope.set_protocol_version(kProtocolMax);
  Elements elements;
  std::visit(Filler{envelope, elements}, message);
  std::string out;
  const std::size_t bytes = elements.count * elements.width();
  out.reserve(bytes + bytes / 64 + 256);
  append_frame(out, envelope);
  expect_much(out.data(), out.capacity());
  const std::size_t step = std::max<std::size_t>(1, limits_.chunk_bytes / elements.width());
  for (std::size_t at = 0; at < elements.count; at += step)
    append_chunk(out, elements, at, std::min(elements.count, at + step));
  return out;
}

}  // namespace undertone::wire
