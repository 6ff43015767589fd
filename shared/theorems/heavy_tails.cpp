#include "shared/theorems/heavy_tails.hpp"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include "shared/algorithms/number.hpp"
#include "shared/algorithms/proximal/proximal_sgd.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/algorithms/sgd/strongly_convex_sgd.hpp"
#include "shared/theorems/predicted_risk.hpp"
#include "shared/theorems/proximal_parameters.hpp"

namespace undertone::theorems {
namespace {

using algorithms::number;

/// This is a round's mean at a clip, over K records of each silo: how far it is off at most, and how much it varies.
struct OracleAt {
  double clip = 0.0;  // the threshold
  double bias = 0.0;
  double variance = 0.0;  // of the noise and of the draw of records
};

/// This is a number of rounds with the oracle that is best for it.
struct Rounds {
  std::uint64_t rounds = 1;
  double batch = 0.0;
  OracleAt oracle;
  double risk = 0.0;
};

/// The variance is phi^2/(MK) of the draw of records, where phi^2 is r^2 if the job says nothing, and d sigma^2 of the
/// noise.
/// @param unit_noise per coordinate, where a record's contribution has a length of 1
OracleAt oracle_at(const TheoremConditions& conditions, double clip, double batch, double unit_noise) {
  const TheoremFacts& facts = conditions.facts();
  const MeanOracle oracle = facts.oracle(conditions.dimension());
  const double drawn = oracle.draw_growth() * facts.gradient_variance / (facts.answering * batch);
  const double reach = oracle.reach(clip);
  return {clip, oracle.bias(clip), drawn + oracle.noise_growth() * conditions.dimension() * reach * reach * unit_noise};
}

/// Returns the risk of an oracle that is asked for so many rounds.
using RiskOf = std::function<double(const OracleAt&, std::uint64_t)>;

/// This finds the clip with which the risk of so many rounds is least.
/// @param unit_noise of a round's mean, per coordinate, where a record's contribution has a length of 1
Rounds with_best_clip(const TheoremConditions& conditions, std::uint64_t rounds, double unit_noise,
                      const RiskOf& risk_of) {
  constexpr double kFarthest = 16.0;  // e-fold, from the moment's bound
  const double bound = conditions.facts().moment->bound;
  const double shortest = std::max(-kFarthest, std::log(kMomentClipMin / bound));
  const double longest = std::min(kFarthest, std::log(kMomentClipMax / bound));
  constexpr int kBits = 30;
  const double batch = std::floor(conditions.facts().records / number(rounds));
  const auto clip_at = [&](double log_ratio) { return bound * std::exp(log_ratio); };
  const auto at = [&](double log_ratio) { return oracle_at(conditions, clip_at(log_ratio), batch, unit_noise); };
  const auto risk_at = [&](double log_ratio) {
    const double risk = risk_of(at(log_ratio), rounds);
    return std::isfinite(risk) ? risk : std::numeric_limits<double>::max();
  };
  std::uintmax_t steps = 200;
  const double best = boost::math::tools::brent_find_minima(risk_at, shortest, longest, kBits, steps).first;
  const OracleAt oracle = oracle_at(conditions, stated_clip(clip_at(best)), batch, unit_noise);
  return {rounds, batch, oracle, risk_of(oracle, rounds)};
}

/// This finds the rounds with the least risk. It looks at numbers of rounds that are a tenth apart, and takes a round's
/// noise for inversely proportional to its records, which it is of the silo with the fewest: then no silo is looked at
/// for every number. The noise of the rounds that are chosen is the exact one.
Result<Rounds> best_rounds(const TheoremConditions& conditions, const RiskOf& risk_of) {
  constexpr double kApart = 1.1;
  constexpr double kPartsMax = 4'000.0;  // of a schedule: @see jobs::parse_algorithm
  const double records = conditions.facts().records;
  const double groups = conditions.facts().coordinates ? number(conditions.facts().coordinates->groups) : 1.0;
  if (records < groups)
    return conditions.refuse(fmt::format("n = {} records, expected one for each of {} groups", records, groups));
  UNDERTONE_TRY(const double whole, conditions.one_pass_noise_variance(records));
  std::uint64_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  double next = 1.0;
  while (next <= std::min(std::floor(records / groups), kPartsMax)) {
    const auto rounds = static_cast<std::uint64_t>(next);
    const double share = records / std::floor(records / next);
    const double risk = with_best_clip(conditions, rounds, whole * share * share, risk_of).risk;
    if (risk < least) best = rounds;
    least = std::min(least, risk);
    next = std::max(next + 1.0, std::floor(next * kApart));
  }
  UNDERTONE_TRY(const double exact, conditions.one_pass_noise_variance(std::floor(records / number(best))));
  return with_best_clip(conditions, best, exact, risk_of);
}

/// This writes down the choice's numbers, and by what they were chosen.
void explain(const TheoremConditions& conditions, const Rounds& best, TheoremChoice& choice) {
  const MeanOracle oracle = conditions.facts().oracle(conditions.dimension());
  const bool coordinates = oracle.coordinates().has_value();
  choice.clip = best.oracle.clip;
  choice.facts.lipschitz = oracle.reach(best.oracle.clip);
  if (oracle.groups() == 1) choice.bound = best.risk;  // what a median is off by is not known
  choice.reasons.push_back(
      {coordinates ? "threshold" : "clip_norm", best.oracle.clip,
       fmt::format("the {} with which the bound is least, from the moment of order {:.4g}",
                   coordinates ? "threshold of every coordinate" : "clip", oracle.moment().order)});
  choice.reasons.push_back({"bias", best.oracle.bias,
                            coordinates ? "of the mean, in l2: what cutting every coordinate moves it by at most"
                                        : "at most r^k/((k-1) C^(k-1)): what clipping moves a mean by"});
  choice.reasons.push_back({"variance", best.oracle.variance,
                            oracle.groups() > 1 ? "of the groups' median: pi/2 phi^2/(MK) + pi/2 m d sigma^2"
                                                : "of a round's mean: phi^2/(MK) + d sigma^2"});
  choice.reasons.push_back({"rounds", number(best.rounds), "those with which the bound is least"});
  choice.reasons.push_back({"batch", best.batch, "floor(n/R): every round a part of its own"});
}

/// This says where a condition number is larger than what the theorem's rate is of: of utility, not of privacy.
void explain_condition(const TheoremConditions& conditions, double kappa, TheoremChoice& choice) {
  const double records = std::max(3.0, conditions.facts().records);
  const double most = records / std::log(records);
  choice.reasons.push_back(
      {"kappa", kappa,
       kappa <= most ? std::string("beta/mu")
                     : fmt::format("beta/mu: the rate is of at most n/ln n = {:.4g}, and is none here", most)});
}

}  // namespace

Status check_moment(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  if (conditions.noise() == PlannedNoise::Printed)
    return conditions.refuse("its printed noise is of zCDP: expected the accountant's noise, which is less");
  if (!facts.moment) return conditions.refuse("it is of a bounded moment: expected privacy.moments");
  if (!(facts.moment->bound >= kMomentClipMin && facts.moment->bound <= kMomentClipMax))
    return conditions.refuse(fmt::format("the moment's bound must be from {} to {}, got {}", kMomentClipMin,
                                         kMomentClipMax, facts.moment->bound));
  if (facts.answering < facts.silos)
    return conditions.refuse("it has no form for rounds in which some silos answer: expected all of them");
  if (!facts.shuffled) return {};
  if (facts.shuffled->reports) return conditions.refuse("its shuffled form is of binomial sums, not of reports");
  if (facts.coordinates && facts.coordinates->groups > 1)
    return conditions.refuse("a median of groups is not hidden by shufflers: expected one group, or mode isrl");
  return conditions.binomial_sums();
}

double stated_clip(double clip) { return std::strtod(fmt::format("{:.4g}", clip).c_str(), nullptr); }

Result<TheoremChoice> choose_heavy_tailed_convex(const TheoremConditions& conditions) {
  if (Status fits = check_moment(conditions); !fits) return fits.error();
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  const double diameter = conditions.facts().diameter;
  const double beta = conditions.facts().smoothness + conditions.problem().regulariser.l2();
  const double reach = conditions.reach();
  const auto stage_of = [&](const OracleAt& oracle, std::uint64_t rounds) {
    const double spread = std::sqrt(oracle.variance + oracle.bias * oracle.bias);
    return algorithms::AcceleratedStage{rounds,
                                        std::max(2.0 * beta, std::pow(number(rounds), 1.5) * spread / diameter)};
  };
  const auto risk_of = [&](const OracleAt& oracle, std::uint64_t rounds) {
    return accelerated_risk(stage_of(oracle, rounds), reach, oracle.variance + oracle.bias * oracle.bias, 0.0) +
           oracle.bias * diameter;
  };
  UNDERTONE_TRY(const Rounds best, best_rounds(conditions, risk_of));
  algorithms::AcceleratedPhase phase;
  phase.stages = {stage_of(best.oracle, best.rounds)};
  TheoremChoice choice = conditions.begin(
      kPopulationRisk,
      algorithms::AcceleratedSgdSettings{conditions.problem(), {phase}, algorithms::RecordUse::OnePass});
  explain(conditions, best, choice);
  choice.reasons.push_back({"upsilon", phase.stages.front().upsilon, "max{2 beta, R^(3/2) sqrt(variance + bias^2)/D}"});
  // r D [1/sqrt n + max{((beta D/r)^(1/4) sqrt d/A)^(4(k-1)/(5k-1)), (sqrt d/A)^((k-1)/k)}], where A is 2 over the root
  // of the noise of one round that reads everything at a clip of 1.
  const MomentBound moment = conditions.facts().oracle(conditions.dimension()).of_norms();
  UNDERTONE_TRY(const double unit, conditions.one_pass_noise_variance(conditions.facts().records));
  const double k = moment.order;
  const double noise = std::sqrt(conditions.dimension() * unit) / 2.0;
  const double smooth = std::pow(beta * diameter / moment.bound, 0.25) * noise;
  choice.rate = moment.bound * diameter *
                (1.0 / std::sqrt(conditions.facts().records * conditions.facts().answering) +
                 std::max(std::pow(smooth, 4.0 * (k - 1.0) / (5.0 * k - 1.0)), std::pow(noise, (k - 1.0) / k)));
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_heavy_tailed_strongly_convex(const TheoremConditions& conditions) {
  if (Status fits = check_moment(conditions); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const double beta = facts.smoothness + conditions.problem().regulariser.l2();
  if (Status fits = conditions.strongly_convex(beta); !fits) return fits.error();
  double distance = conditions.reach();
  if (!conditions.bounded_domain()) {  // by strong convexity |w_0 - w*|^2 <= 2 Delta/mu
    UNDERTONE_TRY(conditions.positive("the gap Delta", facts.gap));
    distance = std::sqrt(2.0 * facts.gap / facts.strong_convexity);
  }
  if (facts.records < 2.0)
    return conditions.refuse(fmt::format("n = {} records, expected at least 2: a part for each round", facts.records));
  const double mu = facts.strong_convexity;
  const double kappa = beta / mu;
  const auto risk_of = [&](const OracleAt& oracle, std::uint64_t rounds) {
    if (rounds < 2) return std::numeric_limits<double>::infinity();
    const double last = number(rounds) - 1.0;
    return 32.0 * beta * distance * distance * std::exp(-last / (4.0 * kappa)) + 72.0 * oracle.variance / (mu * last) +
           2.0 * oracle.bias * oracle.bias / mu;
  };
  UNDERTONE_TRY(const Rounds best, best_rounds(conditions, risk_of));
  TheoremChoice choice = conditions.begin(
      kPopulationRisk, algorithms::StronglyConvexSgdSettings{conditions.problem(), best.rounds, beta, mu});
  explain(conditions, best, choice);
  explain_condition(conditions, kappa, choice);
  // r^2/mu (1/n + (sqrt(d kappa ln n)/A)^((2k-2)/k)).
  const MomentBound moment = facts.oracle(conditions.dimension()).of_norms();
  UNDERTONE_TRY(const double unit, conditions.one_pass_noise_variance(facts.records));
  const double log_n = std::log(std::max(2.0, facts.records));
  const double noise = std::sqrt(conditions.dimension() * unit * kappa * log_n) / 2.0;
  choice.rate = moment.bound * moment.bound / mu *
                (1.0 / (facts.records * facts.answering) + std::pow(noise, (2.0 * moment.order - 2.0) / moment.order));
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_heavy_tailed_proximal(const TheoremConditions& conditions) {
  if (Status fits = check_moment(conditions); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  if (Status fits = conditions.strongly_convex(facts.smoothness); !fits) return fits.error();
  if (Status fits = conditions.positive("the gap Delta", facts.gap); !fits) return fits.error();
  const double beta = facts.smoothness;
  // The proximal step takes the l2 regulariser, beside which the objective's constant is less.
  const double mu = proximal_modulus(facts.strong_convexity, conditions.problem().regulariser.l2(), 0.5 / beta);
  const auto risk_of = [&](const OracleAt& oracle, std::uint64_t rounds) {
    return std::pow(1.0 - mu / (2.0 * beta), number(rounds)) * facts.gap +
           4.0 * (oracle.bias * oracle.bias + oracle.variance) / mu;
  };
  UNDERTONE_TRY(const Rounds best, best_rounds(conditions, risk_of));
  const algorithms::ProximalSgdSettings settings{conditions.problem(), best.rounds, 0.5 / beta};
  TheoremChoice choice = conditions.begin(kPopulationRisk, settings);
  explain(conditions, best, choice);
  choice.reasons.push_back({"step_size", settings.step_size, "1/(2 beta)"});
  explain_condition(conditions, beta / mu, choice);
  const MomentBound moment = facts.oracle(conditions.dimension()).of_norms();
  UNDERTONE_TRY(const double unit, conditions.one_pass_noise_variance(facts.records));
  const double kappa = beta / mu;
  const double log_n = std::log(std::max(2.0, facts.records));
  const double private_term = std::sqrt(conditions.dimension()) * std::sqrt(unit) / 2.0 * kappa * log_n;
  choice.rate = moment.bound * moment.bound / mu *
                (std::pow(private_term, (2.0 * moment.order - 2.0) / moment.order) +
                 kappa * log_n / (facts.records * facts.answering));
  return conditions.finish(std::move(choice));
}

}  // namespace undertone::theorems
