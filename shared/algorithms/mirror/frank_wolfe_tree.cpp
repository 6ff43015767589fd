#include "shared/algorithms/mirror/frank_wolfe_tree.hpp"

#include <algorithm>
#include <bit>

#include "shared/algorithms/number.hpp"
#include "shared/base/result.hpp"

namespace undertone::algorithms {

TreeLeaf tree_leaf(std::uint64_t round) {
  UNDERTONE_CHECK(round < UINT64_MAX - 2);
  const auto phase = static_cast<std::uint64_t>(std::bit_width(round + 2) - 1);
  UNDERTONE_CHECK(phase >= 1 && phase < 64);
  const std::uint64_t number = round + 2 - (std::uint64_t{1} << phase);
  return {phase, number, number == 0 ? 0 : phase - static_cast<std::uint64_t>(std::countr_zero(number))};
}

std::uint64_t tree_rounds(std::uint64_t depth) { return (std::uint64_t{2} << std::min(depth, kTreeDepthMax)) - 2; }

std::uint64_t tree_parts(std::uint64_t depth) {
  return (std::uint64_t{1} << (depth - 1)) * (2 * depth + depth * (depth + 1) / 2);
}

releases::Slice tree_slice(std::uint64_t depth, std::uint64_t round, releases::Slice::Assignment assignment) {
  UNDERTONE_CHECK(depth >= 1 && depth <= kTreeDepthMax && round < tree_rounds(depth));
  const std::uint64_t whole = std::uint64_t{1} << depth;  // of a root
  const TreeLeaf leaf = tree_leaf(round);
  // The phases before have 2^T (1 + s/2) parts each; leaves before in this phase the parts of their nodes.
  std::uint64_t first = 0;
  for (std::uint64_t phase = 1; phase < leaf.phase; ++phase) first += whole + phase * (whole / 2);
  for (std::uint64_t number = 0; number < leaf.number; ++number)
    first += whole >> tree_leaf(tree_round(leaf.phase, number)).depth;
  releases::Slice slice{releases::Slice::Cut::Equal, first, tree_parts(depth), assignment};
  slice.span = whole >> leaf.depth;
  return slice;
}

double tree_step(const TreeLeaf& leaf) { return 2.0 / number((std::uint64_t{1} << leaf.phase) + leaf.number); }

}  // namespace undertone::algorithms
