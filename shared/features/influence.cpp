#include "shared/features/influence.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace undertone::statistics {
namespace {

constexpr double kLargestTruncation = 2.0 * std::numbers::sqrt2 / 3.0;
constexpr double kLargestSmooth = 0.64364583;  // U erf(1 / sqrt 2) = .643645825...

/// P(Z > x) of a standard normal.
double upper_tail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

double truncation(double u) {
  if (std::abs(u) > std::numbers::sqrt2) return std::copysign(kLargestTruncation, u);
  return u - u * u * u / 6.0;
}

}  // namespace

std::string_view to_string(Influence influence) noexcept {
  switch (influence) {
    case Influence::Clip:
      return "clip";
    case Influence::Smooth:
      return "smooth";
  }
  return "";
}

double largest_influence(Influence influence) noexcept { return influence == Influence::Smooth ? kLargestSmooth : 1.0; }

namespace {

/// @param a >= 0
double smooth_truncation_of_positive(double a, double b) {
  // The five terms cancel where b is small beside a: phi itself is then as close as they are.
  constexpr double kNarrow = 1e-9;
  if (b <= kNarrow * std::max(1.0, std::abs(a))) return truncation(a);
  const double below = (std::numbers::sqrt2 - a) / b;
  const double above = (std::numbers::sqrt2 + a) / b;
  const double tail_below = upper_tail(below);
  const double tail_above = upper_tail(above);
  const double density_below = std::exp(-0.5 * below * below);
  const double density_above = std::exp(-0.5 * above * above);
  // v^n exp(-v^2/2) of a v that is infinite is 0, not a number that is none.
  const auto weighed = [](double v, double power, double density) {
    return density > 0.0 ? std::pow(v, power) * density : 0.0;
  };
  const double root = std::sqrt(2.0 * std::numbers::pi);
  const double out =
      a * (1.0 - b * b / 2.0) - a * a * a / 6.0 + kLargestTruncation * (tail_below - tail_above) -
      (a - a * a * a / 6.0) * (tail_below + tail_above) +
      b / root * (1.0 - a * a / 2.0) * (density_above - density_below) +
      a * b * b / 2.0 *
          (tail_above + tail_below + (weighed(above, 1.0, density_above) + weighed(below, 1.0, density_below)) / root) +
      b * b * b / (6.0 * root) *
          (2.0 * density_below + weighed(below, 2.0, density_below) - 2.0 * density_above -
           weighed(above, 2.0, density_above));
  return std::clamp(std::isnan(out) ? 0.0 : out, 0.0, kLargestTruncation);
}

}  // namespace

double smooth_truncation(double a, double b) { return std::copysign(smooth_truncation_of_positive(std::abs(a), b), a); }

double influence_of(Influence influence, double x, double threshold) {
  if (influence == Influence::Clip) return std::clamp(x, -threshold, threshold);
  // Beyond a thousand thresholds the numerators of the five terms cancel. With Z normal and a = b = |x| / t, the sign
  // of 1 + Z decides there, so that psi is what it is at a thousand.
  constexpr double kFar = 1000.0;
  const double a = std::clamp(x / threshold, -kFar, kFar);
  return threshold * std::clamp(smooth_truncation(a, std::abs(a)), -kLargestSmooth, kLargestSmooth);
}

/// This bounds sup_u E |V - phi(V)| / |u|^k with V = u (1 + Z): phi differs from V by c |V|^k at most, where c is the
/// larger of 2^((3 - k)/2) / 6, for |V| <= sqrt 2, and of (k - 1)^(k - 1) / (k^k U^(k - 1)), for what is cut at U = 2
/// sqrt 2 / 3. E |1 + Z|^k is at most 2^(3 - k) 4.1826^(k - 2), since its logarithm is convex in k.
double smooth_bias(double of_order) {
  const double order = std::min(of_order, kSmoothOrderMax);
  constexpr double largest = 2.0 * std::numbers::sqrt2 / 3.0;
  const double near = std::pow(2.0, (3.0 - order) / 2.0) / 6.0;
  const double far = std::pow(order - 1.0, order - 1.0) / (std::pow(order, order) * std::pow(largest, order - 1.0));
  constexpr double kThird = 4.18260;  // E |1 + Z|^3, rounded up
  return std::max(near, far) * std::pow(2.0, kSmoothOrderMax - order) * std::pow(kThird, order - 2.0);
}

}  // namespace undertone::statistics
