#pragma once

#include "shared/geometry/mirror_map.hpp"

namespace undertone::geometry {

/// A mirror map h over C and what an analysis in a norm ||.|| with unit ball Q needs of it, all public: h is
/// modulus-strongly convex in ||.||, and its steps do not see what Q does not hold.
struct MatchedPotential {
  MirrorMap map;
  double range = 0.0;         // W >= max over C of D_h(x, start)
  double modulus = 1.0;       // of h in ||.||
  double gauge_radius = 0.0;  // ||Q||_2, the largest l2 norm in Q
  double gauge_width = 0.0;   // at least G_Q, the Gaussian width of Q

  /// E ||g + b||_*^2 / 2 at most, for ||g||_2 <= L and b ~ N(0, s^2 I) of mean 0:
  ///   L^2 ||Q||_2^2 + s^2 (G_Q^2 + ||Q||_2^2),
  /// as ||v||_* = sup over Q of <v, x> has variance at most s^2 ||Q||_2^2 (Poincare).
  [[nodiscard]] double dual_second_moment(double lipschitz, double noise_variance) const;
};

/// The potential whose noise is the set's width, by the set:
///   (i) and (vi) l2 ball, box, mixed ball: 1/2 ||x||^2, Q the l2 ball   (ii) simplex: entropy, Q the l1 ball
///   (iii) l1 ball: ||x||_q^2/(2(q-1)), q = min(2, ln d/(ln d - 1)), Q the l_q ball
///   (v) group ball and (vii) nuclear ball: their own, Q = C
/// @param dimension d >= 1 @param start where the run starts: of the Euclidean potential any point of C, [d]
/// @return an error for the whole space, which has no such bound, and a set that is not of R^d
/// Source: Talwar, Thakurta, Zhang 2014, Sections 3.1 and 3.2; spec constraint-geometry 2.1.
[[nodiscard]] Result<MatchedPotential> matched_potential(const Domain& domain, Eigen::Index dimension,
                                                         const Eigen::Ref<const Eigen::VectorXd>& start);
/// (i) over any set with an exact projection.
[[nodiscard]] Result<MatchedPotential> euclidean_potential(const Domain& domain, Eigen::Index dimension,
                                                           const Eigen::Ref<const Eigen::VectorXd>& start);
/// (iv) listed vertices: the entropy of their weights, Q = conv(V - c and c - V), c their mean.
[[nodiscard]] MatchedPotential vertex_potential(const Vertices& vertices);

}  // namespace undertone::geometry
