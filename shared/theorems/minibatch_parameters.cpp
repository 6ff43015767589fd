#include "shared/theorems/minibatch_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "shared/algorithms/number.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"

namespace undertone::theorems {
namespace {

constexpr const char* kXi = "xi_i = ln(2.5R/delta_i) ln(2/delta_i)/(n_i eps_i)^2 of every silo";

Status minibatch_conditions(const TheoremConditions& conditions) {
  if (Status fits = conditions.bounded_domain(); !fits) return fits;
  return conditions.epsilon_at_most("2 ln(2/delta)", 2.0 * conditions.log_two());
}

/// What both minibatch theorems say of the batch. @param rounds of the run
void explain_batch(const TheoremConditions& conditions, double batch, TheoremChoice& choice) {
  choice.draw_fraction = conditions.fraction_of(batch);
  choice.reasons.push_back({"batch", batch,
                            conditions.noise() == PlannedNoise::Printed ? "ceil(eps n/(4 sqrt(2 R ln(2/delta)))), of n"
                                                                        : "n: as many draws as records"});
}

/// max{M'/Xi, M/xi_max} of silos that differ, at R rounds: xi_i = ln(2.5R/delta_i) ln(2/delta_i)/(n_i eps_i)^2, Xi the
/// mean of the M largest, M' = M since as many answer as are planned with. Source: Theorem 140.
double unequal_precision(const TheoremFacts& facts, double rounds) {
  std::vector<double> xi;
  for (const SiloTarget& silo : facts.members)
    xi.push_back(std::log(2.5 * rounds / silo.delta) * std::log(2.0 / silo.delta) /
                 std::pow(silo.records * silo.epsilon, 2.0));
  std::sort(xi.begin(), xi.end(), std::greater<>());
  const auto largest =
      static_cast<std::size_t>(std::clamp(std::ceil(facts.answering), 1.0, static_cast<double>(xi.size())));
  const double mean = std::accumulate(xi.begin(), xi.begin() + static_cast<std::ptrdiff_t>(largest), 0.0) /
                      static_cast<double>(largest);
  return facts.answering / mean;  // the mean is at most the largest
}

/// The least whole number of rounds R that is at least `asked(R)`, which falls as R grows.
template <class Asked>
Result<std::uint64_t> least_rounds(const TheoremConditions& conditions, const Asked& asked) {
  UNDERTONE_TRY(const std::uint64_t most, conditions.whole_rounds(asked(1.0)));
  std::uint64_t rounds = most;
  for (std::uint64_t low = 0; rounds - low > 1;) {
    const std::uint64_t middle = low + (rounds - low) / 2;
    (algorithms::number(middle) >= asked(algorithms::number(middle)) ? rounds : low) = middle;
  }
  return rounds;
}

/// Silos that differ: Theorem 140, with q = min{n M, max{M'/Xi, M/xi_max}/d} and n the least,
///   R = the least with R >= (beta D/L) sqrt q + q, which falls as R grows,
///   eta = min{1/beta, (D/(L sqrt R)) min(1, sqrt(nM/R), sqrt(max{M'/Xi, M/xi_max}/(dR)))}.
Result<TheoremChoice> convex_of_unequal(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  const double d = conditions.dimension();
  const double beta = facts.smoothness + conditions.problem().regulariser.l2();
  const double sampled = facts.records * facts.answering;
  const double scale = facts.diameter / facts.lipschitz;
  const Result<std::uint64_t> rounds = least_rounds(conditions, [&](double at) {
    const double q = std::min(sampled, unequal_precision(facts, at) / d);
    return beta * scale * std::sqrt(q) + q;
  });
  if (!rounds) return rounds.error();
  const double r = algorithms::number(*rounds);
  const double precision = unequal_precision(facts, r);
  const double step = std::min(
      1.0 / beta, scale / std::sqrt(r) * std::min({1.0, std::sqrt(sampled / r), std::sqrt(precision / (d * r))}));
  TheoremChoice choice =
      conditions.begin(kExcessRisk, algorithms::MinibatchSgdSettings{conditions.problem(), *rounds, step, {}});
  choice.source = "Theorem 140";
  choice.reasons.push_back({"rounds", r, "(beta D/L) sqrt q + q, q = min{nM, max{M'/Xi, M/xi_max}/d}, n the least"});
  choice.reasons.push_back(
      {"step_size", step, "min{1/beta, (D/(L sqrt R)) min(1, sqrt(nM/R), sqrt(max{M'/Xi, M/xi_max}/(dR)))}"});
  choice.reasons.push_back({"M'/Xi", precision, kXi});
  explain_batch(conditions, conditions.batch(*rounds), choice);
  choice.rate = facts.lipschitz * facts.diameter * (1.0 / std::sqrt(sampled) + std::sqrt(d / precision));
  return conditions.finish(std::move(choice));
}

/// The same, strongly convex: with p = max{M'/Xi, M/xi_max}/d,
///   R = the least with R >= max{(2 beta/mu) ln(beta mu D^2 p/L^2), min{n M, p}}, which falls as R grows,
///   eta = min{1/(2 beta), ln(max{2, mu^2 D^2 R^2/(d s^2 + L^2)})/(mu R)},  s^2 <= min{Sigma^2/M', sigma_max^2/M}.
/// The source prints R = 2 kappa ln(beta mu D^2 p/L^2) + n M: of a smaller one the rate is the same, as of Theorem 34.
Result<TheoremChoice> strongly_convex_of_unequal(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  const double d = conditions.dimension();
  const double beta = facts.smoothness + conditions.problem().regulariser.l2();
  const double mu = facts.strong_convexity;
  const double sampled = facts.records * facts.answering;
  const double squared_lipschitz = facts.lipschitz * facts.lipschitz;
  const double squared_diameter = facts.diameter * facts.diameter;
  const Result<std::uint64_t> rounds = least_rounds(conditions, [&](double at) {
    const double p = unequal_precision(facts, at) / d;
    return std::max(2.0 * beta / mu * log_at_least_one(beta * mu * squared_diameter * p / squared_lipschitz),
                    std::min(sampled, p));
  });
  if (!rounds) return rounds.error();
  const double r = algorithms::number(*rounds);
  const double batch = conditions.batch(*rounds);
  UNDERTONE_TRY(const double noise, conditions.noise_variance(*rounds, facts.records, batch));
  const double signal = mu * mu * squared_diameter * r * r / (d * noise + squared_lipschitz);
  const double step = std::min(1.0 / (2.0 * beta), std::log(std::max(2.0, signal)) / (mu * r));
  const double precision = unequal_precision(facts, r);
  TheoremChoice choice = conditions.begin(
      kExcessRisk, algorithms::MinibatchSgdSettings{
                       conditions.problem(), *rounds, step, {algorithms::Averaging::Kind::Geometric, 1.0 - mu * step}});
  choice.source = "Theorem 140";
  choice.reasons.push_back(
      {"rounds", r, "max{(2 beta/mu) ln(beta mu D^2 p/L^2), min{nM, p}}, p = max{M'/Xi, M/xi_max}/d, n the least"});
  choice.reasons.push_back(
      {"step_size", step, "min{1/(2 beta), ln(max{2, mu^2 D^2 R^2/(d Sigma^2/M' + L^2)})/(mu R)}"});
  choice.reasons.push_back({"averaging ratio", 1.0 - mu * step, "gamma_{r-1}/gamma_r = 1 - mu eta"});
  choice.reasons.push_back({"M'/Xi", precision, kXi});
  explain_batch(conditions, batch, choice);
  choice.rate = squared_lipschitz / mu * (1.0 / sampled + d / precision);
  return conditions.finish(std::move(choice));
}

}  // namespace

Result<TheoremChoice> choose_minibatch_convex(const TheoremConditions& conditions) {
  if (Status fits = minibatch_conditions(conditions); !fits) return fits.error();
  if (!conditions.facts().members.empty()) return convex_of_unequal(conditions);
  const TheoremFacts& facts = conditions.facts();
  const double d = conditions.dimension();
  const double beta = facts.smoothness + conditions.problem().regulariser.l2();
  const double lipschitz = facts.lipschitz;
  const double diameter = facts.diameter;
  const double answering = facts.answering;
  const double budget = facts.epsilon * facts.records;  // eps n
  const double sampled = facts.records * answering;     // nM
  const double smooth =
      beta * diameter * std::sqrt(answering) / lipschitz * std::min(std::sqrt(facts.records), budget / std::sqrt(d));
  UNDERTONE_TRY(const std::uint64_t rounds,
                conditions.whole_rounds(smooth + std::min(sampled, budget * budget * answering / d)));
  const double r = algorithms::number(rounds);
  const double step =
      std::min(1.0 / beta, diameter / (lipschitz * std::sqrt(r)) *
                               std::min({1.0, budget * std::sqrt(answering / (r * d)), std::sqrt(sampled / r)}));
  const double batch = conditions.batch(rounds);
  UNDERTONE_TRY(const double noise, conditions.noise_variance(rounds, facts.records, batch));

  const algorithms::MinibatchSgdSettings settings{conditions.problem(), rounds, step, {}};
  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.reasons.push_back({"rounds", r, "(beta D sqrt(M)/L) min{sqrt n, eps n/sqrt d} + min{nM, eps^2 n^2 M/d}"});
  choice.reasons.push_back(
      {"step_size", step, "min{1/beta, (D/(L sqrt R)) min(1, eps n sqrt(M)/sqrt(R d), sqrt(nM/R))}"});
  explain_batch(conditions, batch, choice);
  UNDERTONE_TRY(const releases::ClipNorm clip, releases::ClipNorm::create(lipschitz));
  choice.bound = algorithms::MinibatchSgd::predicted_excess_risk(settings, clip, noise);
  choice.rate = lipschitz * diameter * (1.0 / std::sqrt(sampled) + 1.0 / std::sqrt(conditions.private_records()));
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_minibatch_strongly_convex(const TheoremConditions& conditions) {
  if (Status fits = minibatch_conditions(conditions); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const double beta = facts.smoothness + conditions.problem().regulariser.l2();
  const double mu = facts.strong_convexity;
  if (Status fits = conditions.strongly_convex(beta); !fits) return fits.error();
  if (!facts.members.empty()) return strongly_convex_of_unequal(conditions);
  const double d = conditions.dimension();
  const double squared_lipschitz = facts.lipschitz * facts.lipschitz;
  const double squared_diameter = facts.diameter * facts.diameter;
  const double sampled = facts.records * facts.answering;
  const double private_term = std::pow(facts.epsilon * facts.records, 2.0) * facts.answering / d;
  const double log = log_at_least_one(beta * squared_diameter * mu * private_term / squared_lipschitz);
  UNDERTONE_TRY(const std::uint64_t rounds,
                conditions.whole_rounds(std::max(2.0 * beta / mu * log, std::min(sampled, private_term))));
  const double r = algorithms::number(rounds);
  const double batch = conditions.batch(rounds);
  UNDERTONE_TRY(const double noise, conditions.noise_variance(rounds, facts.records, batch));
  const double signal = mu * mu * squared_diameter * r * r / (d * noise + squared_lipschitz);
  const double step = std::min(1.0 / (2.0 * beta), std::log(std::max(2.0, signal)) / (mu * r));

  const algorithms::MinibatchSgdSettings settings{
      conditions.problem(), rounds, step, {algorithms::Averaging::Kind::Geometric, 1.0 - mu * step}};
  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.reasons.push_back(
      {"rounds", r, "max{(2 beta/mu) ln(beta D^2 mu M eps^2 n^2/(d L^2)), min(Mn, M eps^2 n^2/d)}"});
  choice.reasons.push_back({"step_size", step, "min{1/(2 beta), ln(max{2, mu^2 D^2 R^2/(d sigma^2/M + L^2)})/(mu R)}"});
  choice.reasons.push_back({"averaging ratio", 1.0 - mu * step, "gamma_{r-1}/gamma_r = 1 - mu eta"});
  explain_batch(conditions, batch, choice);
  choice.rate = squared_lipschitz / mu * (1.0 / sampled + 1.0 / conditions.private_records());
  UNDERTONE_TRY(const releases::ClipNorm clip, releases::ClipNorm::create(facts.lipschitz));
  choice.bound = algorithms::MinibatchSgd::predicted_excess_risk(settings, clip, noise);
  return conditions.finish(std::move(choice));
}

}  // namespace undertone::theorems
