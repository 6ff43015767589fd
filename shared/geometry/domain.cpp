#include "shared/geometry/domain.hpp"

#include <cmath>
#include <numbers>

#include "shared/base/overloaded.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/geometry/simplex_projection.hpp"

namespace undertone::geometry {

Result<Domain> Domain::l2_ball(double radius) {
  if (const Status fits = check_positive("the radius of an l2 ball", radius); !fits) return fits.error();
  const Result<L2Ball> ball = L2Ball::create(radius);
  if (!ball) return ball.error();
  return Domain(*ball);
}

Result<Domain> Domain::box(double lower, double upper) {
  if (!(-kParameterMax <= lower && lower <= upper && upper <= kParameterMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the bounds of a box must be ordered and at most {} in absolute value, got [{}, {}]",
                             kParameterMax, lower, upper)};
  }
  return Domain(Box{lower, upper});
}

Result<Domain> Domain::l1_ball(double radius) {
  if (const Status fits = check_positive("the radius of an l1 ball", radius); !fits) return fits.error();
  return Domain(L1Ball{radius});
}

Result<Domain> Domain::simplex(double scale) {
  if (const Status fits = check_positive("the scale of a simplex", scale); !fits) return fits.error();
  return Domain(Simplex{scale});
}

void Domain::project(Eigen::Ref<Eigen::VectorXd> point) const {
  UNDERTONE_CHECK(point.size() > 0 && has_finite_norm(point));
  std::visit(Overloaded{[](const WholeSpace&) {}, [&](const L2Ball& ball) { ball.project(point); },
                        [&](const Box& box) { point = point.cwiseMax(box.lower).cwiseMin(box.upper); },
                        [&](const L1Ball& ball) { project_onto_l1_ball(ball.radius, point); },
                        [&](const Simplex& simplex) { project_onto_simplex(simplex.scale, point); }},
             set_);
}

bool Domain::contains(const Eigen::Ref<const Eigen::VectorXd>& point, double tolerance) const {
  if (!has_finite_norm(point)) return false;
  Eigen::VectorXd nearest = point;
  project(nearest);
  return (point - nearest).stableNorm() <= tolerance;
}

std::optional<double> Domain::diameter(Eigen::Index d) const {
  UNDERTONE_CHECK(d > 0);
  using Diameter = std::optional<double>;
  return std::visit(
      Overloaded{[](const WholeSpace&) { return Diameter(); },
                 [](const L2Ball& ball) { return Diameter(2.0 * ball.radius()); },
                 [&](const Box& box) { return Diameter(std::sqrt(static_cast<double>(d)) * (box.upper - box.lower)); },
                 // Between vertices: the largest value of a convex function is at one.
                 [](const L1Ball& ball) { return Diameter(2.0 * ball.radius); },
                 [&](const Simplex& simplex) { return Diameter(d == 1 ? 0.0 : std::numbers::sqrt2 * simplex.scale); }},
      set_);
}

Eigen::VectorXd Domain::a_point(Eigen::Index d) const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(d);
  project(out);
  return out;
}

std::string_view Domain::name() const {
  return std::visit(Overloaded{[](const WholeSpace&) { return std::string_view("the whole space"); },
                               [](const L2Ball&) { return std::string_view("the l2 ball"); },
                               [](const Box&) { return std::string_view("the box"); },
                               [](const L1Ball&) { return std::string_view("the l1 ball"); },
                               [](const Simplex&) { return std::string_view("the simplex"); }},
                    set_);
}

}  // namespace undertone::geometry
