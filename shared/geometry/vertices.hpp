#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "shared/base/digest.hpp"
#include "shared/base/result.hpp"

namespace undertone::geometry {

/// {radius e_1, -radius e_1, radius e_2, -radius e_2, ...}: the l1 ball's, in this order.
struct L1BallVertices {
  double radius = 0.0;
};
/// {scale e_1, ..., scale e_d}: the scaled simplex's, in this order.
struct SimplexVertices {
  double scale = 0.0;
};
/// Given one by one: integers times `step`, a power of two.
struct ListedVertices {
  Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic> columns;  // [d, m], in units of `step`
  double step = 0.0;
  Eigen::VectorX<std::int32_t> anchor;  // [d], in units of `step`
};

/// A finite public set of points of R^d, the vertices of a polytope, among which a Frank-Wolfe step chooses the one
/// that minimises <v, g>. Every vertex is an integer vector c_j times one real unit, so that an integer g gives every
/// candidate an exact integer score.
class Vertices {
 public:
  /// Bounds on what a job may ask for.
  static constexpr Eigen::Index kDimensionMax = Eigen::Index{1} << 22;      // of the l1 ball and the simplex
  static constexpr Eigen::Index kListedMax = 4096;                          // listed vertices
  static constexpr Eigen::Index kListedNumbersMax = Eigen::Index{1} << 18;  // their coordinates together
  /// Listed coordinates are integers of at most this magnitude.
  static constexpr int kListedLog2Max = 16;

  /// @param dimension in 1 .. kDimensionMax @param radius in (0, kParameterMax]
  [[nodiscard]] static Result<Vertices> of_l1_ball(Eigen::Index dimension, double radius);
  /// @param dimension in 2 .. kDimensionMax: a single point leaves nothing to choose @param scale in (0, kParameterMax]
  [[nodiscard]] static Result<Vertices> of_simplex(Eigen::Index dimension, double scale);
  /// Every coordinate is rounded to the nearest multiple of the power of two that puts the largest of all in
  /// [2^15, 2^16]: what this class then holds are the rounded points.
  /// @param columns [d, m], one vertex a column, 2 <= m <= kListedMax, d >= 1, d m <= kListedNumbersMax; finite, of
  /// magnitude at most kParameterMax, no two equal once rounded
  /// @return an error that names the first vertex (by index, from 0) for which this does not hold
  [[nodiscard]] static Result<Vertices> listed(const Eigen::Ref<const Eigen::MatrixXd>& columns);

  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }
  /// m: 2 d of the l1 ball, d of the simplex.
  [[nodiscard]] Eigen::Index count() const noexcept { return count_; }
  /// Real length of one unit of c_j: the radius, the scale, or the step of what was listed.
  [[nodiscard]] double unit() const noexcept;

  /// Of the l1 ball's, else nothing; and of the simplex's.
  [[nodiscard]] std::optional<double> l1_radius() const noexcept;
  [[nodiscard]] std::optional<double> simplex_scale() const noexcept;

  /// SHA-256 of what the vertices are, kind, size and every number.
  [[nodiscard]] const Digest& digest() const noexcept { return digest_; }

  /// out += weight times vertex j. Reads and writes one coordinate of the l1 ball's and the simplex's.
  /// @param j in 0 .. count() - 1 @param out [d]
  void add_scaled(Eigen::Index j, double weight, Eigen::Ref<Eigen::VectorXd> out) const;
  /// Vertex j, [d].
  [[nodiscard]] Eigen::VectorXd vertex(Eigen::Index j) const;
  /// The vertex that minimises <v, gradient>, of several the first: linear minimisation without privacy.
  /// @param gradient [d], finite
  [[nodiscard]] Eigen::Index minimiser(const Eigen::Ref<const Eigen::VectorXd>& gradient) const;
  /// max over vertices of ||v||_1; Frank-Wolfe's ||C||_1.
  [[nodiscard]] double norm_l1_max() const noexcept;
  /// The point that vertices' scores are taken from where they leave a silo, <v - anchor, gradient>: a shift of all
  /// scores alike moves no choice, and scores from a point amid the vertices are smaller, and so is their noise. 0, or
  /// of listed vertices the middle of every coordinate's range where that is nearer to them all: [d].
  /// Source: spec non-euclidean 3.2 A.
  [[nodiscard]] Eigen::VectorXd anchor() const;
  /// max over vertices of ||v - anchor||_1, at most norm_l1_max().
  [[nodiscard]] double reach_l1() const noexcept;

  /// The scores of a selection that prefers the highest: s_j = -<c_j, gradient_sum>, exact, O(m) for the l1 ball and
  /// the simplex. One unit is `unit()` times the gradient lattice's step.
  /// @param gradient_sum [d], of magnitude at most 2^62 / score_factor(), so that no score leaves 2^62; checked
  /// @param out [count()]
  void scores(std::span<const std::int64_t> gradient_sum, std::span<std::int64_t> out) const;

  /// max_j ||c_j||_1: |s_j| is at most this times the largest magnitude in the gradient sum.
  [[nodiscard]] std::int64_t score_factor() const noexcept { return extents_.score_factor; }
  /// The smaller of 2^30 and 2^60 / score_factor(): every score range is then at most 2^62.
  [[nodiscard]] std::int64_t levels_max() const noexcept;
  /// How far replacing one record moves the difference of two scores, at most, where the integers that a record adds to
  /// the gradient sum are within [-levels, levels] in every coordinate: 2 levels max_ik ||c_i - c_k||_1.
  ///
  /// Proof: with x and x' the record's integers before and after, (s_i - s_k) - (s'_i - s'_k) = <c_k - c_i, x - x'>, at
  /// most ||c_i - c_k||_1 ||x - x'||_inf, and the last factor is at most 2 levels. It is attained at x = levels
  /// sign(c_k - c_i) = -x', so nothing smaller would do. Of the l1 ball and the simplex, max_ik ||c_i - c_k||_1 = 2, so
  /// this is 4 levels; the change of a single score, at most 2 levels max_j ||c_j||_1 = 2 levels, gives the same by
  /// doubling. Of listed vertices that lie away from 0 it is less than that.
  /// @param levels in 1 .. levels_max()
  [[nodiscard]] std::int64_t score_range(std::int64_t levels) const;

 private:
  using Kind = std::variant<L1BallVertices, SimplexVertices, ListedVertices>;
  /// How far apart the vertices are, in integers.
  struct Extents {
    std::int64_t score_factor;  // max_j ||c_j||_1
    std::int64_t reach;         // max_j ||c_j - anchor||_1
    std::int64_t diameter;      // max_ik ||c_i - c_k||_1
  };
  Vertices(Kind kind, Eigen::Index dimension, Eigen::Index count, const Extents& extents) noexcept;
  [[nodiscard]] const Kind& kind() const noexcept { return *kind_; }
  std::shared_ptr<const Kind> kind_;  // shared by copies: a plan has one in each of thousands of segments
  Eigen::Index dimension_;
  Eigen::Index count_;
  Extents extents_;
  Digest digest_{};
};

}  // namespace undertone::geometry
