#include "shared/accounting/gaussian_accountant.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "shared/base/work_meter.hpp"

namespace undertone::accounting {
namespace {

constexpr double kLogInflation = 1e-10;  // what the quadrature's error is rounded up by, in ln delta
constexpr double kLogSqrtTwoPi = 0.91893853320467274178;

/// ln of the integral over t > 0 of exp(-(t + a)^2 / 2 + min_exponent) (1 - exp(-mu t)) dt, with the largest value of
/// the Gaussian factor taken out (`log_peak`).
double log_tail_integral(double a, double mu) {
  // For a > 0 the factor decays from t = 0 like exp(-a t); for a <= 0 it peaks at t = -a with width 1.
  const double peak = a > 0.0 ? 0.0 : -a;
  const double log_peak = a > 0.0 ? -0.5 * a * a : 0.0;
  const auto integrand = [=](double t) {
    const double log_gaussian = a > 0.0 ? -t * (a + 0.5 * t) : -0.5 * (t + a) * (t + a);
    return std::exp(log_gaussian) * -std::expm1(-mu * t);
  };
  const double start = std::max(0.0, peak - 40.0);  // phi(40) < 1e-347: nothing is lost below
  const double end = a > 0.0 ? std::min(40.0, 60.0 / a) : peak + 40.0;
  const double width_max = 0.5 / std::max(1.0, a);
  // 1 - exp(-mu t) bends within 1/mu of zero: panels start there and double.
  double width = std::min(width_max, 0.25 / std::max(1.0, mu));
  double sum = 0.0;
  for (double left = start; left < end;) {
    const double right = std::min(end, left + width);
    WorkMeter::charge(40);
    sum += boost::math::quadrature::gauss<double, 20>::integrate(integrand, left, right);
    left = right;
    width = std::min(width_max, 2.0 * width);
  }
  return log_peak + std::log(sum);
}

/// Root of an increasing function on [low, high], where it has changed sign; the bracket that is left.
template <class Function>
std::pair<double, double> bracket_root(const Function& f, double low, double high) {
  std::uintmax_t iterations = 200;
  const auto close = [](double left, double right) { return right - left <= 1e-11 * std::max(1.0, std::abs(left)); };
  return boost::math::tools::toms748_solve(f, low, high, close, iterations);
}

}  // namespace

double log_delta_of_gaussian(double epsilon, releases::GaussianShift shift) {
  UNDERTONE_CHECK(std::isfinite(epsilon) && epsilon >= 0.0);
  const double mu = shift.value();
  const double a = epsilon / mu - 0.5 * mu;
  return std::min(0.0, log_tail_integral(a, mu) - kLogSqrtTwoPi + kLogInflation);
}

double epsilon_of_gaussian(releases::GaussianShift shift, releases::Delta delta) {
  const double target = std::log(delta.value());
  const auto excess = [&](double epsilon) { return target - log_delta_of_gaussian(epsilon, shift); };
  if (excess(0.0) >= 0.0) return 0.0;
  double high = 1.0;
  while (excess(high) < 0.0) high *= 2.0;
  const double epsilon = bracket_root(excess, 0.0, high).second;
  return excess(epsilon) >= 0.0 ? epsilon : std::nextafter(epsilon * (1.0 + 1e-10), INFINITY);
}

releases::GaussianShift gaussian_shift_for(releases::Epsilon epsilon, releases::Delta delta) {
  const double target = std::log(delta.value());
  const auto shift_at = [](double log_mu) { return *releases::GaussianShift::create(std::exp(log_mu)); };
  const auto excess = [&](double log_mu) { return log_delta_of_gaussian(epsilon.value(), shift_at(log_mu)) - target; };
  double low = -1.0;
  while (excess(low) > 0.0) low -= 4.0;
  double high = 1.0;
  while (excess(high) < 0.0) high += 1.0;
  double log_mu = bracket_root(excess, low, high).first;
  while (excess(log_mu) > 0.0) log_mu -= 1e-11;
  return shift_at(log_mu);
}

Result<releases::GaussianShift> joint_shift(std::span<const releases::GaussianShift> shifts) {
  UNDERTONE_CHECK(!shifts.empty());
  long double squares = 0.0L;
  for (const releases::GaussianShift& shift : shifts)
    squares += static_cast<long double>(shift.value()) * shift.value();
  const double joint = static_cast<double>(sqrtl(squares)) * (1.0 + 0x1p-40);
  if (!(joint < 1e4))
    return Error{ErrorCode::InvalidArgument, fmt::format("a shift beyond 10000 protects nothing, got {}", joint)};
  return releases::GaussianShift::create(joint);
}

releases::GaussianShift total_shift(releases::ShiftSquaredAmount shift_squared) {
  const double root = std::sqrt(shift_squared.value_rounded_up());
  return *releases::GaussianShift::create(std::nextafter(root, INFINITY));
}

}  // namespace undertone::accounting
