#pragma once

#include <cstdint>
#include <vector>

#include "shared/algorithms/frank_wolfe/vertex_path.hpp"
#include "shared/algorithms/mirror/frank_wolfe_tree.hpp"

namespace undertone::algorithms {

/// A node on a leaf's path that has records of its own, and the round in which it was entered.
struct OnPath {
  std::uint64_t depth = 0;
  std::uint64_t round = 0;
};
/// The nodes with records of their own that the path of a round's leaf goes through, the root first.
[[nodiscard]] std::vector<OnPath> path_of(std::uint64_t round);

/// Trees of depth 1 to T whose leaves select a vertex, on equal parts of the records' order.
struct SelectingTrees {
  geometry::Vertices vertices;  // the steps lead to them, or to a centre plus them, which moves no choice
  std::uint64_t depth = 0;      // T
  double smoothness = 0.0;      // beta of a record's loss from l1 to l_inf
  std::uint64_t first = 0;      // part of the order at which the trees' records begin
  std::uint64_t unit = 1;       // such parts to each of the tree_parts(T)
  std::uint64_t parts = 0;      // of the whole order
};

/// Returns what a round asks for, which is a vertex, along its leaf's path. A coordinate of a root's record is clamped
/// to the shape's L, of a node's at depth j to min(2 L, 2 beta D 2^-j), D the largest l1 distance of two vertices:
/// between a node and the one before it the steps move the point by 2 D 2^-j at most. @param round below tree_rounds(T)
[[nodiscard]] releases::Ask leaf_selection(const SelectingTrees& trees, std::uint64_t round,
                                           const GradientShape& shape);

}  // namespace undertone::algorithms
