#include "shared/theorems/theorem_choice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/sgd/accelerated_sgd.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/base/remembered_searches.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"
#include "shared/theorems/predicted_risk.hpp"

namespace undertone::theorems {
namespace {

constexpr double kRounding = 1e-9;  // relative: a diameter that was computed another way

}  // namespace

Result<TheoremConditions> TheoremConditions::create(std::string source, const TheoremFacts& facts,
                                                    const algorithms::Problem& problem, PlannedNoise noise) {
  TheoremConditions out(std::move(source), facts, problem, noise);
  if (problem.dimension < 1) return out.refuse(fmt::format("a model of {} numbers", problem.dimension));
  const std::pair<std::string_view, double> strictly_positive[] = {{"N", facts.silos},
                                                                   {"M", facts.answering},
                                                                   {"n", facts.records},
                                                                   {"epsilon", facts.epsilon},
                                                                   {"the Lipschitz constant L", facts.lipschitz},
                                                                   {"the smoothness beta", facts.smoothness}};
  for (const auto& [name, value] : strictly_positive)
    if (Status fits = out.positive(name, value); !fits) return fits.error();
  const std::pair<std::string_view, double> not_negative[] = {{"the diameter D", facts.diameter},
                                                              {"the smoothness from l_1 to l_inf", facts.smoothness_l1},
                                                              {"the strong convexity mu", facts.strong_convexity},
                                                              {"the gap Delta", facts.gap},
                                                              {"the heterogeneity", facts.heterogeneity},
                                                              {"the gradient variance", facts.gradient_variance}};
  for (const auto& [name, value] : not_negative)
    if (!(value >= 0.0 && value <= geometry::kParameterMax))
      return out.refuse(fmt::format("{} must be >= 0 and <= {}, got {}", name, geometry::kParameterMax, value));
  if (!(facts.delta > 0.0 && facts.delta < 1.0))
    return out.refuse(fmt::format("delta must be in (0, 1), got {}", facts.delta));
  if (facts.records != std::floor(facts.records))
    return out.refuse(fmt::format("n must be a whole number, got {}", facts.records));
  if (!(facts.answering >= 1.0 && facts.answering <= facts.silos))
    return out.refuse(fmt::format("M = {} silos answer, expected 1 to N = {}", facts.answering, facts.silos));
  for (const SiloTarget& silo : facts.members) {
    if (!(silo.records >= facts.records && silo.epsilon >= facts.epsilon && silo.delta >= facts.delta &&
          silo.delta < 1.0))
      return out.refuse(fmt::format("a silo of n = {}, epsilon = {}, delta = {} is below the least of all, {}, {}, {}",
                                    silo.records, silo.epsilon, silo.delta, facts.records, facts.epsilon, facts.delta));
  }
  if (facts.shuffled && !(facts.shuffled->honest >= 1.0 && facts.shuffled->honest <= facts.answering))
    return out.refuse(fmt::format("{} honest silos, expected 1 to M = {}", facts.shuffled->honest, facts.answering));
  return out;
}

Error TheoremConditions::refuse(std::string what) const {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", source_, std::move(what))};
}

Status TheoremConditions::positive(std::string_view name, double value) const {
  if (Status fits = geometry::check_positive(name, value); !fits) return refuse(fits.error().message);
  return {};
}

Status TheoremConditions::epsilon_at_most(std::string_view bound, double most) const {
  if (facts_.epsilon <= most) return {};
  return refuse(fmt::format("epsilon is {}, which must be at most {} = {}", facts_.epsilon, bound, most));
}

Status TheoremConditions::strongly_convex(double smoothness) const {
  if (Status fits = positive("the strong convexity mu", facts_.strong_convexity); !fits) return fits;
  if (facts_.strong_convexity <= smoothness) return {};
  return refuse(fmt::format("the strong convexity mu = {} is above the smoothness beta = {}", facts_.strong_convexity,
                            smoothness));
}

Status TheoremConditions::bounded_domain() const {
  if (Status fits = positive("the diameter D", facts_.diameter); !fits) return fits;
  const std::optional<double> diameter = problem_.domain.diameter(problem_.dimension);
  if (!diameter)
    return refuse(fmt::format("the domain is {}, which no diameter bounds, not D = {} either", problem_.domain.name(),
                              facts_.diameter));
  if (facts_.diameter >= *diameter * (1.0 - kRounding)) return {};
  return refuse(
      fmt::format("D = {} is less than the diameter {} of {}", facts_.diameter, *diameter, problem_.domain.name()));
}

Result<std::uint64_t> TheoremConditions::whole_rounds(double value) const {
  if (!(value <= algorithms::number(releases::kRoundsMax))) {
    return refuse(fmt::format("asks for {} rounds, more than {}", value, releases::kRoundsMax));
  }
  return static_cast<std::uint64_t>(std::ceil(std::max(value, 1.0)));
}

double TheoremConditions::batch(std::uint64_t rounds) const {
  if (noise_ == PlannedNoise::Accountant) return facts_.records;
  double least = 0.0;  // of the least silo's records: every silo draws the same share
  for (const SiloTarget& silo : targets())
    least =
        std::max(least, algorithms::least_batch(static_cast<double>(rounds), facts_.records, silo.epsilon, silo.delta));
  return std::clamp(std::ceil(least), 1.0, facts_.records);
}

double TheoremConditions::fraction_of(double batch) const {
  const double fraction = batch / facts_.records;
  return std::floor(fraction * facts_.records) < batch ? std::nextafter(fraction, 2.0) : fraction;
}

std::vector<SiloTarget> TheoremConditions::targets() const {
  if (!facts_.members.empty()) return facts_.members;
  return {{facts_.records, facts_.epsilon, facts_.delta}};
}

Result<double> TheoremConditions::planned_shift(std::uint64_t rounds, const algorithms::NoiseFacts& silo) const {
  if (noise_ == PlannedNoise::Accountant) return shift_of_each(silo.epsilon, silo.delta, static_cast<double>(rounds));
  algorithms::MinibatchSgdSettings settings;
  settings.rounds = rounds;
  UNDERTONE_TRY(const algorithms::NoiseShifts shifts, algorithms::Method(settings)->theorem_noise(silo));
  return shifts.gradients.front();
}

Result<double> TheoremConditions::noise_variance(std::uint64_t rounds, double records, double batch) const {
  UNDERTONE_CHECK(noise_ == PlannedNoise::Printed || batch == records);
  return variance_of_mean(records, batch, [&](const algorithms::NoiseFacts& silo) -> Result<double> {
    return planned_shift(rounds, silo);
  });
}

double TheoremConditions::mean_square_of_loudest(const std::vector<double>& loudest_first) const {
  const std::size_t most = std::min(loudest_first.size(), static_cast<std::size_t>(std::ceil(facts_.answering)));
  double squares = 0.0;
  for (std::size_t i = 0; i < most; ++i) squares += loudest_first[i] * loudest_first[i];
  return squares / static_cast<double>(most);
}

Result<double> TheoremConditions::one_pass_noise_variance(double batch) const {
  if (shuffled()) return binomial_variance(1.0, batch);
  const algorithms::AcceleratedSgdSettings settings{{}, {}, algorithms::RecordUse::OnePass};
  const algorithms::Method method(settings);
  return variance_of_mean(facts_.records, batch, [&](const algorithms::NoiseFacts& silo) -> Result<double> {
    if (noise_ == PlannedNoise::Accountant) return shift_of_each(silo.epsilon, silo.delta, 1.0);
    UNDERTONE_TRY(const algorithms::NoiseShifts shifts, method->theorem_noise(silo));
    return shifts.gradients.front();
  });
}

Status TheoremConditions::binomial_sums() const {
  if (Status fits = epsilon_at_most("15", 15.0); !fits) return fits;
  if (facts_.delta < 0.5) return {};
  return refuse(fmt::format("delta is {}, which must be below 0.5", facts_.delta));
}

double TheoremConditions::shuffled_records() const { return private_records() * facts_.answering; }

Result<double> TheoremConditions::binomial_variance(double rounds, double batch) const {
  constexpr double kExcess = 1.25;                 // of the variance: @see mechanisms::BinomialDemand
  constexpr double kMechanismShare = 31.0 / 32.0;  // of delta: the rest covers the sums' failures
  UNDERTONE_TRY(const double shift, shift_of_each(facts_.epsilon, facts_.delta * kMechanismShare, rounds));
  const double sum = 2.0 * facts_.lipschitz / shift;
  return kExcess * sum * sum / (facts_.shuffled->honest * facts_.answering * batch * batch);
}

double TheoremConditions::private_records() const {
  if (facts_.members.empty()) {
    const double each = facts_.epsilon * facts_.records;
    return each * each * facts_.answering / (dimension() * log_one());
  }
  std::vector<double> loudness;  // sqrt(ln(1/delta_i))/(eps_i n_i)
  for (const SiloTarget& silo : facts_.members)
    loudness.push_back(std::sqrt(std::log(1.0 / silo.delta)) / (silo.epsilon * silo.records));
  std::sort(loudness.begin(), loudness.end(), std::greater<>());
  return facts_.answering / (dimension() * mean_square_of_loudest(loudness));
}

double TheoremConditions::reach() const {
  const auto* ball = std::get_if<geometry::L2Ball>(&problem_.domain.set());
  return ball == nullptr ? facts_.diameter : std::min(ball->radius() + problem_.start().norm(), facts_.diameter);
}

bool TheoremConditions::subsampled(double batch) const {
  return facts_.answering * batch < facts_.silos * facts_.records;
}

double TheoremConditions::silo_variance() const {
  return silo_sampling_factor(facts_.silos, facts_.answering) * facts_.heterogeneity;
}

double TheoremConditions::log_one() const noexcept { return std::log(1.0 / facts_.delta); }
double TheoremConditions::log_two() const noexcept { return std::log(2.0 / facts_.delta); }

TheoremChoice TheoremConditions::begin(std::string measure, algorithms::Method method) const {
  TheoremChoice out{std::move(method)};
  out.facts = facts_;
  out.measure = std::move(measure);
  out.source = source_;
  return out;
}

Result<TheoremChoice> TheoremConditions::finish(TheoremChoice choice) const {
  const Result<std::unique_ptr<algorithms::FederatedAlgorithm>> made = choice.method->make();
  if (!made) return refuse(made.error().message);
  return choice;
}

Result<double> shift_of_each(double epsilon, double delta, double rounds) {
  UNDERTONE_CHECK(rounds >= 1.0);
  UNDERTONE_TRY(const releases::Epsilon typed_epsilon, releases::Epsilon::create(epsilon));
  UNDERTONE_TRY(const releases::Delta typed_delta, releases::Delta::create(delta));
  // A cohort makes a few promises to many silos, and a theorem asks for each of them more than once.
  using Promised = std::pair<double, double>;
  static RememberedSearches<Promised, double> known(kPromisesMax);
  UNDERTONE_TRY(const double shift, known.find({epsilon, delta}, [&]() -> Result<double> {
    return accounting::gaussian_shift_for(typed_epsilon, typed_delta).value();
  }));
  return shift / std::sqrt(rounds);
}

double log_at_least_one(double value) { return value > 1.0 ? std::max(1.0, std::log(value)) : 1.0; }

}  // namespace undertone::theorems
