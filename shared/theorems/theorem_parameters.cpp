#include "shared/theorems/theorem_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/algorithms/number.hpp"
#include "shared/theorems/accelerated_parameters.hpp"
#include "shared/theorems/proximal_parameters.hpp"

namespace undertone::theorems {
namespace {

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

Result<TheoremChoice> minibatch_convex(const TheoremConditions& conditions) {
  if (Status fits = minibatch_conditions(conditions); !fits) return fits.error();
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
  const Result<std::uint64_t> rounds =
      conditions.whole_rounds(smooth + std::min(sampled, budget * budget * answering / d));
  if (!rounds) return rounds.error();
  const double r = algorithms::number(*rounds);
  const double step =
      std::min(1.0 / beta, diameter / (lipschitz * std::sqrt(r)) *
                               std::min({1.0, budget * std::sqrt(answering / (r * d)), std::sqrt(sampled / r)}));
  const double batch = conditions.batch(*rounds);
  const Result<double> noise = conditions.noise_variance(*rounds, facts.records, batch);
  if (!noise) return noise.error();

  const algorithms::MinibatchSgdSettings settings{conditions.problem(), *rounds, step, {}};
  TheoremChoice choice = conditions.begin(kExcessRisk);
  choice.reasons.push_back({"rounds", r, "(beta D sqrt(M)/L) min{sqrt n, eps n/sqrt d} + min{nM, eps^2 n^2 M/d}"});
  choice.reasons.push_back(
      {"step_size", step, "min{1/beta, (D/(L sqrt R)) min(1, eps n sqrt(M)/sqrt(R d), sqrt(nM/R))}"});
  explain_batch(conditions, batch, choice);
  const Result<releases::ClipNorm> clip = releases::ClipNorm::create(lipschitz);
  if (!clip) return clip.error();
  choice.bound = algorithms::MinibatchSgd::predicted_excess_risk(settings, *clip, *noise);
  choice.rate = lipschitz * diameter * (1.0 / std::sqrt(sampled) + 1.0 / std::sqrt(conditions.private_records()));
  choice.settings = settings;
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> minibatch_strongly_convex(const TheoremConditions& conditions) {
  if (Status fits = minibatch_conditions(conditions); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const double beta = facts.smoothness + conditions.problem().regulariser.l2();
  const double mu = facts.strong_convexity;
  if (Status fits = conditions.strongly_convex(beta); !fits) return fits.error();
  const double d = conditions.dimension();
  const double squared_lipschitz = facts.lipschitz * facts.lipschitz;
  const double squared_diameter = facts.diameter * facts.diameter;
  const double sampled = facts.records * facts.answering;
  const double private_term = std::pow(facts.epsilon * facts.records, 2.0) * facts.answering / d;
  const double log = log_at_least_one(beta * squared_diameter * mu * private_term / squared_lipschitz);
  const Result<std::uint64_t> rounds =
      conditions.whole_rounds(std::max(2.0 * beta / mu * log, std::min(sampled, private_term)));
  if (!rounds) return rounds.error();
  const double r = algorithms::number(*rounds);
  const double batch = conditions.batch(*rounds);
  const Result<double> noise = conditions.noise_variance(*rounds, facts.records, batch);
  if (!noise) return noise.error();
  const double signal = mu * mu * squared_diameter * r * r / (d * *noise + squared_lipschitz);
  const double step = std::min(1.0 / (2.0 * beta), std::log(std::max(2.0, signal)) / (mu * r));

  TheoremChoice choice = conditions.begin(kExcessRisk);
  choice.reasons.push_back(
      {"rounds", r, "max{(2 beta/mu) ln(beta D^2 mu M eps^2 n^2/(d L^2)), min(Mn, M eps^2 n^2/d)}"});
  choice.reasons.push_back({"step_size", step, "min{1/(2 beta), ln(max{2, mu^2 D^2 R^2/(d sigma^2/M + L^2)})/(mu R)}"});
  choice.reasons.push_back({"averaging ratio", 1.0 - mu * step, "gamma_{r-1}/gamma_r = 1 - mu eta"});
  explain_batch(conditions, batch, choice);
  choice.rate = squared_lipschitz / mu * (1.0 / sampled + 1.0 / conditions.private_records());
  const algorithms::MinibatchSgdSettings settings{
      conditions.problem(), *rounds, step, {algorithms::Averaging::Kind::Geometric, 1.0 - mu * step}};
  const Result<releases::ClipNorm> clip = releases::ClipNorm::create(facts.lipschitz);
  if (!clip) return clip.error();
  choice.bound = algorithms::MinibatchSgd::predicted_excess_risk(settings, *clip, *noise);
  choice.settings = settings;
  return conditions.finish(std::move(choice));
}

std::string source_of(TheoremName name) {
  switch (name) {
    case TheoremName::MinibatchConvex:
    case TheoremName::MinibatchStronglyConvex:
      return "Theorem 34";
    case TheoremName::OnePassConvex:
    case TheoremName::OnePassConvexDirect:
    case TheoremName::OnePassStronglyConvex:
      return "Theorem 124";
    case TheoremName::AcceleratedConvex:
    case TheoremName::AcceleratedConvexDirect:
    case TheoremName::AcceleratedStronglyConvex:
      return "Theorem 129";
    case TheoremName::ProximalSgd:
      return "Theorem 144";
    case TheoremName::ProxSvrg:
      return "Theorem 148";
    case TheoremName::Spider:
      return "Theorem 149";
    case TheoremName::SpiderAlternate:
      return "Algorithm 25";
    case TheoremName::LocalizedConvex:
    case TheoremName::LocalizedStronglyConvex:
      return "federated-core 3.8";
  }
  UNDERTONE_CHECK(false);
  return {};
}

}  // namespace

std::string_view to_string(TheoremName name) noexcept {
  switch (name) {
    case TheoremName::MinibatchConvex:
      return "minibatch_convex";
    case TheoremName::MinibatchStronglyConvex:
      return "minibatch_strongly_convex";
    case TheoremName::OnePassConvex:
      return "one_pass_convex";
    case TheoremName::OnePassConvexDirect:
      return "one_pass_convex_direct";
    case TheoremName::OnePassStronglyConvex:
      return "one_pass_strongly_convex";
    case TheoremName::AcceleratedConvex:
      return "accelerated_convex";
    case TheoremName::AcceleratedConvexDirect:
      return "accelerated_convex_direct";
    case TheoremName::AcceleratedStronglyConvex:
      return "accelerated_strongly_convex";
    case TheoremName::ProximalSgd:
      return "proximal_sgd";
    case TheoremName::ProxSvrg:
      return "prox_svrg";
    case TheoremName::Spider:
      return "spider";
    case TheoremName::SpiderAlternate:
      return "spider_alternate";
    case TheoremName::LocalizedConvex:
      return "localized_convex";
    case TheoremName::LocalizedStronglyConvex:
      return "localized_strongly_convex";
  }
  return "unknown";
}

Result<TheoremChoice> choose_by_theorem(TheoremName name, const TheoremFacts& facts, const algorithms::Problem& problem,
                                        PlannedNoise noise) {
  const Result<TheoremConditions> conditions = TheoremConditions::create(source_of(name), facts, problem, noise);
  if (!conditions) return conditions.error();
  switch (name) {
    case TheoremName::MinibatchConvex:
      return minibatch_convex(*conditions);
    case TheoremName::MinibatchStronglyConvex:
      return minibatch_strongly_convex(*conditions);
    case TheoremName::OnePassConvex:
      return choose_one_pass_convex(*conditions, ConvexForm::Regularised);
    case TheoremName::OnePassConvexDirect:
      return choose_one_pass_convex(*conditions, ConvexForm::Direct);
    case TheoremName::OnePassStronglyConvex:
      return choose_one_pass_strongly_convex(*conditions);
    case TheoremName::AcceleratedConvex:
      return choose_accelerated_convex(*conditions, ConvexForm::Regularised);
    case TheoremName::AcceleratedConvexDirect:
      return choose_accelerated_convex(*conditions, ConvexForm::Direct);
    case TheoremName::AcceleratedStronglyConvex:
      return choose_accelerated_strongly_convex(*conditions);
    case TheoremName::ProximalSgd:
      return choose_proximal_sgd(*conditions);
    case TheoremName::ProxSvrg:
      return choose_prox_svrg(*conditions);
    case TheoremName::Spider:
      return choose_spider(*conditions);
    case TheoremName::SpiderAlternate:
      return choose_spider_alternate(*conditions);
    case TheoremName::LocalizedConvex:
      return choose_localized_convex(*conditions);
    case TheoremName::LocalizedStronglyConvex:
      return choose_localized_strongly_convex(*conditions);
  }
  UNDERTONE_CHECK(false);
  return conditions->refuse("no such theorem");
}

Result<double> envelope_smoothness(TheoremName name, const TheoremFacts& facts, const algorithms::Problem& problem) {
  TheoremFacts without_smoothness = facts;
  without_smoothness.smoothness = 1.0;
  const Result<TheoremConditions> conditions =
      TheoremConditions::create(source_of(name), without_smoothness, problem, PlannedNoise::Accountant);
  if (!conditions) return conditions.error();
  const double d = conditions->dimension();
  const double n = facts.records;
  const double budget = facts.epsilon * n;
  const double noise = std::sqrt(d * conditions->log_one()) / budget;  // sqrt(d ln(1/delta))/(eps n)
  const bool strongly = name == TheoremName::MinibatchStronglyConvex || name == TheoremName::AcceleratedStronglyConvex;
  if (Status fits = strongly ? conditions->positive("the strong convexity mu", facts.strong_convexity)
                             : conditions->bounded_domain();
      !fits)
    return fits.error();
  const double scale = facts.lipschitz * std::sqrt(facts.answering) / facts.diameter;  // L sqrt(M)/D
  switch (name) {
    case TheoremName::MinibatchConvex:
      return scale / (1.0 / std::sqrt(n) + noise);
    case TheoremName::MinibatchStronglyConvex:
      return facts.strong_convexity * facts.answering / (1.0 / n + noise * noise);
    case TheoremName::AcceleratedConvex:
    case TheoremName::AcceleratedConvexDirect:
      return scale * budget / std::sqrt(d);
    case TheoremName::AcceleratedStronglyConvex:
      return facts.strong_convexity * facts.answering * budget * budget / d;
    case TheoremName::LocalizedConvex:
      return scale * std::min(std::sqrt(n), 1.0 / noise);
    case TheoremName::OnePassConvex:
    case TheoremName::OnePassConvexDirect:
    case TheoremName::OnePassStronglyConvex:
    case TheoremName::ProximalSgd:
    case TheoremName::ProxSvrg:
    case TheoremName::Spider:
    case TheoremName::SpiderAlternate:
    case TheoremName::LocalizedStronglyConvex:
      break;
  }
  return conditions->refuse(fmt::format("{} has no form for losses that are not smooth", to_string(name)));
}

double envelope_strong_convexity(double strong_convexity, double smoothness) {
  UNDERTONE_CHECK(strong_convexity > 0.0 && smoothness > 0.0);
  return strong_convexity * smoothness / (strong_convexity + smoothness);
}

}  // namespace undertone::theorems
