#include "shared/geometry/domain.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "shared/base/exact_text.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/geometry/last_where.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/geometry/simplex_projection.hpp"
#include "shared/geometry/singular_values.hpp"

namespace undertone::geometry {
namespace {

/// The norms of the groups, projected onto the l1 ball, and the groups scaled to them.
void project_onto_group_ball(const GroupBall& ball, Eigen::Ref<Eigen::VectorXd> point) {
  const Eigen::Index groups = (point.size() + ball.group_size - 1) / ball.group_size;
  const auto group = [&](Eigen::Index g) {
    return point.segment(g * ball.group_size, std::min(ball.group_size, point.size() - g * ball.group_size));
  };
  Eigen::VectorXd norms(groups);
  for (Eigen::Index g = 0; g < groups; ++g) norms[g] = group(g).stableNorm();
  if (norms.sum() <= ball.radius) return;
  Eigen::VectorXd kept = norms;
  project_onto_l1_ball(ball.radius, kept);
  for (Eigen::Index g = 0; g < groups; ++g) {
    if (norms[g] > 0.0) group(g) *= kept[g] / norms[g];
  }
}

// With m >= 0 the multiplier of the ball the minimiser of 1/2 ||y - z||^2 + m ((1-a) ||y||_1 + a ||y||_2) is the soft
// threshold of z at m (1-a), shortened by m a; its norm falls in m. Source: Yu 2013, On decomposing the proximal map.
void project_onto_mixed_ball(const MixedBall& ball, Eigen::Ref<Eigen::VectorXd> point) {
  const double flat = 1.0 - ball.share;
  const auto norm = [&](const auto& y) { return flat * y.template lpNorm<1>() + ball.share * y.stableNorm(); };
  if (norm(point) <= ball.radius) return;
  const double largest = point.cwiseAbs().maxCoeff();
  Eigen::VectorXd kept(point.size());
  const auto shrink = [&](double multiplier) {
    kept = point.cwiseAbs().array() - multiplier * flat;
    kept = kept.cwiseMax(0.0);
    const double length = kept.stableNorm();
    kept *= length > multiplier * ball.share ? 1.0 - multiplier * ball.share / length : 0.0;
  };
  // At this multiplier nothing is left: ||z||_2 <= sqrt(d) ||z||_inf, and one of the shares is at least 1/2.
  const double beyond = 4.0 * largest * std::sqrt(static_cast<double>(point.size()));
  const double last = last_where(0.0, beyond, [&](double multiplier) {
    shrink(multiplier);
    return norm(kept) > ball.radius;
  });
  shrink(std::nextafter(last, HUGE_VAL));
  for (Eigen::Index i = 0; i < point.size(); ++i) point[i] = std::copysign(kept[i], point[i]);
}

void project_onto_nuclear_ball(const NuclearBall& ball, Eigen::Ref<Eigen::VectorXd> point) {
  SingularValues matrix = singular_values(ball.rows, point);
  if (matrix.values.sum() <= ball.radius) return;
  project_onto_l1_ball(ball.radius, matrix.values);
  point = matrix.columns();
}

}  // namespace

Result<Domain> Domain::l2_ball(double radius) {
  if (const Status fits = check_positive("the radius of an l2 ball", radius); !fits) return fits.error();
  UNDERTONE_TRY(const L2Ball ball, L2Ball::create(radius));
  return Domain(ball);
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

Result<Domain> Domain::group_ball(double radius, Eigen::Index group_size) {
  if (const Status fits = check_positive("the radius of a group ball", radius); !fits) return fits.error();
  if (group_size < 1)
    return Error{ErrorCode::InvalidArgument, fmt::format("a group has at least one coordinate, got {}", group_size)};
  return Domain(GroupBall{radius, group_size});
}

Result<Domain> Domain::mixed_ball(double radius, double share) {
  if (const Status fits = check_positive("the radius of a mixed ball", radius); !fits) return fits.error();
  if (!(share >= 0.0 && share <= 1.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the l2 norm's share of a mixed ball must be in [0, 1], got {}", share)};
  }
  return Domain(MixedBall{radius, share});
}

Result<Domain> Domain::nuclear_ball(double radius, Eigen::Index rows) {
  if (const Status fits = check_positive("the radius of a nuclear ball", radius); !fits) return fits.error();
  if (rows < 1 || rows > kMatrixNumbersMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("a matrix has 1 to {} rows, got {}", kMatrixNumbersMax, rows)};
  }
  return Domain(NuclearBall{radius, rows});
}

Status Domain::fits(Eigen::Index d) const {
  if (d < 1) return Error{ErrorCode::InvalidArgument, fmt::format("{} of dimension {}", name(), d)};
  const auto* matrix = std::get_if<NuclearBall>(&set_);
  if (matrix == nullptr || (d % matrix->rows == 0 && d <= kMatrixNumbersMax)) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{} is of matrices of {} rows and at most {} numbers: {} numbers are none", name(),
                           matrix->rows, kMatrixNumbersMax, d)};
}

