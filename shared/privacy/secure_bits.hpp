#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "shared/privacy/noise_kind.hpp"

namespace undertone::privacy {

/// The randomness of everything private: AES-256-CTR keyed by the operating system, with fast key erasure. Each refill
/// makes 32 KiB, of which the first 48 bytes replace key and counter; words are wiped as they are handed out. Any
/// failure of the source stops the process: there is no fallback.
/// Source: spec privacy-core A; fast key erasure: Bernstein 2017.
class SecureBits {
 public:
  static constexpr NoiseKind kKind = NoiseKind::Secure;
  /// The only constructor: a key from getrandom(2).
  [[nodiscard]] static SecureBits from_os();

  SecureBits(SecureBits&&) noexcept;
  SecureBits& operator=(SecureBits&&) noexcept;
  SecureBits(const SecureBits&) = delete;
  SecureBits& operator=(const SecureBits&) = delete;
  ~SecureBits();

  /// 64 uniform bits.
  [[nodiscard]] std::uint64_t word() {
    if (next_ == kWords || process_ != current_process()) refill();
    const std::uint64_t value = (*words_)[next_];
    (*words_)[next_++] = 0;
    return value;
  }

 private:
  SecureBits();
  static constexpr std::size_t kKeyWords = 6;  // 32 bytes of key, 16 of counter
  static constexpr std::size_t kWords = 4096;  // 32 KiB
  using Words = std::array<std::uint64_t, kWords>;
  using KeyMaterial = std::array<std::uint64_t, kKeyWords>;
  /// Which process this is, counted in forks: a child must not hand out what its parent has buffered.
  [[nodiscard]] static std::uint64_t current_process() noexcept { return forks_.load(std::memory_order_relaxed); }
  static std::atomic<std::uint64_t> forks_;
  void rekey_from_os();
  void refill();

  std::unique_ptr<Words> words_;
  KeyMaterial key_{};
  std::size_t next_ = kWords;
  std::uint64_t process_ = 0;
};

}  // namespace undertone::privacy
