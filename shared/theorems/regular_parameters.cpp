#include "shared/theorems/regular_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/accounting/renyi.hpp"
#include "shared/algorithms/mirror/constrained_mirror_descent.hpp"
#include "shared/algorithms/mirror/noisy_frank_wolfe.hpp"
#include "shared/algorithms/mirror/noisy_mirror_descent.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::theorems {
namespace {

using algorithms::NoisyFrankWolfeSettings;
using algorithms::NoisyMirrorDescentSettings;

/// Of W: a job's schedule has at most 4,000 entries, and each difference is one.
constexpr double kDifferencesMax = 3'999.0;

/// The domain in the setup of its own norm.
struct RegularSetup {
  geometry::MirrorMap map;  // h, in proportion to Phi
  geometry::FrankWolfeSet set;
  geometry::RegularNorm noise;  // l_r and kappa
  double diameter = 0.0;        // D in l_p
  double smoothness = 0.0;      // beta from l_p to l_q, or a larger one
  const char* smoothness_why = "";
};

Result<RegularSetup> regular_setup(const TheoremConditions& conditions) {
  using Set = geometry::FrankWolfeSet::Set;
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  const algorithms::Problem& problem = conditions.problem();
  const auto* ball = std::get_if<geometry::L2Ball>(&problem.domain.set());
  const auto* l1_ball = std::get_if<geometry::L1Ball>(&problem.domain.set());
  const auto* simplex = std::get_if<geometry::Simplex>(&problem.domain.set());
  if (ball == nullptr && l1_ball == nullptr && simplex == nullptr) {
    return conditions.refuse(
        fmt::format("the domain is {}, which names no norm: expected l1_ball or simplex, of l_1, or l2_ball. A ball of "
                    "l_p is in the numbers of noisy_mirror_descent and noisy_frank_wolfe, by hand",
                    problem.domain.name()));
  }
  const double norm = ball != nullptr ? 2.0 : 1.0;
  const Set set = ball != nullptr      ? Set(geometry::LpBall{2.0, ball->radius()})
                  : l1_ball != nullptr ? Set(*l1_ball)
                                       : Set(*simplex);
  UNDERTONE_TRY(const geometry::FrankWolfeSet vertices, geometry::FrankWolfeSet::create(set, norm, problem.dimension));
  const Result<geometry::MirrorMap> map =
      ball != nullptr ? geometry::MirrorMap(geometry::EuclideanMap(problem.domain, problem.dimension))
                      : algorithms::NoisyMirrorDescent::potential(problem, norm, std::nullopt);
  if (!map) return conditions.refuse(map.error().message);
  const bool proven = norm == 1.0 && conditions.facts().smoothness_l1 > 0.0;
  return RegularSetup{*map,
                      vertices,
                      geometry::regular_norm(geometry::conjugate_exponent(norm), problem.dimension),
                      vertices.diameter(),
                      proven ? conditions.facts().smoothness_l1 : conditions.facts().smoothness,
                      proven ? "beta from l_1 to l_inf, as public bounds prove it"
                             : "beta in l2, and no less than in the method's norm"};
}

/// sqrt(d ln(1/delta)/M)/(n eps): what one release of every silo adds to a mean, constants and norms dropped.
double regular_noise(const TheoremConditions& conditions) { return 1.0 / std::sqrt(conditions.private_records()); }

double noisy_mirror_rate(const TheoremConditions& conditions, const RegularSetup& setup, double longest) {
  const double epsilon = conditions.facts().epsilon;
  const double order = setup.noise.regularity * std::sqrt(setup.noise.sum_growth(conditions.facts().answering)) *
                       regular_noise(conditions) * epsilon;
  return longest * setup.diameter * std::max(std::sqrt(order), order / epsilon);
}

/// B^2 of the mean over the answering silos, each with the planned shift sqrt(2 rho) on K records. Of one silo
/// E ||noise||_r^2 = d kappa (2L/(K shift))^2.
template <class ShiftOf>
Result<double> regular_noise_squared(const TheoremConditions& conditions, const RegularSetup& setup, double batch,
                                     const ShiftOf& shift_of) {
  UNDERTONE_TRY(const double stddev, conditions.loudest(conditions.facts().records, batch, shift_of));
  const double answering = conditions.facts().answering;
  return setup.noise.sum_growth(answering) / answering * conditions.dimension() * setup.noise.regularity * stddev *
         stddev;
}

/// Rounds, step, batch and noise of mirror descent.
struct NoisyMirrorPlan {
  double rounds = 1.0;
  double step_size = 0.0;
  double batch = 1.0;
  double noise_squared = 0.0;  // B_T^2
};

Result<NoisyMirrorPlan> printed_mirror_plan(const TheoremConditions& conditions, const RegularSetup& setup,
                                            double longest, NoisyMirrorDescentSettings settings) {
  const TheoremFacts& facts = conditions.facts();
  const double kappa = setup.noise.regularity;
  const double least = 16.0 * conditions.dimension() * kappa * conditions.log_one();
  const double squared = facts.epsilon * facts.epsilon * facts.records * facts.records;
  if (squared < least)
    return conditions.refuse(fmt::format(
        "not one round: (eps n)^2 is {:.6g}, which must be at least 16 d kappa ln(1/delta) = {:.6g}", squared, least));
  UNDERTONE_TRY(settings.rounds, conditions.whole_rounds(std::floor(squared / least)));
  NoisyMirrorPlan out;
  out.rounds = algorithms::number(settings.rounds);
  out.batch = std::clamp(std::ceil(facts.records * std::sqrt(facts.epsilon / (4.0 * out.rounds))), 1.0, facts.records);
  out.step_size = setup.diameter / longest * std::sqrt(kappa / (2.0 * out.rounds));
  UNDERTONE_TRY(
      out.noise_squared,
      regular_noise_squared(conditions, setup, out.batch, [&](const algorithms::NoiseFacts& silo) -> Result<double> {
        UNDERTONE_TRY(const algorithms::NoiseShifts shifts, settings.theorem_noise(silo));
        return shifts.gradients.front();
      }));
  return out;
}

Result<NoisyMirrorPlan> planned_mirror_plan(const TheoremConditions& conditions, const RegularSetup& setup,
                                            double longest) {
  const bool gaussian = setup.noise.exponent == 2.0;
  UNDERTONE_TRY(const double once,
                regular_noise_squared(conditions, setup, conditions.facts().records,
                                      [&](const algorithms::NoiseFacts& silo) -> Result<double> {
                                        if (gaussian) return shift_of_each(silo.epsilon, silo.delta, 1.0);
                                        UNDERTONE_TRY(const auto epsilon, releases::Epsilon::create(silo.epsilon));
                                        UNDERTONE_TRY(const auto delta, releases::Delta::create(silo.delta));
                                        return std::sqrt(2.0 * accounting::rho_for_closed(epsilon, delta));
                                      }));
  NoisyMirrorPlan out;
  out.batch = conditions.facts().records;
  // Constants that leave a double make it not a number, which is refused.
  UNDERTONE_TRY(const std::uint64_t rounds,
                conditions.whole_rounds(
                    std::min(std::floor(longest * longest / once), algorithms::number(releases::kRoundsMax))));
  out.rounds = algorithms::number(rounds);
  out.noise_squared = out.rounds * once;
  const double noise = std::sqrt(out.noise_squared);
  const double moment = setup.map.norm_exponent() == 2.0 ? std::hypot(longest, noise) : longest + noise;
  const double range = setup.map.divergence_max().value() / setup.map.strong_convexity();
  out.step_size = std::sqrt(2.0 * range / out.rounds) / moment;
  return out;
}

void explain_setup(const RegularSetup& setup, TheoremChoice& choice) {
  choice.reasons.push_back({"p", setup.set.norm_exponent(), fmt::format("of the norm of {}", setup.set.name())});
  choice.reasons.push_back({"D", setup.diameter, "the set's diameter in l_p"});
  choice.reasons.push_back({"r", setup.noise.exponent, "of the norm with the least kappa"});
  choice.reasons.push_back({"kappa", setup.noise.regularity, "(r - 1) d^(2 (1/r - 1/q)), of the dual norm l_q"});
}

Result<TheoremChoice> choose_mirror_in(const TheoremConditions& conditions, const RegularSetup& setup) {
  const double longest = algorithms::longest_gradient(conditions.problem(), conditions.facts().lipschitz);
  NoisyMirrorDescentSettings settings{conditions.problem(), setup.map, 1, 1.0};
  const bool printed = conditions.noise() == PlannedNoise::Printed;
  UNDERTONE_TRY(const NoisyMirrorPlan plan, printed ? printed_mirror_plan(conditions, setup, longest, settings)
                                                    : planned_mirror_plan(conditions, setup, longest));
  settings.rounds = static_cast<std::uint64_t>(plan.rounds);
  settings.step_size = plan.step_size;
  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.draw_fraction = conditions.fraction_of(plan.batch);
  choice.reasons.push_back({"rounds", plan.rounds,
                            printed ? "floor((eps n)^2/(16 d kappa ln(1/delta)))"
                                    : "the most whose noise is no longer than the gradients, E ||noise||_q^2 <= L^2"});
  choice.reasons.push_back(
      {"batch", plan.batch, printed ? "max{n sqrt(eps/(4T)), 1}, rounded up" : "n: as many draws as records"});
  choice.reasons.push_back({"step_size", plan.step_size,
                            printed ? "(D/L) sqrt(kappa/(2T))"
                                    : "sqrt(2V/T)/(L + B), B^2 >= E ||noise||_q^2, V the range of the potential"});
  explain_setup(setup, choice);
  choice.bound = algorithms::noisy_mirror_risk(settings, longest, plan.noise_squared);
  choice.bound_at = [settings, longest, silos = conditions.facts().silos](double variance) {
    return algorithms::noisy_mirror_risk(settings, longest, settings.noise_squared(variance, silos));
  };
  choice.rate = noisy_mirror_rate(conditions, setup, longest);
  choice.rate_measure = kPopulationRisk;
  return conditions.finish(std::move(choice));
}

/// W, as a real number, with the logarithm that the rate has there.
struct Differences {
  double count = 0.0;
  double logarithm = 0.0;
};

Differences differences_of(const TheoremConditions& conditions, const RegularSetup& setup) {
  const double n = conditions.facts().records;
  if (conditions.noise() == PlannedNoise::Printed) return {std::sqrt(n), std::log(n)};
  const double best =
      std::round(std::pow(2.0 / (std::sqrt(setup.noise.regularity) * regular_noise(conditions)), 2.0 / 3.0));
  const double count = std::max(std::min({std::max(best, 2.0), std::floor(n / 2.0), kDifferencesMax}), 1.0);
  return {count, std::log(count)};
}

double noisy_frank_wolfe_rate(const TheoremConditions& conditions, const RegularSetup& setup) {
  const TheoremFacts& facts = conditions.facts();
  const Differences differences = differences_of(conditions, setup);
  const double curvature = setup.smoothness * setup.diameter * setup.diameter * differences.logarithm;
  const double scale = facts.lipschitz * setup.diameter;
  const double root = std::sqrt(setup.noise.regularity);
  return curvature / differences.count +
         (scale * root + curvature) * root / std::sqrt(facts.records * facts.answering) +
         (scale + curvature * std::sqrt(differences.count)) * root * regular_noise(conditions);
}

Result<TheoremChoice> choose_frank_wolfe_in(const TheoremConditions& conditions, const RegularSetup& setup) {
  const TheoremFacts& facts = conditions.facts();
  const bool printed = conditions.noise() == PlannedNoise::Printed;
  const double least = printed ? 2.0 : 4.0;
  if (facts.records < least)
    return conditions.refuse(fmt::format("n = {} records, expected at least {}", facts.records, least));
  const Differences differences = differences_of(conditions, setup);
  const double count = std::floor(differences.count);
  const double step = printed ? std::log(facts.records) / (2.0 * std::sqrt(facts.records)) : std::log(count) / count;
  if (!(step <= 1.0)) return conditions.refuse(fmt::format("a step of {}, which must be at most 1", step));
  UNDERTONE_TRY(const std::uint64_t rounds, conditions.whole_rounds(count));
  TheoremChoice choice = conditions.begin(
      kPopulationRisk, NoisyFrankWolfeSettings{conditions.problem(), setup.set, rounds, step, setup.smoothness});
  choice.reasons.push_back(
      {"rounds", count,
       printed ? "floor(sqrt n)" : "(2/b)^(2/3), b = sqrt(kappa d ln(1/delta)/M)/(n eps), within 2, n/2 and 3999"});
  choice.reasons.push_back({"step_size", step, printed ? "ln n/(2 sqrt n)" : "ln W/W"});
  choice.reasons.push_back({"smoothness", setup.smoothness, setup.smoothness_why});
  explain_setup(setup, choice);
  choice.rate = noisy_frank_wolfe_rate(conditions, setup);
  return conditions.finish(std::move(choice));
}

}  // namespace

