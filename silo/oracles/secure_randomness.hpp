#pragma once

#include "shared/privacy/secure_bits.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// Production randomness: one generator, which mixes in fresh randomness of the operating system before every release,
/// so that a cloned machine repeats no noise between rounds. One stream at a time.
class SecureRandomness final : public ReleaseRandomness {
 public:
  [[nodiscard]] privacy::NoiseKind kind() const noexcept override { return privacy::NoiseKind::Secure; }
  [[nodiscard]] std::unique_ptr<ReleaseStream> open(const SpendToken& token) override;
  [[nodiscard]] bool locked() const noexcept { return bits_.locked(); }

 private:
  privacy::SecureBits bits_ = privacy::SecureBits::from_os();
};

}  // namespace undertone::silo
