#include "shared/sealed/recipients.hpp"

namespace undertone::sealed {

Result<Recipients> adders_of(const jobs::Shuffle& shuffle, const RunId& run) {
  UNDERTONE_CHECK(shuffle.adds());
  std::vector<sealed::SealingPublicKey> keys;
  for (const jobs::Shuffle::Party& party : shuffle.shufflers) {
    const Result<sealed::SealingPublicKey> key = sealed::SealingPublicKey::from_bytes(as_bytes(party.key));
    if (!key)
      return Error{key.error().code, fmt::format("the key of shuffler {}: {}", party.name, key.error().message)};
    keys.push_back(*key);
  }
  return Recipients{std::move(keys), adder_mac_key(run)};
}

Result<Recipients> coordinator_of(const jobs::Shuffle& shuffle, std::string_view public_key, std::string_view mac_key) {
  UNDERTONE_CHECK(!shuffle.adds());
  UNDERTONE_TRY(const sealed::SealingPublicKey key,
                sealed::SealingPublicKey::approved(public_key, shuffle.coordinator_key));
  UNDERTONE_TRY(sealed::ReplyMacKey mac, sealed::ReplyMacKey::from_bytes(mac_key));
  return Recipients{std::vector<sealed::SealingPublicKey>(shuffle.shufflers.size(), key), std::move(mac)};
}

}  // namespace undertone::sealed
