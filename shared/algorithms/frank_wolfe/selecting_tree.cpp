#include "shared/algorithms/frank_wolfe/selecting_tree.hpp"

#include <cmath>
#include <utility>

namespace undertone::algorithms {

std::vector<OnPath> path_of(std::uint64_t round) {
  const TreeLeaf leaf = tree_leaf(round);
  std::vector<OnPath> out{{0, tree_round(leaf.phase, 0)}};
  for (std::uint64_t j = 1; j <= leaf.phase; ++j) {
    const std::uint64_t bit = leaf.phase - j;
    if ((leaf.number >> bit & 1U) == 0) continue;  // a left child has its parent's records
    const std::uint64_t entered = leaf.number >> bit << bit;
    out.push_back({j, tree_round(leaf.phase, entered)});
  }
  return out;
}

releases::Ask leaf_selection(const SelectingTrees& trees, std::uint64_t round, const GradientShape& shape) {
  const double across = l1_diameter(trees.vertices);
  std::vector<releases::PathNode> nodes;
  for (const OnPath& node : path_of(round)) {
    releases::Slice slice = tree_slice(trees.depth, node.round, releases::Slice::Assignment::Permutation);
    slice.index = trees.first + trees.unit * slice.index;
    slice.span *= trees.unit;
    slice.of = trees.parts;
    const double moved = 2.0 * across * std::ldexp(1.0, -static_cast<int>(node.depth));
    nodes.push_back({slice, node.depth == 0 ? gradient_bound(shape) : difference_bound(shape, trees.smoothness, moved),
                     1.0, node.depth == 0 ? 0.0 : 1.0});
  }
  releases::Slice hull = nodes.front().slice;
  hull.span = nodes.back().slice.index + nodes.back().slice.span - hull.index;
  return path_selection(trees.vertices, std::move(nodes), hull);
}

}  // namespace undertone::algorithms
