#include "shared/base/round_set.hpp"

#include <algorithm>

#include "shared/base/result.hpp"

namespace undertone {

void RoundSet::append(RoundIndex round) {
  UNDERTONE_CHECK(ranges_.empty() || round.value >= ranges_.back().to);
  if (!ranges_.empty() && ranges_.back().to == round.value) {
    ++ranges_.back().to;
  } else {
    ranges_.push_back({round.value, round.value + 1});
  }
}

std::uint64_t RoundSet::count(std::uint64_t from, std::uint64_t to) const noexcept {
  auto range = std::lower_bound(ranges_.begin(), ranges_.end(), from,
                                [](const Range& one, std::uint64_t value) { return one.to <= value; });
  std::uint64_t out = 0;
  for (; range != ranges_.end() && range->from < to; ++range)
    out += std::min(range->to, to) - std::max(range->from, from);
  return out;
}

}  // namespace undertone
