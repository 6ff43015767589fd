#include "shared/geometry/proximal_step.hpp"

#include <cmath>

#include "shared/base/overloaded.hpp"
#include "shared/geometry/last_where.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/geometry/simplex_projection.hpp"

namespace undertone::geometry {
namespace {

/// argmin of sum_i (a_i/2 y_i^2 - x_i y_i) over ||y||_2 <= radius. With m >= 0 the multiplier of the ball,
/// y_i = x_i / (a_i + m). For v = 1 / (1 + m) that is v x_i where a_i = 1 and v x_i / (1 + (a - 1) v) where a_i = a:
/// its norm increases in v, and the answer has v = 1 where that fits, else the norm `radius`.
void minimise_over_l2_ball(double radius, Eigen::Ref<Eigen::VectorXd> point, HeadWeight curvature) {
  const Eigen::Index tail = point.size() - curvature.head;
  const double norm = point.stableNorm();
  if (!(norm > 0.0)) return;
  point /= norm;  // from here v stands for v norm: in [0, norm], and a norm of y of at most v
  const double of_head = point.head(curvature.head).norm();
  const double of_tail = point.tail(tail).norm();
  const double excess = (curvature.weight - 1.0) / norm;
  const auto fits = [&](double v) { return std::hypot(v * of_head / (1.0 + excess * v), v * of_tail) <= radius; };
  const double v = norm <= radius || fits(norm) ? norm : last_where(radius, norm, fits);
  point.head(curvature.head) *= v / (1.0 + excess * v);
  point.tail(tail) *= v;
}

/// argmin of sum_i (a_i/2 y_i^2 - x_i y_i) over the domain.
void minimise_over(const Domain& domain, Eigen::Ref<Eigen::VectorXd> point, HeadWeight curvature) {
  // The minimiser over W is the nearest to the free one where the sum is a/2 ||y - x/a||^2 and a constant, and for one
  // variable over an interval.
  const auto project_the_free_one = [&] {
    point.head(curvature.head) /= curvature.weight;
    domain.project(point);
  };
  if (curvature.head == point.size()) return project_the_free_one();
  std::visit(Overloaded{[&](const WholeSpace&) { project_the_free_one(); }, [&](const Box&) { project_the_free_one(); },
                        [&](const L2Ball& ball) { minimise_over_l2_ball(ball.radius(), point, curvature); },
                        [&](const L1Ball& ball) { project_onto_l1_ball(ball.radius, point, curvature); },
                        [&](const Simplex& simplex) { project_onto_simplex(simplex.scale, point, curvature); },
                        [](const auto& /*refused*/) { UNDERTONE_CHECK(false); }},  // by `create`
             domain.set());
}

}  // namespace

Result<ProximalStep> ProximalStep::create(const Domain& domain, const Regulariser& regulariser,
                                          Eigen::Index dimension) {
  if (dimension < 1 || regulariser.regularised() > dimension) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{} regularises {} coordinates, the dimension is {}",
                                                         regulariser.name(), regulariser.regularised(), dimension)};
  }
  const bool known = std::holds_alternative<WholeSpace>(domain.set()) || std::holds_alternative<L2Ball>(domain.set());
  const bool of_norms = std::holds_alternative<GroupBall>(domain.set()) ||
                        std::holds_alternative<MixedBall>(domain.set()) ||
                        std::holds_alternative<NuclearBall>(domain.set());
  if (of_norms && !regulariser.is_none()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} over {}: the proximal map of this pair has no closed form here; the whole space, the "
                             "l2 ball, the box, the l1 ball and the simplex have one",
                             regulariser.name(), domain.name())};
  }
  if (Status fits = domain.fits(dimension); !fits) return fits.error();
  if (regulariser.group() > 0.0 && !known) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} over {}: the proximal map of this pair has no closed form here; the whole space and "
                             "the l2 ball have one",
                             regulariser.name(), domain.name())};
  }
  return ProximalStep(domain, regulariser, dimension);
}

// Why, with t the step size, z the point, and l1, l2, group the strengths of g. The objective is strongly convex, so
// any y that meets the optimality condition  z - y in t dg(y) + N_W(y)  is the minimiser.
//  - l2: t l2/2 ||u||^2 + 1/2 ||y - z||^2 is sum_i a_i/2 y_i^2 - z_i y_i and a constant, a_i = 1 + t l2 where
//    regularised and 1 elsewhere. `minimise_over` takes it from there, with z or what l1 made of it.
//  - l1 over the whole space and a box: one variable at a time, a convex function over an interval.
//  - l1 over the l2 and the l1 ball: with a multiplier m >= 0 the condition reads, coordinate by coordinate,
//    y_i = sign(z_i) (|z_i| - t l1)_+ / (a_i + m) and y_i = sign(z_i) (|z_i| - t l1 - m)_+ / a_i. Since
//    (|z| - t l1 - m)_+ = ((|z| - t l1)_+ - m)_+, both are what the ball alone makes of the soft threshold of z.
//  - l1 over the simplex: there ||u||_1 = sum u, which is linear: z is shifted by -t l1 on the regularised coordinates.
//    If these are all, the function is a constant.
//  - the group lasso over the l2 ball: g(c y) = c g(y) for c > 0, so dg(c y) = dg(y). Let x = prox_tg(z) and y = P_W(x)
//    = c x, 0 < c <= 1. Then z - x in t dg(x) = t dg(y), and x - y in N_W(y); the sum is the condition.
//    Source: Yu 2013, On decomposing the proximal map.
void ProximalStep::apply(double step_size, Eigen::Ref<Eigen::VectorXd> point) const {
  UNDERTONE_CHECK(check_positive("a step size", step_size).has_value() && point.size() == dimension_ &&
                  has_finite_norm(point));
  const Eigen::Index regularised = regulariser_.regularised();
  if (std::holds_alternative<Simplex>(domain_.set())) {
    if (regularised < dimension_) point.head(regularised).array() -= step_size * regulariser_.l1();
  } else {
    regulariser_.without_l2().prox(step_size, point);
  }
  if (regulariser_.l2() > 0.0) {
    minimise_over(domain_, point, {regularised, 1.0 + step_size * regulariser_.l2()});
  } else {
    domain_.project(point);
  }
}

void ProximalStep::proximal_gradient_mapping(const Eigen::Ref<const Eigen::VectorXd>& w,
                                             const Eigen::Ref<const Eigen::VectorXd>& gradient, double step_size,
                                             Eigen::Ref<Eigen::VectorXd> mapping) const {
  UNDERTONE_CHECK(w.size() == dimension_ && gradient.size() == dimension_ && mapping.size() == dimension_);
  mapping = w - step_size * gradient;
  apply(step_size, mapping);
  mapping = (w - mapping) / step_size;
}

}  // namespace undertone::geometry
