#include "shared/algorithms/mirror/one_pass_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "shared/algorithms/number.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kPopulationRisk = "excess risk over the population";

/// E of the largest of d coordinates' sizes, of sub-Gaussian ones with this proxy.
double largest_coordinate(Eigen::Index dimension, double proxy) {
  return std::sqrt(2.0 * std::log(2.0 * number(static_cast<std::uint64_t>(dimension))) * proxy);
}

}  // namespace

std::optional<RiskBound> one_pass_risk(const TreeFrankWolfeSettings& settings, const OnePassFacts& facts) {
  if (settings.set.norm_exponent() != 1.0) return std::nullopt;
  const double across = settings.set.diameter();
  const double reach = 2.0 * settings.smoothness * across / facts.lipschitz;
  double noise = 1.0;
  double sampling = 1.0;
  double share = 1.0;  // 2^-j
  for (std::uint64_t j = 1; j <= settings.depth; ++j) {
    share *= 0.5;
    const double ratio = std::min(2.0 / share, reach);
    noise += ratio * ratio;
    sampling += share * ratio * ratio;
  }
  const double proxy = facts.noise_variance * noise + facts.lipschitz * facts.lipschitz / facts.records * sampling;
  return RiskBound{
      settings.smoothness * across * across * share + across * largest_coordinate(settings.problem.dimension, proxy),
      kPopulationRisk, "Frank-Wolfe on trees of noised vectors, spec non-euclidean A3 and 3.3"};
}

std::optional<RiskBound> one_pass_risk(const PolyFrankWolfeSettings& settings, const OnePassFacts& facts) {
  if (settings.set.norm_exponent() != 1.0) return std::nullopt;
  const double across = settings.set.diameter();
  const double eta = settings.step_size;
  const double squared = facts.lipschitz * facts.lipschitz;
  const double parts = 2.0 * number(settings.rounds);
  const double part = parts * parts * facts.noise_variance + parts * squared / facts.records;
  const double ratio = std::min(2.0, settings.smoothness * eta * across / facts.lipschitz);
  const double kept = 1.0 - eta;
  double proxy = facts.noise_variance + squared / facts.records;
  // By the recursion itself: h_(t+1) <= (1 - eta) h_t + eta D E_t + eta^2 beta D^2/2.
  double excess = facts.lipschitz * across;
  for (std::uint64_t t = 0; t <= settings.rounds; ++t) {
    if (t > 0) proxy = kept * kept * (proxy + ratio * ratio * part) + eta * eta * part;
    excess = kept * excess + eta * across * largest_coordinate(settings.problem.dimension, proxy) +
             0.5 * eta * eta * settings.smoothness * across * across;
  }
  return RiskBound{excess, kPopulationRisk, "recursive Frank-Wolfe of noised vectors, spec non-euclidean B1 and 3.3"};
}

std::optional<RiskBound> one_pass_risk(const Method& method, const OnePassFacts& facts) {
  if (const auto* tree = method.as<TreeFrankWolfeSettings>()) return one_pass_risk(*tree, facts);
  if (const auto* poly = method.as<PolyFrankWolfeSettings>()) return one_pass_risk(*poly, facts);
  return std::nullopt;
}

}  // namespace undertone::algorithms
