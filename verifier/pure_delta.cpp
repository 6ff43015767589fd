#include "verifier/pure_delta.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace undertone::verifier {

long double pure_delta_below(std::vector<PureGroup> groups, UInt128 epsilon) {
  constexpr std::uint64_t kOutcomesMax = 1U << 14U;
  constexpr long double kRounding = 1e-9L;  // of the binomials' logarithms, far from above
  std::sort(groups.begin(), groups.end(), [](const PureGroup& a, const PureGroup& b) { return a.epsilon > b.epsilon; });
  // By how far a loss is below the largest, which is the sum of all epsilons.
  std::map<UInt128, long double> outcomes{{0, 1.0L}};
  UInt128 largest = 0;
  for (const PureGroup& group : groups) {
    const std::uint64_t rounds = std::min(group.rounds, kOutcomesMax / outcomes.size() - 1);
    if (rounds == 0) break;
    largest += group.epsilon * rounds;
    const long double each = std::ldexp(static_cast<long double>(group.epsilon), -40);
    const long double log_truth = -std::log1p(std::exp(-each));  // of an answer that is not flipped
    const auto count = static_cast<long double>(rounds);
    std::map<UInt128, long double> next;
    for (std::uint64_t flipped = 0; flipped <= rounds; ++flipped) {
      const auto j = static_cast<long double>(flipped);
      const long double ways = std::lgamma(count + 1) - std::lgamma(j + 1) - std::lgamma(count - j + 1);
      const long double probability = std::exp(ways + count * log_truth - j * each);
      for (const auto& [below, before] : outcomes) next[below + 2 * group.epsilon * flipped] += before * probability;
    }
    outcomes = std::move(next);
  }
  long double delta = 0;
  for (const auto& [below, probability] : outcomes) {
    if (largest < epsilon || below >= largest - epsilon) break;
    delta -= probability * std::expm1(-std::ldexp(static_cast<long double>(largest - epsilon - below), -40));
  }
  return delta * (1 - kRounding);
}

}  // namespace undertone::verifier
