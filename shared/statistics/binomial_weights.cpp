#include "shared/statistics/binomial_weights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "shared/base/result.hpp"

namespace undertone::statistics {

BinomialWeights binomial_weights(std::int64_t trials, double probability) {
  UNDERTONE_CHECK(trials >= 0 && probability >= 0.0 && probability <= 1.0);
  const auto n = static_cast<double>(trials);
  if (probability == 0.0) return {0, {1.0}, 0.0};
  if (probability == 1.0) return {trials, {1.0}, 0.0};
  const double reach = 12.0 * std::sqrt(n * probability * (1.0 - probability)) + 40.0;
  const auto mode = static_cast<std::int64_t>(std::min(n, std::floor((n + 1.0) * probability)));
  BinomialWeights out;
  out.first = static_cast<std::int64_t>(std::max(0.0, std::ceil(n * probability - reach)));
  const auto last = static_cast<std::int64_t>(std::min(n, std::floor(n * probability + reach)));
  out.weights.assign(static_cast<std::size_t>(last - out.first + 1), 0.0);
  // By recursion from the mode, and normalised: what is outside has probability below 2 e^-60 (Bernstein's
  // inequality: with t = 12 sd + 40, t^2 / (2 sd^2 + 2 t / 3) >= 60).
  const double odds = probability / (1.0 - probability);
  const auto at = [&](std::int64_t s) -> double& { return out.weights[static_cast<std::size_t>(s - out.first)]; };
  at(mode) = 1.0;
  for (std::int64_t s = mode; s < last; ++s)
    at(s + 1) = at(s) * odds * static_cast<double>(trials - s) / static_cast<double>(s + 1);
  for (std::int64_t s = mode; s > out.first; --s)
    at(s - 1) = at(s) / odds * static_cast<double>(s) / static_cast<double>(trials - s + 1);
  const double sum = std::accumulate(out.weights.begin(), out.weights.end(), 0.0);
  for (double& weight : out.weights) weight /= sum;
  out.left_out = 1e-13;
  return out;
}

}  // namespace undertone::statistics
