#include "shared/theorems/accelerated_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/algorithms/number.hpp"
#include "shared/theorems/predicted_risk.hpp"

namespace undertone::theorems {
namespace {

/// Of what is run: the silos' losses and the squared l2 regulariser.
double whole_smoothness(const TheoremConditions& conditions) {
  return conditions.facts().smoothness + conditions.problem().regulariser.l2();
}

std::uint64_t rounds_of(const StagePlan& plan) {
  std::uint64_t total = 0;
  for (const algorithms::AcceleratedStage& stage : plan.stages) total += stage.rounds;
  return total;
}

void explain(TheoremChoice& choice, const StagePlan& plan) {
  choice.reasons.push_back({"stages", algorithms::number(plan.stages.size()),
                            plan.halvings > 0 ? "each halves the gap; as many as fit into the rounds"
                                              : "no stage that halves the gap fits into the rounds: one of them all"});
}

/// The one stage of a convex objective, with its bound. @param variance V^2 > 0
TheoremChoice begin_convex(const TheoremConditions& conditions, ConvexForm form, algorithms::RecordUse use,
                           std::uint64_t rounds, double variance) {
  const double diameter = conditions.facts().diameter;
  const double beta = whole_smoothness(conditions);
  const double stddev = std::sqrt(variance);
  const double reach = conditions.reach();
  algorithms::AcceleratedPhase phase;
  if (form == ConvexForm::Regularised) {
    phase.proximity = phase.strong_convexity = stddev / (diameter * std::sqrt(algorithms::number(rounds)));
    phase.stages = {{rounds, 2.0 * (beta + phase.proximity)}};
  } else {
    phase.stages = {{rounds, std::max(2.0 * beta, stddev * std::pow(algorithms::number(rounds), 1.5) / diameter)}};
  }
  TheoremChoice choice =
      conditions.begin(kExcessRisk, algorithms::AcceleratedSgdSettings{conditions.problem(), {phase}, use});
  // The proximity term is lambda/2 ||w* - w_0||^2 at w* and not negative anywhere.
  choice.bound = accelerated_risk(phase.stages.front(), reach, variance, phase.strong_convexity) +
                 0.5 * phase.proximity * reach * reach;
  return choice;
}

/// @param choice of `begin_convex`
void explain_convex(TheoremChoice& choice, ConvexForm form) {
  const algorithms::AcceleratedPhase& phase = choice.method.as<algorithms::AcceleratedSgdSettings>()->phases.front();
  const double upsilon = phase.stages.front().upsilon;
  if (form == ConvexForm::Direct) {
    choice.reasons.push_back({"upsilon", upsilon, "max{2 beta, V R^(3/2)/D}"});
    return;
  }
  choice.reasons.push_back({"proximity", phase.proximity, "V/(D sqrt R)"});
  choice.reasons.push_back({"upsilon", upsilon, "2 (beta + proximity)"});
}

/// phi^2/(MK) + h upsilon^2 + d s^2 of a one-pass round with K records a silo, s^2 the noise of a mean over them.
Result<double> one_pass_variance(const TheoremConditions& conditions, double batch) {
  const TheoremFacts& facts = conditions.facts();
  UNDERTONE_TRY(const double noise, conditions.one_pass_noise_variance(batch));
  return facts.gradient_variance / (facts.answering * batch) + conditions.silo_variance() +
         conditions.dimension() * noise;
}

/// With the silos' own noise epsilon <= 8 ln(1/delta); shuffled, what a binomial sum needs.
Status one_pass_epsilon(const TheoremConditions& conditions) {
  return conditions.shuffled() ? conditions.binomial_sums()
                               : conditions.epsilon_at_most("8 ln(1/delta)", 8.0 * conditions.log_one());
}

/// The batch of a convex objective, before it is rounded: of Algorithm 1, or of its shuffled form, Algorithm 18, whose
/// noise is that of all M silos' records together.
struct PlannedBatch {
  double records;
  std::string formula;
};
PlannedBatch one_pass_batch(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  const double d = conditions.dimension();
  const double common = std::pow(facts.lipschitz / (whole_smoothness(conditions) * facts.diameter), 0.4) *
                        std::pow(facts.records, 0.6) / std::pow(facts.epsilon, 0.4);
  if (conditions.shuffled()) {
    const double log = log_at_least_one(d / facts.delta);
    return {common * std::pow(d * log * log, 0.2) / std::pow(facts.answering, 0.4),
            "(L/(beta D))^(2/5) n^(3/5) (d ln^2(d/delta))^(1/5) / (eps^(2/5) M^(2/5)), within 1 to n"};
  }
  return {common * std::pow(d * conditions.log_one(), 0.2) / std::pow(facts.answering, 0.2),
          "(L/(beta D))^(2/5) n^(3/5) (d ln(1/delta))^(1/5) / (eps^(2/5) M^(1/5)), within 1 to n"};
}

void explain_parts(TheoremChoice& choice, double planned, double records, std::uint64_t rounds, std::string formula) {
  choice.reasons.push_back({"planned batch", planned, std::move(formula)});
  choice.reasons.push_back(
      {"rounds", algorithms::number(rounds), "floor(n/K), whole stages of it where there are stages"});
  choice.reasons.push_back(
      {"batch", std::floor(records / algorithms::number(rounds)), "floor(n/R): every round a part of its own"});
}

/// V^2 of a round on shared records: the batch's draw, the silos' and the noise. Source: Theorem 129, misprint M3.
Result<double> shared_variance(const TheoremConditions& conditions, std::uint64_t rounds, double records,
                               double batch) {
  const TheoremFacts& facts = conditions.facts();
  UNDERTONE_TRY(const double noise, conditions.noise_variance(rounds, records, batch));
  const double draw = batch < records ? 4.0 * facts.lipschitz * facts.lipschitz / (facts.answering * batch) : 0.0;
  return draw + conditions.silo_variance() + conditions.dimension() * noise;
}

/// eps^2 n^2 / (d ln(1/delta)): the least R K at which the draw of records costs no more than privacy does.
double drawn_in_all(const TheoremConditions& conditions) {
  return conditions.private_records() / conditions.facts().answering;
}

/// The least K with which the theorem's rounds are those of the smooth problem: not below its least batch, nor so small
/// that the draw asks for more rounds; every record where that is more than there are.
double shared_batch(const TheoremConditions& conditions, std::uint64_t rounds) {
  const double undrawn = std::ceil(drawn_in_all(conditions) / algorithms::number(rounds));
  return std::min(std::max(conditions.batch(rounds), undrawn), conditions.facts().records);
}

/// R = ceil(max{smooth, 1[MK < Nn] eps^2 n^2 / (K d ln(1/delta))}) at that K: the second is what a draw of silos alone
/// asks for where K = n.
Result<std::uint64_t> shared_rounds(const TheoremConditions& conditions, double smooth) {
  const Result<std::uint64_t> rounds = conditions.whole_rounds(smooth);
  if (!rounds) return rounds.error();
  const double batch = shared_batch(conditions, *rounds);
  const double sampled = drawn_in_all(conditions) / batch;
  return conditions.subsampled(batch) && sampled > algorithms::number(*rounds) ? conditions.whole_rounds(sampled)
                                                                               : rounds;
}

void explain_shared_batch(const TheoremConditions& conditions, double batch, TheoremChoice& choice) {
  choice.draw_fraction = conditions.fraction_of(batch);
  choice.reasons.push_back({"batch", batch,
                            conditions.noise() == PlannedNoise::Printed
                                ? "ceil(max{eps n/(4 sqrt(2 R ln(2/delta))), eps^2 n^2/(R d ln(1/delta))}), at most n"
                                : "n: as many draws as records"});
}

/// One phase of the localized method, federated-core 3.8.
struct LocalPhase {
  double proximity;         // lambda_i
  double strong_convexity;  // mu_i
  std::optional<double> radius;
  double gap;
  double distance;  // of w_{i-1} and the phase's minimiser
};

/// @param phase_of the i-th phase, i >= 1, whose moduli have grown by a factor
template <class PhaseOf>
Result<TheoremChoice> choose_localized(const TheoremConditions& conditions, double rate, double lipschitz,
                                       const PhaseOf& phase_of) {
  const TheoremFacts& facts = conditions.facts();
  if (facts.records < 2.0) return conditions.refuse(fmt::format("n = {}, expected at least 2 records", facts.records));
  const double power = facts.answering <= std::pow(facts.records, 3.0)
                           ? 3.0
                           : 1.5 + 0.5 * std::log(facts.answering) / std::log(facts.records);
  std::vector<TheoremChoice::Reason> reasons;
  algorithms::AcceleratedSgdSettings settings{conditions.problem(), {}, algorithms::RecordUse::Phased};
  double total = 0.0;
  double records = std::floor(facts.records / 2.0);
  for (int i = 1; records >= 1.0; ++i, records = std::floor(records / 2.0)) {
    const LocalPhase local = phase_of(i, std::exp2((i - 1) * power));
    const double smoothness = whole_smoothness(conditions) + local.proximity;
    const double mu = local.strong_convexity;
    const double part = records / facts.records;
    const double log = log_at_least_one(local.gap * mu * facts.answering * std::pow(facts.epsilon * records, 2.0) /
                                        (lipschitz * lipschitz * conditions.dimension()));
    const double sampled =
        conditions.subsampled(facts.records) ? drawn_in_all(conditions) * part * part / records : 0.0;
    UNDERTONE_TRY(const std::uint64_t rounds,
                  conditions.whole_rounds(std::max(std::sqrt(smoothness / mu) * log, sampled)));
    UNDERTONE_TRY(const double variance, shared_variance(conditions, rounds, records, records));
    Result<StagePlan> staged = plan_stages(smoothness, mu, local.gap, local.distance, variance, rounds);
    if (!staged) return conditions.refuse(staged.error().message);
    StagePlan plan = *std::move(staged);
    total += algorithms::number(rounds_of(plan));
    reasons.push_back({fmt::format("rounds of phase {}", i), algorithms::number(rounds_of(plan)),
                       fmt::format("{} stages on {} records, proximity {}, at most sqrt((beta + lambda_i)/mu_i) "
                                   "ln(Delta_i mu_i M eps^2 n_i^2/(L^2 d)) = {}",
                                   plan.stages.size(), records, local.proximity, rounds)});
    settings.phases.push_back({local.proximity, mu, local.radius, std::move(plan.stages)});
    if (4.0 * lipschitz * lipschitz / mu < rate) break;
  }
  if (const Result<std::uint64_t> fits = conditions.whole_rounds(total); !fits) return fits.error();
  reasons.push_back({"phases", algorithms::number(settings.phases.size()),
                     "floor(log2 n), or the first i with 4 L^2/mu_i below the rate"});
  TheoremChoice choice = conditions.begin(kExcessRisk, std::move(settings));
  choice.reasons = std::move(reasons);
  choice.rate = rate;
  return conditions.finish(std::move(choice));
}

Status localized_conditions(const TheoremConditions& conditions) {
  if (Status fits = conditions.bounded_domain(); !fits) return fits;
  // On full batches the accountant's calibration asks nothing of epsilon.
  if (conditions.noise() == PlannedNoise::Accountant) return {};
  return conditions.epsilon_at_most("2 ln(2/delta)", 2.0 * conditions.log_two());
}

/// Of the objective that a phase localizes: the records' and the squared l2 regulariser's, which is longest where w is.
double whole_lipschitz(const TheoremConditions& conditions) {
  const algorithms::Problem& problem = conditions.problem();
  return conditions.facts().lipschitz + problem.regulariser.l2() * (problem.start().norm() + conditions.reach());
}

}  // namespace

Result<StagePlan> plan_stages(double smoothness, double strong_convexity, double gap, double distance, double variance,
                              std::uint64_t rounds) {
  UNDERTONE_CHECK(rounds >= 1);
  for (const double one : {smoothness, strong_convexity, gap}) {
    // What is made of a job's constants may leave a double at either end.
    if (!(one > 0.0 && std::isfinite(one))) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("stages of smoothness {}, strong convexity {} and gap {}: all must be > 0 and finite",
                               smoothness, strong_convexity, gap)};
    }
  }
  if (!(variance >= 0.0 && std::isfinite(variance)))
    return Error{ErrorCode::InvalidArgument, fmt::format("stages of a variance of {}", variance)};
  StagePlan out;
  const double least = 4.0 * std::sqrt(2.0 * smoothness / strong_convexity);
  double left = algorithms::number(rounds);
  for (double before = gap;; before /= 2.0) {  // Delta 2^-(k-1)
    const double needed = std::ceil(std::max(least, 512.0 * variance / (3.0 * strong_convexity * before)));
    if (!(needed <= left)) break;
    const double noisy = strong_convexity * variance * needed * (needed + 1.0) * (needed + 2.0) / (3.0 * before);
    out.stages.push_back({static_cast<std::uint64_t>(needed), std::max(2.0 * smoothness, std::sqrt(noisy))});
    left -= needed;
    ++out.halvings;
  }
  if (out.halvings > 0) {
    out.risk = multi_stage_risk(gap, out.halvings);
    return out;
  }
  const double reach = std::min(distance, std::sqrt(2.0 * gap / strong_convexity));
  const double noisy = 2.0 * variance * left * (left + 1.0) * (left + 2.0) / (3.0 * reach * reach);
  out.stages.push_back({rounds, std::max(2.0 * smoothness, std::sqrt(noisy))});
  out.risk = std::min(accelerated_risk(out.stages.front(), reach, variance), 1e300);
  return out;
}

