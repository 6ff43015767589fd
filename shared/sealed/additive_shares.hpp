#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/crypto/noise_bits.hpp"

namespace undertone::sealed {

static_assert(std::endian::native == std::endian::little, "words are little-endian and copied as they are");

/// Integers modulo 2^(8 w), the words that counts are shared in: the fewest bytes w in which the largest possible total
/// of a round is below the modulus, so that what adders add up without carry is the total itself.
class ShareModulus {
 public:
  /// @param total_max the largest total of a coordinate over all silos, such as s (g + b), >= 1
  [[nodiscard]] static Result<ShareModulus> create(std::int64_t total_max);
  [[nodiscard]] std::int64_t total_max() const noexcept { return total_max_; }
  /// w in 1 .. 8: what a coordinate takes in a share.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t reduce(std::uint64_t value) const noexcept { return value & mask_; }

 private:
  ShareModulus(std::int64_t total_max, std::size_t bytes) noexcept
      : total_max_(total_max), bytes_(bytes), mask_(~std::uint64_t{0} >> (64U - 8U * static_cast<unsigned>(bytes))) {}
  std::int64_t total_max_;
  std::size_t bytes_;
  std::uint64_t mask_;
};

/// What a silo sends to two adders: each by itself is uniform, whatever the counts are, and their sum is the counts.
/// Packed: `ShareModulus::bytes` a coordinate, little-endian.
struct SharePair {
  std::vector<std::uint8_t> first;
  std::vector<std::uint8_t> second;
};

/// Writes words one after the other, `ShareModulus::bytes` of each.
class ShareWriter {
 public:
  ShareWriter(std::size_t words, const ShareModulus& modulus)
      : bytes_(modulus.bytes()), packed_(words * bytes_ + sizeof(std::uint64_t)) {}
  /// @pre below the modulus, and no more words than were announced
  void put(std::uint64_t word) {
    // Eight bytes, of which the next word takes back what is beyond the modulus.
    std::memcpy(packed_.data() + at_, &word, sizeof word);
    at_ += bytes_;
  }
  [[nodiscard]] std::vector<std::uint8_t> take() && {
    packed_.resize(at_);
    return std::move(packed_);
  }

 private:
  std::size_t bytes_;
  std::size_t at_ = 0;
  std::vector<std::uint8_t> packed_;
};

/// Words of a share. @pre every word is below the modulus
[[nodiscard]] std::vector<std::uint8_t> pack_share(std::span<const std::uint64_t> words, const ShareModulus& modulus);

/// @param counts [dimension] of one silo, noise included @return an error for a count outside 0 .. total_max
template <crypto::NoiseBits Bits>
[[nodiscard]] Result<SharePair> split_counts(std::span<const std::int64_t> counts, const ShareModulus& modulus,
                                             Bits& bits) {
  ShareWriter first(counts.size(), modulus);
  ShareWriter second(counts.size(), modulus);
  for (std::size_t j = 0; j < counts.size(); ++j) {
    if (counts[j] < 0 || counts[j] > modulus.total_max()) {
      return Error{ErrorCode::InvalidArgument, fmt::format("coordinate {}: a count to share must be in 0 .. {}, got {}",
                                                           j, modulus.total_max(), counts[j])};
    }
    const std::uint64_t mask = modulus.reduce(bits.word());  // the low bytes of a uniform word are uniform
    first.put(mask);
    second.put(modulus.reduce(static_cast<std::uint64_t>(counts[j]) - mask));
  }
  return SharePair{std::move(first).take(), std::move(second).take()};
}

/// What an adder does with a silo's share. @param total [dimension], modulo the modulus
/// @return an error, and nothing added, unless the share has as many bytes as there are coordinates for
[[nodiscard]] Status add_share(std::span<const std::uint8_t> share, const ShareModulus& modulus,
                               std::span<std::uint64_t> total);

/// The counts that two adders' totals add up to. @param first [dimension] of one adder, below the modulus
/// @param second [dimension] of the other
/// @return an error for totals of different dimensions, or a count above total_max: a share was lost or is of others
[[nodiscard]] Result<std::vector<std::int64_t>> combine_shares(std::span<const std::uint64_t> first,
                                                               std::span<const std::uint64_t> second,
                                                               const ShareModulus& modulus);

}  // namespace undertone::sealed
