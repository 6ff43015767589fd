#include "silo/oracles/secure_randomness.hpp"

#include <algorithm>

#include "shared/base/byte_stream.hpp"
#include "silo/oracles/bits_stream.hpp"

namespace undertone::silo {
namespace {

/// Exactly uniform on 0 .. bound-1 if SHA-256 under the key is a random function of record and attempt.
/// @param bound at least 1
std::uint64_t uniform_of(const Digest& key, std::int64_t record, std::uint64_t bound) {
  const std::uint64_t refused = (0 - bound) % bound;  // 2^64 mod bound: so many words are too many
  for (std::uint64_t attempt = 0;; ++attempt) {
    ByteWriter material;
    material.text(as_bytes(key));
    material.i64(record);
    material.u64(attempt);
    const Digest digest = sha256(material.bytes());
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < sizeof word; ++i) word = word << 8U | digest[i];
    if (word >= refused) return word % bound;
  }
}

}  // namespace

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

std::vector<std::int64_t> SecureRandomness::bins(const PermutationName& name, std::int64_t count) {
  UNDERTONE_CHECK(count >= 1);
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  for (std::int64_t record = 0; record < count; ++record) {
    out[static_cast<std::size_t>(record)] =
        static_cast<std::int64_t>(uniform_of(name.key, record, static_cast<std::uint64_t>(count)));
  }
  return out;
}

}  // namespace undertone::silo
