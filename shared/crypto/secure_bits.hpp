#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "shared/crypto/noise_kind.hpp"

namespace undertone::crypto {

/// The randomness of everything private: AES-256 in counter mode (ChaCha20 where the processor has no AES) keyed by the
/// operating system, with fast key erasure. Each refill makes 32 KiB, of which the first 48 bytes replace key and
/// counter; words are wiped as they are handed out; the operating system is asked again every 2^20 refills, every 10
/// minutes, and by `reseed`. Key and words lie in pages of their own that are locked into memory where the system
/// allows, are in no core dump, and are empty in a forked or cloned child, which then starts afresh. Any failure of the
/// source or of its self-tests stops the process: there is no fallback. One thread at a time.
/// Source: spec privacy-core A; fast key erasure: Bernstein 2017.
class SecureBits {
 public:
  static constexpr NoiseKind kKind = NoiseKind::Secure;
  /// The only constructor: a key from getrandom(2).
  [[nodiscard]] static SecureBits from_os();

  /// What was moved from stops the process when it is asked for bits.
  SecureBits(SecureBits&& other) noexcept
      : pages_(std::move(other.pages_)),
        next_(std::exchange(other.next_, kWords)),
        refills_(other.refills_),
        asked_at_seconds_(other.asked_at_seconds_),
        locked_(other.locked_) {}
  SecureBits& operator=(SecureBits&&) = delete;
  SecureBits(const SecureBits&) = delete;
  SecureBits& operator=(const SecureBits&) = delete;
  ~SecureBits() = default;

  /// 64 uniform bits.
  [[nodiscard]] std::uint64_t word() {
    if (next_ == kWords || pages_->alive != kAlive) refill();
    const std::uint64_t value = pages_->words[next_];
    pages_->words[next_++] = 0;
    return value;
  }
  /// Mixes in fresh randomness of the operating system and drops what was made before: a machine that was cloned
  /// repeats nothing beyond this point.
  void reseed();
  /// Whether the system let the pages be locked into memory.
  [[nodiscard]] bool locked() const noexcept { return locked_; }

 private:
  SecureBits();
  static constexpr std::size_t kKeyWords = 6;  // 32 bytes of key, 16 of counter
  static constexpr std::size_t kWords = 4096;  // 32 KiB
  static constexpr std::uint64_t kAlive = 0x616c697665202121;
  /// Zero in a child: mapped with MADV_WIPEONFORK.
  struct Pages {
    std::uint64_t alive;
    std::array<std::uint64_t, kKeyWords> key;
    std::array<std::uint64_t, kWords> words;
  };
  struct Unmap {
    void operator()(Pages* pages) const noexcept;
  };
  void mix_in_os();
  void refill();

  std::unique_ptr<Pages, Unmap> pages_;
  std::size_t next_ = kWords;
  std::uint32_t refills_ = 0;          // since the operating system was asked
  std::int64_t asked_at_seconds_ = 0;  // monotonic
  bool locked_ = false;
};

}  // namespace undertone::crypto
