#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "shared/geometry/l2_ball.hpp"

namespace undertone::geometry {

struct WholeSpace {};
/// {w : lower <= w_i <= upper for every i}.
struct Box {
  double lower;
  double upper;
};
/// {w : ||w||_1 <= radius}.
struct L1Ball {
  double radius;
};
/// {w : w >= 0, sum w = scale}.
struct Simplex {
  double scale;
};
/// {w : sum_G ||w_G||_2 <= radius}, G the groups of `group_size` consecutive coordinates; the last one may be shorter.
struct GroupBall {
  double radius;
  Eigen::Index group_size;
};
/// {w : (1 - share) ||w||_1 + share ||w||_2 <= radius}.
struct MixedBall {
  double radius;
  double share;
};
/// {W : the singular values of W add up to at most radius}, w the columns of the matrix W one after another.
struct NuclearBall {
  double radius;
  Eigen::Index rows;
};

/// A non-empty closed convex set of R^d, for every d >= 1 that `fits`, with its exact Euclidean projection.
class Domain {
 public:
  using Set = std::variant<WholeSpace, L2Ball, Box, L1Ball, Simplex, GroupBall, MixedBall, NuclearBall>;
  /// Of a matrix: its projection takes a singular value decomposition, O(d rows) at least.
  static constexpr Eigen::Index kMatrixNumbersMax = Eigen::Index{1} << 16;

  [[nodiscard]] static Domain whole_space() { return Domain(WholeSpace{}); }
  /// Radii and scales are in (0, kParameterMax], bounds in [-kParameterMax, kParameterMax] with lower <= upper.
  [[nodiscard]] static Result<Domain> l2_ball(double radius);
  [[nodiscard]] static Result<Domain> box(double lower, double upper);
  [[nodiscard]] static Result<Domain> l1_ball(double radius);
  [[nodiscard]] static Result<Domain> simplex(double scale);
  /// @param group_size >= 1
  [[nodiscard]] static Result<Domain> group_ball(double radius, Eigen::Index group_size);
  /// @param share in [0, 1]
  [[nodiscard]] static Result<Domain> mixed_ball(double radius, double share);
  /// @param rows in 1 .. kMatrixNumbersMax
  [[nodiscard]] static Result<Domain> nuclear_ball(double radius, Eigen::Index rows);

  /// An error unless the set is one of R^d: a matrix has whole columns, and at most kMatrixNumbersMax numbers.
  [[nodiscard]] Status fits(Eigen::Index d) const;

  /// The nearest point of the set, in place; a point of the set moves by rounding at most. Deterministic. O(d), and
  /// O(d log d) with scratch of size d for the l1 ball, the simplex and the balls that are made of them, and a singular
  /// value decomposition for a matrix.
  /// @param point [d], d >= 1 that fits; its l2 norm is finite, which is checked: a caller looks at its iterate first
  void project(Eigen::Ref<Eigen::VectorXd> point) const;

  /// Whether the point is finite and within `tolerance` of the set in l2 distance, rounding included: a projection is
  /// within some 1e-15 of the set's size.
  [[nodiscard]] bool contains(const Eigen::Ref<const Eigen::VectorXd>& point, double tolerance) const;

  /// The largest l2 distance of two points of the set in R^d; nothing where there is none.
  [[nodiscard]] std::optional<double> diameter(Eigen::Index d) const;
  /// The largest l2 norm of a point of the set in R^d; nothing where there is none.
  [[nodiscard]] std::optional<double> radius(Eigen::Index d) const;

  /// Where to start: the point of the set nearest to 0, [d].
  [[nodiscard]] Eigen::VectorXd a_point(Eigen::Index d) const;

  [[nodiscard]] const Set& set() const noexcept { return set_; }
  /// For a message: "the l1 ball".
  [[nodiscard]] std::string_view name() const;

 private:
  explicit Domain(const Set& set) : set_(set) {}
  Set set_;
};

/// The set's kind and every number of it, to the last bit. Digests of plans are of it, so it never changes.
[[nodiscard]] std::string canonical_text(const Domain& domain);

}  // namespace undertone::geometry
