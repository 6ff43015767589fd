#include "shared/statistics/lattice_law.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shared/base/result.hpp"

namespace undertone::statistics {
namespace {

/// Rounding of sums of up to a few million positive numbers, relative.
constexpr double kRoundedUp = 1.0 + 1e-9;
constexpr double kLeftOutMax = 1e-13;

/// ln E e^(lambda Z), Z discrete Laplace of scale b, 0 < lambda < 1 / b.
double log_moment(double scale, double lambda) {
  const double rate = 1.0 / scale;
  // (1 - q)^2 / ((1 - q e^lambda)(1 - q e^-lambda)), q = e^-rate
  return 2.0 * std::log(-std::expm1(-rate)) - std::log(-std::expm1(lambda - rate)) -
         std::log(-std::expm1(-lambda - rate));
}

/// The least k found with P[|Z| > k] <= left_out: Chernoff's bound.
double chernoff_reach(std::span<const double> scales, double left_out) {
  const double largest = *std::max_element(scales.begin(), scales.end());
  double least = std::numeric_limits<double>::infinity();
  for (double part = 0.98; part > 1e-4; part *= 0.85) {
    const double lambda = part / largest;
    double sum = std::log(2.0 / left_out);
    for (const double scale : scales) sum += log_moment(scale, lambda);
    least = std::min(least, sum / lambda);
  }
  return least;
}

}  // namespace

std::optional<LatticeLaw> LatticeLaw::create(std::span<const double> scales) {
  UNDERTONE_CHECK(!scales.empty());
  for (const double scale : scales) UNDERTONE_CHECK(scale > 0.0 && std::isfinite(scale));
  if (scales.size() == 1) return LatticeLaw(scales.front(), {});
  const double wanted = std::ceil(chernoff_reach(scales, kLeftOutMax)) + 1.0;
  if (!(wanted <= static_cast<double>(kReachMax))) return std::nullopt;
  const auto reach = static_cast<std::size_t>(wanted);
  const std::size_t length = 2 * reach + 1;
  if (length > static_cast<std::size_t>(kWorkMax) / scales.size()) return std::nullopt;

  std::vector<double> law(length, 0.0);  // what is within the table all the way: a lower bound of every probability
  law[reach] = 1.0;
  for (const double scale : scales) {
    const double q = std::exp(-1.0 / scale);
    const double start = -std::expm1(-1.0 / scale);
    double carried = 0.0;
    for (std::size_t i = 0; i < length; ++i) law[i] = carried = start * law[i] + q * carried;
    carried = 0.0;
    for (std::size_t i = length; i-- > 0;) law[i] = carried = start * law[i] + q * carried;
  }
  // What leaves the table on the way is lost even where it would come back. Whole variables: at most twice the bound of
  // the sum's end (Levy's inequality, symmetric variables). Between the two recursions of a variable there is only the
  // geometric part, of which P[G >= k] = (1 + q) P[Z >= k]: at most twice that again, over both sides of the table.
  const double left_out = 4.0 * kLeftOutMax;
  std::vector<double> above(reach + 1, 0.0);
  double sum = left_out;
  for (std::size_t k = reach + 1; k-- > 0;) {
    above[k] = std::min(1.0, sum * kRoundedUp);
    sum += law[reach + k];
  }
  return LatticeLaw(0.0, std::move(above));
}

double LatticeLaw::above(std::int64_t k) const {
  if (single_scale_ > 0.0) {  // q^(k+1) / (1 + q)
    const double q = std::exp(-1.0 / single_scale_);
    return std::exp(-(static_cast<double>(k) + 1.0) / single_scale_) / (1.0 + q);
  }
  return above_[std::min(static_cast<std::size_t>(k), above_.size() - 1)];
}

double LatticeLaw::outside(std::int64_t k) const {
  UNDERTONE_CHECK(k >= 0);
  return std::min(1.0, 2.0 * above(k));
}

double LatticeLaw::at_most(std::int64_t k) const {
  if (k < 0) return above(-k - 1);  // P[Z <= k] = P[Z >= -k]
  if (single_scale_ > 0.0) return 1.0 - above(k);
  // `above` is rounded up, so that this would be rounded down by what it has too much of.
  return std::min(1.0, 1.0 - above(k) + 1e-9 * above(k) + 1e-12);
}

std::int64_t LatticeLaw::half_width(double alpha) const {
  UNDERTONE_CHECK(alpha >= 1e-10 && alpha < 1.0);
  if (single_scale_ > 0.0) {
    const double q = std::exp(-1.0 / single_scale_);
    const double guess = std::ceil(single_scale_ * std::log(2.0 / ((1.0 + q) * alpha)) - 1.0);
    std::int64_t k = std::max<std::int64_t>(0, static_cast<std::int64_t>(guess));
    while (k > 0 && outside(k - 1) <= alpha) --k;
    while (outside(k) > alpha) ++k;
    return k;
  }
  const auto first =
      std::partition_point(above_.begin(), above_.end(), [&](double tail) { return 2.0 * tail > alpha; });
  UNDERTONE_CHECK(first != above_.end());
  return first - above_.begin();
}

}  // namespace undertone::statistics
