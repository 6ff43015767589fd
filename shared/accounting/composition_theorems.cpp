#include "shared/accounting/composition_theorems.hpp"

#include <cmath>

#include "shared/base/bisection.hpp"

namespace undertone::accounting {
namespace {

double spread(releases::Epsilon each, std::uint64_t times, releases::Delta delta_prime) {
  return each.value() * std::sqrt(2.0 * static_cast<double>(times) * -std::log(delta_prime.value()));
}

}  // namespace

double advanced_composition(releases::Epsilon each, std::uint64_t times, releases::Delta delta_prime) {
  return spread(each, times, delta_prime) + static_cast<double>(times) * each.value() * std::expm1(each.value());
}

double advanced_composition_tanh(releases::Epsilon each, std::uint64_t times, releases::Delta delta_prime) {
  return spread(each, times, delta_prime) + static_cast<double>(times) * each.value() * std::tanh(0.5 * each.value());
}

Result<double> optimal_composition(releases::Epsilon each, std::uint64_t times, releases::Delta delta) {
  constexpr std::uint64_t kTimesMax = 1'000'000;
  if (times == 0 || times > kTimesMax)
    return Error{ErrorCode::InvalidArgument, fmt::format("times must be in 1 .. {}, got {}", kTimesMax, times)};
  const auto k = static_cast<double>(times);
  const double e0 = each.value();
  const double log_total = k * (e0 + std::log1p(std::exp(-e0)));  // ln (1 + e^e0)^k
  const auto delta_at = [&](double epsilon) {
    double sum = 0.0;
    for (std::uint64_t l = 0; l <= times; ++l) {
      const auto lies = static_cast<double>(l);
      const double loss = e0 * (k - 2.0 * lies);
      if (loss <= epsilon) break;
      const double log_weight =
          std::lgamma(k + 1.0) - std::lgamma(lies + 1.0) - std::lgamma(k - lies + 1.0) + e0 * (k - lies) - log_total;
      sum += std::exp(log_weight) * -std::expm1(epsilon - loss);
    }
    return sum;
  };
  if (delta_at(0.0) <= delta.value()) return 0.0;
  const auto enough = [&](double epsilon) { return !(delta_at(epsilon) > delta.value()); };
  return bisect_reals({0.0, k * e0}, enough, 100, 1e-13).high;
}

Result<double> classical_noise_multiplier(releases::Epsilon epsilon, releases::Delta delta) {
  if (epsilon.value() >= 1.0) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the classical Gaussian mechanism is private for epsilon < 1 alone, got {}", epsilon.value())};
  }
  return std::sqrt(2.0 * std::log(1.25 / delta.value())) / epsilon.value();
}

}  // namespace undertone::accounting
