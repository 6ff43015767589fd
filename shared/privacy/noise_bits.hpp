#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include "shared/privacy/fixed_amount.hpp"
#include "shared/privacy/secure_bits.hpp"

namespace undertone::privacy {

class TestBits;

/// Sources that a sampler accepts: the operating system's, or the seeded twin that only tests and the simulator link.
template <class Bits>
concept NoiseBits = std::same_as<Bits, SecureBits> || std::same_as<Bits, TestBits> || requires {
  typename Bits::ScriptedForTests;
};

/// Exactly uniform on {0, ..., bound - 1}. @param bound > 0. Source: Lemire 2019, with the rejection step.
template <NoiseBits Bits>
[[nodiscard]] std::uint64_t uniform_below(Bits& bits, std::uint64_t bound) {
  UInt128 product = UInt128{bits.word()} * bound;
  auto low = static_cast<std::uint64_t>(product);
  if (low < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = UInt128{bits.word()} * bound;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::uint64_t>(product >> 64U);
}

}  // namespace undertone::privacy
