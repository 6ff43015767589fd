#include "shared/wire/from_proto.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "shared/mechanisms/local_reports/local_reports.hpp"
#include "shared/wire/frame.hpp"

namespace undertone::wire {
namespace {

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

/// A digest that older peers do not send.
Result<std::optional<Digest>> digest_or_none(const std::string& bytes, const char* what) {
  if (bytes.empty()) return std::optional<Digest>();
  const Result<Digest> digest = digest_from_bytes(bytes);
  if (!digest) return malformed(what);
  return std::optional(*digest);
}

}  // namespace

Result<wire::Receipt> from_proto(const v1::LedgerReceipt& receipt) {
  const Result<Digest> hash = digest_from_bytes(receipt.hash());
  const Result<Digest> ledger = digest_from_bytes(receipt.ledger());
  if (receipt.sequence() == 0 || receipt.sequence() > INT64_MAX || !hash || !ledger ||
      receipt.signature().size() != 64) {
    return malformed("a ledger receipt of the wrong form");
  }
  return wire::Receipt{*ledger, receipt.sequence(), *hash, receipt.signature()};
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
    UNDERTONE_TRY(wire::Receipt receipt, from_proto(kept));
    out.receipts.push_back(std::move(receipt));
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
    if (!answer.explanation().empty()) return malformed("an accepted job with an explanation");
    return JobAnswer{run, std::nullopt, {}};
  }
  const Result<Refusal> refusal = from_proto(answer.refusal());
  if (!refusal) return refusal.error();
  if (!is_acceptable(answer.explanation(), kExplanationBytesMax))
    return malformed("a refusal with an explanation that is not short printable text");
  return JobAnswer{run, *refusal, answer.explanation()};
}

Result<QueryRefused> from_proto(const v1::QueryRefused& refused, const RunId& run, RoundIndex round) {
  UNDERTONE_TRY(const Refusal refusal, from_proto(refused.refusal()));
  return QueryRefused{run, round, refusal};
}

Result<SealedReplyRefused> from_proto(const v1::SealedReplyRefused& refused, const RunId& run, RoundIndex round) {
  const v1::ReplyRefusal refusal = refused.refusal();
  if (refusal < v1::REPLY_REFUSAL_UNKNOWN_BATCH || refusal > v1::REPLY_REFUSAL_OTHER_TERMS)
    return malformed("an unknown refusal of a sealed reply");
  return SealedReplyRefused{run, round, static_cast<ReplyRefusal>(refusal)};
}

Result<SealedReplyTaken> from_proto(const v1::SealedReplyTaken& taken, const RunId& run, RoundIndex round) {
  UNDERTONE_TRY(const std::optional<Digest> receipt,
                digest_or_none(taken.receipt(), "a sealed reply's receipt of the wrong length"));
  return SealedReplyTaken{run, round, receipt};
}

Result<ReplyHandedOver> from_proto(const v1::ReplyHandedOver& handed_over, const RunId& run, RoundIndex round) {
  if (handed_over.receipts_size() > static_cast<int>(kShufflersMax))
    return malformed("a reply handed over to more shufflers than a job has");
  ReplyHandedOver out{run, round, {}};
  for (const v1::ShufflerReceipt& shown : handed_over.receipts()) {
    const Result<SiloId> shuffler = SiloId::create(shown.shuffler());  // all parties' names are of one form
    const Result<Digest> receipt = digest_from_bytes(shown.receipt());
    if (!shuffler || !receipt) return malformed("a shuffler's receipt of the wrong form");
    if (!out.receipts.emplace(shuffler->name(), *receipt).second) return malformed("two receipts of one shuffler");
  }
  return out;
}

Result<BatchOpen> from_proto(const v1::BatchOpen& open, const RunId& run, RoundIndex round) {
  UNDERTONE_TRY(std::vector<SiloId> expected, from_proto(open.expected()));
  const Result<Digest> query = digest_from_bytes(open.query());
  constexpr std::uint64_t kDeadlineMax = std::uint64_t{1} << 40U;
  if (expected.empty() || !query || open.replies_min() == 0 || open.message_bytes() == 0 || open.unit_bytes() == 0 ||
      open.word_bytes() > 8 || open.deadline_ms() == 0 || open.deadline_ms() > kDeadlineMax) {
    return malformed("a batch with a number outside its range");
  }
  UNDERTONE_TRY(const std::optional<Digest> receipt_key,
                digest_or_none(open.receipt_key(), "a batch with a receipt key of the wrong length"));
  return BatchOpen{run,
                   round,
                   open.attempt(),
                   std::move(expected),
                   open.replies_min(),
                   open.message_bytes(),
                   open.unit_bytes(),
                   open.word_bytes(),
                   *query,
                   std::chrono::milliseconds(open.deadline_ms()),
                   receipt_key};
}

