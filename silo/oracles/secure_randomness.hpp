#pragma once

#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// Production randomness. Every release starts from a key drawn afresh from the operating system, so that neither a
/// fork nor a cloned machine repeats noise between rounds.
class SecureRandomness final : public ReleaseRandomness {
 public:
  [[nodiscard]] privacy::NoiseKind kind() const noexcept override { return privacy::NoiseKind::Secure; }
  [[nodiscard]] std::unique_ptr<ReleaseStream> open(const SpendToken& token) override;
};

}  // namespace undertone::silo
