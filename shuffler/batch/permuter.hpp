#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "shared/noise/discrete_samplers.hpp"

namespace undertone::shuffler {

/// Draws the secret order of a batch.
class Permuter {
 public:
  virtual ~Permuter() = default;
  /// @return a permutation of 0 .. count-1, each equally likely and independent of all others
  [[nodiscard]] virtual std::vector<std::int64_t> order(std::int64_t count) = 0;
};

/// A shuffler's has SecureBits; seeded bits are for tests and simulations.
template <crypto::NoiseBits Bits>
class BitsPermuter final : public Permuter {
 public:
  explicit BitsPermuter(Bits bits) : bits_(std::move(bits)) {}
  [[nodiscard]] std::vector<std::int64_t> order(std::int64_t count) override {
    return noise::sample_permutation(count, bits_);
  }

 private:
  Bits bits_;
};

/// All units of all messages in one secret order.
/// @param messages by slot, each of a whole number of units
[[nodiscard]] std::vector<std::string> permuted_units(const std::map<std::size_t, std::string>& messages,
                                                      std::size_t unit_bytes, Permuter& permuter);

}  // namespace undertone::shuffler
