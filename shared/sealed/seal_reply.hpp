#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shared/crypto/noise_kind.hpp"
#include "shared/queries/query.hpp"
#include "shared/sealed/encoding_randomness.hpp"
#include "shared/sealed/recipients.hpp"
#include "shared/sealed/round_layout.hpp"

namespace undertone::sealed {

/// What a silo hands to one shuffler.
struct SealedMessage {
  Digest terms{};     // sealed::terms_digest
  std::string units;  // RoundLayout::message_bytes of them
};

/// What a reply is sealed for.
struct SealFor {
  RunId run;
  RoundIndex round;
  Digest query{};  // queries::query_digest
  const Recipients& recipients;
};

/// The terms of the messages that an honest silo makes, one for each shuffler in the job's order: SealedMessage::terms.
[[nodiscard]] std::vector<Digest> terms_of_messages(const RoundLayout& layout, const SealFor& seal_for);

/// A silo's randomised counts as messages, one for each shuffler in the job's order. Bits are in a random order.
/// @param counts [dimension], each in 0 .. K (g + b)
/// @param bits decides the shares or the order; keys and tickets come from the operating system
/// @return an error for counts of another dimension or range
[[nodiscard]] Result<std::vector<SealedMessage>> seal_counts(std::span<const std::int64_t> counts,
                                                             const RoundLayout& layout, const SealFor& seal_for,
                                                             EncodingRandomness& bits);

/// A silo's noised sum as messages: one. @param answer of the layout's dimension, within its wire type
/// @return an error for an answer that is none
[[nodiscard]] Result<std::vector<SealedMessage>> seal_report(const queries::NoisedSums& answer, crypto::NoiseKind noise,
                                                             const RoundLayout& layout, const SealFor& seal_for);

}  // namespace undertone::sealed
