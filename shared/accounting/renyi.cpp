#include "shared/accounting/renyi.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <vector>

#include "shared/accounting/log_add.hpp"
#include "shared/base/bisection.hpp"

namespace undertone::accounting {
namespace {

constexpr double kOrderMin = 1.01;  // tiny orders have returned epsilon = 0 elsewhere

double converted(double divergence, double order, double log_delta) {
  return divergence + std::log1p(-1.0 / order) - (log_delta + std::log(order)) / (order - 1.0);
}

/// The least value of f over [low, high], by golden section: f is evaluated at valid points alone.
template <class Function>
std::pair<double, double> least(const Function& f, double low, double high, int iterations) {
  constexpr double kGolden = 0.6180339887498949;
  double a = high - kGolden * (high - low);
  double b = low + kGolden * (high - low);
  double fa = f(a);
  double fb = f(b);
  for (int i = 0; i < iterations; ++i) {
    if (fa < fb) {
      high = b;
      b = a;
      fb = fa;
      a = high - kGolden * (high - low);
      fa = f(a);
    } else {
      low = a;
      a = b;
      fa = fb;
      b = low + kGolden * (high - low);
      fb = f(b);
    }
  }
  return fa < fb ? std::pair(a, fa) : std::pair(b, fb);
}

/// The largest rho at which an increasing epsilon(rho) is at most the target.
template <class Function>
double largest_rho(const Function& epsilon_of, double target) {
  double high = 1.0;
  while (epsilon_of(high) <= target) high *= 2.0;
  int halvings = 200;
  return bisect(
             SearchRange<double>{1e-30, high}, [&](double rho) { return !(epsilon_of(rho) <= target); },
             [&](const SearchRange<double>& at) { return halvings-- > 0 && at.high - at.low > 1e-15 * at.high; },
             [](const SearchRange<double>& at) {
               return at.low > 1e-3 * at.high ? 0.5 * (at.low + at.high) : std::sqrt(at.low * at.high);
             })
      .low;
}

}  // namespace

double epsilon_of_zcdp_closed(Rho rho, releases::Delta delta) {
  return (rho.value() + 2.0 * std::sqrt(rho.value() * -std::log(delta.value()))) * (1.0 + 1e-14);
}

double epsilon_of_zcdp(Rho rho, releases::Delta delta) {
  const double log_delta = std::log(delta.value());
  const auto at = [&](double log_excess) {
    const double order = std::max(kOrderMin, 1.0 + std::exp(log_excess));
    return converted(order * rho.value(), order, log_delta);
  };
  const double epsilon = least(at, -8.0, 35.0, 90).second;
  return std::max(0.0, std::min(epsilon * (1.0 + 1e-13), epsilon_of_zcdp_closed(rho, delta)));
}

double rho_for_closed(releases::Epsilon epsilon, releases::Delta delta) {
  const double log_inverse = -std::log(delta.value());
  // (sqrt(l + e) - sqrt(l))^2 without cancellation.
  const double root = epsilon.value() / (std::sqrt(log_inverse + epsilon.value()) + std::sqrt(log_inverse));
  return root * root * (1.0 - 1e-14);
}

double rho_for(releases::Epsilon epsilon, releases::Delta delta) {
  return largest_rho([&](double rho) { return epsilon_of_zcdp(*Rho::create(rho), delta); }, epsilon.value());
}

std::optional<RenyiEpsilon> epsilon_of_renyi(const RenyiCurve& curve, releases::Delta delta) {
  const double log_delta = std::log(delta.value());
  const auto at = [&](double log_excess) -> double {
    const double order = std::max(kOrderMin, 1.0 + std::exp(log_excess));
    const double divergence = curve(order);
    UNDERTONE_CHECK(!(divergence < 0.0) && !std::isnan(divergence));
    return std::isinf(divergence) ? INFINITY : converted(divergence, order, log_delta);
  };
  constexpr double kLow = -3.0;
  constexpr double kHigh = 16.0;
  constexpr double kStep = 0.5;
  double best = kLow;
  double least_epsilon = INFINITY;
  for (double u = kLow; u <= kHigh; u += kStep) {
    const double epsilon = at(u);
    if (epsilon < least_epsilon) {
      least_epsilon = epsilon;
      best = u;
    } else if (std::isfinite(least_epsilon) && (std::isinf(epsilon) || u > best + 4.0)) {
      break;  // divergences only grow with the order
    }
  }
  if (std::isinf(least_epsilon)) return std::nullopt;
  const auto [u, epsilon] = least(at, best - kStep, best + kStep, 24);
  if (epsilon < least_epsilon) {
    least_epsilon = epsilon;
    best = u;
  }
  // Curves that are known at whole orders alone, and between them by the next, are least at one of these.
  const double next = std::ceil(std::max(kOrderMin, 1.0 + std::exp(best)));
  for (double order = std::max(2.0, next - 2.0); order <= next + 2.0; ++order) {
    const double whole = at(std::log(order - 1.0));
    if (whole < least_epsilon) {
      least_epsilon = whole;
      best = std::log(order - 1.0);
    }
  }
  return RenyiEpsilon{std::max(0.0, least_epsilon * (1.0 + 1e-13)), std::max(kOrderMin, 1.0 + std::exp(best))};
}

double gaussian_renyi(releases::GaussianShift shift, double order) {
  return 0.5 * order * shift.value() * shift.value() * (1.0 + 1e-15);
}

double laplace_renyi(releases::Epsilon epsilon, double order) {
  const double twice = 2.0 * order - 1.0;
  const double up = std::log(order / twice) + (order - 1.0) * epsilon.value();
  const double down = std::log((order - 1.0) / twice) - order * epsilon.value();
  return std::max(0.0, log_add(up, down) / (order - 1.0)) * (1.0 + 1e-13);
}

double pure_renyi(releases::Epsilon epsilon, double order) {
  const double truth = -std::log1p(std::exp(-epsilon.value()));  // ln of e^eps / (1 + e^eps)
  const double lie = truth - epsilon.value();
  const double up = order * truth + (1.0 - order) * lie;
  const double down = order * lie + (1.0 - order) * truth;
  const double exact = log_add(up, down) / (order - 1.0);
  return std::clamp(exact * (1.0 + 1e-12), 0.0,
                    std::min(epsilon.value(), 0.5 * order * epsilon.value() * epsilon.value()));
}

double profile_renyi(const LossLaw& law, double order) {
  const long double infinite = law.infinite();
  const auto log_integrand = [&](double t) -> double {
    const LossTails tails = law.above(t);
    const long double delta = (tails.p - expl(t) * tails.q) / (1.0L - infinite);
    if (!(delta > 1e-18L * tails.p)) return -INFINITY;  // what is left is rounding
    return static_cast<double>(logl(delta)) + (order - 1.0) * t + std::log1p(std::exp(-(2.0 * order - 1.0) * t));
  };
  // Panels doubling from a tiny first one cover every scale; each is refined until its two rules agree.
  const auto panel = [&](double from, double to, double scale) {
    const auto f = [&](double t) { return std::exp(log_integrand(t) - scale); };
    double coarse = boost::math::quadrature::gauss<double, 15>::integrate(f, from, to);
    for (int pieces = 2; pieces <= 64; pieces *= 2) {
      double fine = 0.0;
      for (int i = 0; i < pieces; ++i) {
        const double width = (to - from) / pieces;
        fine += boost::math::quadrature::gauss<double, 15>::integrate(f, from + i * width, from + (i + 1) * width);
      }
      const bool agree = std::abs(fine - coarse) <= 1e-11 * fine;
      coarse = fine;
      if (agree) break;
    }
    return coarse;
  };
  // The integrand may fall and rise again: every loss is looked at, up to those too rare to be represented. If the
  // integrand has not become negligible there, the divergence is not known.
  std::vector<double> edges{0.0};
  double peak = log_integrand(0.0);
  double last = peak;
  for (double to = 1e-7; to < 1.1e4; to *= 1.35) {
    const double value = log_integrand(to);
    if (std::isinf(value)) break;
    edges.push_back(to);
    peak = std::max(peak, value);
    last = value;
  }
  if (last > peak - 40.0) return INFINITY;
  double sum = 0.0;
  for (std::size_t i = 1; i < edges.size(); ++i) sum += panel(edges[i - 1], edges[i], peak);
  const double log_part = std::log(sum * (1.0 + 1e-9)) + peak + std::log(order * (order - 1.0));
  return log_add(0.0, log_part) / (order - 1.0) * (1.0 + 1e-13);
}

double poisson_renyi(double rate, releases::GaussianShift shift, double order) {
  if (rate >= 1.0) return gaussian_renyi(shift, order);
  const double mu = shift.value();
  // E over x ~ N(0, 1) of ((1 - q) + q e^(mu x - mu^2/2))^order.
  const auto log_term = [&](double x) {
    const double ratio = log_add(std::log1p(-rate), std::log(rate) + mu * x - 0.5 * mu * mu);
    return order * ratio - 0.5 * x * x - 0.91893853320467274178;
  };
  const double end = order * mu + 14.0;
  const double width = std::min(0.25, 0.5 / std::max(1.0, mu));
  double peak = -INFINITY;
  for (double x = -14.0; x < end; x += 0.05) peak = std::max(peak, log_term(x));
  double sum = 0.0;
  for (double x = -14.0; x < end; x += width) {
    sum += boost::math::quadrature::gauss<double, 15>::integrate(
        [&](double at) { return std::exp(log_term(at) - peak); }, x, x + width);
  }
  return std::max(0.0, (std::log(sum * (1.0 + 1e-12)) + peak) / (order - 1.0));
}

Result<Rho> generalised_gaussian_rho(double norm, double scale, double sensitivity) {
  const auto refuse = [](std::string_view what, double value) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}, got {}", what, value)};
  };
  if (!(norm >= 2.0 && norm <= 1e6)) return refuse("norm must be in [2, 1e6]", norm);
  if (!(std::isfinite(scale) && scale > 0.0)) return refuse("scale must be finite and > 0", scale);
  if (!(std::isfinite(sensitivity) && sensitivity > 0.0))
    return refuse("sensitivity must be finite and > 0", sensitivity);
  const double smoothness = norm == 2.0 ? 1.0 : norm - 1.0;
  const double ratio = sensitivity / scale;
  return Rho::create(std::nextafter(0.5 * smoothness * ratio * ratio * (1.0 + 0x1p-50), INFINITY));
}

