#include "silo/oracles/secure_randomness.hpp"

#include "silo/oracles/bits_stream.hpp"

namespace undertone::silo {

std::unique_ptr<ReleaseStream> SecureRandomness::open(const SpendToken& token) {
  UNDERTONE_CHECK(token.valid());
  bits_.reseed();
  return std::make_unique<BitsStream<privacy::SecureBits>>(bits_);
}

}  // namespace undertone::silo
