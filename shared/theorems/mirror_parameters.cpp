#include "shared/theorems/mirror_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "shared/algorithms/mirror/constrained_mirror_descent.hpp"
#include "shared/algorithms/mirror/localized_mirror_descent.hpp"
#include "shared/algorithms/mirror/staged_mirror_theorem.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/sgd/lp_sgd.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::theorems {
namespace {

using algorithms::LocalizedMirrorDescentSettings;
using algorithms::LpSgdSettings;
using algorithms::MirrorStageFacts;
using algorithms::SizedMirrorStage;
using algorithms::StagedMirrorDescentSettings;
using algorithms::StageScale;

constexpr double kL1Norm = 1.0;

/// A count of the facts, down to what every 64-bit integer counts exactly.
std::uint64_t whole_count(double value) { return static_cast<std::uint64_t>(std::min(value, 0x1p53)); }

Result<MirrorStageFacts> phase_facts(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  const algorithms::Problem& problem = conditions.problem();
  if (conditions.noise() == PlannedNoise::Printed) {
    return conditions.refuse(
        "its printed noise, 100 L sqrt(d ln(1/delta))/(b_i eps_i), is of b_i drawn records, another share of n_i in "
        "every phase, and a job draws one share: expected the accountant's noise");
  }
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  const auto* ball = std::get_if<geometry::L1Ball>(&problem.domain.set());
  if (ball == nullptr) {
    return conditions.refuse(
        fmt::format("the domain is {}: its steps around any centre are exact over l1_ball alone of the bounded domains",
                    problem.domain.name()));
  }
  MirrorStageFacts out;
  out.norm = kL1Norm;
  out.dimension = problem.dimension;
  out.diameter = 2.0 * ball->radius;
  out.records = whole_count(facts.records);
  out.silos = whole_count(facts.answering);
  out.epsilon = facts.epsilon;
  out.delta = facts.delta;
  out.lipschitz = facts.lipschitz;
  out.rounds_max = releases::kRoundsMax;
  return out;
}

/// f: the binary logarithm of the dimension, as the l1 setup has it.
double setup_logarithm(const TheoremConditions& conditions) { return std::max(1.0, std::log2(conditions.dimension())); }

/// B, which holds of records that all silos draw from one law, where it says more than L D.
std::optional<double> telling_bound(const TheoremFacts& known, const MirrorStageFacts& facts, double bound) {
  const bool one_law = known.answering == known.silos && known.heterogeneity == 0.0;
  return one_law && bound < facts.lipschitz * facts.diameter ? std::optional(bound) : std::nullopt;
}

void explain_phases(const MirrorStageFacts& facts, const SizedMirrorStage& stage, TheoremChoice& choice) {
  const algorithms::SizedMirrorPhase& first = stage.phases.front();
  choice.reasons.push_back({"step_size", stage.step_size,
                            stage.cut ? "eta = (D/L) min{sqrt(f/(n M)), eps/sqrt(M d f ln(1/delta))}, f = max{1, log2 "
                                        "d}, and at most D sqrt(T_1)/(L n M), since T_1 is cut; phase i has 2^-4i of it"
                                      : "eta = (D/L) min{sqrt(f/(n M)), eps/sqrt(M d f ln(1/delta))}, f = max{1, log2 "
                                        "d}; phase i has 2^-4i of it"});
  choice.reasons.push_back({"rounds of the first phase", algorithms::number(first.phase.rounds),
                            stage.cut ? "cut, so that all phases have 1000000 together at most"
                                      : "T_1 = min{f n_1 M, M n_1^2 eps^2/d}, at least 1"});
  choice.reasons.push_back(
      {"relative_convexity", first.phase.relative_convexity, "lambda_1 = 2/(eta_1 n_1 M), of the first phase"});
  choice.reasons.push_back({"radius", first.phase.radius, "R_1 = 2 L eta_1 n_1 M/f, of the first phase"});
  choice.reasons.push_back({"D", facts.diameter, "the l1 ball's diameter in l_1"});
}

/// The l_inf ball that a domain is.
Result<double> box_radius(const TheoremConditions& conditions) {
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  const geometry::Domain& domain = conditions.problem().domain;
  const auto* box = std::get_if<geometry::Box>(&domain.set());
  if (box == nullptr) {
    return conditions.refuse(
        fmt::format("the domain is {}: expected box, from -R to R. A ball of another l_p, p > 2, is in the numbers of "
                    "lp_sgd, by hand",
                    domain.name()));
  }
  if (box->upper > 0.0 && box->lower == -box->upper) return box->upper;
  return conditions.refuse(
      fmt::format("the domain is a box from {} to {}: expected one from -R to R, R > 0", box->lower, box->upper));
}

/// Of a coordinate of the mean over the answering silos, where each answers about so many of its records.
template <class ShiftOf>
Result<double> lp_noise_variance(const TheoremConditions& conditions, double batch, const ShiftOf& shift_of) {
  UNDERTONE_TRY(const double stddev, conditions.loudest(conditions.facts().records, batch, shift_of));
  return stddev * stddev / conditions.facts().answering;
}

struct LpSgdPlan {
  std::uint64_t rounds = 0;
  double step_size = 0.0;
  double batch = 1.0;
  double variance = 0.0;
};

Result<LpSgdPlan> printed_lp_plan(const TheoremConditions& conditions, LpSgdSettings settings, double longest) {
  const TheoremFacts& facts = conditions.facts();
  if (Status fits = conditions.epsilon_at_most("1", 1.0); !fits) return fits.error();
  const Result<algorithms::LpSgdChoice> printed = algorithms::lp_sgd_theorem(
      {settings.norm, settings.radius, conditions.problem().dimension, whole_count(facts.records),
       whole_count(facts.answering), facts.epsilon, facts.delta, longest});
  if (!printed) return conditions.refuse(printed.error().message);
  settings.rounds = printed->rounds;
  UNDERTONE_TRY(const double variance,
                lp_noise_variance(conditions, 1.0, [&](const algorithms::NoiseFacts& silo) -> Result<double> {
                  UNDERTONE_TRY(const algorithms::NoiseShifts shifts, settings.theorem_noise(silo));
                  return shifts.gradients.front();
                }));
  return LpSgdPlan{printed->rounds, printed->step_size, 1.0, variance};
}

Result<LpSgdPlan> planned_lp_plan(const TheoremConditions& conditions, const LpSgdSettings& settings, double longest) {
  UNDERTONE_TRY(const double once, lp_noise_variance(conditions, conditions.facts().records,
                                                     [](const algorithms::NoiseFacts& silo) -> Result<double> {
                                                       return shift_of_each(silo.epsilon, silo.delta, 1.0);
                                                     }));
  const double squared = longest * longest;
  const double most = std::floor(squared / (conditions.dimension() * once));
  const double rounds = std::clamp(most, 1.0, algorithms::number(releases::kRoundsMax));
  const double moment = squared + conditions.dimension() * rounds * once;
  return LpSgdPlan{static_cast<std::uint64_t>(rounds), settings.diameter() / std::sqrt(rounds * moment),
                   conditions.facts().records, rounds * once};
}

}  // namespace

