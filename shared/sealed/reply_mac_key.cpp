#include "shared/sealed/reply_mac_key.hpp"

#include <sodium.h>

#include "shared/sealed/raw_bytes.hpp"

namespace undertone::sealed {
namespace {

static_assert(ReplyMacKey::kBytes == crypto_generichash_blake2b_KEYBYTES);

/// BLAKE2b's 16 bytes of personalisation.
std::string_view name_of(MacPurpose purpose) {
  switch (purpose) {
    case MacPurpose::Reply:
      return "undertone reply ";
    case MacPurpose::RoundTerms:
      return "undertone terms ";
  }
  UNDERTONE_CHECK(false);
}

}  // namespace

Result<ReplyMacKey> ReplyMacKey::from_bytes(std::string_view bytes) {
  UNDERTONE_TRY(SecretBytes key, SecretBytes::copy_of(bytes));
  return ReplyMacKey(std::move(key));
}

Digest ReplyMacKey::mac(MacPurpose purpose, std::string_view text) const {
  const std::string_view personal = name_of(purpose);
  UNDERTONE_CHECK(personal.size() == crypto_generichash_blake2b_PERSONALBYTES);
  Digest out{};
  UNDERTONE_CHECK(crypto_generichash_blake2b_salt_personal(out.data(), out.size(), raw(text), text.size(),
                                                           raw(key_.bytes()), kBytes, nullptr, raw(personal)) == 0);
  return out;
}

}  // namespace undertone::sealed
