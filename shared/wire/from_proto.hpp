#pragma once

#include <optional>
#include <string>

#include "shared/base/ids.hpp"
#include "shared/base/result.hpp"
#include "shared/wire/messages.hpp"
#include "shared/wire/undertone.pb.h"

/// What messages say, from the form they came in; for the decoder alone. A peer's every number is looked at here.
namespace undertone::wire {

[[nodiscard]] inline Error malformed(const std::string& what) { return {ErrorCode::Malformed, what}; }

[[nodiscard]] Result<wire::Receipt> from_proto(const v1::LedgerReceipt& receipt);
[[nodiscard]] Result<Hello> from_proto(const v1::Hello& hello);
[[nodiscard]] Result<Welcome> from_proto(const v1::Welcome& welcome);
[[nodiscard]] Result<Fault> from_proto(const v1::Fault& fault);
[[nodiscard]] Result<JobAnswer> from_proto(const v1::JobAnswer& answer, const RunId& run);
[[nodiscard]] Result<QueryRefused> from_proto(const v1::QueryRefused& refused, const RunId& run, RoundIndex round);
[[nodiscard]] Result<SealedReplyRefused> from_proto(const v1::SealedReplyRefused& refused, const RunId& run,
                                                    RoundIndex round);
[[nodiscard]] Result<SealedReplyTaken> from_proto(const v1::SealedReplyTaken& taken, const RunId& run,
                                                  RoundIndex round);
[[nodiscard]] Result<ReplyHandedOver> from_proto(const v1::ReplyHandedOver& handed_over, const RunId& run,
                                                 RoundIndex round);
[[nodiscard]] Result<BatchOpen> from_proto(const v1::BatchOpen& open, const RunId& run, RoundIndex round);
[[nodiscard]] Result<BatchRefused> from_proto(const v1::BatchRefused& refused, const RunId& run, RoundIndex round);
[[nodiscard]] Result<BatchCollected> from_proto(const v1::BatchCollected& collected, const RunId& run,
                                                RoundIndex round);
[[nodiscard]] Result<BatchClose> from_proto(const v1::BatchClose& close, const RunId& run, RoundIndex round);

/// Whether the header of a vector may be followed by one. Its dimension is the decoder's to look at.
/// Whether a question brings a point, whatever kind it says.
[[nodiscard]] bool asked_at_point(const v1::Query& query);
[[nodiscard]] Status check(const v1::Query& query);
[[nodiscard]] Status check(const v1::Reply& reply);
[[nodiscard]] Status check(const v1::SealedReply& reply);
[[nodiscard]] Status check(const v1::BatchForward& forward);

/// What a query says of sealing: both keys or neither.
[[nodiscard]] Result<std::optional<SealingTerms>> sealing_of(const v1::Query& query);

}  // namespace undertone::wire
