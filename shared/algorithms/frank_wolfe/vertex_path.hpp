#pragma once

#include <string_view>
#include <vector>

#include "shared/algorithms/frank_wolfe/frank_wolfe_iterate.hpp"
#include "shared/algorithms/method.hpp"
#include "shared/geometry/vertices.hpp"
#include "shared/planning/plan.hpp"

/// What the Frank-Wolfe methods share whose silos select a vertex by an estimate along a path of earlier points. The
/// silo makes the estimate anew from the points and its own records each time: nothing of it ever leaves.
namespace undertone::algorithms {

/// The largest l1 distance of two vertices.
[[nodiscard]] double l1_diameter(const geometry::Vertices& vertices);

/// @param points of the path's nodes in order, [d] each
[[nodiscard]] Step ask_path(std::uint64_t round, const std::vector<const Eigen::VectorXd*>& points);

/// One vertex of an estimate along a path. @param nodes in order; their slices lie within the hull
[[nodiscard]] releases::Ask path_selection(const geometry::Vertices& vertices, std::vector<releases::PathNode> nodes,
                                           const releases::Slice& hull);

/// A point on the way from an iterate to the mean of the vertices that the silos selected.
/// @param step in (0, 1] @param iterate [d], moved
/// @return an error where the round is another or nobody voted: the iterate is then as it was
[[nodiscard]] Status step_to_selected(std::string_view method, const folds::Gathered& gathered, std::uint64_t round,
                                      const geometry::Vertices& vertices, double step, Eigen::VectorXd& iterate);

/// An iterate and the points of a path, and their inverse. @param points as many as were saved
void save_path(ByteWriter& state, const Eigen::VectorXd& iterate, const std::vector<Eigen::VectorXd>& points);
[[nodiscard]] Status restore_path(ByteReader& state, Eigen::VectorXd& iterate, std::vector<Eigen::VectorXd>& points);

/// Every coordinate of a record's term is bounded, in the setup of l1. @param smoothness beta, from l1 to l_inf
[[nodiscard]] MethodTraits path_traits(double smoothness);

/// No bound on a record's term is smaller: it is a job's product of a smoothness, a diameter and a step, which could
/// vanish.
inline constexpr double kTermBoundMin = 1e-100;

/// Whether a bound on the difference of gradients over such a distance in l1 is large enough to be one.
[[nodiscard]] Status check_shortest_difference(std::string_view method, double smoothness, double shortest);

/// Whether a problem is one of these methods over the hull of the vertices.
/// @param shortest the least distance in l1 of two points whose gradients' difference is bounded by the smoothness
[[nodiscard]] Status check_path_problem(std::string_view method, const geometry::Vertices& vertices, double smoothness,
                                        double shortest, const Problem& problem);

/// min(2 L, beta x distance): no coordinate of a difference of gradients at points so far apart in l1 is larger.
/// @pre the shape's bound is L, of every coordinate
[[nodiscard]] releases::CoordinateBound difference_bound(const GradientShape& shape, double smoothness,
                                                         double distance);
/// L. @pre as above
[[nodiscard]] const releases::CoordinateBound& gradient_bound(const GradientShape& shape);

}  // namespace undertone::algorithms
