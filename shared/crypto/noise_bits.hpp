#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "shared/crypto/secure_bits.hpp"
#include "shared/releases/fixed_amount.hpp"

namespace undertone::crypto {

class TestBits;

/// Sources that a sampler accepts: the operating system's, or the seeded twin that only tests and the simulator link.
template <class Bits>
concept NoiseBits = std::same_as<Bits, SecureBits> || std::same_as<Bits, TestBits> || requires {
  typename Bits::ScriptedForTests;
};

/// Exactly uniform on {0, ..., bound - 1}. @param bound > 0. Source: Lemire 2019, with the rejection step.
template <NoiseBits Bits>
[[nodiscard]] std::uint64_t uniform_below(Bits& bits, std::uint64_t bound) {
  releases::UInt128 product = releases::UInt128{bits.word()} * bound;
  auto low = static_cast<std::uint64_t>(product);
  if (low < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = releases::UInt128{bits.word()} * bound;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::uint64_t>(product >> 64U);
}

}  // namespace undertone::crypto