Result<TheoremChoice> choose_localized_mirror_convex(const TheoremConditions& conditions) {
  UNDERTONE_TRY(MirrorStageFacts facts, phase_facts(conditions));
  facts.scale = StageScale::Printed;
  const Result<SizedMirrorStage> rate = algorithms::choose_mirror_phases(facts);
  if (!rate) return conditions.refuse(rate.error().message);
  facts.scale = StageScale::Proven;
  UNDERTONE_TRY(const SizedMirrorStage run, algorithms::choose_mirror_phases(facts));
  LocalizedMirrorDescentSettings settings{conditions.problem(), kL1Norm};
  for (const algorithms::SizedMirrorPhase& one : run.phases) settings.phases.push_back(one.phase);
  TheoremChoice choice = conditions.begin(kPopulationRisk, settings);
  choice.reasons.push_back({"phases", algorithms::number(run.phases.size()), "as many as have floor(n/2^i) >= 2"});
  choice.reasons.push_back({"rounds", algorithms::number(settings.extent().rounds), "of all phases together"});
  explain_phases(facts, run, choice);
  choice.bound = telling_bound(conditions.facts(), facts, run.bound);
  choice.rate = rate->bound;
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_staged_mirror_strongly_convex(const TheoremConditions& conditions) {
  const TheoremFacts& known = conditions.facts();
  UNDERTONE_TRY(MirrorStageFacts facts, phase_facts(conditions));
  if (Status fits = conditions.positive("the strong convexity mu", known.strong_convexity); !fits) return fits.error();
  facts.strong_convexity = known.strong_convexity / conditions.dimension();
  const Result<algorithms::MirrorStageChoice> run = algorithms::choose_mirror_stages(facts);
  if (!run) return conditions.refuse(run.error().message);
  const StagedMirrorDescentSettings settings{conditions.problem(), kL1Norm, run->mirror_stages()};
  const SizedMirrorStage& last = run->stages.back();
  TheoremChoice choice = conditions.begin(kPopulationRisk, settings);
  choice.reasons.push_back({"stages", algorithms::number(run->stages.size()), "ceil(log2 log2 n)"});
  choice.reasons.push_back({"rounds", algorithms::number(settings.extent().rounds), "of all phases of all stages"});
  choice.reasons.push_back({"lambda", facts.strong_convexity, "mu/d: of the objective in l_1, mu its in l2"});
  choice.reasons.push_back({"D of the last stage", last.diameter,
                            "min{D, sqrt(2 B/lambda)}, B what the stage before is proven to come within"});
  explain_phases(facts, run->stages.front(), choice);
  choice.bound = telling_bound(known, facts, last.bound);
  const double f = setup_logarithm(conditions);
  double order = f / (known.records * known.answering) + f * f * f / conditions.private_records();
  if (last.cut) order += f * f / algorithms::number(last.phases.front().phase.rounds);
  choice.rate =
      std::min(known.lipschitz * known.lipschitz / facts.strong_convexity * order, facts.lipschitz * facts.diameter);
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_lp_sgd_convex(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  const bool printed = conditions.noise() == PlannedNoise::Printed;
  LpSgdSettings settings{conditions.problem()};
  UNDERTONE_TRY(settings.radius, box_radius(conditions));
  const double longest = algorithms::longest_gradient(conditions.problem(), facts.lipschitz);
  UNDERTONE_TRY(const LpSgdPlan plan, printed ? printed_lp_plan(conditions, settings, longest)
                                              : planned_lp_plan(conditions, settings, longest));
  settings.rounds = plan.rounds;
  settings.step_size = plan.step_size;
  const double rounds = algorithms::number(plan.rounds);
  const double across = settings.diameter();
  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.draw_fraction = conditions.fraction_of(plan.batch);
  choice.reasons.push_back(
      {"rounds", rounds,
       printed ? "(n M)^2" : "the most whose noise is no longer than the gradients, E ||noise||_2^2 <= L^2"});
  choice.reasons.push_back({"batch", plan.batch, printed ? "one record" : "n: as many draws as records"});
  choice.reasons.push_back({"step_size", plan.step_size,
                            printed ? "D/(L n M) min{1/sqrt(n M), eps/sqrt(M d ln(1/delta))}"
                                    : "D/sqrt(T (L^2 + d v)), v the noise variance"});
  choice.reasons.push_back({"D", across, "the box's diameter in l2, 2 R sqrt d"});
  const auto risk = [settings, lipschitz = facts.lipschitz](double variance) {
    return settings.predicted_risk(releases::ClipNorm::create(lipschitz).value(), variance, true);
  };
  if (const std::optional<algorithms::RiskBound> bound = risk(plan.variance)) {
    choice.bound = bound->bound;
    choice.bound_at = [risk](double variance) { return risk(variance)->bound; };
  }
  const double left = printed ? 1.0 / std::sqrt(facts.records * facts.answering) : 1.0 / std::sqrt(rounds);
  choice.rate = across * longest * (left + 1.0 / std::sqrt(conditions.private_records()));
  if (printed) choice.rate_measure = kPopulationRisk;
  return conditions.finish(std::move(choice));
}

}  // namespace undertone::theorems
