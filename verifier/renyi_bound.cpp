#include "verifier/renyi_bound.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::verifier {
namespace {

using Real = long double;

/// Of randomised response: ln((e^(order epsilon) + e^((1 - order) epsilon)) / (1 + e^epsilon)) / (order - 1).
Real pure_divergence(Real epsilon, Real less_one) {
  const Real order = 1 + less_one;
  const Real other = std::log1p(std::exp((1 - 2 * order) * epsilon)) - std::log1p(std::exp(-epsilon));
  return epsilon + other / less_one;
}

Real divergence(const ConcentratedGroup& group, Real less_one) {
  const Real order = 1 + less_one;
  if (group.mu > 0) return order * group.mu * group.mu / 2;
  if (group.pure_epsilon > 0) return pure_divergence(group.pure_epsilon, less_one);
  const Real epsilon = group.ranged_epsilon;
  return std::min(pure_divergence(epsilon, less_one), order * epsilon * epsilon / 8);
}

/// @param less_one the order less 1, > 0
Real log_delta(const std::vector<ConcentratedGroup>& groups, Real epsilon, Real less_one) {
  constexpr Real kArithmetic = 1e-15L;
  Real sum = 0;
  for (const ConcentratedGroup& group : groups) sum += static_cast<Real>(group.rounds) * divergence(group, less_one);
  const Real order = 1 + less_one;
  // a ln(1 - 1/a) - ln(a - 1)
  return less_one * (sum * (1 + kArithmetic) - epsilon) - order * std::log1p(1 / less_one) - std::log(less_one);
}

}  // namespace

Real renyi_delta(const std::vector<ConcentratedGroup>& groups, Real epsilon) {
  // Every order is a bound; the divergences need not leave one valley, so the orders are first looked at one by one.
  constexpr int kOrders = 400;
  constexpr Real kLeast = 1e-4L;
  constexpr Real kRatio = 1.06L;  // up to 10^6
  const auto at = [&](Real less_one) { return log_delta(groups, epsilon, less_one); };
  Real best = kLeast;
  Real place = kLeast;
  for (int i = 0; i < kOrders; ++i, place *= kRatio)
    if (at(place) < at(best)) best = place;
  Real low = best / kRatio;
  Real high = best * kRatio;
  for (int i = 0; i < 40; ++i) {
    const Real left = low + (high - low) / 3;
    const Real right = high - (high - low) / 3;
    if (at(left) < at(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return std::min<Real>(1, std::exp(std::min(at(best), at(low))));
}

}  // namespace undertone::verifier
