#pragma once

#include <optional>
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

/// A non-empty closed convex set of R^d, for every d >= 1, with its exact Euclidean projection.
class Domain {
 public:
  using Set = std::variant<WholeSpace, L2Ball, Box, L1Ball, Simplex>;

  [[nodiscard]] static Domain whole_space() { return Domain(WholeSpace{}); }
  /// Radii and scales are in (0, kParameterMax], bounds in [-kParameterMax, kParameterMax] with lower <= upper.
  [[nodiscard]] static Result<Domain> l2_ball(double radius);
  [[nodiscard]] static Result<Domain> box(double lower, double upper);
  [[nodiscard]] static Result<Domain> l1_ball(double radius);
  [[nodiscard]] static Result<Domain> simplex(double scale);

  /// The nearest point of the set, in place; a point of the set moves by rounding at most. Deterministic. O(d), and
  /// O(d log d) with scratch of size d for the l1 ball and the simplex.
  /// @param point [d], d >= 1; its l2 norm is finite, which is checked: a caller looks at its iterate first
  void project(Eigen::Ref<Eigen::VectorXd> point) const;

  /// Whether the point is finite and within `tolerance` of the set in l2 distance, rounding included: a projection is
  /// within some 1e-15 of the set's size.
  [[nodiscard]] bool contains(const Eigen::Ref<const Eigen::VectorXd>& point, double tolerance) const;

  /// The largest l2 distance of two points of the set in R^d; nothing where there is none.
  [[nodiscard]] std::optional<double> diameter(Eigen::Index d) const;

  /// Where to start: the point of the set nearest to 0, [d].
  [[nodiscard]] Eigen::VectorXd a_point(Eigen::Index d) const;

  [[nodiscard]] const Set& set() const noexcept { return set_; }
  /// For a message: "the l1 ball".
  [[nodiscard]] std::string_view name() const;

 private:
  explicit Domain(const Set& set) : set_(set) {}
  Set set_;
};

}  // namespace undertone::geometry
