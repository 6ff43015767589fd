#include "silo/oracles/secure_randomness.hpp"

#include <algorithm>

#include "shared/base/byte_stream.hpp"
#include "silo/oracles/bits_stream.hpp"

namespace undertone::silo {

std::unique_ptr<ReleaseStream> SecureRandomness::open(const SpendToken& token) {
  UNDERTONE_CHECK(token.valid());
  bits_.reseed();
  return std::make_unique<BitsStream<crypto::SecureBits>>(bits_);
}

std::vector<std::int64_t> SecureRandomness::permutation(const PermutationName& name, std::int64_t count) {
  std::vector<std::pair<Digest, std::int64_t>> order;
  order.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    ByteWriter material;
    material.text(as_bytes(name.key));
    material.i64(i);
    order.emplace_back(sha256(material.bytes()), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> out;
  out.reserve(order.size());
  for (const auto& [digest, index] : order) out.push_back(index);
  return out;
}

}  // namespace undertone::silo
