#include "shared/statistics/normal_laplace_law.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "shared/base/bisection.hpp"
#include "shared/base/result.hpp"

namespace undertone::statistics {
namespace {

constexpr double kLost = 1e-12;  // aliasing, and truncation where terms suffice
constexpr std::size_t kInvertedTermsMax = std::size_t{1} << 20U;

double normal_above(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

/// ln Phi(x).
double log_normal_below(double x) {
  if (x > -30.0) return std::log(normal_above(-x));
  const double inverse = 1.0 / (x * x);  // the asymptotic series: what follows is 1e-10 of it
  return -0.5 * x * x - std::log(-x * std::sqrt(2.0 * std::numbers::pi)) +
         std::log1p(inverse * (-1.0 + inverse * (3.0 - 15.0 * inverse)));
}

/// P[|N(0, a^2) + Laplace(b)| > w]
double one_laplace_outside(double a, double b, double w) {
  const double square = 0.5 * (a / b) * (a / b);
  const double tail = normal_above(w / a) + 0.5 * std::exp(square - w / b + log_normal_below(w / a - a / b)) -
                      0.5 * std::exp(square + w / b + log_normal_below(-w / a - a / b));
  return std::clamp(2.0 * tail, 0.0, 1.0);
}

/// (2 / pi) sin(k h w) phi(k h) / k, k = 1 .., of the law wrapped at a period 2 pi / h.
struct Inversion {
  double step = 0.0;                 // h
  std::vector<double> coefficients;  // phi(k h) / k
  double lost = 0.0;

  [[nodiscard]] double outside(double width) const {
    double inside = 0.0;
    for (std::size_t k = coefficients.size(); k-- > 0;)
      inside += coefficients[k] * std::sin(static_cast<double>(k + 1) * step * width);
    inside = step * width / std::numbers::pi + inside * 2.0 / std::numbers::pi;
    return std::clamp(1.0 - inside + lost, 0.0, 1.0);
  }
};

/// w with P[|S| > w] <= probability: Chernoff's bound.
double reach(double normal_variance, const std::vector<double>& scales, double probability) {
  double least = std::numeric_limits<double>::infinity();
  for (double part = 0.99; part > 1e-5; part *= 0.85) {
    const double lambda = part / scales.front();
    double sum = std::log(2.0 / probability) + 0.5 * lambda * lambda * normal_variance;
    for (const double scale : scales) sum -= std::log1p(-lambda * lambda * scale * scale);
    least = std::min(least, sum / lambda);
  }
  return least;
}

/// Bound on (2 / pi) sum over k h >= t of phi(k h) / k: of the m largest scales, phi(t) <= prod (b_i t)^-2, and
/// (2 / pi) times the integral of phi(t) / t is at most that / (pi m).
double truncation(double normal_variance, const std::vector<double>& scales, double t) {
  double least = std::numeric_limits<double>::infinity();
  double product = -0.5 * normal_variance * t * t;
  for (std::size_t m = 1; m <= scales.size(); ++m) {
    product -= 2.0 * std::log(scales[m - 1] * t);
    least = std::min(least, product - std::log(std::numbers::pi * static_cast<double>(m)));
  }
  return std::exp(least);
}

/// For widths up to `width`.
Inversion invert(double normal_variance, const std::vector<double>& scales, double width) {
  Inversion out;
  out.step = 2.0 * std::numbers::pi / (width + reach(normal_variance, scales, kLost));
  double lost = 1.0;
  for (std::size_t k = 1; k <= kInvertedTermsMax; ++k) {
    const double t = static_cast<double>(k) * out.step;
    double log_phi = -0.5 * normal_variance * t * t;
    for (const double scale : scales) log_phi -= std::log1p(scale * scale * t * t);
    out.coefficients.push_back(std::exp(log_phi) / static_cast<double>(k));
    if (k % 16 == 0 && (lost = truncation(normal_variance, scales, t)) <= kLost) break;
  }
  out.lost = kLost + lost;
  return out;
}

}  // namespace

NormalLaplaceLaw::NormalLaplaceLaw(double variance, std::vector<double> scales)
    : normal_variance_(variance), scales_(std::move(scales)) {
  UNDERTONE_CHECK(variance >= 0.0 && std::isfinite(variance) && (variance > 0.0 || !scales_.empty()));
  for (const double scale : scales_) UNDERTONE_CHECK(scale > 0.0 && std::isfinite(scale));
  std::sort(scales_.begin(), scales_.end(), std::greater<>());
  // Beside a normal law 10^4 times as wide it is normal: the fourth cumulant is 1e-15 of the variance's square.
  if (!scales_.empty() && scales_.front() < 1e-4 * std::sqrt(normal_variance_)) {
    normal_variance_ = this->variance();
    scales_.clear();
  }
}

double NormalLaplaceLaw::variance() const noexcept {
  double sum = normal_variance_;
  for (const double scale : scales_) sum += 2.0 * scale * scale;
  return sum;
}

double NormalLaplaceLaw::outside(double width) const {
  UNDERTONE_CHECK(width >= 0.0);
  if (scales_.empty()) return std::erfc(width / std::sqrt(2.0 * normal_variance_));
  if (scales_.size() == 1) {
    if (normal_variance_ == 0.0) return std::exp(-width / scales_.front());
    return one_laplace_outside(std::sqrt(normal_variance_), scales_.front(), width);
  }
  const double far = reach(normal_variance_, scales_, kLost);
  return width >= far ? kLost : invert(normal_variance_, scales_, width).outside(width);
}

double NormalLaplaceLaw::half_width(double alpha) const {
  UNDERTONE_CHECK(alpha >= 5e-11 && alpha < 1.0);
  if (scales_.empty()) return std::numbers::sqrt2 * std::sqrt(normal_variance_) * boost::math::erfc_inv(alpha);
  if (scales_.size() == 1 && normal_variance_ == 0.0) return -scales_.front() * std::log(alpha);
  const double high = reach(normal_variance_, scales_, alpha / 2.0);
  const auto least = [&](const auto& outside) {
    return bisect_reals(
               SearchRange<double>{0.0, high}, [&](double w) { return outside(w) <= alpha; }, 60, 1e-11)
        .high;
  };
  if (scales_.size() == 1) return least([&](double w) { return outside(w); });
  const Inversion inversion = invert(normal_variance_, scales_, high);
  return least([&](double w) { return inversion.outside(w); });
}

}  // namespace undertone::statistics
