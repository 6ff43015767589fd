#include "shared/wire/messages.hpp"

#include <algorithm>
#include <array>

namespace undertone::wire {

std::string_view to_string(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::InvalidJob:
      return "invalid_job";
    case Refusal::Policy:
      return "policy";
    case Refusal::Budget:
      return "budget";
    case Refusal::Unplanned:
      return "unplanned";
    case Refusal::UnknownRun:
      return "unknown_run";
    case Refusal::Unavailable:
      return "unavailable";
    case Refusal::Owner:
      return "refused_by_owner";
    case Refusal::Withdrawn:
      return "withdrawn";
    case Refusal::Paused:
      return "paused";
  }
  return "";
}

std::optional<Refusal> refusal_for(Refusal refusal, std::uint32_t protocol) noexcept {
  if (protocol >= 2) return refusal;
  if (refusal == Refusal::Owner || refusal == Refusal::Withdrawn) return Refusal::Policy;
  if (refusal == Refusal::Paused) return std::nullopt;
  return refusal;
}

std::string_view to_string(ReplyRefusal refusal) noexcept {
  switch (refusal) {
    case ReplyRefusal::UnknownBatch:
      return "unknown_batch";
    case ReplyRefusal::Closed:
      return "closed";
    case ReplyRefusal::NotExpected:
      return "not_expected";
    case ReplyRefusal::WrongLength:
      return "wrong_length";
    case ReplyRefusal::Different:
      return "different";
    case ReplyRefusal::OtherTerms:
      return "other_terms";
  }
  return "";
}

std::string_view to_string(BatchRefusal refusal) noexcept {
  switch (refusal) {
    case BatchRefusal::UnknownJob:
      return "unknown_job";
    case BatchRefusal::NotOfJob:
      return "not_of_job";
    case BatchRefusal::InvalidSpec:
      return "invalid_spec";
    case BatchRefusal::Busy:
      return "busy";
    case BatchRefusal::Past:
      return "past";
    case BatchRefusal::Different:
      return "different";
  }
  return "";
}

std::string_view name_of(const Message& message) noexcept {
  static constexpr std::array<std::string_view, std::variant_size_v<Message>> kNames = {"hello",
                                                                                        "welcome",
                                                                                        "heartbeat",
                                                                                        "fault",
                                                                                        "job_offer",
                                                                                        "job_answer",
                                                                                        "query",
                                                                                        "query_refused",
                                                                                        "reply",
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
  return kNames[message.index()];
}

Result<std::uint32_t> negotiate(const Hello& hello, std::uint32_t own_min, std::uint32_t own_max) {
  const std::uint32_t highest = std::min(hello.protocol_max, own_max);
  if (highest < std::max(hello.protocol_min, own_min)) {
    return Error{ErrorCode::ProtocolMismatch,
                 fmt::format("the silo ({}) speaks protocol {} to {}, this coordinator {} to {}", hello.build,
                             hello.protocol_min, hello.protocol_max, own_min, own_max)};
  }
  return highest;
}

}  // namespace undertone::wire
