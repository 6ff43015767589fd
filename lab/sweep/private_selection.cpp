#include "lab/sweep/private_selection.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/log_add.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::lab {
namespace {

constexpr double kRoundedUp = 1.0 + 1e-12;

/// ln(1/g).
double log_inverse_stopping(const NegativeBinomialRuns& rule) { return -std::log(rule.stopping()); }

/// ln(x / (e^x - 1)), 0 at x = 0.
double log_bernoulli_ratio(double x) {
  if (x == 0.0) return 0.0;
  return x > 0.0 ? std::log(x) - x - std::log(-std::expm1(-x)) : std::log(x / std::expm1(x));
}

double mean_of(double shape, double stopping) {
  // e / (1 - g^e) = (x / (1 - e^-x)) / ln(1/g), with x = e ln(1/g): nothing cancels around shape 0.
  const double inverse = -std::log(stopping);
  return (1.0 - stopping) / stopping * std::exp(log_bernoulli_ratio(-shape * inverse)) / inverse;
}

/// ln of the probability of the fewest runs that the law allows.
double log_first(const NegativeBinomialRuns& rule) {
  const double inverse = log_inverse_stopping(rule);
  return std::log1p(-rule.stopping()) + log_bernoulli_ratio(rule.shape() * inverse) - std::log(inverse);
}

/// The least value of f over [low, high]: a grid, then ever finer ones around its best. f may be infinite in places.
template <class Function>
double least(const Function& f, double low, double high) {
  constexpr int kCells = 48;
  constexpr int kRefinements = 10;
  double step = (high - low) / kCells;
  double at = low;
  double value = f(low);
  for (int i = 1; i <= kCells; ++i) {
    const double other = f(low + i * step);
    if (other < value) {
      value = other;
      at = low + i * step;
    }
  }
  for (int refinement = 0; refinement < kRefinements; ++refinement) {
    step /= 4.0;
    const double centre = at;
    for (const int i : {-3, -2, -1, 1, 2, 3}) {
      const double there = std::clamp(centre + i * step, low, high);
      const double other = f(there);
      if (other < value) {
        value = other;
        at = there;
      }
    }
  }
  return value;
}

/// The least over b of (1 + e) ((1 - 1/b) r(b) + ln(1/g) / b). At b = 1 only the logarithm is left, if r is finite
/// anywhere, for then the divergence of order 1 is.
double order_penalty(const NegativeBinomialRuns& rule, const accounting::RenyiCurve& base) {
  const double inverse = log_inverse_stopping(rule);
  const auto first = [&](double log_excess) {
    const double order = 1.0 + std::exp(log_excess);
    return (1.0 - 1.0 / order) * base(order);
  };
  constexpr double kLow = -6.0;
  constexpr double kHigh = 16.0;
  // The first term grows with the order: where it alone is above the bound at b = 1, higher orders are of no use.
  double high = kLow;
  while (high < kHigh && first(high) < inverse) high += 0.5;
  const double found =
      least([&](double log_excess) { return first(log_excess) + inverse / (1.0 + std::exp(log_excess)); }, kLow, high);
  return std::isinf(found) ? found : (1.0 + rule.shape()) * std::min(found, inverse) * kRoundedUp;
}

/// The base's delta at an epsilon.
using DeltaAt = std::function<double(double epsilon)>;

accounting::RenyiCurve poisson_selection(double mean, accounting::RenyiCurve base, DeltaAt delta_at) {
  return [mean, base = std::move(base), delta_at = std::move(delta_at)](double order) -> double {
    const double divergence = base(order);
    if (std::isinf(divergence)) return divergence;
    const double epsilon = -std::log1p(-1.0 / order) * (1.0 - 1e-14);
    const double some = std::log(mean) + (order - 1.0) * (divergence + mean * delta_at(epsilon));
    return std::max(0.0, accounting::log_add(-mean, some) / (order - 1.0)) * kRoundedUp;
  };
}

accounting::RenyiCurve negative_binomial_selection(const NegativeBinomialRuns& rule,
                                                   const accounting::RenyiCurve& base) {
  const double constant = order_penalty(rule, base);
  const double log_mean = std::log(mean_of(rule.shape(), rule.stopping()));
  return [constant, log_mean, base](double order) {
    return (base(order) + constant + std::max(0.0, log_mean) / (order - 1.0)) * kRoundedUp;
  };
}

/// Delta from a Renyi curve at a fixed table of orders, any of which gives a valid bound.
/// Source: Canonne, Kamath, Steinke 2020, Prop. 12.
DeltaAt delta_of_renyi(const accounting::RenyiCurve& base) {
  constexpr double kEpsilonMax = 5.0;  // above ln(1 + 1/(a - 1)) of the least order a at which it is asked for
  std::vector<std::pair<double, double>> table;  // order, divergence
  for (double log_excess = -3.0; log_excess <= 16.0; log_excess += 0.125) {
    const double order = 1.0 + std::exp(log_excess);
    const double divergence = base(order);
    if (divergence > kEpsilonMax) break;  // divergences only grow with the order
    table.emplace_back(order, divergence);
  }
  return [table = std::move(table)](double epsilon) {
    double log_delta = 0.0;
    for (const auto& [order, divergence] : table) {
      const double found = (order - 1.0) * (divergence - epsilon + std::log1p(-1.0 / order)) - std::log(order);
      log_delta = std::min(log_delta, found);
    }
    return std::min(1.0, std::exp(log_delta) * kRoundedUp);
  };
}

double gaussian_delta(double epsilon, releases::GaussianShift shift) {
  return std::min(1.0, std::exp(accounting::log_delta_of_gaussian(epsilon, shift)));
}

// Why the bounds on profiles hold. Let Q and Q' be the base's laws on neighbours, F and F' their probabilities of
// something worse than a given output, f the generating function of the number of runs. The best has density Q f'(F),
// and none at all the same probability under both. Where f'(F) <= C f'(F') everywhere,
//   integral of max(0, Q f'(F) - C e^x Q' f'(F')) <= f'(1) integral of max(0, Q - e^x Q'),
// that is mean D(x) at epsilon x + ln C. The negative binomial has f'(F) proportional to (g + (1 - g)(1 - F))^(-1 - e),
// and 1 - F' <= e^y (1 - F) + D(y), so C = (e^y + D(y) (1 - g) / g)^(1 + e); also C <= g^(-1 - e). The Poisson law has
// f'(F) / f'(F') = exp(mean (F - F')), and F - F' is at most the total variation D(0). Ties are no exception: a uniform
// number drawn with every run breaks them and changes no bound of the base.

double stopping_penalty(const NegativeBinomialRuns& rule, double epsilon, double delta) {
  const double ratio = (1.0 - rule.stopping()) / rule.stopping();
  const double log_ratio =
      accounting::log_add(epsilon, std::log(ratio) + std::log(delta));  // ln 0 is -infinity: only epsilon
  return (1.0 + rule.shape()) * std::min(log_ratio, log_inverse_stopping(rule));
}

}  // namespace

