#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace undertone {

/// Deterministic pseudo-random numbers for PUBLIC choices (partitions, back-off jitter, simulated faults): SplitMix64
/// (Steele, Lea, Flood 2014). Never for noise or for the sampling of private records: those take NoiseBits.
class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] std::uint64_t word() noexcept {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  /// Uniform on {0, ..., bound - 1}; bound > 0. Bias below bound / 2^64.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept { return word() % bound; }
  /// Uniform on [0, 1).
  [[nodiscard]] double unit() noexcept { return static_cast<double>(word() >> 11U) * 0x1p-53; }
  [[nodiscard]] bool chance(double probability) noexcept { return unit() < probability; }

  /// A permutation of 0 .. count-1 (Fisher-Yates).
  [[nodiscard]] std::vector<std::size_t> permutation(std::size_t count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[below(i)]);
    return order;
  }

 private:
  std::uint64_t state_;
};

}  // namespace undertone
