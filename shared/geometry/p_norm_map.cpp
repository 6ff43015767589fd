#include "shared/geometry/p_norm_map.hpp"

#include <algorithm>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "shared/base/overloaded.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::geometry {
namespace {

constexpr double kPNormMembershipTolerance = 1e-9;

/// ||(p - 1) J_q(s)||_1 of a vector s with largest coordinate t, and its derivative in t where the other coordinates
/// follow at their distances to the largest.
struct ImageNorm {
  double value;
  double slope;
};

// With r = s/t and S_i = sum r^(q-i): (p - 1) t S_1 S_0^((2-q)/q), and dr/dt = (1 - r)/t. One power a coordinate.
// @param below t - s_j >= 0 of every coordinate; those beyond t have no part
ImageNorm norm_of_image(const Eigen::ArrayXd& below, double p, double t, Eigen::ArrayXd& relative,
                        Eigen::ArrayXd& image) {
  const double q = conjugate_exponent(p);
  relative = (1.0 - below / t).max(0.0);
  image = relative.pow(q - 1.0);
  const double zeroth = (relative * image).sum();
  const double first = image.sum();
  const double second = (relative > 0.0).select(image / relative, 0.0).sum();
  const double value = (p - 1.0) * t * first * std::pow(zeroth, (2.0 - q) / q);
  const double growth = 1.0 + (q - 1.0) * (second - first) / first + (2.0 - q) * (first - zeroth) / zeroth;
  return {value, value / t * growth};
}

// t = max(values) - nu for the shift nu with ||(p - 1) J_q((values - nu)_+)||_1 = mass: what is left of the largest
// value, which is exact where the values are far larger than it. With t = max(values) - nu the norm lies between
// (p - 1) t, one coordinate's, and (p - 1) k^(2/q) t, that of k equal ones: t is bracketed, and what lies further below
// the largest value than the bracket's end has no part in it. The norm grows with t, so that Newton's steps, kept in
// the bracket, find it.
double left_at_mass(const Eigen::Ref<const Eigen::VectorXd>& values, double p, double mass) {
  const double largest = values.maxCoeff();
  const double t_max = mass / (p - 1.0);
  std::vector<double> gaps;
  for (const double value : values) {
    if (largest - value < t_max) gaps.push_back(largest - value);
  }
  const Eigen::ArrayXd below = Eigen::Map<const Eigen::ArrayXd>(gaps.data(), static_cast<Eigen::Index>(gaps.size()));
  const double count = static_cast<double>(below.size());
  const double t_min = t_max * std::pow(count, -2.0 / conjugate_exponent(p)) * (1.0 - 1e-12);
  Eigen::ArrayXd relative(below.size());
  Eigen::ArrayXd image(below.size());
  std::uintmax_t steps = 100;
  const double t = boost::math::tools::newton_raphson_iterate(
      [&](double at) {
        const ImageNorm norm = norm_of_image(below, p, at, relative, image);
        return std::pair(norm.value - mass, norm.slope);
      },
      std::sqrt(t_min * t_max), t_min, t_max, std::numeric_limits<double>::digits - 3, steps);
  return t;
}

/// Whether ||(p - 1) J_q(dual)||_1 is at most the radius; in one pass of powers, where its bounds do not say.
bool image_within(const Eigen::Ref<const Eigen::VectorXd>& dual, double p, double radius) {
  const double t = dual.lpNorm<Eigen::Infinity>();
  const double least = (p - 1.0) * t;
  if (least > radius) return false;
  if (least * std::pow(static_cast<double>(dual.size()), 2.0 / conjugate_exponent(p)) <= radius) return true;
  Eigen::ArrayXd relative(dual.size());
  Eigen::ArrayXd image(dual.size());
  return norm_of_image(t - dual.array().abs(), p, t, relative, image).value <= radius;
}

}  // namespace

Result<PNormMap> PNormMap::create(double norm_exponent, const Set& set, Eigen::Index dimension) {
  return of_power(norm_exponent, std::max(norm_exponent, l1_setup_exponent(dimension)), set, dimension);
}

Result<PNormMap> PNormMap::of_power(double norm_exponent, double power, const Set& set, Eigen::Index dimension) {
  UNDERTONE_CHECK(dimension >= 1);
  if (!(norm_exponent >= 1.0 && norm_exponent <= 2.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a p-norm potential needs p in [1, 2], got {}", norm_exponent)};
  }
  if (!(power > 1.0 && power <= 2.0 && power >= norm_exponent)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a p-norm potential over l_{} needs a power in (1, 2] that is no less, got {}",
                             norm_exponent, power)};
  }
  UNDERTONE_TRY(std::visit(
      Overloaded{[](const WholeSpace&) { return Status(); },
                 [](const SameNormBall& ball) { return check_positive("the radius of an lp ball", ball.radius); },
                 [](const L1Ball& ball) { return check_positive("the radius of an l1 ball", ball.radius); },
                 [](const Simplex& simplex) { return check_positive("the scale of a simplex", simplex.scale); }},
      set));
  return PNormMap(norm_exponent, power, set, dimension);
}

Eigen::VectorXd PNormMap::start() const {
  const auto* simplex = std::get_if<Simplex>(&set_);
  if (simplex == nullptr) return Eigen::VectorXd::Zero(dimension_);
  // All coordinates s/d: J_p of it has coordinates s/d d^((2-p)/p).
  const double d = static_cast<double>(dimension_);
  return Eigen::VectorXd::Constant(dimension_,
                                   simplex->scale / d * std::pow(d, (2.0 - power_) / power_) / (power_ - 1.0));
}