namespace {

/// (order - 1) times the divergence of the theorem, without the bound by the whole block's.
double log_subset_moment(double rate, double rho, int order) {
  const double log_rate = std::log(rate);
  const auto at = [rho](int j) { return static_cast<double>(j) * rho; };  // r(j)
  double log_choose = std::log(0.5 * order * (order - 1.0));              // ln C(order, j)
  // min{4 (e^r - 1), 2 e^r}, of a small r too.
  const double second = std::min(std::log(4.0) + at(2) + std::log(-std::expm1(-at(2))), std::log(2.0) + at(2));
  double sum = log_add(0.0, 2.0 * log_rate + log_choose + second);
  for (int j = 3; j <= order; ++j) {
    log_choose += std::log((order - j + 1.0) / j);
    sum = log_add(sum, std::log(2.0) + j * log_rate + log_choose + (j - 1.0) * at(j));
  }
  return sum;
}

}  // namespace

double subset_zcdp_renyi(double rate, Rho rho, double order) {
  constexpr double kOrderMax = 1024.0;
  const double whole = order * rho.value();
  if (rate >= 1.0 || order > kOrderMax) return whole;
  // A whole order that came from a logarithm is that one; what it may be above it is within the last factor.
  const int next = std::max(2, static_cast<int>(std::ceil(order * (1.0 - 0x1p-48))));
  return std::min(whole, log_subset_moment(rate, rho.value(), next) / (next - 1.0) * (1.0 + 1e-10));
}

}  // namespace undertone::accounting
