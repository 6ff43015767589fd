#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shared/geometry/vertices.hpp"
#include "shared/mechanisms/selection/clamped_sum.hpp"
#include "shared/mechanisms/selection/exponential_mechanism.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// What a node of a path is before it has a lattice. @see releases::PathNode
struct PathShare {
  releases::CoordinateBound bound;
  double factor = 1.0;
  std::int64_t records = 0;
};

/// The integers that an estimate along a path is made of: its nodes' records add up on lattices of their own, whose
/// units are worth the same in the estimate, factor x step / records.
class PathLattice {
 public:
  /// The finest lattices of whose sum no score leaves 2^60. @param shares one or more
  /// @return an error where there are more records or units than that leaves room for
  [[nodiscard]] static Result<PathLattice> finest(std::span<const PathShare> shares,
                                                  const geometry::Vertices& candidates);

  /// Of each node: what its records' terms are clamped to and counted in.
  [[nodiscard]] const std::vector<ClampUnits>& nodes() const noexcept { return nodes_; }
  /// What one unit of the sum is in the estimate of a mean gradient.
  [[nodiscard]] double unit() const noexcept { return unit_; }
  /// The most levels of any node.
  [[nodiscard]] std::int64_t levels_max() const noexcept { return levels_max_; }

  friend bool operator==(const PathLattice&, const PathLattice&) = default;

 private:
  std::vector<ClampUnits> nodes_;
  double unit_ = 0.0;
  std::int64_t levels_max_ = 0;
};

/// One vertex by the exponential mechanism, from scores of an estimate that several disjoint sets of records make
/// together. A record of a node moves the difference of two scores by no more than `score_range` of the node's levels,
/// so that the choice costs it epsilon x levels / levels_max, and a record of no node nothing: it is in no score.
/// Neighbours differ in one record, which is in one node whatever it holds.
struct PathSelection {
  PathLattice lattice;
  ExponentialMechanism draw;  // of the range of the node with the most levels

  /// What the choice costs a record of a node, losses within a range of it, rounded up. @param node below their number
  [[nodiscard]] releases::EpsilonAmount epsilon(std::size_t node) const;
};
/// @param epsilon of a record of the dearest node
[[nodiscard]] Result<PathSelection> path_selection(const PathLattice& lattice, const geometry::Vertices& candidates,
                                                   releases::Epsilon epsilon);

/// Every number of it, to the last bit: what makes it one that no other is taken for. Digests are of it, so it never
/// changes.
[[nodiscard]] std::string canonical_text(const PathSelection& selection);

}  // namespace undertone::mechanisms
