#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "shared/base/digest.hpp"
#include "shared/base/ids.hpp"
#include "shared/base/result.hpp"
#include "shared/sealed/reply_mac_key.hpp"
#include "shared/sealed/sealing_key.hpp"

namespace undertone::sealed {

/// How long the replies of a round are. A shorter body is padded, so that every sealed reply of the round has
/// `sealed_bytes` bytes, whatever it says.
class ReplyLength {
 public:
  static constexpr std::size_t kBodyBytesMax = std::size_t{1} << 30U;
  /// What sealing adds: 48 bytes of sealed box, 113 of header, 32 of code.
  static constexpr std::size_t kOverheadBytes = 193;

  /// @param body_bytes_max of the longest body that a silo may have to send, 1 to kBodyBytesMax
  [[nodiscard]] static Result<ReplyLength> create(std::size_t body_bytes_max);
  [[nodiscard]] std::size_t body_bytes_max() const noexcept { return body_bytes_max_; }
  [[nodiscard]] std::size_t sealed_bytes() const noexcept { return body_bytes_max_ + kOverheadBytes; }
  friend auto operator<=>(const ReplyLength&, const ReplyLength&) = default;

 private:
  explicit ReplyLength(std::size_t body_bytes_max) noexcept : body_bytes_max_(body_bytes_max) {}
  std::size_t body_bytes_max_;
};

/// What all replies of a round share: a reply is sealed for these terms and opens under the same ones alone.
struct RoundTerms {
  RunId run;
  RoundIndex round;
  Digest query{};  // queries::query_digest
  ReplyLength length;
};

/// 16 random bytes that a silo draws when it makes a reply and stores with it: the name of the reply, not of the silo.
///
/// A sealed box is different each time, so a reply that was sealed twice is two messages to everybody but the
/// coordinator, and equal bodies are no proof (a tally of a few bits, an answer from public records). The coordinator
/// takes a ticket once a round, and so counts no reply twice without knowing whose it is. The ticket is inside the box,
/// where the shuffler cannot match it with anything; it must be fresh for every reply, or it would tie a silo's rounds
/// together for the coordinator.
struct Ticket {
  std::array<std::uint8_t, 16> bytes{};
  /// From the operating system's randomness.
  [[nodiscard]] static Ticket draw();
  friend auto operator<=>(const Ticket&, const Ticket&) = default;
};

/// Seals a reply to the coordinator: ephemeral public key (32) | Poly1305 tag (16) | encrypted message, a sealed box of
/// libsodium's that crypto_box_seal_open opens. The message is, little-endian: format (1) | run (48) | round (8) |
/// query digest (32) | ticket (16) | bytes of the body (8) | code (32) | body | zeros up to the round's length.
///
/// The code is a MAC of the header, of the length, of the key that it is sealed to and of the box's ephemeral public
/// key. That covers the body too, at no cost per byte: the box authenticates every byte of the message under a secret
/// that only the owner of the ephemeral key and the coordinator can compute, and only a holder of the MAC key can vouch
/// for an ephemeral key. The code is inside the box, where the shuffler does not see it; to the coordinator it says
/// that the sender holds the key which all silos of the run hold, and no more.
///
/// @param body at most `terms.length.body_bytes_max()` bytes; it is copied once, into the result, and encrypted there
/// @return sealed_bytes() bytes, other ones every time; LimitExceeded for a longer body
/// Source: libsodium's documentation, "Sealed boxes".
[[nodiscard]] Result<std::string> seal(const SealingPublicKey& to, const ReplyMacKey& mac_key, const RoundTerms& terms,
                                       const Ticket& ticket, std::string_view body);

/// A reply that came from a silo of the run, for the round. Which silo, it does not say.
class OpenedReply {
 public:
  [[nodiscard]] const Ticket& ticket() const noexcept { return ticket_; }
  /// Valid as long as this object.
  [[nodiscard]] std::string_view body() const noexcept { return std::string_view(bytes_).substr(kBodyAt, body_bytes_); }

 private:
  friend Result<OpenedReply> open(const SealingKey& key, const ReplyMacKey& mac_key, const RoundTerms& terms,
                                  std::string sealed);
  static constexpr std::size_t kBodyAt = ReplyLength::kOverheadBytes;
  OpenedReply(std::string bytes, const Ticket& ticket, std::size_t body_bytes) noexcept
      : bytes_(std::move(bytes)), ticket_(ticket), body_bytes_(body_bytes) {}
  std::string bytes_;  // what came, opened in place
  Ticket ticket_;
  std::size_t body_bytes_;
};

/// Opens a sealed reply, in place.
/// @return an error that names what is wrong, the first of: another length than the round's (Malformed); sealed to
/// another key or altered on the way (Unauthorized); another format (ProtocolMismatch); injected by somebody without
/// the run's MAC key (Unauthorized); for another run (UnknownRun); for another round or query (UnplannedQuery); a
/// length or a padding that no silo of ours writes (Malformed)
[[nodiscard]] Result<OpenedReply> open(const SealingKey& key, const ReplyMacKey& mac_key, const RoundTerms& terms,
                                       std::string sealed);

/// Recognises the same sealed bytes when they come again, for those who cannot open them. A reply that was sealed again
/// has another identity and the same ticket.
[[nodiscard]] Digest identity_of(std::string_view sealed);

/// What a silo shows the shuffler beside its sealed reply: a code over the round's terms and the key that it seals to.
/// The shuffler mixes replies only when all show the same. Otherwise a coordinator could give each silo another query
/// or another MAC key, try all of them on each reply, and so know the sender. The code tells the shuffler nothing else:
/// it lacks the key.
[[nodiscard]] Digest terms_digest(const SealingPublicKey& to, const ReplyMacKey& mac_key, const RoundTerms& terms);

}  // namespace undertone::sealed
