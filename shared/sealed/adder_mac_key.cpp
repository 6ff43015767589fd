#include "shared/sealed/adder_mac_key.hpp"

#include <string>

namespace undertone::sealed {

sealed::ReplyMacKey adder_mac_key(const RunId& run) {
  const Digest digest = sha256("undertone adder" + run.bytes());
  Result<sealed::ReplyMacKey> key = sealed::ReplyMacKey::from_bytes(as_bytes(digest));
  UNDERTONE_CHECK(key.has_value());
  return *std::move(key);
}

}  // namespace undertone::sealed
