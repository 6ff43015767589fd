#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/privacy/additive_shares.hpp"

namespace undertone::shuffled {

/// The secret choices that encoding a silo's counts takes.
class EncodingRandomness {
 public:
  EncodingRandomness() = default;
  EncodingRandomness(const EncodingRandomness&) = delete;
  EncodingRandomness& operator=(const EncodingRandomness&) = delete;
  virtual ~EncodingRandomness() = default;
  /// @see privacy::split_counts
  [[nodiscard]] virtual Result<privacy::SharePair> split(std::span<const std::int64_t> counts,
                                                         const privacy::ShareModulus& modulus) = 0;
  /// A random order of 0 .. size - 1. @see privacy::sample_permutation
  [[nodiscard]] virtual std::vector<std::int64_t> order(std::int64_t size) = 0;
};

}  // namespace undertone::shuffled
