#include "shared/geometry/frank_wolfe_set.hpp"

#include <cmath>

#include "shared/base/overloaded.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::geometry {

Result<FrankWolfeSet> FrankWolfeSet::create(const Set& set, double norm_exponent, Eigen::Index dimension) {
  UNDERTONE_CHECK(dimension >= 1);
  if (!(norm_exponent >= 1.0 && norm_exponent <= 2.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the norm of a Frank-Wolfe set needs p in [1, 2], got {}", norm_exponent)};
  }
  UNDERTONE_TRY(std::visit(
      Overloaded{[](const L1Ball& ball) { return check_positive("the radius of an l1 ball", ball.radius); },
                 [](const Simplex& simplex) { return check_positive("the scale of a simplex", simplex.scale); },
                 [&](const LpBall& ball) -> Status {
                   if (ball.exponent != norm_exponent || !(ball.exponent > 1.0)) {
                     return Error{ErrorCode::InvalidArgument,
                                  fmt::format("an lp ball is of the norm's own p > 1, got p {} and a norm of {}",
                                              ball.exponent, norm_exponent)};
                   }
                   return check_positive("the radius of an lp ball", ball.radius);
                 }},
      set));
  return FrankWolfeSet(set, norm_exponent, dimension);
}

Eigen::VectorXd FrankWolfeSet::minimiser(const Eigen::Ref<const Eigen::VectorXd>& gradient) const {
  UNDERTONE_CHECK(gradient.size() == dimension_ && gradient.allFinite());
  return std::visit(Overloaded{[&](const L1Ball& ball) -> Eigen::VectorXd {
                                 Eigen::Index largest = 0;
                                 gradient.cwiseAbs().maxCoeff(&largest);
                                 const double sign = gradient[largest] > 0.0 ? -1.0 : 1.0;
                                 return sign * ball.radius * Eigen::VectorXd::Unit(dimension_, largest);
                               },
                               [&](const Simplex& simplex) -> Eigen::VectorXd {
                                 Eigen::Index least = 0;
                                 gradient.minCoeff(&least);
                                 return simplex.scale * Eigen::VectorXd::Unit(dimension_, least);
                               },
                               // ||J_q(g)||_p = ||g||_q: on the sphere, with <J_q(g), g> = ||g||_q^2.
                               [&](const LpBall& ball) -> Eigen::VectorXd {
                                 const double dual = conjugate_exponent(ball.exponent);
                                 const double norm = lp_norm(gradient, dual);
                                 Eigen::VectorXd out = gradient;
                                 if (norm == 0.0) return out;
                                 apply_duality_map(dual, out);
                                 return -ball.radius / norm * out;
                               }},
                    set_);
}

double FrankWolfeSet::diameter() const {
  return std::visit(Overloaded{[](const L1Ball& ball) { return 2.0 * ball.radius; },
                               [&](const Simplex& simplex) {
                                 return dimension_ == 1 ? 0.0 : simplex.scale * std::pow(2.0, 1.0 / norm_exponent_);
                               },
                               [](const LpBall& ball) { return 2.0 * ball.radius; }},
                    set_);
}

bool FrankWolfeSet::contains(const Eigen::Ref<const Eigen::VectorXd>& point, double relative) const {
  if (point.size() != dimension_ || !point.allFinite()) return false;
  return std::visit(
      Overloaded{[&](const L1Ball& ball) { return point.lpNorm<1>() <= ball.radius * (1.0 + relative); },
                 [&](const Simplex& simplex) {
                   return point.minCoeff() >= -relative * simplex.scale &&
                          std::abs(point.sum() - simplex.scale) <= relative * simplex.scale;
                 },
                 [&](const LpBall& ball) { return lp_norm(point, ball.exponent) <= ball.radius * (1.0 + relative); }},
      set_);
}

std::string_view FrankWolfeSet::name() const {
  return std::visit(Overloaded{[](const L1Ball&) { return std::string_view("the l1 ball"); },
                               [](const Simplex&) { return std::string_view("the simplex"); },
                               [](const LpBall&) { return std::string_view("the lp ball"); }},
                    set_);
}

}  // namespace undertone::geometry
