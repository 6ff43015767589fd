#include "shared/statistics/count_polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/base/result.hpp"
#include "shared/statistics/binomial_coefficient.hpp"

namespace undertone::statistics {
namespace {

/// Newton's numbers are differences of values that nearly cancel: they are taken in more digits than they are kept in.
using Precise = long double;

/// T_t(x).
Precise chebyshev(std::size_t degree, Precise x) {
  Precise before = 1.0L;
  Precise out = x;
  for (std::size_t t = 1; t < degree; ++t) {
    const Precise next = 2.0L * x * out - before;
    before = out;
    out = next;
  }
  return degree == 0 ? 1.0L : out;
}

}  // namespace

CountPolynomial count_polynomial(Quantifier quantifier, std::size_t width, std::size_t degree) {
  UNDERTONE_CHECK(width >= 1 && std::cmp_less_equal(width, kConjunctionWidthMax) && degree >= 1);
  CountPolynomial out;
  out.width = width;
  out.degree = std::min(degree, width);
  const auto k = static_cast<Precise>(width);
  const bool exact = out.degree == width;
  const Precise outer = exact ? 1.0L : chebyshev(out.degree, (k + 1.0L) / (k - 1.0L));
  if (!exact) out.error = static_cast<double>(1.0L / outer) * (1.0 + 1e-12);
  const auto any = [&](std::size_t held) {
    if (exact || held == 0) return held == 0 ? 0.0L : 1.0L;
    return 1.0L - chebyshev(out.degree, (k + 1.0L - 2.0L * static_cast<Precise>(held)) / (k - 1.0L)) / outer;
  };
  // Newton's forward differences at 0 of P(0) .. P(t).
  std::vector<Precise> differences;
  for (std::size_t s = 0; s <= out.degree; ++s)
    differences.push_back(quantifier == Quantifier::Any ? any(s) : 1.0L - any(width - s));
  for (std::size_t m = 0; m <= out.degree; ++m) {
    out.newton.push_back(static_cast<double>(differences.front()));
    for (std::size_t i = 0; i + 1 < differences.size(); ++i) differences[i] = differences[i + 1] - differences[i];
    differences.pop_back();
  }
  double squares = 0.0;
  for (std::size_t m = 1; m <= out.degree; ++m)
    squares += out.newton[m] * out.newton[m] * binomial_coefficient(width, m);
  out.amplification = std::sqrt(squares);
  return out;
}

}  // namespace undertone::statistics
