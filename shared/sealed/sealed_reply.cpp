#include "shared/sealed/sealed_reply.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sodium.h>
#include <tuple>
#include <utility>

#include "shared/base/large_memory.hpp"
#include "shared/sealed/raw_bytes.hpp"

namespace undertone::sealed {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the header's numbers are little-endian and copied as they are");

constexpr char kFormat = 1;

// Offsets in the message.
constexpr std::size_t kRunAt = 1;
constexpr std::size_t kRoundAt = kRunAt + RunId::kBytes;
constexpr std::size_t kQueryAt = kRoundAt + sizeof(std::uint64_t);
constexpr std::size_t kTicketAt = kQueryAt + std::tuple_size_v<Digest>;
constexpr std::size_t kBodyBytesAt = kTicketAt + std::tuple_size_v<decltype(Ticket::bytes)>;
constexpr std::size_t kCodeAt = kBodyBytesAt + sizeof(std::uint64_t);
constexpr std::size_t kBodyAt = kCodeAt + std::tuple_size_v<Digest>;

// Offsets in the sealed box.
constexpr std::size_t kBoxAt = crypto_box_PUBLICKEYBYTES;
constexpr std::size_t kMessageAt = crypto_box_SEALBYTES;
static_assert(kMessageAt == kBoxAt + crypto_box_MACBYTES);
static_assert(kMessageAt + kBodyAt == ReplyLength::kOverheadBytes);
static_assert(ReplyLength::kBodyBytesMax + kBodyAt < crypto_box_curve25519xsalsa20poly1305_MESSAGEBYTES_MAX);

std::string_view bytes_of(const std::uint64_t& value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }
std::string_view bytes_of(const Ticket& ticket) {
  return {reinterpret_cast<const char*>(ticket.bytes.data()), ticket.bytes.size()};
}

std::uint64_t number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.substr(at, sizeof value).data(), sizeof value);
  return value;
}

/// Each byte equals the one before it, and the first is zero: a comparison of memory, which is fast for the length of a
/// model.
bool all_zero(std::string_view bytes) {
  return bytes.empty() || (bytes.front() == '\0' && bytes.substr(1) == bytes.substr(0, bytes.size() - 1));
}

std::string header_of(const RoundTerms& terms, const Ticket& ticket, std::uint64_t body_bytes) {
  std::string out(1, kFormat);
  out.append(terms.run.bytes());
  out.append(bytes_of(terms.round.value));
  out.append(as_bytes(terms.query));
  out.append(bytes_of(ticket));
  out.append(bytes_of(body_bytes));
  UNDERTONE_CHECK(out.size() == kCodeAt);
  return out;
}

/// All parts have a fixed length: the text says in one way only what it is about.
Digest code_of(const ReplyMacKey& key, const SealingPublicKey& to, std::string_view ephemeral_key,
               std::uint64_t sealed_bytes, std::string_view header) {
  std::string text(to.bytes());
  text.append(ephemeral_key);
  text.append(bytes_of(sealed_bytes));
  text.append(header);
  return key.mac(MacPurpose::Reply, text);
}

/// A key pair that seals one message. The secret part is wiped on destruction.
class EphemeralKey {
 public:
  EphemeralKey() { UNDERTONE_CHECK(crypto_box_keypair(public_.data(), secret_.data()) == 0); }
  EphemeralKey(const EphemeralKey&) = delete;
  EphemeralKey& operator=(const EphemeralKey&) = delete;
  ~EphemeralKey() { sodium_memzero(secret_.data(), secret_.size()); }

  [[nodiscard]] std::string_view bytes() const {
    return {reinterpret_cast<const char*>(public_.data()), public_.size()};
  }
  /// @param sealed room for the box's overhead, then the message, which is encrypted where it is: crypto_box_easy
  /// allows the two to overlap
  void seal_in_place(std::string& sealed, const SealingPublicKey& to) const {
    const unsigned char* recipient = raw(to.bytes());
    std::array<unsigned char, crypto_box_NONCEBYTES> nonce{};
    crypto_generichash_state state;
    UNDERTONE_CHECK(crypto_generichash_init(&state, nullptr, 0, nonce.size()) == 0);
    UNDERTONE_CHECK(crypto_generichash_update(&state, public_.data(), public_.size()) == 0);
    UNDERTONE_CHECK(crypto_generichash_update(&state, recipient, SealingPublicKey::kBytes) == 0);
    UNDERTONE_CHECK(crypto_generichash_final(&state, nonce.data(), nonce.size()) == 0);
    std::copy(public_.begin(), public_.end(), raw(sealed));
    // It fails for a key of small order alone, and a SealingPublicKey is none.
    UNDERTONE_CHECK(crypto_box_easy(raw(sealed) + kBoxAt, raw(sealed) + kMessageAt, sealed.size() - kMessageAt,
                                    nonce.data(), recipient, secret_.data()) == 0);
  }

 private:
  std::array<unsigned char, crypto_box_PUBLICKEYBYTES> public_{};
  std::array<unsigned char, crypto_box_SECRETKEYBYTES> secret_{};
};

}  // namespace

