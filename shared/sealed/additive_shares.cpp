#include "shared/sealed/additive_shares.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace undertone::sealed {

Result<ShareModulus> ShareModulus::create(std::int64_t total_max) {
  if (total_max < 1)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the largest total of a round must be >= 1, got {}", total_max)};
  const auto bits = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(total_max)));
  return ShareModulus(total_max, (bits + 7) / 8);
}

std::vector<std::uint8_t> pack_share(std::span<const std::uint64_t> words, const ShareModulus& modulus) {
  ShareWriter writer(words.size(), modulus);
  std::uint64_t beyond = 0;
  for (const std::uint64_t word : words) {
    beyond |= word ^ modulus.reduce(word);
    writer.put(word);
  }
  UNDERTONE_CHECK(beyond == 0);
  return std::move(writer).take();
}

Status add_share(std::span<const std::uint8_t> share, const ShareModulus& modulus, std::span<std::uint64_t> total) {
  const std::size_t bytes = modulus.bytes();
  if (share.size() != total.size() * bytes) {
    return Error{ErrorCode::Malformed, fmt::format("a share of {} coordinates takes {} bytes, got {}", total.size(),
                                                   total.size() * bytes, share.size())};
  }
  for (std::size_t j = 0; j < total.size(); ++j) {
    std::uint64_t word = 0;
    // The modulus cuts off what belongs to the next words; the last ones are read by their own length.
    std::memcpy(&word, share.data() + j * bytes, std::min(sizeof word, share.size() - j * bytes));
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

}  // namespace undertone::sealed
