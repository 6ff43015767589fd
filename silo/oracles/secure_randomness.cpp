#include "silo/oracles/secure_randomness.hpp"

#include "silo/oracles/bits_stream.hpp"

namespace undertone::silo {

std::unique_ptr<ReleaseStream> SecureRandomness::open(const SpendToken& token) {
  UNDERTONE_CHECK(token.valid());
  return std::make_unique<BitsStream<privacy::SecureBits>>(privacy::SecureBits::from_os());
}

}  // namespace undertone::silo
