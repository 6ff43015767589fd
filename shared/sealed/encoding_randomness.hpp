#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/sealed/additive_shares.hpp"

namespace undertone::sealed {

/// The secret choices that encoding a silo's counts takes.
class EncodingRandomness {
 public:
  EncodingRandomness() = default;
  EncodingRandomness(const EncodingRandomness&) = delete;
  EncodingRandomness& operator=(const EncodingRandomness&) = delete;
  virtual ~EncodingRandomness() = default;
  /// @see sealed::split_counts
  [[nodiscard]] virtual Result<sealed::SharePair> split(std::span<const std::int64_t> counts,
                                                        const sealed::ShareModulus& modulus) = 0;
  /// A random order of 0 .. size - 1. @see noise::sample_permutation
  [[nodiscard]] virtual std::vector<std::int64_t> order(std::int64_t size) = 0;
};

}  // namespace undertone::sealed
