#pragma once

#include "shared/crypto/secure_bits.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// Production randomness: one generator, which mixes in fresh randomness of the operating system before every release,
/// so that a cloned machine repeats no noise between rounds. One stream at a time.
class SecureRandomness final : public ReleaseRandomness {
 public:
  [[nodiscard]] crypto::NoiseKind kind() const noexcept override { return crypto::NoiseKind::Secure; }
  [[nodiscard]] std::unique_ptr<ReleaseStream> open(const SpendToken& token) override;
  /// By the order of SHA-256(key, index), a pseudorandom function under a key of fixed length.
  [[nodiscard]] std::vector<std::int64_t> permutation(const PermutationName& name, std::int64_t count) override;
  /// By words of SHA-256(key, record, attempt), each taken or refused so that the draw is exactly uniform.
  [[nodiscard]] std::vector<std::int64_t> bins(const PermutationName& name, std::int64_t count) override;
  [[nodiscard]] bool locked() const noexcept { return bits_.locked(); }

 private:
  crypto::SecureBits bits_ = crypto::SecureBits::from_os();
};

}  // namespace undertone::silo
