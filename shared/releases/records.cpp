#include "shared/releases/records.hpp"

#include <algorithm>

#include "shared/base/result.hpp"

namespace undertone::releases {

Slice::Positions Slice::positions(std::int64_t records) const {
  UNDERTONE_CHECK(records >= 0 && of >= 1 && (index < of || assignment == Assignment::Bins));
  UNDERTONE_CHECK(span == 1 || (cut == Cut::Equal && index < of && span >= 1 && span <= of - index));
  if (assignment == Assignment::SecretPermutation) records = std::max<std::int64_t>(records - 1, 0);
  const std::uint64_t part = index % of;
  if (cut == Cut::Equal) {
    const auto size = static_cast<std::int64_t>(static_cast<std::uint64_t>(records) / of);
    const std::int64_t from = static_cast<std::int64_t>(part) * size;
    return {from, from + static_cast<std::int64_t>(span) * size};
  }
  if (cut == Cut::HalfThenEqual) {
    const std::int64_t half = records / 2;
    if (part == 0) return {0, half};
    const auto size = static_cast<std::int64_t>(static_cast<std::uint64_t>(records - half) / (of - 1));
    const std::int64_t begin = half + static_cast<std::int64_t>(part - 1) * size;
    return {begin, begin + size};
  }
  std::int64_t from = 0;
  for (std::uint64_t i = 0; i < part; ++i) from += i + 1 < 63 ? records >> (i + 1) : 0;
  return {from, from + (part + 1 < 63 ? records >> (part + 1) : 0)};
}

}  // namespace undertone::releases