Result<TheoremChoice> choose_one_pass_convex(const TheoremConditions& conditions, ConvexForm form) {
  const TheoremFacts& facts = conditions.facts();
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  if (Status fits = one_pass_epsilon(conditions); !fits) return fits.error();
  const double diameter = facts.diameter;
  const double beta = whole_smoothness(conditions);
  const PlannedBatch planned = one_pass_batch(conditions);
  const double batch = std::clamp(std::round(planned.records), 1.0, facts.records);
  UNDERTONE_TRY(const std::uint64_t rounds, conditions.whole_rounds(std::floor(facts.records / batch)));
  const double part = std::floor(facts.records / algorithms::number(rounds));
  UNDERTONE_TRY(const double variance, one_pass_variance(conditions, part));

  TheoremChoice choice = begin_convex(conditions, form, algorithms::RecordUse::OnePass, rounds, variance);
  explain_parts(choice, batch, facts.records, rounds, planned.formula);
  explain_convex(choice, form);
  const double private_records = conditions.shuffled() ? conditions.shuffled_records() : conditions.private_records();
  const double private_term =
      std::pow(beta, 0.25) * facts.lipschitz * std::pow(diameter, 1.5) / std::sqrt(private_records);
  choice.rate = std::sqrt(facts.gradient_variance / (facts.records * facts.answering)) * diameter +
                std::pow(private_term, 0.8) + std::sqrt(conditions.silo_variance() * part / facts.records) * diameter;
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_one_pass_strongly_convex(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  const double beta = whole_smoothness(conditions);
  const double mu = facts.strong_convexity;
  if (Status fits = conditions.strongly_convex(beta); !fits) return fits.error();
  if (Status fits = conditions.positive("the gap Delta", facts.gap); !fits) return fits.error();
  if (Status fits = one_pass_epsilon(conditions); !fits) return fits.error();
  const double private_term = (conditions.shuffled() ? conditions.shuffled_records() : conditions.private_records()) /
                              (facts.lipschitz * facts.lipschitz);
  const double sampling_term = facts.records * facts.answering / facts.gradient_variance;  // infinite without variance
  const double log = log_at_least_one(mu * facts.gap * std::min(private_term, sampling_term));
  const double planned = facts.records / (std::sqrt(beta / mu) * log);
  const double batch = std::clamp(std::round(planned), 1.0, facts.records);
  UNDERTONE_TRY(const std::uint64_t rounds, conditions.whole_rounds(std::floor(facts.records / batch)));
  UNDERTONE_TRY(const double variance,
                one_pass_variance(conditions, std::floor(facts.records / algorithms::number(rounds))));
  Result<StagePlan> staged = plan_stages(beta, mu, facts.gap, std::sqrt(2.0 * facts.gap / mu), variance, rounds);
  if (!staged) return conditions.refuse(staged.error().message);
  const StagePlan plan = *std::move(staged);

  TheoremChoice choice = conditions.begin(
      kExcessRisk, algorithms::AcceleratedSgdSettings{
                       conditions.problem(), {{0.0, mu, std::nullopt, plan.stages}}, algorithms::RecordUse::OnePass});
  explain_parts(
      choice, batch, facts.records, rounds_of(plan),
      fmt::format("n / (sqrt(kappa) ln(mu Delta min{{eps^2 n^2 {}/(L^2 d ln(1/delta)), nM/phi^2}})), within 1 "
                  "to n",
                  conditions.shuffled() ? "M^2" : "M"));
  explain(choice, plan);
  choice.bound = plan.risk;
  choice.rate = 1.0 / (mu * sampling_term) + std::sqrt(beta / mu) / (mu * private_term) +
                conditions.silo_variance() / (mu * std::sqrt(beta / mu));
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_accelerated_convex(const TheoremConditions& conditions, ConvexForm form) {
  const TheoremFacts& facts = conditions.facts();
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  if (Status fits = conditions.epsilon_at_most("2 ln(2/delta)", 2.0 * conditions.log_two()); !fits) return fits.error();
  const double precision = std::sqrt(conditions.private_records());  // LD over the rate
  const double smooth =
      std::sqrt(whole_smoothness(conditions) * facts.diameter / facts.lipschitz) * std::sqrt(precision);
  UNDERTONE_TRY(const std::uint64_t rounds, shared_rounds(conditions, smooth));
  const double batch = shared_batch(conditions, rounds);
  UNDERTONE_TRY(const double variance, shared_variance(conditions, rounds, facts.records, batch));

  TheoremChoice choice = begin_convex(conditions, form, algorithms::RecordUse::Shared, rounds, variance);
  choice.reasons.push_back({"rounds", algorithms::number(rounds),
                            "max{sqrt(beta D/L) (sqrt(M) eps n/sqrt(d ln(1/delta)))^(1/2), where anything is drawn "
                            "eps^2 n^2/(K d ln(1/delta))}"});
  explain_shared_batch(conditions, batch, choice);
  explain_convex(choice, form);
  choice.rate = facts.lipschitz * facts.diameter / precision;
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_accelerated_strongly_convex(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  const double beta = whole_smoothness(conditions);
  const double mu = facts.strong_convexity;
  if (Status fits = conditions.strongly_convex(beta); !fits) return fits.error();
  if (Status fits = conditions.positive("the gap Delta", facts.gap); !fits) return fits.error();
  if (Status fits = conditions.epsilon_at_most("2 ln(2/delta)", 2.0 * conditions.log_two()); !fits) return fits.error();
  const double precision = conditions.private_records() / (facts.lipschitz * facts.lipschitz);
  const double smooth = std::sqrt(beta / mu) * log_at_least_one(facts.gap * mu * precision * conditions.log_one());
  const Result<std::uint64_t> rounds = shared_rounds(conditions, smooth);
  if (!rounds) return rounds.error();
  UNDERTONE_TRY(const double variance,
                shared_variance(conditions, *rounds, facts.records, shared_batch(conditions, *rounds)));
  Result<StagePlan> staged = plan_stages(beta, mu, facts.gap, std::sqrt(2.0 * facts.gap / mu), variance, *rounds);
  if (!staged) return conditions.refuse(staged.error().message);
  const StagePlan plan = *std::move(staged);

  TheoremChoice choice = conditions.begin(
      kExcessRisk, algorithms::AcceleratedSgdSettings{
                       conditions.problem(), {{0.0, mu, std::nullopt, plan.stages}}, algorithms::RecordUse::Shared});
  choice.reasons.push_back({"rounds", algorithms::number(rounds_of(plan)),
                            fmt::format("whole stages within max{{sqrt(kappa) ln(Delta mu M eps^2 n^2/(L^2 d)), where "
                                        "anything is drawn eps^2 n^2/(K d ln(1/delta))}} = {}",
                                        *rounds)});
  // Fewer rounds than planned need larger batches for the same printed noise, which is then less.
  explain_shared_batch(conditions, shared_batch(conditions, rounds_of(plan)), choice);
  explain(choice, plan);
  choice.bound = plan.risk;
  choice.rate = 1.0 / (mu * precision);
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_localized_convex(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  if (Status fits = localized_conditions(conditions); !fits) return fits.error();
  const double lipschitz = whole_lipschitz(conditions);
  const double noise = std::sqrt(conditions.dimension() * conditions.log_one()) / facts.epsilon;
  const double sqrt_records = std::sqrt(facts.records);
  const double sqrt_answering = std::sqrt(facts.answering);
  const double first = lipschitz / (facts.diameter * facts.records * sqrt_answering) * std::max(sqrt_records, noise);
  const double rate = lipschitz * facts.diameter / sqrt_answering * (1.0 / sqrt_records + noise / facts.records);
  return choose_localized(conditions, rate, lipschitz, [&](int, double growth) {
    const double proximity = first * growth;
    return LocalPhase{proximity, proximity, 2.0 * lipschitz / proximity, lipschitz * lipschitz / (2.0 * proximity),
                      lipschitz / proximity};
  });
}

Result<TheoremChoice> choose_localized_strongly_convex(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  if (Status fits = localized_conditions(conditions); !fits) return fits.error();
  if (Status fits = conditions.strongly_convex(whole_smoothness(conditions)); !fits) return fits.error();
  const double lipschitz = whole_lipschitz(conditions);
  const double mu = facts.strong_convexity;
  const double rate =
      lipschitz * lipschitz / mu * (1.0 / (facts.answering * facts.records) + 1.0 / conditions.private_records());
  return choose_localized(conditions, rate, lipschitz, [&](int phase, double growth) {
    if (phase == 1) return LocalPhase{0.0, mu, std::nullopt, lipschitz * facts.diameter, conditions.reach()};
    const double proximity = mu * (growth - 1.0);
    return LocalPhase{proximity, mu * growth, 2.0 * lipschitz / proximity, lipschitz * lipschitz / (2.0 * proximity),
                      lipschitz / proximity};
  });
}

}  // namespace undertone::theorems
