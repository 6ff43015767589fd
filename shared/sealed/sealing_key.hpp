#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

#include "shared/base/digest.hpp"
#include "shared/base/result.hpp"
#include "shared/sealed/secret_bytes.hpp"

namespace undertone::sealed {

/// The public part of a job's key: whoever has it can seal to the coordinator. X25519.
class SealingPublicKey {
 public:
  static constexpr std::size_t kBytes = 32;

  /// @return an error for another length, and for a point of small order, to which everything would be sealed with a
  /// secret that anybody can compute
  [[nodiscard]] static Result<SealingPublicKey> from_bytes(std::string_view bytes);
  /// What a silo is told, held against the fingerprint in the job that the silo approved: a key of the coordinator's
  /// choice for each silo would tell it who sent what.
  [[nodiscard]] static Result<SealingPublicKey> approved(std::string_view bytes, const Digest& fingerprint);

  [[nodiscard]] std::string_view bytes() const noexcept;
  /// SHA-256 of the 32 bytes; in a job file it stands as hexadecimal text.
  [[nodiscard]] Digest fingerprint() const;
  friend auto operator<=>(const SealingPublicKey&, const SealingPublicKey&) = default;

 private:
  friend class SealingKey;
  SealingPublicKey() = default;
  std::array<std::uint8_t, kBytes> bytes_{};
};

/// A job's key pair, which the coordinator holds. Moved, never copied; the secret part is wiped when it is destroyed.
class SealingKey {
 public:
  /// From the operating system's randomness.
  [[nodiscard]] static SealingKey generate();
  /// From the secret part, as `secret_bytes` gave it. Every 32 bytes are some key's: whether they are this job's, the
  /// fingerprint says.
  [[nodiscard]] static Result<SealingKey> from_secret(std::string_view bytes);

  [[nodiscard]] const SealingPublicKey& public_key() const noexcept { return public_key_; }
  /// 32 bytes for the coordinator's private file, valid as long as this object.
  [[nodiscard]] std::string_view secret_bytes() const { return secret_.bytes(); }

 private:
  explicit SealingKey(SecretBytes secret);
  SecretBytes secret_;
  SealingPublicKey public_key_;
};

}  // namespace undertone::sealed
