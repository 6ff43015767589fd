#include "verifier/gaussian_profile.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace undertone::verifier {
namespace {

long double normal_density(long double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi_v<long double> / std::numbers::sqrt2_v<long double>;
}

/// Upper tail of the normal distribution over its density, for x >= 0.
long double mills_ratio(long double x) {
  if (x < 4) return upper_tail(x) / normal_density(x);
  long double fraction = x;  // Laplace's x + 1/(x + 2/(x + 3/...)): 100 terms are exact in long double from 4 on
  for (int term = 100; term > 0; --term) fraction = x + static_cast<long double>(term) / fraction;
  return 1 / fraction;
}

}  // namespace

long double upper_tail(long double x) { return std::erfc(x / std::numbers::sqrt2_v<long double>) / 2; }

long double gaussian_profile(long double epsilon, long double mu) {
  const long double near = epsilon / mu - mu / 2;
  const long double far = mills_ratio(epsilon / mu + mu / 2);
  if (near <= 0) return upper_tail(near) - normal_density(near) * far;  // the ratio overflows on this side
  return normal_density(near) * (mills_ratio(near) - far);
}

long double smallest_epsilon(long double mu, long double delta) {
  if (mu == 0) return 0;
  if (delta <= 0) return std::numeric_limits<long double>::infinity();
  if (gaussian_profile(0, mu) <= delta) return 0;
  long double low = 0;
  long double high = 1;
  while (gaussian_profile(high, mu) > delta) high *= 2;
  for (int halving = 0; halving < 80; ++halving) {
    const long double middle = (low + high) / 2;
    (gaussian_profile(middle, mu) > delta ? low : high) = middle;
  }
  return high;
}

}  // namespace undertone::verifier
