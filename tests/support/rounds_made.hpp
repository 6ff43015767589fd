#pragma once

#include "shared/base/round_set.hpp"

namespace undertone {

/// The rounds from `from` up to but not including `to`.
inline RoundSet rounds_made(std::uint64_t from, std::uint64_t to) {
  RoundSet out;
  for (std::uint64_t round = from; round < to; ++round) out.append(RoundIndex{round});
  return out;
}

}  // namespace undertone