Result<BatchRefused> from_proto(const v1::BatchRefused& refused, const RunId& run, RoundIndex round) {
  const v1::BatchRefusal refusal = refused.refusal();
  if (refusal < v1::BATCH_REFUSAL_UNKNOWN_JOB || refusal > v1::BATCH_REFUSAL_DIFFERENT)
    return malformed("an unknown refusal of a batch");
  return BatchRefused{run, round, refused.attempt(), static_cast<BatchRefusal>(refusal)};
}

Result<BatchCollected> from_proto(const v1::BatchCollected& collected, const RunId& run, RoundIndex round) {
  UNDERTONE_TRY(std::vector<SiloId> silos, from_proto(collected.silos()));
  return BatchCollected{run, round, collected.attempt(), std::move(silos)};
}

Result<BatchClose> from_proto(const v1::BatchClose& close, const RunId& run, RoundIndex round) {
  UNDERTONE_TRY(std::vector<SiloId> silos, from_proto(close.silos()));
  return BatchClose{run, round, close.attempt(), std::move(silos)};
}

bool asked_at_point(const v1::Query& query) {
  return releases::asked_at_point(static_cast<releases::QuestionKind>(query.kind()));
}

Status check(const v1::Query& query) {
  if (query.kind() == v1::QUESTION_KIND_UNSPECIFIED || !v1::QuestionKind_IsValid(query.kind()))
    return malformed("a question of no known kind");
  const bool two_points = query.kind() == v1::QUESTION_KIND_GRADIENT_DIFFERENCE;
  if (two_points && query.dimension() % 2 != 0) return malformed("two points of an odd dimension together");
  if (!asked_at_point(query) && query.dimension() != 0)
    return malformed("a point with a question that is asked at none");
  if (query.element() != v1::ELEMENT_TYPE_F32 && query.element() != v1::ELEMENT_TYPE_F64)
    return malformed("a point that is neither f32 nor f64");
  if (const Result<std::optional<SealingTerms>> sealing = sealing_of(query); !sealing) return sealing.error();
  return {};
}

Status check(const v1::Reply& reply) {
  if (reply.form() < v1::ANSWER_FORM_NOISED_SUMS || reply.form() > v1::ANSWER_FORM_SUMS_BESIDE_PUBLIC)
    return malformed("an unknown form of answer");
  if (reply.element() != v1::ELEMENT_TYPE_I32 && reply.element() != v1::ELEMENT_TYPE_I64)
    return malformed("a reply that is neither i32 nor i64");
  if (reply.noise() != v1::NOISE_KIND_SECURE && reply.noise() != v1::NOISE_KIND_TEST)
    return malformed("a reply that does not say who drew its noise");
  if (reply.step_log2() < -60 || reply.step_log2() > 60) return malformed("a reply's step outside 2^-60 .. 2^60");
  if (reply.form() == v1::ANSWER_FORM_SELECTED &&
      (reply.dimension() != 1 || reply.element() != v1::ELEMENT_TYPE_I64 || reply.step_log2() != 0)) {
    return malformed("a selection that is not one whole number in i64");
  }
  if (reply.form() == v1::ANSWER_FORM_SUMS_BESIDE_PUBLIC && reply.dimension() % 2 != 0)
    return malformed("two blocks of an odd dimension together");
  if (reply.form() == v1::ANSWER_FORM_REPORTS &&
      reply.dimension() > static_cast<std::uint64_t>(mechanisms::kReportsMax))
    return malformed("more reports than records report");
  if (reply.form() == v1::ANSWER_FORM_REPORTS && reply.element() == v1::ELEMENT_TYPE_I32 && reply.step_log2() != 0)
    return malformed("reports of bits with a step");
  return {};
}

Status check(const v1::SealedReply& reply) {
  if (reply.terms().size() != Digest().size()) return malformed("a sealed reply without the digest of its terms");
  if (reply.unit_bytes() == 0 || reply.word_bytes() > 8)
    return malformed("a sealed reply with a number outside its range");
  return {};
}

Status check(const v1::BatchForward& forward) {
  if (forward.replies() == 0) return malformed("a batch of no replies");
  return {};
}

Result<std::optional<SealingTerms>> sealing_of(const v1::Query& query) {
  if (query.sealing_key().empty() && query.reply_mac_key().empty()) return std::optional<SealingTerms>();
  const Result<Digest> key = digest_from_bytes(query.sealing_key());
  const Result<Digest> mac = digest_from_bytes(query.reply_mac_key());
  if (!key || !mac) return malformed("a query with a sealing key of the wrong length");
  return std::optional<SealingTerms>({*key, *mac});
}

}  // namespace undertone::wire
