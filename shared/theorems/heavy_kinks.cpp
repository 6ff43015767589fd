#include "shared/theorems/heavy_kinks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/algorithms/mirror/staged_mirror_descent.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/sgd/localized_subgradient.hpp"
#include "shared/theorems/heavy_tails.hpp"

namespace undertone::theorems {
namespace {

using algorithms::number;

constexpr std::uint64_t kStepsMax = 1U << 15U;              // T
constexpr std::size_t kHalvingsMax = 20;                    // K
constexpr double kGrowths[] = {2.0, 4.0, 8.0, 16.0, 32.0};  // q
constexpr double kNearly = 1.1;                             // of the least bound: fewer steps that have it are taken

/// What the formulas have in common.
struct KinkNumbers {
  double moment = 0.0;  // r
  double order = 0.0;   // k, half of the job's
  double silos = 0.0;   // M
  double dimension = 0.0;
};

/// T_j steps on so many records of each silo.
struct PhaseError {
  std::uint64_t steps = 0;
  double records = 0.0;
  double clip = 0.0;
  double bias = 0.0;
  double noise = 0.0;   // d sigma^2
  double square = 0.0;  // Q
};

/// T_j, of T_1 in the first phase. @param phase j - 1
std::uint64_t steps_of_phase(std::uint64_t first, std::size_t phase) {
  return std::max<std::uint64_t>(2, first >> std::min<std::size_t>(phase, 63));
}

double log_steps(std::uint64_t steps) { return std::max(1.0, std::log(number(steps))); }

/// @param unit_noise sigma^2 at a clip of 1
PhaseError phase_error(const KinkNumbers& all, double records, std::uint64_t steps, double unit_noise) {
  const double share = 4.0 * log_steps(steps) / number(steps);
  const double slope = share * all.dimension * unit_noise;  // of the noise over C^2
  PhaseError out;
  out.steps = steps;
  out.records = records;
  out.clip = std::clamp(all.moment * std::pow(4.0 / ((all.order - 1.0) * slope), 0.5 / all.order), kMomentClipMin,
                        kMomentClipMax);
  out.bias = bias_of_clip({all.order, all.moment}, out.clip);
  out.noise = all.dimension * unit_noise * out.clip * out.clip;
  const double square = all.moment * all.moment;
  out.square = square * std::exp(-log_steps(steps)) + 4.0 * out.bias * out.bias + share * (4.0 * square + out.noise);
  return out;
}

/// A stage with its proximities.
struct StageOfPhases {
  std::uint64_t steps = 0;  // T
  double growth = 0.0;      // q
  double proximity = 0.0;   // lambda_1
  double bound = HUGE_VAL;
  std::vector<PhaseError> phases;
};

/// The stage with the least bound over lambda_1 and q. @param distance_squared D^2
StageOfPhases with_best_proximity(const KinkNumbers& all, std::uint64_t steps, std::vector<PhaseError> phases,
                                  double distance_squared) {
  StageOfPhases out;
  out.steps = steps;
  out.phases = std::move(phases);
  const double square = all.moment * all.moment;
  for (const double growth : kGrowths) {
    double inverse = 0.0;  // of the terms over lambda_1
    double power = 1.0;    // q^(j-1)
    for (std::size_t j = 0; j < out.phases.size(); ++j, power *= growth) {
      inverse += 2.0 * square / (power * out.phases[j].records * all.silos);
      if (j > 0) inverse += 0.5 * growth * growth / power * out.phases[j - 1].square;
    }
    inverse += all.moment * std::sqrt(out.phases.back().square) * growth / power;
    const double bound = std::sqrt(2.0 * distance_squared * inverse);
    if (!(bound < out.bound)) continue;
    out.bound = bound;
    out.growth = growth;
    out.proximity = std::sqrt(2.0 * inverse / distance_squared);
  }
  return out;
}

/// The numbers of phases, steps and proximities with the least bound, of a block of so many records of each silo.
/// @param whole_noise sigma^2 of one round on all n records of a silo, at a clip of 1
StageOfPhases best_stage(const KinkNumbers& all, double block, double records, double whole_noise,
                         double distance_squared) {
  std::vector<StageOfPhases> tried;
  for (std::uint64_t steps = 2; steps <= kStepsMax; steps *= 2) {
    StageOfPhases best;
    for (std::size_t count = 1; count <= kHalvingsMax; ++count) {
      const double part = std::floor(block / (std::exp2(number(count)) - 1.0));
      if (part < 1.0) break;
      std::vector<PhaseError> phases;
      for (std::size_t j = 1; j <= count; ++j) {
        const double own = part * std::exp2(number(count - j));
        const std::uint64_t own_steps = steps_of_phase(steps, j - 1);
        phases.push_back(
            phase_error(all, own, own_steps, whole_noise * number(own_steps) * std::pow(records / own, 2)));
      }
      StageOfPhases one = with_best_proximity(all, steps, std::move(phases), distance_squared);
      if (one.bound < best.bound) best = std::move(one);
    }
    tried.push_back(std::move(best));
  }
  double least = HUGE_VAL;
  for (const StageOfPhases& one : tried) least = std::min(least, one.bound);
  for (StageOfPhases& one : tried)
    if (one.bound <= kNearly * least) return std::move(one);
  return {};
}

Status check_kinks(const TheoremConditions& conditions) {
  UNDERTONE_TRY(check_moment(conditions));
  const TheoremFacts& facts = conditions.facts();
  if (facts.coordinates)
    return conditions.refuse("its phases clip gradients in l2: expected a moment of norms, not of coordinates");
  if (!(facts.moment->order > 2.0))
    return conditions.refuse(
        fmt::format("it is of a moment of order 2k with k above 1, got the order {}", facts.moment->order));
  if (!conditions.problem().regulariser.is_none())
    return conditions.refuse(fmt::format("its phases are on the silos' losses alone: expected no regulariser, got {}",
                                         conditions.problem().regulariser.name()));
  return conditions.bounded_domain();
}

KinkNumbers numbers_of(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  return {facts.moment->bound, 0.5 * facts.moment->order, facts.answering, conditions.dimension()};
}

/// sigma^2 of each of so many rounds on the same records, at a clip of 1: of the silos' Gaussian noise, or of the coins
/// of a shuffled job's binomial sums.
Result<double> noise_of_rounds(const TheoremConditions& conditions, std::uint64_t rounds, double records) {
  return conditions.shuffled() ? conditions.binomial_variance(number(rounds), records)
                               : conditions.noise_variance(rounds, records, records);
}

/// The stages' phases at their own records, tiled as the algorithm tiles them, and at their exact noise.
/// @param distance_squared of every stage's start, once the stage before is settled
Result<std::vector<StageOfPhases>> settled(const TheoremConditions& conditions, const KinkNumbers& all,
                                           const std::vector<StageOfPhases>& drafts) {
  std::vector<std::size_t> counts;
  counts.reserve(drafts.size());
  for (const StageOfPhases& draft : drafts) counts.push_back(draft.phases.size());
  UNDERTONE_TRY(const algorithms::StageTiling tiling, algorithms::tile_stages(counts));
  const double part = std::floor(conditions.facts().records / number(tiling.parts));
  if (part < 1.0)
    return conditions.refuse(
        fmt::format("n = {} records, expected at least {}, its parts", conditions.facts().records, tiling.parts));
  double distance_squared = std::pow(conditions.reach(), 2);
  const double farthest = std::pow(conditions.facts().diameter, 2);
  std::vector<StageOfPhases> out;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    std::vector<PhaseError> phases;
    for (const std::uint64_t span : tiling.spans[i]) {
      const double records = part * number(span);
      const std::uint64_t steps = steps_of_phase(drafts[i].steps, phases.size());
      UNDERTONE_TRY(const double unit, noise_of_rounds(conditions, steps, records));
      phases.push_back(phase_error(all, records, steps, unit));
    }
    out.push_back(with_best_proximity(all, drafts[i].steps, std::move(phases), distance_squared));
    if (conditions.facts().strong_convexity > 0.0)
      distance_squared = std::min(farthest, 2.0 * out.back().bound / conditions.facts().strong_convexity);
  }
  return out;
}

double longest_clip(const std::vector<StageOfPhases>& stages) {
  double longest = 0.0;
  for (const StageOfPhases& stage : stages)
    for (const PhaseError& phase : stage.phases) longest = std::max(longest, phase.clip);
  return stated_clip(longest);
}

std::vector<algorithms::SubgradientStage> steps_of(const std::vector<StageOfPhases>& stages, double clip) {
  std::vector<algorithms::SubgradientStage> out;
  for (const StageOfPhases& stage : stages) {
    algorithms::SubgradientStage& own = out.emplace_back();
    double proximity = stage.proximity;
    for (const PhaseError& phase : stage.phases) {
      own.push_back({phase.steps,
                     2.0 * log_steps(phase.steps) / (proximity * number(phase.steps)),
                     proximity,
                     {},
                     std::min(1.0, stated_clip(phase.clip / clip))});
      proximity *= stage.growth;
    }
  }
  return out;
}

/// Rounds of the phases as the source prints them, p = 1: 2 n_j ln(4 n_j).
double printed_rounds(const std::vector<StageOfPhases>& stages) {
  double out = 0.0;
  for (const StageOfPhases& stage : stages)
    for (const PhaseError& phase : stage.phases)
      out += std::ceil(2.0 * phase.records * std::log(std::max(std::exp(1.0), 4.0 * phase.records)));
  return out;
}

Result<TheoremChoice> chosen_stages(const TheoremConditions& conditions, const std::vector<StageOfPhases>& stages) {
  if (stages.empty() || !std::isfinite(stages.back().bound))
    return conditions.refuse("its bound is no number: another moment, or more records");
  const double clip = longest_clip(stages);
  using Settings = algorithms::LocalizedSubgradientSettings;
  const Settings settings{conditions.problem(), steps_of(stages, clip),
                          stages.size() == 1 ? Settings::Reads::Phases : Settings::Reads::Stages};
  const StageOfPhases& last = stages.back();
  const PhaseError& first = last.phases.front();
  TheoremChoice choice = conditions.begin(kPopulationRisk, settings);
  choice.clip = clip;
  choice.facts.lipschitz = clip;
  choice.bound = last.bound;
  if (stages.size() > 1)
    choice.reasons.push_back({"stages", number(stages.size()), "those with the least bound, 1 to ceil(log2 log2 n)"});
  choice.reasons.push_back(
      {"phases", number(last.phases.size()), "K of the last stage, with which its bound is least"});
  choice.reasons.push_back({"steps of the first phase", number(last.steps),
                            "T_1 of the last stage, the fewest within a tenth of the least bound; a phase has half as "
                            "many as the one before"});
  choice.reasons.push_back(
      {"clip_norm", clip, "the longest of the phases' clips, r (4/((k-1) a))^(1/(2k)), 2k the order"});
  choice.reasons.push_back({"bias", first.bias,
                            "at most r^k/((k-1) C^(k-1)), 2k the order, of the last stage's first phase; the moment is "
                            "of each record's largest "
                            "gradient over the domain"});
  choice.reasons.push_back({"noise", first.noise, "d sigma^2 of a round's mean in that phase"});
  choice.reasons.push_back({"proximity", last.proximity, "lambda_1, the least point of the bound"});
  choice.reasons.push_back({"growth", last.growth, "q, of lambda from phase to phase"});
  choice.reasons.push_back({"rounds", number(settings.extent().rounds), "of all phases"});
  choice.reasons.push_back({"rounds as printed", printed_rounds(stages), "2 n_j ln(4 n_j) of every phase, p = 1"});
  return choice;
}

/// R D (1/sqrt n + (sqrt(d ln n)/A)^((k-1)/k)), A 2 over the root of one round's noise at a clip of 1.
double rate_of_kinks(const KinkNumbers& all, double records, double whole_noise) {
  const double noise = std::sqrt(all.dimension * whole_noise * std::max(1.0, std::log(records))) / 2.0;
  return 1.0 / std::sqrt(records * all.silos) + std::pow(noise, (all.order - 1.0) / all.order);
}

}  // namespace

