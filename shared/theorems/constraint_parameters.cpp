#include "shared/theorems/constraint_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/algorithms/frank_wolfe/constrained_frank_wolfe.hpp"
#include "shared/algorithms/mirror/constrained_mirror_descent.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/base/bisection.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::theorems {
namespace {

using algorithms::ConstrainedFrankWolfeSettings;
using algorithms::ConstrainedMirrorDescentSettings;

/// s_T^2, of the mean over silos, where each answers so many rounds about all of its records.
/// @param method whose printed noise is meant
Result<double> whole_pass_variance(const TheoremConditions& conditions, const algorithms::Method& method,
                                   std::uint64_t rounds) {
  UNDERTONE_TRY(const double stddev,
                conditions.loudest(conditions.facts().records, conditions.facts().records,
                                   [&](const algorithms::NoiseFacts& silo) -> Result<double> {
                                     if (conditions.noise() == PlannedNoise::Accountant)
                                       return shift_of_each(silo.epsilon, silo.delta, algorithms::number(rounds));
                                     UNDERTONE_TRY(const algorithms::NoiseShifts shifts, method->theorem_noise(silo));
                                     return shifts.gradients.front();
                                   }));
  return stddev * stddev / conditions.facts().answering;
}

/// A bounded set of the model's dimension.
Status usable_domain(const TheoremConditions& conditions) {
  if (Status fits = conditions.bounded_domain(); !fits) return fits;
  const algorithms::Problem& problem = conditions.problem();
  if (Status fits = problem.domain.fits(problem.dimension); !fits) return conditions.refuse(fits.error().message);
  return {};
}

struct UsefulRounds {
  std::uint64_t rounds = 1;
  double variance = 0.0;  // s_T^2
};

/// The most rounds whose noise costs no more than the gradients themselves, at least one.
Result<UsefulRounds> useful_rounds(const TheoremConditions& conditions, ConstrainedMirrorDescentSettings settings,
                                   double lipschitz) {
  const geometry::MatchedPotential& potential = settings.potential;
  const auto variance_at = [&](std::uint64_t rounds) {
    settings.rounds = rounds;
    return whole_pass_variance(conditions, settings, rounds);
  };
  if (const Result<double> first = variance_at(1); !first) return first.error();
  const auto too_loud = [&](std::uint64_t rounds) {
    const Result<double> variance = variance_at(rounds);  // what serves one round serves more
    return !variance ||
           potential.dual_second_moment(lipschitz, *variance) > 2.0 * potential.dual_second_moment(lipschitz, 0.0);
  };
  UsefulRounds out;
  out.rounds = too_loud(releases::kRoundsMax)
                   ? std::max<std::uint64_t>(
                         1, bisect_integers(SearchRange<std::uint64_t>{0, releases::kRoundsMax}, too_loud).low)
                   : releases::kRoundsMax;
  UNDERTONE_TRY(const double variance, variance_at(out.rounds));
  out.variance = variance;
  return out;
}

void explain_potential(const geometry::MatchedPotential& potential, TheoremChoice& choice) {
  choice.reasons.push_back({"W", potential.range, fmt::format("the range of {}", potential.map.name())});
  choice.reasons.push_back({"||Q||_2", potential.gauge_radius, "of the ball in whose norm it is strongly convex"});
  choice.reasons.push_back({"G_Q", potential.gauge_width, "that ball's Gaussian width, at most"});
}

}  // namespace

