#pragma once

#include "shared/privacy/rounded_gaussian.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// A release's randomness from a bit source, by the exact samplers. @param bits outlives this
template <privacy::NoiseBits Bits>
class BitsStream final : public ReleaseStream {
 public:
  explicit BitsStream(Bits& bits) : bits_(&bits) {}
  void fill_gaussian(int log2_stddev, std::span<std::int64_t> out) override {
    privacy::fill_rounded_gaussian(*bits_, log2_stddev, out);
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) override { return privacy::uniform_below(*bits_, bound); }
  [[nodiscard]] std::vector<std::int64_t> subset(std::int64_t population, std::int64_t size) override {
    return privacy::sample_without_replacement(*bits_, population, size);
  }

 private:
  Bits* bits_;
};

}  // namespace undertone::silo