void Domain::project(Eigen::Ref<Eigen::VectorXd> point) const {
  UNDERTONE_CHECK(fits(point.size()).has_value() && has_finite_norm(point));
  std::visit(Overloaded{[](const WholeSpace&) {}, [&](const L2Ball& ball) { ball.project(point); },
                        [&](const Box& box) { point = point.cwiseMax(box.lower).cwiseMin(box.upper); },
                        [&](const L1Ball& ball) { project_onto_l1_ball(ball.radius, point); },
                        [&](const Simplex& simplex) { project_onto_simplex(simplex.scale, point); },
                        [&](const GroupBall& ball) { project_onto_group_ball(ball, point); },
                        [&](const MixedBall& ball) { project_onto_mixed_ball(ball, point); },
                        [&](const NuclearBall& ball) { project_onto_nuclear_ball(ball, point); }},
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
                 [&](const Simplex& simplex) { return Diameter(d == 1 ? 0.0 : std::numbers::sqrt2 * simplex.scale); },
                 // Each holds radius e_1, and none of its points is longer: ||w||_2 is at most the set's own norm.
                 [](const auto& ball) { return Diameter(2.0 * ball.radius); }},
      set_);
}

std::optional<double> Domain::radius(Eigen::Index d) const {
  UNDERTONE_CHECK(d > 0);
  using Radius = std::optional<double>;
  return std::visit(
      Overloaded{[](const WholeSpace&) { return Radius(); }, [](const L2Ball& ball) { return Radius(ball.radius()); },
                 [&](const Box& box) {
                   return Radius(std::sqrt(static_cast<double>(d)) *
                                 std::max(std::abs(box.lower), std::abs(box.upper)));
                 },
                 [](const Simplex& simplex) { return Radius(simplex.scale); },
                 [](const auto& ball) { return Radius(ball.radius); }},
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
                               [](const Simplex&) { return std::string_view("the simplex"); },
                               [](const GroupBall&) { return std::string_view("the group ball"); },
                               [](const MixedBall&) { return std::string_view("the mixed ball"); },
                               [](const NuclearBall&) { return std::string_view("the nuclear ball"); }},
                    set_);
}

std::string canonical_text(const Domain& domain) {
  const std::string numbers = std::visit(
      Overloaded{
          [](const WholeSpace& /*set*/) { return std::string(); },
          [](const Box& box) { return fmt::format("{}/{}", exact_text(box.lower), exact_text(box.upper)); },
          [](const Simplex& simplex) { return exact_text(simplex.scale); },
          [](const GroupBall& ball) { return fmt::format("{}/{}", exact_text(ball.radius), ball.group_size); },
          [](const MixedBall& ball) { return fmt::format("{}/{}", exact_text(ball.radius), exact_text(ball.share)); },
          [](const NuclearBall& ball) { return fmt::format("{}/{}", exact_text(ball.radius), ball.rows); },
          [](const L2Ball& ball) { return exact_text(ball.radius()); },
          [](const L1Ball& ball) { return exact_text(ball.radius); }},
      domain.set());
  return fmt::format("{}:{}", domain.set().index(), numbers);
}

}  // namespace undertone::geometry