Result<TheoremChoice> choose_constrained_mirror_convex(const TheoremConditions& conditions) {
  if (Status fits = usable_domain(conditions); !fits) return fits.error();
  const algorithms::Problem& problem = conditions.problem();
  const Result<geometry::MatchedPotential> potential =
      geometry::matched_potential(problem.domain, problem.dimension, problem.start());
  if (!potential) return conditions.refuse(potential.error().message);
  const double lipschitz = algorithms::longest_gradient(problem, conditions.facts().lipschitz);
  ConstrainedMirrorDescentSettings settings{problem, *potential, 1, 1.0};
  UNDERTONE_TRY(const UsefulRounds useful, useful_rounds(conditions, settings, lipschitz));
  settings.rounds = useful.rounds;
  const double rounds = algorithms::number(settings.rounds);
  const double moment = potential->dual_second_moment(lipschitz, useful.variance);
  settings.step_size = std::sqrt(potential->range * potential->modulus / (rounds * moment));
  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.reasons.push_back({"rounds", rounds, "the most with s_T^2 (G_Q^2 + ||Q||^2) <= L^2 ||Q||^2"});
  choice.reasons.push_back(
      {"step_size", settings.step_size, "sqrt(W mu/(T B)), B = L^2 ||Q||^2 + s_T^2 (G_Q^2 + ||Q||^2)"});
  explain_potential(*potential, choice);
  choice.bound = algorithms::mirror_risk(settings, lipschitz, useful.variance);
  choice.bound_at = [settings, lipschitz](double variance) {
    return algorithms::mirror_risk(settings, lipschitz, variance);
  };
  const TheoremFacts& facts = conditions.facts();
  choice.rate = lipschitz *
                std::sqrt(potential->range / potential->modulus *
                          (std::pow(potential->gauge_width, 2.0) + std::pow(potential->gauge_radius, 2.0))) *
                std::log(facts.records / facts.delta) / (facts.epsilon * facts.records * std::sqrt(facts.answering));
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_constrained_mirror_strongly_convex(const TheoremConditions& conditions) {
  if (Status fits = usable_domain(conditions); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const algorithms::Problem& problem = conditions.problem();
  if (Status fits = conditions.strongly_convex(facts.smoothness + problem.regulariser.l2()); !fits) return fits.error();
  const Result<geometry::MatchedPotential> potential =
      geometry::euclidean_potential(problem.domain, problem.dimension, problem.start());
  if (!potential) return conditions.refuse(potential.error().message);
  const double lipschitz = algorithms::longest_gradient(problem, facts.lipschitz);
  ConstrainedMirrorDescentSettings settings{problem, *potential, 1};
  settings.relative_convexity = facts.strong_convexity;
  UNDERTONE_TRY(const UsefulRounds useful, useful_rounds(conditions, settings, lipschitz));
  settings.rounds = useful.rounds;
  const double rounds = algorithms::number(settings.rounds);
  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.reasons.push_back({"rounds", rounds, "the most with s_T^2 (G_Q^2 + ||Q||^2) <= L^2 ||Q||^2"});
  choice.reasons.push_back({"relative_convexity", facts.strong_convexity, "mu: steps 1/(mu t)"});
  explain_potential(*potential, choice);
  choice.bound = algorithms::mirror_risk(settings, lipschitz, useful.variance);
  choice.bound_at = [settings, lipschitz](double variance) {
    return algorithms::mirror_risk(settings, lipschitz, variance);
  };
  const double budget = facts.epsilon * facts.records;
  choice.rate = lipschitz * lipschitz * (std::pow(potential->gauge_width, 2.0) + 1.0) *
                std::pow(std::log(facts.records / facts.delta), 2.0) /
                (facts.strong_convexity * budget * budget * facts.answering);
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_constrained_frank_wolfe(const TheoremConditions& conditions) {
  if (Status fits = usable_domain(conditions); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const algorithms::Problem& problem = conditions.problem();
  const Result<geometry::LinearOracle> oracle = geometry::LinearOracle::create(problem.domain, problem.dimension);
  if (!oracle) return conditions.refuse(oracle.error().message);
  const double diameter = oracle->diameter();
  const double curvature = (facts.smoothness + problem.regulariser.l2()) * diameter * diameter;
  ConstrainedFrankWolfeSettings settings{problem, *oracle, 2, curvature};
  const auto variance_of = [&](std::uint64_t iterates) {
    settings.iterates = iterates;
    return whole_pass_variance(conditions, settings, iterates - 1);
  };
  if (const Result<double> least = variance_of(2); !least) return least.error();
  const auto rises = [&](std::uint64_t iterates) {  // the bound falls, then rises
    const Result<double> here = variance_of(iterates);
    const double risk = here ? algorithms::frank_wolfe_risk_over(settings, *here) : HUGE_VAL;
    const Result<double> next = variance_of(iterates + 1);
    return !next || algorithms::frank_wolfe_risk_over(settings, *next) >= risk;
  };
  const std::uint64_t most = releases::kRoundsMax + 1;
  const std::uint64_t iterates = bisect_integers(SearchRange<std::uint64_t>{1, most}, rises).high;
  const Result<double> variance = variance_of(iterates);  // and the settings are those
  if (!variance) return variance.error();
  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.reasons.push_back({"iterates", algorithms::number(iterates), "the least point of 2 Gamma/(T+1) + s_T G_C"});
  choice.reasons.push_back({"curvature", curvature, "Gamma = beta D^2, beta the whole objective's"});
  choice.reasons.push_back({"G_C", oracle->width(), "the set's Gaussian width, at most"});
  if (facts.answering == facts.silos) {
    choice.bound = algorithms::frank_wolfe_risk_over(settings, *variance);
    choice.bound_at = [settings](double noise_variance) {
      return algorithms::frank_wolfe_risk_over(settings, noise_variance);
    };
  }
  const double budget = facts.epsilon * facts.records * std::sqrt(facts.answering);
  choice.rate = std::cbrt(curvature) * std::pow(facts.lipschitz * oracle->width() / budget, 2.0 / 3.0) *
                std::log(facts.records / facts.delta);
  return conditions.finish(std::move(choice));
}

}  // namespace undertone::theorems
