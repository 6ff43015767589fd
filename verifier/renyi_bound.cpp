#include "verifier/renyi_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace undertone::verifier {
namespace {

using Real = long double;

/// Equal releases, and what is known of them besides where they read a subset.
struct Bounded {
  ConcentratedGroup group;
  SubsetDivergence* subset = nullptr;
};

/// Of randomised response: ln((e^(order epsilon) + e^((1 - order) epsilon)) / (1 + e^epsilon)) / (order - 1).
Real pure_divergence(Real epsilon, Real less_one) {
  const Real order = 1 + less_one;
  const Real other = std::log1p(std::exp((1 - 2 * order) * epsilon)) - std::log1p(std::exp(-epsilon));
  return epsilon + other / less_one;
}

Real concentrated_divergence(const Bounded& bounded, Real less_one) {
  const Real order = 1 + less_one;
  const Real of_all = order * bounded.group.rho;
  if (bounded.subset == nullptr || order > SubsetDivergence::kOrderMax) return of_all;
  const int next = std::max(2, static_cast<int>(std::ceil(order)));
  return std::min(of_all, bounded.subset->at(next));
}

Real divergence(const Bounded& bounded, Real less_one) {
  const ConcentratedGroup& group = bounded.group;
  const Real order = 1 + less_one;
  if (group.mu > 0) return order * group.mu * group.mu / 2;
  if (group.rho > 0) return concentrated_divergence(bounded, less_one);
  if (group.pure_epsilon > 0) return pure_divergence(group.pure_epsilon, less_one);
  const Real epsilon = group.ranged_epsilon;
  return std::min(pure_divergence(epsilon, less_one), order * epsilon * epsilon / 8);
}

/// @param less_one the order less 1, > 0
Real log_delta(const std::vector<Bounded>& groups, Real epsilon, Real less_one) {
  constexpr Real kArithmetic = 1e-15L;
  Real sum = 0;
  for (const Bounded& one : groups) sum += static_cast<Real>(one.group.rounds) * divergence(one, less_one);
  const Real order = 1 + less_one;
  // a ln(1 - 1/a) - ln(a - 1)
  return less_one * (sum * (1 + kArithmetic) - epsilon) - order * std::log1p(1 / less_one) - std::log(less_one);
}

using LogFactorials = std::array<Real, SubsetDivergence::kOrderMax + 1>;
const LogFactorials& log_factorials() {
  static const LogFactorials all = [] {
    LogFactorials out{};
    for (std::size_t n = 0; n < out.size(); ++n) out[n] = std::lgamma(static_cast<Real>(n) + 1);
    return out;
  }();
  return all;
}

}  // namespace

SubsetDivergence::SubsetDivergence(Real rho, Real rate) : rho_(rho), log_rate_(std::log(rate)) {}

Real SubsetDivergence::at(int order) {
  const auto [known, is_new] = known_.try_emplace(order, 0);
  if (is_new) known->second = add_up(order);
  return known->second;
}

Real SubsetDivergence::add_up(int order) const {
  constexpr Real kArithmetic = 1e-12L;  // logarithms of some 10^4, each off by some 10^-19 of that
  constexpr Real kNegligible = -64;     // of a term's logarithm: 1,024 of them are below the arithmetic's last digit
  constexpr Real kLogTwo = std::numbers::ln2_v<Real>;
  const LogFactorials& factorials = log_factorials();
  const auto last = static_cast<std::size_t>(order);
  std::array<Real, kOrderMax + 1> terms;  // their logarithms, from the second on
  const Real of_two = 2 * rho_;
  // min(4 (e^r - 1), 2 e^r): the first where e^r is at most 2.
  const Real second = of_two < kLogTwo ? 2 * kLogTwo + std::log(std::expm1(of_two)) : kLogTwo + of_two;
  Real largest = 0;
  for (std::size_t j = 2; j <= last; ++j) {
    const auto count = static_cast<Real>(j);
    const Real ways = factorials[last] - factorials[j] - factorials[last - j];
    terms[j] = count * log_rate_ + ways + (j == 2 ? second : kLogTwo + count * (count - 1) * rho_);
    largest = j == 2 ? terms[j] : std::max(largest, terms[j]);
  }
  Real sum = 0;
  for (std::size_t j = 2; j <= last; ++j)
    if (terms[j] - largest > kNegligible) sum += std::exp(terms[j] - largest);
  const Real log_sum = largest + std::log(sum);
  const Real log_moment = log_sum > 0 ? log_sum + std::log1p(std::exp(-log_sum)) : std::log1p(std::exp(log_sum));
  return log_moment / (static_cast<Real>(order) - 1) * (1 + kArithmetic);
}

Real RenyiBound::delta(const std::vector<ConcentratedGroup>& groups, Real epsilon) {
  // Every order is a bound; the divergences need not leave one valley, so the orders are first looked at one by one.
  constexpr int kOrders = 400;
  constexpr Real kLeast = 1e-4L;
  constexpr Real kRatio = 1.06L;  // up to 10^6
  constexpr Real kWholeMax = SubsetDivergence::kOrderMax - 1;
  std::vector<Bounded> bounded;
  bounded.reserve(groups.size());
  bool any_subset = false;
  for (const ConcentratedGroup& group : groups) {
    const bool is_subset = group.rho > 0 && group.rate < 1;
    any_subset = any_subset || is_subset;
    bounded.push_back({group, is_subset
                                  ? &subsets_.try_emplace({group.rho, group.rate}, group.rho, group.rate).first->second
                                  : nullptr});
  }
  const auto at = [&](Real less_one) { return log_delta(bounded, epsilon, less_one); };
  Real best = kLeast;
  Real least = at(best);
  const auto look_at = [&](Real less_one) {
    const Real found = at(less_one);
    if (!(found < least)) return;
    least = found;
    best = less_one;
  };
  Real place = kLeast;
  for (int i = 0; i < kOrders; ++i, place *= kRatio) {
    look_at(place);
    // What is known of a subset is best at integers.
    if (any_subset && place < kWholeMax) look_at(std::ceil(place));
  }
  const Real around = best;
  Real low = around / kRatio;
  Real high = around * kRatio;
  for (int i = 0; i < 40; ++i) {
    const Real left = low + (high - low) / 3;
    const Real right = high - (high - low) / 3;
    if (at(left) < at(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  look_at(low);
  if (any_subset)
    for (Real whole = std::ceil(around / kRatio); whole <= std::min(around * kRatio, kWholeMax); ++whole)
      look_at(whole);
  return std::min<Real>(1, std::exp(least));
}

Real renyi_delta(const std::vector<ConcentratedGroup>& groups, Real epsilon) {
  return RenyiBound().delta(groups, epsilon);
}

}  // namespace undertone::verifier
