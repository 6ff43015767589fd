#pragma once

#include <cstdint>

#include "shared/releases/records.hpp"

/// The binary trees that Frank-Wolfe walks: phase t = 1 .. T has one of depth t, whose 2^t leaves are visited in order,
/// a round each. A root and every right child have records of their own, a left child has those of its parent.
/// Source: Asi, Feldman, Koren and Talwar 2021, Algorithm 3, in the flat form of spec non-euclidean A3.
namespace undertone::algorithms {

inline constexpr std::uint64_t kTreeDepthMax = 10;  // T: 2046 nodes, each planned for itself

/// A leaf, and the node with records of its own that it is the first under.
struct TreeLeaf {
  std::uint64_t phase = 0;   // t
  std::uint64_t number = 0;  // l, 0 .. 2^t - 1
  std::uint64_t depth = 0;   // j of the right child: t - (zeros at the end of l); 0 of the root, where l is 0
};
/// Rounds 2^t - 2 .. 2^(t+1) - 3 are phase t's leaves.
[[nodiscard]] TreeLeaf tree_leaf(std::uint64_t round);
/// Its inverse: the round of a leaf.
[[nodiscard]] constexpr std::uint64_t tree_round(std::uint64_t phase, std::uint64_t number) noexcept {
  return (std::uint64_t{1} << phase) - 2 + number;
}
/// 2^(T+1) - 2.
[[nodiscard]] std::uint64_t tree_rounds(std::uint64_t depth);
/// 2^T (T + T (T+1)/4): equal parts that the records are cut into, of which a root has 2^T and a node of depth j
/// 2^(T-j). @param depth T, 1 .. kTreeDepthMax
[[nodiscard]] std::uint64_t tree_parts(std::uint64_t depth);
/// The records of the node that a round's leaf is the first under. @param depth T
[[nodiscard]] releases::Slice tree_slice(std::uint64_t depth, std::uint64_t round,
                                         releases::Slice::Assignment assignment);
/// 2/(2^t + l): the step after a leaf.
[[nodiscard]] double tree_step(const TreeLeaf& leaf);

}  // namespace undertone::algorithms