Status PNormMap::check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const {
  const Eigen::VectorXd at = [&] {
    Eigen::VectorXd out(dimension_);
    point(state, out);
    return out;
  }();
  const bool inside = std::visit(
      Overloaded{[&](const WholeSpace&) { return at.allFinite(); },
                 [&](const SameNormBall& ball) {
                   return lp_norm(at, power_) <= ball.radius * (1.0 + kPNormMembershipTolerance);
                 },
                 [&](const L1Ball& ball) { return at.lpNorm<1>() <= ball.radius * (1.0 + kPNormMembershipTolerance); },
                 [&](const Simplex& simplex) {
                   return at.minCoeff() >= 0.0 &&
                          std::abs(at.sum() - simplex.scale) <= simplex.scale * kPNormMembershipTolerance;
                 }},
      set_);
  if (!inside) return Error{ErrorCode::InvalidArgument, fmt::format("a state of {} lies outside its set", name())};
  return {};
}

// With theta = keep grad h(x) - step_size g, the state of argmin over the set of h - <theta, .>: the conditions of
// optimality leave theta less a multiple of a subgradient of the constraint, all parallel to known vectors.
void PNormMap::step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
                    Eigen::Ref<Eigen::VectorXd> state) const {
  state = update.keep * state - update.step_size * gradient;
  std::visit(Overloaded{[](const WholeSpace&) {},
                        [&](const SameNormBall& ball) {
                          const double norm = (power_ - 1.0) * lp_norm(state, conjugate_exponent(power_));
                          if (norm > ball.radius) state *= ball.radius / norm;
                        },
                        [&](const L1Ball& ball) {
                          if (image_within(state, power_, ball.radius)) return;
                          const double left = left_at_mass(state.cwiseAbs(), power_, ball.radius);
                          const double largest = state.lpNorm<Eigen::Infinity>();
                          for (double& value : state) {
                            const double length = std::abs(value);
                            value = std::copysign(std::clamp(left - (largest - length), 0.0, length), value);
                          }
                        },
                        [&](const Simplex& simplex) {
                          const double left = left_at_mass(state, power_, simplex.scale);
                          state = (left - (state.maxCoeff() - state.array())).max(0.0).matrix().eval();
                        }},
             set_);
}

void PNormMap::point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const {
  out = state;
  apply_duality_map(conjugate_exponent(power_), out);
  out *= power_ - 1.0;
}

Eigen::VectorXd PNormMap::gradient(const Eigen::Ref<const Eigen::VectorXd>& state) const { return state; }

double PNormMap::divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                            const Eigen::Ref<const Eigen::VectorXd>& from) const {
  Eigen::VectorXd at(dimension_);
  point(to, at);
  // h(y) + h*(grad h(x)) - <grad h(x), y>, with h* = (p - 1)/2 ||.||_q^2 and, for both, ||grad h||_q = ||.||_p/(p - 1).
  const double q = conjugate_exponent(power_);
  const double norm_to = lp_norm(to, q);
  const double norm_from = lp_norm(from, q);
  return std::max(0.0, 0.5 * (power_ - 1.0) * (norm_to * norm_to + norm_from * norm_from) - from.dot(at));
}

std::optional<double> PNormMap::divergence_max() const {
  const double d = static_cast<double>(dimension_);
  using Value = std::optional<double>;
  const auto of_radius = [&](double radius) { return Value(radius * radius / (2.0 * (power_ - 1.0))); };
  return std::visit(
      Overloaded{[](const WholeSpace&) { return Value(); },
                 [&](const SameNormBall& ball) { return of_radius(ball.radius); },
                 [&](const L1Ball& ball) { return of_radius(ball.radius); },
                 // At the centre the gradient is parallel to 1, and <1, x> is the same on all of the simplex.
                 [&](const Simplex& simplex) {
                   return Value(*of_radius(simplex.scale) * (1.0 - std::pow(d, 2.0 / power_ - 2.0)));
                 }},
      set_);
}

double PNormMap::strong_convexity() const noexcept {
  return std::pow(static_cast<double>(dimension_), -2.0 * (1.0 / norm_exponent_ - 1.0 / power_));
}

std::optional<double> PNormMap::diameter() const {
  const double d = static_cast<double>(dimension_);
  using Value = std::optional<double>;
  return std::visit(
      Overloaded{[](const WholeSpace&) { return Value(); },
                 [&](const SameNormBall& ball) {
                   return Value(2.0 * ball.radius * std::pow(d, 1.0 / norm_exponent_ - 1.0 / power_));
                 },
                 [&](const L1Ball& ball) { return Value(2.0 * ball.radius); },
                 [&](const Simplex& simplex) {
                   return Value(dimension_ == 1 ? 0.0 : simplex.scale * std::pow(2.0, 1.0 / norm_exponent_));
                 }},
      set_);
}

std::string_view PNormMap::name() const {
  return std::visit(
      Overloaded{[](const WholeSpace&) { return std::string_view("the p-norm potential over the whole space"); },
                 [](const SameNormBall&) { return std::string_view("the p-norm potential over its own ball"); },
                 [](const L1Ball&) { return std::string_view("the p-norm potential over the l1 ball"); },
                 [](const Simplex&) { return std::string_view("the p-norm potential over the simplex"); }},
      set_);
}

}  // namespace undertone::geometry