Result<NegativeBinomialRuns> NegativeBinomialRuns::create(double shape, double stopping) {
  if (!(std::isfinite(shape) && shape > -1.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the shape of the runs must be finite and > -1, got {}", shape)};
  }
  if (!(stopping > 0.0 && stopping < 1.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the stopping probability of the runs must be in (0, 1), got {}", stopping)};
  }
  const double mean = mean_of(shape, stopping);
  if (!(mean <= kRunsMeanMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("shape {} and stopping probability {} start {} runs on average, at most {} are allowed",
                             shape, stopping, mean, kRunsMeanMax)};
  }
  return NegativeBinomialRuns(shape, stopping);
}

Result<PoissonRuns> PoissonRuns::create(double mean) {
  if (!(mean > 0.0 && mean <= kRunsMeanMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the mean number of runs must be in (0, {}], got {}", kRunsMeanMax, mean)};
  }
  return PoissonRuns(mean);
}

double runs_mean(const RunsRule& rule) {
  return std::visit(Overloaded{[](const NegativeBinomialRuns& runs) { return mean_of(runs.shape(), runs.stopping()); },
                               [](const PoissonRuns& runs) { return runs.mean(); }},
                    rule);
}

double runs_probability(const RunsRule& rule, std::int64_t runs) {
  const auto k = static_cast<double>(runs);
  if (const auto* poisson = std::get_if<PoissonRuns>(&rule)) {
    if (runs < 0) return 0.0;
    return std::exp(k * std::log(poisson->mean()) - poisson->mean() - std::lgamma(k + 1.0));
  }
  if (runs < 1) return 0.0;
  const auto& law = std::get<NegativeBinomialRuns>(rule);
  // The product over l from 1 to k - 1 of (l + e) / l is Gamma(k + e) / (Gamma(1 + e) Gamma(k)).
  const double log_product = std::lgamma(k + law.shape()) - std::lgamma(1.0 + law.shape()) - std::lgamma(k);
  return std::exp(log_first(law) + (k - 1.0) * std::log1p(-law.stopping()) + log_product - std::log(k));
}

std::int64_t draw_runs(RandomSource& source, const RunsRule& rule) {
  constexpr double kNegligible = -45.0;  // ln of what a double in [0, 1) cannot tell from 0
  const auto* poisson = std::get_if<PoissonRuns>(&rule);
  const auto* law = std::get_if<NegativeBinomialRuns>(&rule);
  // ln of P[k + 1] / P[k].
  const auto log_step = [&](double k) {
    if (poisson != nullptr) return std::log(poisson->mean() / (k + 1.0));
    return std::log1p(-law->stopping()) + std::log((k + law->shape()) / (k + 1.0));
  };
  std::int64_t runs = poisson != nullptr ? 0 : 1;
  double log_probability = poisson != nullptr ? -poisson->mean() : log_first(*law);
  double left = source.unit() - std::exp(log_probability);
  while (left >= 0.0 && runs < kRunsMax) {
    const double step = log_step(static_cast<double>(runs));
    // Probabilities that only fall from here and are too small to be told from rounding: this was the last of them.
    if (step < 0.0 && log_probability < kNegligible) break;
    log_probability += step;
    left -= std::exp(log_probability);
    ++runs;
  }
  return runs;
}

accounting::RenyiCurve selection_renyi(const RunsRule& rule, const accounting::RenyiCurve& base) {
  if (const auto* poisson = std::get_if<PoissonRuns>(&rule))
    return poisson_selection(poisson->mean(), base, delta_of_renyi(base));
  return negative_binomial_selection(std::get<NegativeBinomialRuns>(rule), base);
}

accounting::RenyiCurve selection_renyi(const RunsRule& rule, releases::GaussianShift base) {
  const accounting::RenyiCurve curve = [base](double order) { return accounting::gaussian_renyi(base, order); };
  if (const auto* poisson = std::get_if<PoissonRuns>(&rule)) {
    return poisson_selection(poisson->mean(), curve, [base](double epsilon) { return gaussian_delta(epsilon, base); });
  }
  return negative_binomial_selection(std::get<NegativeBinomialRuns>(rule), curve);
}

std::optional<accounting::RenyiEpsilon> selection_epsilon(const RunsRule& rule, const accounting::RenyiCurve& base,
                                                          releases::Delta delta) {
  return accounting::epsilon_of_renyi(selection_renyi(rule, base), delta);
}

double selection_epsilon_by_profile(const RunsRule& rule, releases::GaussianShift base, releases::Delta delta) {
  const double each = delta.value() / runs_mean(rule) * (1.0 - 1e-14);
  const double alone = each < 1.0 ? accounting::epsilon_of_gaussian(base, *releases::Delta::create(each)) : 0.0;
  const double penalty =
      std::visit(Overloaded{[base](const NegativeBinomialRuns& runs) {
                              const auto at = [&](double log_epsilon) {
                                const double epsilon = std::exp(log_epsilon);
                                return stopping_penalty(runs, epsilon, gaussian_delta(epsilon, base));
                              };
                              return least(at, -18.0, 8.0);
                            },
                            [base](const PoissonRuns& runs) { return runs.mean() * gaussian_delta(0.0, base); }},
                 rule);
  return (alone + penalty) * kRoundedUp;
}

double selection_epsilon(const RunsRule& rule, releases::GaussianShift base, releases::Delta delta) {
  const std::optional<accounting::RenyiEpsilon> renyi =
      accounting::epsilon_of_renyi(selection_renyi(rule, base), delta);
  const double profile = selection_epsilon_by_profile(rule, base, delta);
  return renyi ? std::min(renyi->epsilon, profile) : profile;
}

Result<SelectionCost> selection_cost(const RunsRule& rule, releases::Epsilon base, double base_delta) {
  const double mean = runs_mean(rule);
  if (!(base_delta >= 0.0 && mean * base_delta < 1.0)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the base's delta must be in [0, 1/{}), 1 / the mean number of runs, got {}", mean, base_delta)};
  }
  const double penalty = std::visit(
      Overloaded{[&](const NegativeBinomialRuns& runs) { return stopping_penalty(runs, base.value(), base_delta); },
                 [&](const PoissonRuns& runs) {
                   // Of both 1 - F' <= e^x (1 - F) + d and F <= e^x F' + d.
                   const double odds = std::exp(-base.value());
                   const double variation = (-std::expm1(-base.value()) + 2.0 * base_delta * odds) / (1.0 + odds);
                   return runs.mean() * std::min(1.0, variation);
                 }},
      rule);
  return SelectionCost{(base.value() + penalty) * kRoundedUp, mean * base_delta * kRoundedUp};
}

Result<releases::GaussianShift> base_shift_for(const RunsRule& rule, releases::Epsilon target, releases::Delta delta) {
  constexpr double kShiftMin = 1e-6;
  constexpr double kPrecision = 1e-7;
  const auto meets = [&](double shift) {
    return selection_epsilon(rule, *releases::GaussianShift::create(shift), delta) <= target.value();
  };
  if (!meets(kShiftMin)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("no base with a Gaussian shift of {} or more keeps the selection of {} runs on average at "
                             "epsilon {}, delta {}",
                             kShiftMin, runs_mean(rule), target.value(), delta.value())};
  }
  double low = kShiftMin;
  double high = 2.0 * kShiftMin;
  while (meets(high)) {
    low = high;
    high *= 2.0;
  }
  while (high - low > kPrecision * high) {
    const double middle = 0.5 * (low + high);
    (meets(middle) ? low : high) = middle;
  }
  return releases::GaussianShift::create(low);
}

}  // namespace undertone::lab
