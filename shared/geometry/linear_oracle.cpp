#include "shared/geometry/linear_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/base/overloaded.hpp"
#include "shared/geometry/gaussian_width.hpp"
#include "shared/geometry/last_where.hpp"
#include "shared/geometry/singular_values.hpp"
#include "shared/geometry/vertex_map.hpp"

namespace undertone::geometry {
namespace {

using Vector = Eigen::Ref<Eigen::VectorXd>;
using ConstVector = Eigen::Ref<const Eigen::VectorXd>;

void lowest_in_l2_ball(double radius, const ConstVector& gradient, Vector out) {
  const double norm = gradient.stableNorm();
  if (norm > 0.0) out = gradient * (-radius / norm);
}

void lowest_in_group_ball(const GroupBall& ball, const ConstVector& gradient, Vector out) {
  Eigen::Index best = 0;
  double longest = -1.0;
  for (Eigen::Index from = 0; from < gradient.size(); from += ball.group_size) {
    const double norm = gradient.segment(from, std::min(ball.group_size, gradient.size() - from)).stableNorm();
    if (norm > longest) {
      longest = norm;
      best = from;
    }
  }
  const Eigen::Index size = std::min(ball.group_size, gradient.size() - best);
  out.setZero();
  if (longest > 0.0) out.segment(best, size) = gradient.segment(best, size) * (-ball.radius / longest);
}

// The dual norm of g is the v with ||(|g| - (1-a) v)_+||_2 = a v, and the maximiser has that vector's direction: with v
// the multiplier of the ball, y_i (v a / ||y||_2) = (|g_i| - (1-a) v)_+ wherever y_i > 0.
void lowest_in_mixed_ball(const MixedBall& ball, const ConstVector& gradient, Vector out) {
  const double flat = 1.0 - ball.share;
  const double norm = gradient.stableNorm();
  if (!(norm > 0.0)) return;
  Eigen::VectorXd kept(gradient.size());
  const auto longer = [&](double v) {
    kept = (gradient.cwiseAbs().array() - flat * v).cwiseMax(0.0);
    return kept.stableNorm() > ball.share * v;
  };
  // One of the shares is at least 1/2, so that at 4 ||g||_2 the left side is less.
  (void)longer(last_where(0.0, 4.0 * norm, longer));
  kept *= ball.radius / (flat * kept.lpNorm<1>() + ball.share * kept.stableNorm());
  for (Eigen::Index i = 0; i < out.size(); ++i) out[i] = gradient[i] > 0.0 ? -kept[i] : kept[i];
}

void lowest_in_nuclear_ball(const NuclearBall& ball, const ConstVector& gradient, Vector out) {
  const SingularValues matrix = singular_values(ball.rows, gradient);
  out = SingularValues{matrix.left.leftCols(1), Eigen::VectorXd::Constant(1, -ball.radius), matrix.right.leftCols(1)}
            .columns();
}

void lowest_in_domain(const Domain& domain, const ConstVector& gradient, Vector out) {
  out = domain.a_point(out.size());                                         // where every direction is as good
  std::visit(Overloaded{[](const WholeSpace&) { UNDERTONE_CHECK(false); },  // refused by `create`
                        [&](const L2Ball& ball) { lowest_in_l2_ball(ball.radius(), gradient, out); },
                        [&](const Box& box) {
                          out = (gradient.array() > 0.0)
                                    .select(Eigen::VectorXd::Constant(out.size(), box.lower),
                                            Eigen::VectorXd::Constant(out.size(), box.upper));
                        },
                        [&](const L1Ball& ball) {
                          Eigen::Index at = 0;
                          gradient.cwiseAbs().maxCoeff(&at);
                          out.setZero();
                          out[at] = gradient[at] > 0.0 ? -ball.radius : ball.radius;
                        },
                        [&](const Simplex& simplex) {
                          Eigen::Index at = 0;
                          gradient.minCoeff(&at);
                          out.setZero();
                          out[at] = simplex.scale;
                        },
                        [&](const GroupBall& ball) { lowest_in_group_ball(ball, gradient, out); },
                        [&](const MixedBall& ball) { lowest_in_mixed_ball(ball, gradient, out); },
                        [&](const NuclearBall& ball) { lowest_in_nuclear_ball(ball, gradient, out); }},
             domain.set());
}

}  // namespace

Result<LinearOracle> LinearOracle::create(const Domain& domain, Eigen::Index dimension) {
  if (Status fits = domain.fits(dimension); !fits) return fits.error();
  if (std::holds_alternative<WholeSpace>(domain.set())) {
    return Error{ErrorCode::InvalidArgument,
                 "a linear function has no minimum over the whole space: expected the l2 ball, the box, the l1 ball, "
                 "the simplex, the group ball, the mixed ball, the nuclear ball or listed vertices"};
  }
  return LinearOracle(domain, dimension);
}

LinearOracle LinearOracle::over(Vertices vertices) {
  const Eigen::Index dimension = vertices.dimension();
  return {std::move(vertices), dimension};
}

void LinearOracle::minimise(const Eigen::Ref<const Eigen::VectorXd>& gradient, Eigen::Ref<Eigen::VectorXd> out) const {
  UNDERTONE_CHECK(gradient.size() == dimension_ && out.size() == dimension_ && gradient.allFinite());
  std::visit(Overloaded{[&](const Domain& domain) { lowest_in_domain(domain, gradient, out); },
                        [&](const Vertices& vertices) {
                          out.setZero();
                          vertices.add_scaled(vertices.minimiser(gradient), 1.0, out);
                        }},
             set_);
}

double LinearOracle::diameter() const {
  return std::visit(Overloaded{[&](const Domain& domain) { return domain.diameter(dimension_).value(); },
                               // Of listed vertices twice the distance from their mean, which bounds it.
                               [](const Vertices& vertices) { return 2.0 * VertexMap(vertices).radius(); }},
                    set_);
}

double LinearOracle::width() const {
  return std::visit(Overloaded{[&](const Domain& domain) { return gaussian_width(domain, dimension_); },
                               [](const Vertices& vertices) { return gaussian_width(vertices); }},
                    set_);
}

}  // namespace undertone::geometry