Result<TheoremChoice> choose_heavy_tailed_localized(const TheoremConditions& conditions) {
  UNDERTONE_TRY(check_kinks(conditions));
  const KinkNumbers all = numbers_of(conditions);
  const double records = conditions.facts().records;
  UNDERTONE_TRY(const double whole, noise_of_rounds(conditions, 1, records));
  const double distance = conditions.reach();
  const StageOfPhases draft = best_stage(all, records, records, whole, distance * distance);
  UNDERTONE_TRY(const std::vector<StageOfPhases> stages, settled(conditions, all, {draft}));
  UNDERTONE_TRY(TheoremChoice choice, chosen_stages(conditions, stages));
  choice.rate = all.moment * distance * rate_of_kinks(all, records, whole);
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_heavy_tailed_staged(const TheoremConditions& conditions) {
  UNDERTONE_TRY(check_kinks(conditions));
  const TheoremFacts& facts = conditions.facts();
  UNDERTONE_TRY(conditions.positive("the strong convexity mu", facts.strong_convexity));
  const KinkNumbers all = numbers_of(conditions);
  const double records = facts.records;
  UNDERTONE_TRY(const double whole, noise_of_rounds(conditions, 1, records));
  const auto most = static_cast<std::size_t>(std::max(1.0, std::ceil(std::log2(std::max(2.0, std::log2(records))))));
  std::vector<StageOfPhases> best;
  for (std::size_t count = 1; count <= most; ++count) {
    std::vector<StageOfPhases> drafts;
    double distance_squared = std::pow(conditions.reach(), 2);
    double block = records / (std::exp2(number(count)) - 1.0);
    for (std::size_t i = 0; i < count && block >= 1.0; ++i, block *= 2.0) {
      drafts.push_back(best_stage(all, block, records, whole, distance_squared));
      distance_squared = std::min(facts.diameter * facts.diameter, 2.0 * drafts.back().bound / facts.strong_convexity);
    }
    if (drafts.size() < count) break;
    const Result<std::vector<StageOfPhases>> stages = settled(conditions, all, drafts);
    if (!stages && count == 1) return stages.error();
    if (!stages) break;
    if (best.empty() || stages->back().bound < best.back().bound) best = *stages;
  }
  UNDERTONE_TRY(TheoremChoice choice, chosen_stages(conditions, best));
  choice.rate = std::pow(all.moment * rate_of_kinks(all, records, whole), 2) / facts.strong_convexity;
  return conditions.finish(std::move(choice));
}

}  // namespace undertone::theorems
