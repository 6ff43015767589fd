#include "shared/theorems/proximal_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/algorithms/number.hpp"
#include "shared/algorithms/proximal/proximal_sgd.hpp"
#include "shared/algorithms/proximal/spider.hpp"
#include "shared/theorems/predicted_risk.hpp"

namespace undertone::theorems {
namespace {

constexpr const char* kStationarity = "squared norm of the proximal gradient mapping";

/// What the two proximal-PL theorems ask for.
Status proximal_conditions(const TheoremConditions& conditions) {
  if (Status fits = conditions.strongly_convex(conditions.facts().smoothness); !fits) return fits;
  if (Status fits = conditions.positive("the gap Delta", conditions.facts().gap); !fits) return fits;
  return conditions.epsilon_at_most("15", 15.0);
}

Status spider_conditions(const TheoremConditions& conditions) {
  if (Status fits = conditions.positive("the gap Delta", conditions.facts().gap); !fits) return fits;
  return conditions.epsilon_at_most("2 ln(1/delta)", 2.0 * conditions.log_one());
}

/// R at a period of 1; sqrt(q) times as many at a period of q. Source: federated-core 3.5.
double spider_rounds(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  return std::sqrt(conditions.private_records() * facts.smoothness * facts.gap) / facts.lipschitz;
}

double spider_rate(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  const double privacy = conditions.private_records();  // eps^2 n^2 M/(d ln(1/delta))
  const double squared_lipschitz = facts.lipschitz * facts.lipschitz;
  const double curvature = facts.smoothness * facts.gap;
  double rate = std::pow(facts.lipschitz * curvature / privacy, 2.0 / 3.0) + squared_lipschitz / privacy;
  if (facts.answering < facts.silos) {
    const double sampled = facts.records * facts.answering;
    rate += facts.lipschitz * std::sqrt(curvature / privacy / sampled) + squared_lipschitz / sampled;
  }
  return rate;
}

/// 1 / (eta^2 tau_2^2) at eta = 1/(2 beta) and doubled noise, tau_2^2 = 8 (beta^2/(Mn) 1[M < N] + d sigma_2^2/M).
double spider_period_max(const TheoremConditions& conditions, double rounds) {
  const TheoremFacts& facts = conditions.facts();
  const double draw = facts.answering < facts.silos ? 1.0 / (facts.records * facts.answering) : 0.0;
  return 1.0 / (2.0 * (draw + 32.0 * rounds / conditions.private_records()));
}

/// Noise per coordinate of the mean over silos of parts of K records.
Result<double> proximal_variance(const TheoremConditions& conditions, const algorithms::Method& method, double batch) {
  if (conditions.shuffled()) return conditions.binomial_variance(1.0, batch);
  return conditions.variance_of_mean(conditions.facts().records, batch,
                                     [&](const algorithms::NoiseFacts& silo) -> Result<double> {
                                       if (conditions.noise() == PlannedNoise::Accountant)
                                         return shift_of_each(silo.epsilon, silo.delta, 1.0);
                                       UNDERTONE_TRY(const algorithms::NoiseShifts shifts, method->theorem_noise(silo));
                                       return shifts.gradients.front();
                                     });
}

/// The theorem's at the planned noise, where its condition on the period holds for that noise.
Result<std::optional<double>> spider_bound(const TheoremConditions& conditions,
                                           const algorithms::SpiderSettings& settings) {
  const TheoremFacts& facts = conditions.facts();
  // With silos drawn, the theorem takes their variance for that of records (misprint M3).
  if (facts.answering < facts.silos) return std::optional<double>();
  const double n = facts.records;
  const algorithms::Method method(settings);
  const double rounds = algorithms::number(settings.rounds);
  double anchor = 0.0;      // variances of a coordinate of the mean over silos
  double difference = 0.0;  // per squared distance of the two points
  const double of_difference = std::pow(facts.smoothness / facts.lipschitz, 2.0);
  if (conditions.shuffled()) {
    UNDERTONE_TRY(const double variance, conditions.binomial_variance(rounds, n));
    anchor = variance;
    difference = variance * of_difference;
  } else {
    const auto variance_of = [&](bool differences) {
      return conditions.variance_of_mean(n, n, [&](const algorithms::NoiseFacts& silo) -> Result<double> {
        if (conditions.noise() == PlannedNoise::Accountant) return shift_of_each(silo.epsilon, silo.delta, rounds);
        UNDERTONE_TRY(const algorithms::NoiseShifts shifts, method->theorem_noise(silo));
        return differences ? shifts.difference.value() : shifts.gradients.front();
      });
    };
    UNDERTONE_TRY(anchor, variance_of(false));
    UNDERTONE_TRY(const double of_differences, variance_of(true));
    difference = of_differences * of_difference;
  }
  // q <= 1/(eta^2 tau_2^2), tau_2^2 = 8 d sigma_2^2/M.
  const double growth = 8.0 * conditions.dimension() * difference * settings.step_size * settings.step_size;
  if (algorithms::number(settings.period) * growth > 1.0) return std::optional<double>();
  return spider_stationarity(facts.gap, settings.step_size, settings.rounds, conditions.dimension() * anchor);
}

}  // namespace

double proximal_modulus(double mu, double l2, double step_size) { return mu / (1.0 + l2 * step_size); }

Result<TheoremChoice> choose_proximal_sgd(const TheoremConditions& conditions) {
  if (Status fits = proximal_conditions(conditions); !fits) return fits.error();
  const double epsilon_max = 8.0 * conditions.log_one();
  if (Status fits = conditions.shuffled() ? Status{} : conditions.epsilon_at_most("8 ln(1/delta)", epsilon_max); !fits)
    return fits.error();
  const TheoremFacts& facts = conditions.facts();
  if (!(facts.delta < 0.5)) return conditions.refuse(fmt::format("delta is {}, which must be below 0.5", facts.delta));
  const double mu = facts.strong_convexity;
  const double kappa = facts.smoothness / mu;
  const double squared_lipschitz = facts.lipschitz * facts.lipschitz;
  const double sampled = facts.records * facts.answering;
  const double private_records = conditions.shuffled() ? conditions.shuffled_records() : conditions.private_records();
  const double log = log_at_least_one(mu * facts.gap / squared_lipschitz * std::min(sampled, private_records));
  const Result<std::uint64_t> rounds = conditions.whole_rounds(2.0 * kappa * log);
  if (!rounds) return rounds.error();
  if (algorithms::number(*rounds) > facts.records)
    return conditions.refuse(
        fmt::format("{} rounds, each with records of its own, of silos with {} records", *rounds, facts.records));
  const double batch = std::floor(facts.records / algorithms::number(*rounds));
  const algorithms::ProximalSgdSettings settings{conditions.problem(), *rounds, 0.5 / facts.smoothness};

  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.reasons.push_back({"rounds", algorithms::number(*rounds),
                            conditions.shuffled() ? "2 kappa ln((mu Delta/L^2) min{Mn, eps^2 n^2 M^2/(d ln(1/delta))})"
                                                  : "2 kappa ln((mu Delta/L^2) min{Mn, eps^2 n^2 M/(d ln(1/delta))})"});
  choice.reasons.push_back({"step_size", settings.step_size, "1/(2 beta)"});
  choice.reasons.push_back({"batch", batch, "floor(n/R): every round a part of its own"});
  UNDERTONE_TRY(const double variance, proximal_variance(conditions, algorithms::Method(settings), batch));
  choice.bound = proximal_sgd_risk(
      facts.gap, facts.smoothness, proximal_modulus(mu, settings.problem.regulariser.l2(), settings.step_size), *rounds,
      conditions.dimension() * variance + squared_lipschitz / (facts.answering * batch) + conditions.silo_variance());
  choice.rate = squared_lipschitz / mu * (kappa * kappa / private_records + kappa / sampled);
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_prox_svrg(const TheoremConditions& conditions) {
  if (Status fits = proximal_conditions(conditions); !fits) return fits.error();
  if (Status fits = conditions.shuffled() ? conditions.binomial_sums()
                                          : conditions.epsilon_at_most("2 ln(2/delta)", 2.0 * conditions.log_two());
      !fits)
    return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const double n = facts.records;
  const double mu = facts.strong_convexity;
  const double kappa = facts.smoothness / mu;
  const double squared_lipschitz = facts.lipschitz * facts.lipschitz;
  const double private_records = conditions.shuffled() ? conditions.shuffled_records() : conditions.private_records();
  const double private_term = private_records * conditions.log_one();
  UNDERTONE_TRY(
      const std::uint64_t restarts,
      conditions.whole_rounds(std::log2(std::max(2.0, facts.gap * mu * private_term / (kappa * squared_lipschitz)))));
  UNDERTONE_TRY(const std::uint64_t planned, conditions.whole_rounds(48.0 * kappa));
  // In mode shuffle the source's least batch serves its own account of anchors and restarts, which does not hold
  // (misprints M11, M12). The plan's noise is what the exact test of binomial sums certifies, whatever the batch.
  const double least = conditions.shuffled() ? 1.0
                                             : algorithms::least_batch(algorithms::number(restarts * planned), n,
                                                                       facts.epsilon, facts.delta);
  const double batch = std::min(n, std::ceil(std::max(std::cbrt(n * n / facts.answering), least)));
  const auto inner = static_cast<std::uint64_t>(n / batch);
  const std::uint64_t epochs = (planned + inner - 1) / inner;
  const double asked = algorithms::number(restarts) * algorithms::number(epochs) * algorithms::number(inner + 1);
  if (const Result<std::uint64_t> fits = conditions.whole_rounds(asked); !fits) return fits.error();
  const double speed = std::min(1.0, std::pow(batch, 1.5) * std::sqrt(facts.answering) / n);
  const algorithms::ProxSvrgSettings settings{
      conditions.problem(), restarts, epochs, inner, speed / (8.0 * facts.smoothness), facts.smoothness, facts.seed};

  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.draw_fraction = conditions.fraction_of(batch);
  choice.reasons.push_back({"restarts", algorithms::number(restarts),
                            conditions.shuffled() ? "log2(Delta mu M^2 eps^2 n^2/(kappa d L^2))"
                                                  : "log2(Delta mu M eps^2 n^2/(kappa d L^2))"});
  choice.reasons.push_back(
      {"planned steps", algorithms::number(planned), "48 kappa: a restart halves the gap (misprint M7)"});
  choice.reasons.push_back({"batch", batch,
                            conditions.shuffled()
                                ? "(n^2/M)^(1/3), at most n"
                                : "max{(n^2/M)^(1/3), eps n/(4 sqrt(2 S R ln(2/delta)))}, at most n"});
  choice.reasons.push_back({"inner", algorithms::number(inner), "floor(n/K)"});
  choice.reasons.push_back({"epochs", algorithms::number(epochs), "ceil(R/inner)"});
  choice.reasons.push_back({"step_size", settings.step_size, "min{1, K^(3/2) sqrt(M)/n}/(8 beta)"});
  choice.rate = kappa * squared_lipschitz / (mu * private_records) + conditions.silo_variance() / mu;
  choice.bound_at = [settings, facts](double noise_variance) {
    return prox_svrg_bound(settings, facts, noise_variance);
  };
  return conditions.finish(std::move(choice));
}

double prox_svrg_bound(const algorithms::ProxSvrgSettings& settings, const TheoremFacts& facts, double noise_variance) {
  const double mu = proximal_modulus(facts.strong_convexity, settings.problem.regulariser.l2(), settings.step_size);
  return prox_svrg_risk(facts.gap, facts.smoothness, mu, settings.restarts, settings.epochs * settings.inner, 0.0,
                        static_cast<double>(settings.problem.dimension) * noise_variance);
}

Result<TheoremChoice> choose_spider(const TheoremConditions& conditions) {
  if (Status fits = spider_conditions(conditions); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const double curvature = facts.smoothness * facts.gap;
  const double once = spider_rounds(conditions);
  double longest = std::pow(facts.lipschitz * std::sqrt(conditions.private_records() / curvature), 2.0 / 3.0);
  if (facts.answering < facts.silos) longest = std::min(longest, facts.records * facts.answering);
  if (!(longest >= 1.0))
    return conditions.refuse(
        fmt::format("the period (eps n L sqrt(M)/sqrt(beta Delta d ln(1/delta)))^(2/3) is {}, "
                    "which must be at least 1: the theorem's output is the starting point",
                    longest));
  constexpr double kPeriodMax = 1e6;  // no more rounds than that are allowed
  longest = std::floor(std::min(longest, kPeriodMax));
  const auto rounds_at = [&](double period) { return std::ceil(once * std::sqrt(period)); };
  const auto holds = [&](double period) { return period <= spider_period_max(conditions, rounds_at(period)); };
  if (!holds(1.0))
    return conditions.refuse(
        fmt::format("a period of 1 with {} rounds needs a period of at most 1/(eta^2 tau_2^2) = {}", rounds_at(1.0),
                    spider_period_max(conditions, rounds_at(1.0))));
  double period = 1.0;  // the longest that holds: what is allowed falls as the period grows
  for (double above = longest + 1.0; above - period > 1.0;) {
    const double middle = std::floor((period + above) / 2.0);
    (holds(middle) ? period : above) = middle;
  }
  UNDERTONE_TRY(const std::uint64_t rounds, conditions.whole_rounds(rounds_at(period)));
  const algorithms::SpiderSettings settings{conditions.problem(),
                                            rounds,
                                            static_cast<std::uint64_t>(std::min(period, algorithms::number(rounds))),
                                            0.5 / facts.smoothness,
                                            facts.smoothness,
                                            facts.seed};

  TheoremChoice choice = conditions.begin(kStationarity, settings);
  choice.reasons.push_back({"period", algorithms::number(settings.period),
                            fmt::format("(eps n L sqrt(M)/sqrt(beta Delta d ln(1/delta)))^(2/3) = {}, lowered until "
                                        "q <= 1/(eta^2 tau_2^2), at most R",
                                        longest)});
  choice.reasons.push_back(
      {"rounds", algorithms::number(rounds), "eps n sqrt(M q) sqrt(beta Delta)/(L sqrt(d ln(1/delta)))"});
  choice.reasons.push_back({"step_size", settings.step_size, "1/(2 beta)"});
  choice.reasons.push_back({"batch", facts.records, "n: as many draws as records"});
  UNDERTONE_TRY(const std::optional<double> bound, spider_bound(conditions, settings));
  choice.bound = bound;
  choice.rate = spider_rate(conditions);
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_shuffled_spider(const TheoremConditions& conditions) {
  if (Status fits = spider_conditions(conditions); !fits) return fits.error();
  if (Status fits = conditions.binomial_sums(); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const double d = conditions.dimension();
  const double silos = facts.answering;
  const double curvature = facts.smoothness * facts.gap;
  const double budget = facts.epsilon * facts.records * silos;  // eps n M
  const double log_records = log_at_least_one(d * facts.records * silos / facts.delta);
  const double once = budget / facts.lipschitz * std::sqrt(curvature / (d * std::pow(log_records, 3.0)));
  const auto rounds_at = [&](double period) { return std::max(1.0, std::ceil(once * std::sqrt(period))); };
  const auto longest_at = [&](double period) {
    const double log = log_at_least_one(rounds_at(period) * d / facts.delta);
    const double balanced =
        std::pow(budget * facts.lipschitz / std::sqrt(curvature * d * std::pow(log, 3.0)), 2.0 / 3.0);
    return 0.5 * (silos < facts.silos ? std::min(balanced, silos * facts.records) : balanced);
  };
  if (!(longest_at(1.0) >= 1.0))
    return conditions.refuse(
        fmt::format("the period min{{(eps n M L/sqrt(beta Delta d ln^3(R d/delta)))^(2/3), M n if M < N}}/2 is {}, "
                    "which must be at least 1: the theorem's output is the starting point",
                    longest_at(1.0)));
  constexpr double kPeriodMax = 1e6;  // no more rounds than that are allowed
  double period = 1.0;                // the largest that holds: what is allowed falls as the period grows
  for (double above = std::floor(std::min(longest_at(1.0), kPeriodMax)) + 1.0; above - period > 1.0;) {
    const double middle = std::floor((period + above) / 2.0);
    (middle <= longest_at(middle) ? period : above) = middle;
  }
  UNDERTONE_TRY(const std::uint64_t rounds, conditions.whole_rounds(rounds_at(period)));
  const double r = algorithms::number(rounds);
  if (const double least = facts.epsilon * facts.silos / (4.0 * std::sqrt(2.0 * r * conditions.log_one()));
      silos < least)
    return conditions.refuse(fmt::format(
        "{} silos answer a round, which must be at least eps N/(4 sqrt(2 R ln(1/delta))) = {}", silos, least));
  const algorithms::SpiderSettings settings{
      conditions.problem(),   rounds,           static_cast<std::uint64_t>(std::min(period, r)),
      0.5 / facts.smoothness, facts.smoothness, facts.seed};

  TheoremChoice choice = conditions.begin(kStationarity, settings);
  choice.reasons.push_back(
      {"period", algorithms::number(settings.period),
       "the largest q <= min{(eps n M L/sqrt(beta Delta d ln^3(R d/delta)))^(2/3), M n if M < N}/2, at most R"});
  choice.reasons.push_back({"rounds", r, "(eps n M/L) sqrt(beta Delta q/(d ln^3(d n M/delta)))"});
  choice.reasons.push_back({"step_size", settings.step_size, "1/(2 beta)"});
  choice.reasons.push_back({"batch", facts.records, "n: as many draws as records"});
  UNDERTONE_TRY(const std::optional<double> bound, spider_bound(conditions, settings));
  choice.bound = bound;
  const double squared_lipschitz = facts.lipschitz * facts.lipschitz;
  const double privacy = conditions.shuffled_records();
  choice.rate = std::pow(facts.lipschitz * curvature / privacy, 2.0 / 3.0) + squared_lipschitz / privacy;
  if (silos < facts.silos) {
    const double sampled = facts.records * silos;
    choice.rate += facts.lipschitz * std::sqrt(curvature / privacy / sampled) + squared_lipschitz / sampled;
  }
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_spider_alternate(const TheoremConditions& conditions) {
  if (Status fits = spider_conditions(conditions); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  UNDERTONE_TRY(const std::uint64_t planned, conditions.whole_rounds(spider_rounds(conditions) * std::sqrt(2.0)));
  const std::uint64_t pairs = std::max<std::uint64_t>(planned / 2, 1);
  const double rounds = 2.0 * algorithms::number(pairs) + 1.0;
  const double batch =
      std::clamp(std::ceil(facts.records * std::sqrt(facts.epsilon) / (2.0 * std::sqrt(rounds))), 1.0, facts.records);
  const algorithms::SpiderAlternateSettings settings{conditions.problem(), pairs, 0.5 / facts.smoothness, std::nullopt,
                                                     facts.seed};
  TheoremChoice choice = conditions.begin(kStationarity, settings);
  choice.draw_fraction = conditions.fraction_of(batch);
  choice.reasons.push_back({"rounds", rounds, "Theorem 149's at a period of 2, made odd: no theorem of its own"});
  choice.reasons.push_back({"batch", batch, "n sqrt(eps)/(2 sqrt R), of n"});
  choice.reasons.push_back({"step_size", 0.5 / facts.smoothness, "1/(2 beta)"});
  const double squared_lipschitz = facts.lipschitz * facts.lipschitz;
  const double drawn = batch < facts.records ? squared_lipschitz / (facts.answering * batch) : 0.0;
  // No anchors, so nothing to balance: the gap over so many rounds, their noise, and the draw's.
  choice.rate = facts.lipschitz * std::sqrt(facts.smoothness * facts.gap / conditions.private_records()) + drawn +
                conditions.silo_variance();
  return conditions.finish(std::move(choice));
}

}  // namespace undertone::theorems
