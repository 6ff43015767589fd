#include "shared/sealed/sealing_key.hpp"

#include <algorithm>
#include <sodium.h>
#include <utility>

#include "shared/sealed/raw_bytes.hpp"

namespace undertone::sealed {
namespace {

static_assert(SealingPublicKey::kBytes == crypto_box_PUBLICKEYBYTES &&
              SecretBytes::kBytes == crypto_box_SECRETKEYBYTES);

/// Scalars are multiples of 8, the cofactor: with a point of small order the product is zero whatever the scalar.
bool has_small_order(std::string_view point) {
  const std::array<unsigned char, crypto_scalarmult_SCALARBYTES> any_scalar{};
  std::array<unsigned char, crypto_scalarmult_BYTES> product{};
  return crypto_scalarmult(product.data(), any_scalar.data(), raw(point)) != 0;
}

}  // namespace

Result<SealingPublicKey> SealingPublicKey::from_bytes(std::string_view bytes) {
  start_sodium();
  if (bytes.size() != kBytes) {
    return Error{ErrorCode::Malformed, fmt::format("a public key has {} bytes, got {}", kBytes, bytes.size())};
  }
  if (has_small_order(bytes)) return Error{ErrorCode::Malformed, "a public key of small order, which seals nothing"};
  SealingPublicKey out;
  std::copy(bytes.begin(), bytes.end(), out.bytes_.begin());
  return out;
}

Result<SealingPublicKey> SealingPublicKey::approved(std::string_view bytes, const Digest& fingerprint) {
  Result<SealingPublicKey> key = from_bytes(bytes);
  if (!key) return key;
  const Digest found = key->fingerprint();
  if (found != fingerprint) {
    return Error{ErrorCode::Unauthorized,
                 fmt::format("the job names the sealing key {}, told was {}", to_hex(fingerprint), to_hex(found))};
  }
  return key;
}

std::string_view SealingPublicKey::bytes() const noexcept {
  return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
}

Digest SealingPublicKey::fingerprint() const { return sha256(bytes()); }

SealingKey::SealingKey(SecretBytes secret) : secret_(std::move(secret)) {
  UNDERTONE_CHECK(crypto_scalarmult_base(public_key_.bytes_.data(), raw(secret_.bytes())) == 0);
}

SealingKey SealingKey::generate() { return SealingKey(SecretBytes::draw()); }

Result<SealingKey> SealingKey::from_secret(std::string_view bytes) {
  UNDERTONE_TRY(SecretBytes secret, SecretBytes::copy_of(bytes));
  return SealingKey(std::move(secret));
}

}  // namespace undertone::sealed
