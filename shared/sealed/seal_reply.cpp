#include "shared/sealed/seal_reply.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "shared/base/large_memory.hpp"

namespace undertone::sealed {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are little-endian and copied as they are");

using Form = RoundLayout::Form;

/// One unit for one shuffler. @param body of the layout's length
Result<std::string> seal_unit(std::string_view body, std::size_t shuffler, const SealFor& seal_for,
                              const sealed::RoundTerms& terms) {
  UNDERTONE_CHECK(body.size() == terms.length.body_bytes_max());
  return sealed::seal(seal_for.recipients.keys[shuffler], seal_for.recipients.mac_key, terms, sealed::Ticket::draw(),
                      body);
}

Result<SealedMessage> seal_one(std::string_view body, std::size_t shuffler, const SealFor& seal_for,
                               const sealed::RoundTerms& terms) {
  UNDERTONE_TRY(std::string unit, seal_unit(body, shuffler, seal_for, terms));
  return SealedMessage{sealed::terms_digest(seal_for.recipients.keys[shuffler], seal_for.recipients.mac_key, terms),
                       std::move(unit)};
}

/// Every bit sealed for itself, in the order that `bits` draws over all coordinates.
Result<SealedMessage> seal_bits(std::span<const std::int64_t> counts, const RoundLayout& layout,
                                const SealFor& seal_for, EncodingRandomness& bits) {
  const sealed::RoundTerms terms = layout.terms(seal_for.run, seal_for.round, seal_for.query);
  const std::int64_t each = layout.bits_of_coordinate();
  std::string units;
  units.reserve(layout.message_bytes());
  expect_much(units.data(), units.capacity());
  std::string body(layout.body_bytes(), '\0');
  for (const std::int64_t place : bits.order(static_cast<std::int64_t>(layout.units()))) {
    const auto coordinate = static_cast<std::uint32_t>(place / each);
    std::memcpy(body.data(), &coordinate, sizeof coordinate);
    body[sizeof coordinate] = place % each < counts[coordinate] ? '\1' : '\0';
    UNDERTONE_TRY(const std::string unit, seal_unit(body, 0, seal_for, terms));
    units.append(unit);
  }
  return SealedMessage{sealed::terms_digest(seal_for.recipients.keys[0], seal_for.recipients.mac_key, terms),
                       std::move(units)};
}

std::string_view text_of(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Value>
void append_values(const std::vector<std::int64_t>& values, std::string& body) {
  for (const std::int64_t value : values) {
    const auto number = static_cast<Value>(value);
    body.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
}

Error malformed(const SealFor& seal_for, std::string_view why) {
  return Error{ErrorCode::InvalidArgument, fmt::format("round {}: {}", seal_for.round.value, why)};
}

}  // namespace

std::vector<Digest> terms_of_messages(const RoundLayout& layout, const SealFor& seal_for) {
  const sealed::RoundTerms terms = layout.terms(seal_for.run, seal_for.round, seal_for.query);
  std::vector<Digest> out;
  for (const sealed::SealingPublicKey& key : seal_for.recipients.keys)
    out.push_back(sealed::terms_digest(key, seal_for.recipients.mac_key, terms));
  return out;
}

Result<std::vector<SealedMessage>> seal_counts(std::span<const std::int64_t> counts, const RoundLayout& layout,
                                               const SealFor& seal_for, EncodingRandomness& bits) {
  UNDERTONE_CHECK(layout.form() != Form::Reports && seal_for.recipients.keys.size() == layout.shufflers());
  if (static_cast<Eigen::Index>(counts.size()) != layout.dimension())
    return malformed(seal_for,
                     fmt::format("counts of {} coordinates to seal, expected {}", counts.size(), layout.dimension()));
  const std::int64_t most = layout.bits_of_coordinate();
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] < 0 || counts[j] > most)
      return malformed(seal_for, fmt::format("coordinate {}: expected a count in 0 .. {}, got {}", j, most, counts[j]));
  }
  std::vector<std::vector<std::uint8_t>> bodies;
  if (layout.form() == Form::Bits) {
    UNDERTONE_TRY(SealedMessage message, seal_bits(counts, layout, seal_for, bits));
    return std::vector<SealedMessage>{std::move(message)};
  }
  if (layout.form() == Form::Shares) {
    UNDERTONE_TRY(sealed::SharePair pair, bits.split(counts, layout.modulus()));
    bodies = {std::move(pair.first), std::move(pair.second)};
  } else {
    bodies = {sealed::pack_share(std::vector<std::uint64_t>(counts.begin(), counts.end()), layout.modulus())};
  }
  const sealed::RoundTerms terms = layout.terms(seal_for.run, seal_for.round, seal_for.query);
  std::vector<SealedMessage> messages;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    UNDERTONE_TRY(SealedMessage message, seal_one(text_of(bodies[i]), i, seal_for, terms));
    messages.push_back(std::move(message));
  }
  return messages;
}

Result<std::vector<SealedMessage>> seal_report(const queries::NoisedSums& answer, crypto::NoiseKind noise,
                                               const RoundLayout& layout, const SealFor& seal_for) {
  UNDERTONE_CHECK(layout.form() == Form::Reports && seal_for.recipients.keys.size() == layout.shufflers());
  if (static_cast<Eigen::Index>(answer.values.size()) != layout.dimension())
    return malformed(seal_for, fmt::format("a report of {} coordinates to seal, expected {}", answer.values.size(),
                                           layout.dimension()));
  const std::int64_t largest = layout.largest_value();
  for (const std::int64_t value : answer.values) {
    if (value < -largest || value > largest)
      return malformed(seal_for, fmt::format("expected values of magnitude at most {}, got {}", largest, value));
  }
  std::string body;
  body.reserve(layout.body_bytes());
  body.push_back(RoundLayout::kNoisedForm);
  body.push_back(static_cast<char>(noise));
  if (layout.wire().type == queries::ReplyType::I32) {
    append_values<std::int32_t>(answer.values, body);
  } else {
    append_values<std::int64_t>(answer.values, body);
  }
  UNDERTONE_TRY(SealedMessage message,
                seal_one(body, 0, seal_for, layout.terms(seal_for.run, seal_for.round, seal_for.query)));
  return std::vector<SealedMessage>{std::move(message)};
}

}  // namespace undertone::sealed