Result<TheoremChoice> choose_noisy_mirror_convex(const TheoremConditions& conditions) {
  UNDERTONE_TRY(const RegularSetup setup, regular_setup(conditions));
  return choose_mirror_in(conditions, setup);
}

Result<TheoremChoice> choose_noisy_frank_wolfe_convex(const TheoremConditions& conditions) {
  UNDERTONE_TRY(const RegularSetup setup, regular_setup(conditions));
  return choose_frank_wolfe_in(conditions, setup);
}

Result<TheoremChoice> choose_regular_convex(const TheoremConditions& conditions) {
  UNDERTONE_TRY(const RegularSetup setup, regular_setup(conditions));
  const double longest = algorithms::longest_gradient(conditions.problem(), conditions.facts().lipschitz);
  const double of_mirror = noisy_mirror_rate(conditions, setup, longest);
  const double of_frank_wolfe = noisy_frank_wolfe_rate(conditions, setup);
  const bool mirror = of_mirror <= of_frank_wolfe;
  Result<TheoremChoice> choice =
      mirror ? choose_mirror_in(conditions, setup) : choose_frank_wolfe_in(conditions, setup);
  std::string refusal;
  if (!choice) {
    refusal = choice.error().message;
    choice = mirror ? choose_frank_wolfe_in(conditions, setup) : choose_mirror_in(conditions, setup);
    if (!choice) return Error{choice.error().code, fmt::format("{}; and {}", refusal, choice.error().message)};
  }
  const auto explain = [&](const char* name, double rate, bool is_smaller) {
    choice->reasons.push_back({name, rate,
                               !is_smaller       ? std::string("the larger rate")
                               : refusal.empty() ? std::string("the smaller rate, which is the choice")
                                                 : "the smaller rate, but " + refusal});
  };
  explain("rate of noisy_mirror_descent", of_mirror, mirror);
  explain("rate of noisy_frank_wolfe", of_frank_wolfe, !mirror);
  return choice;
}

}  // namespace undertone::theorems