Result<ReplyLength> ReplyLength::create(std::size_t body_bytes_max) {
  if (body_bytes_max == 0 || body_bytes_max > kBodyBytesMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the longest reply of a round has 1 to {} bytes, got {}", kBodyBytesMax, body_bytes_max)};
  }
  return ReplyLength(body_bytes_max);
}

Ticket Ticket::draw() {
  start_sodium();
  Ticket out;
  randombytes_buf(out.bytes.data(), out.bytes.size());
  return out;
}

Result<std::string> seal(const SealingPublicKey& to, const ReplyMacKey& mac_key, const RoundTerms& terms,
                         const Ticket& ticket, std::string_view body) {
  if (body.size() > terms.length.body_bytes_max()) {
    return Error{ErrorCode::LimitExceeded, fmt::format("round {}: a reply of {} bytes, the round's length is {}",
                                                       terms.round.value, body.size(), terms.length.body_bytes_max())};
  }
  const EphemeralKey ephemeral;
  const std::string header = header_of(terms, ticket, body.size());
  const Digest code = code_of(mac_key, to, ephemeral.bytes(), terms.length.sealed_bytes(), header);
  std::string out;
  out.reserve(terms.length.sealed_bytes());
  expect_much(out.data(), out.capacity());
  out.append(kMessageAt, '\0').append(header).append(as_bytes(code)).append(body);
  out.resize(terms.length.sealed_bytes());
  ephemeral.seal_in_place(out, to);
  return out;
}

Result<OpenedReply> open(const SealingKey& key, const ReplyMacKey& mac_key, const RoundTerms& terms,
                         std::string sealed) {
  const auto refused = [&](ErrorCode code, std::string_view why) {
    return Error{code, fmt::format("round {}: a sealed reply {}", terms.round.value, why)};
  };
  if (sealed.size() != terms.length.sealed_bytes()) {
    return refused(ErrorCode::Malformed, fmt::format("of another length: expected {} bytes, got {}",
                                                     terms.length.sealed_bytes(), sealed.size()));
  }
  // As crypto_box_open_easy, which does the work: nothing is written before the tag is verified, and then in place.
  if (crypto_box_seal_open(raw(sealed) + kMessageAt, raw(sealed), sealed.size(), raw(key.public_key().bytes()),
                           raw(key.secret_bytes())) != 0) {
    return refused(ErrorCode::Unauthorized, "that does not open: sealed to another key, or altered on the way");
  }
  const std::string_view message = std::string_view(sealed).substr(kMessageAt);
  if (message[0] != kFormat) {
    return refused(ErrorCode::ProtocolMismatch, fmt::format("of another format: expected {}, got {}", int{kFormat},
                                                            int{static_cast<unsigned char>(message[0])}));
  }
  const Digest code = code_of(mac_key, key.public_key(), std::string_view(sealed).substr(0, kBoxAt), sealed.size(),
                              message.substr(0, kCodeAt));
  if (sodium_memcmp(code.data(), raw(message.substr(kCodeAt)), code.size()) != 0) {
    return refused(ErrorCode::Unauthorized, "that was injected: its code is not of this run's MAC key");
  }
  const std::string run = terms.run.bytes();
  if (message.substr(kRunAt, run.size()) != run) {
    return refused(ErrorCode::UnknownRun, fmt::format("for another run: expected {}, got {}", terms.run.hex(),
                                                      to_hex(message.substr(kRunAt, run.size()))));
  }
  if (const std::uint64_t round = number_at(message, kRoundAt); round != terms.round.value) {
    return refused(ErrorCode::UnplannedQuery, fmt::format("for another round, {}", round));
  }
  if (const std::string_view query = message.substr(kQueryAt, terms.query.size()); query != as_bytes(terms.query)) {
    return refused(ErrorCode::UnplannedQuery,
                   fmt::format("for another query: expected {}, got {}", to_hex(terms.query), to_hex(query)));
  }
  const std::uint64_t body_bytes = number_at(message, kBodyBytesAt);
  if (body_bytes > terms.length.body_bytes_max()) {
    return refused(ErrorCode::Malformed, fmt::format("that claims a body of {} bytes, the round's length is {}",
                                                     body_bytes, terms.length.body_bytes_max()));
  }
  const std::string_view padding = message.substr(kBodyAt + body_bytes);
  if (!all_zero(padding)) return refused(ErrorCode::Malformed, "with something in its padding");
  Ticket ticket;
  std::copy_n(raw(message.substr(kTicketAt)), ticket.bytes.size(), ticket.bytes.begin());
  return OpenedReply(std::move(sealed), ticket, body_bytes);
}

Digest identity_of(std::string_view sealed) { return sha256(sealed); }

Digest terms_digest(const SealingPublicKey& to, const ReplyMacKey& mac_key, const RoundTerms& terms) {
  std::string text(to.bytes());
  text.append(terms.run.bytes());
  text.append(bytes_of(terms.round.value));
  text.append(as_bytes(terms.query));
  const std::uint64_t sealed_bytes = terms.length.sealed_bytes();
  text.append(bytes_of(sealed_bytes));
  return mac_key.mac(MacPurpose::RoundTerms, text);
}

}  // namespace undertone::sealed
