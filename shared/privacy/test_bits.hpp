#pragma once

#include <cstdint>
#include <string_view>

#include "shared/base/digest.hpp"
#include "shared/privacy/noise_kind.hpp"

namespace undertone::privacy {

struct InsecureForTestsOnly {};

/// Reproducible words for tests and the simulator: SHA-256 in counter mode over (seed, purpose). What is drawn with
/// it is not private. Linked by `undertone`, `undertone-silo-test` and tests, never by `undertone-silo`.
class TestBits {
 public:
  static constexpr NoiseKind kKind = NoiseKind::Test;
  /// @param purpose what the words are for, such as run, round, silo: equal purposes give equal words
  TestBits(std::uint64_t seed, std::string_view purpose, InsecureForTestsOnly tag);
  [[nodiscard]] std::uint64_t word();

 private:
  Digest key_;
  Digest block_{};
  std::uint64_t counter_ = 0;
  std::size_t next_ = sizeof(Digest);
};

}  // namespace undertone::privacy
