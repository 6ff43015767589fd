#include "shared/shuffled/recipients.hpp"

namespace undertone::shuffled {

Result<Recipients> adders_of(const config::Shuffle& shuffle, const RunId& run) {
  UNDERTONE_CHECK(shuffle.adds());
  std::vector<sealing::SealingPublicKey> keys;
  for (const config::Shuffle::Party& party : shuffle.shufflers) {
    const Result<sealing::SealingPublicKey> key = sealing::SealingPublicKey::from_bytes(as_bytes(party.key));
    if (!key)
      return Error{key.error().code, fmt::format("the key of shuffler {}: {}", party.name, key.error().message)};
    keys.push_back(*key);
  }
  return Recipients{std::move(keys), adder_mac_key(run)};
}

Result<Recipients> coordinator_of(const config::Shuffle& shuffle, std::string_view public_key,
                                  std::string_view mac_key) {
  UNDERTONE_CHECK(!shuffle.adds());
  const Result<sealing::SealingPublicKey> key =
      sealing::SealingPublicKey::approved(public_key, shuffle.coordinator_key);
  if (!key) return key.error();
  Result<sealing::ReplyMacKey> mac = sealing::ReplyMacKey::from_bytes(mac_key);
  if (!mac) return mac.error();
  return Recipients{std::vector<sealing::SealingPublicKey>(shuffle.shufflers.size(), *key), *std::move(mac)};
}

}  // namespace undertone::shuffled
