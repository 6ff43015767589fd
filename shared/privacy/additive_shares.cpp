#include "shared/privacy/additive_shares.hpp"

#include <bit>

namespace undertone::privacy {

Result<ShareModulus> ShareModulus::create(std::int64_t total_max) {
  if (total_max < 1)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the largest total of a round must be >= 1, got {}", total_max)};
  const auto bits = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(total_max)));
  return ShareModulus(total_max, (bits + 7) / 8);
}

std::vector<std::uint8_t> pack_share(std::span<const std::uint64_t> words, const ShareModulus& modulus) {
  std::vector<std::uint8_t> packed;
  packed.reserve(words.size() * modulus.bytes());
  for (std::uint64_t word : words) {
    UNDERTONE_CHECK(modulus.reduce(word) == word);
    for (std::size_t i = 0; i < modulus.bytes(); ++i, word >>= 8U) packed.push_back(static_cast<std::uint8_t>(word));
  }
  return packed;
}

Status add_share(std::span<const std::uint8_t> share, const ShareModulus& modulus, std::span<std::uint64_t> total) {
  if (share.size() != total.size() * modulus.bytes()) {
    return Error{ErrorCode::Malformed, fmt::format("a share of {} coordinates takes {} bytes, got {}", total.size(),
                                                   total.size() * modulus.bytes(), share.size())};
  }
  for (std::size_t j = 0; j < total.size(); ++j) {
    std::uint64_t word = 0;
    for (std::size_t i = modulus.bytes(); i-- > 0;) word = word << 8U | share[j * modulus.bytes() + i];
    total[j] = modulus.reduce(total[j] + word);
  }
  return {};
}

Result<std::vector<std::int64_t>> combine_shares(std::span<const std::uint64_t> first,
                                                 std::span<const std::uint64_t> second, const ShareModulus& modulus) {
  if (first.size() != second.size()) {
    return Error{ErrorCode::Malformed,
                 fmt::format("two adders' totals have {} and {} coordinates", first.size(), second.size())};
  }
  std::vector<std::int64_t> counts(first.size());
  for (std::size_t j = 0; j < counts.size(); ++j) {
    const std::uint64_t count = modulus.reduce(first[j] + second[j]);
    if (count > static_cast<std::uint64_t>(modulus.total_max())) {
      return Error{ErrorCode::Malformed, fmt::format("coordinate {}: the shares add up to {}, at most {} is possible",
                                                     j, count, modulus.total_max())};
    }
    counts[j] = static_cast<std::int64_t>(count);
  }
  return counts;
}

}  // namespace undertone::privacy
