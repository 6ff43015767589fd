#include "shared/releases/records.hpp"

#include "shared/base/result.hpp"

namespace undertone::releases {

Slice::Positions Slice::positions(std::int64_t records) const {
  UNDERTONE_CHECK(records >= 0 && of >= 1 && index < of);
  if (cut == Cut::Equal) {
    const auto size = static_cast<std::int64_t>(static_cast<std::uint64_t>(records) / of);
    const std::int64_t from = static_cast<std::int64_t>(index) * size;
    return {from, from + size};
  }
  std::int64_t from = 0;
  for (std::uint64_t i = 0; i < index; ++i) from += i + 1 < 63 ? records >> (i + 1) : 0;
  return {from, from + (index + 1 < 63 ? records >> (index + 1) : 0)};
}

}  // namespace undertone::releases
