#include "shared/jobs/statistics_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "shared/base/overloaded.hpp"
#include "shared/base/work_meter.hpp"
#include "shared/jobs/cohort_noise.hpp"
#include "shared/jobs/function_degrees.hpp"
#include "shared/jobs/vector_question.hpp"
#include "shared/statistics/budget_split.hpp"

namespace undertone::jobs {
namespace {

using algorithms::StatisticAsked;
using algorithms::StatisticsSettings;
using statistics::NoiseKind;

/// What a question costs and weighs under a law.
struct Sized {
  statistics::QuestionSize size;
  double step = 1.0;  // of a Laplace lattice
};

/// @param settings of the question
Sized sized(const StatisticAsked& asked, NoiseKind noise, const StatisticsSettings& settings) {
  std::optional<releases::PersonContribution> persons;
  if (settings.unit == releases::Unit::Person)
    persons = releases::PersonContribution{algorithms::takes_one_record(asked) ? 1 : settings.person_records_max,
                                           asked.persons};
  const releases::PairDistance distance =
      releases::pair_distance(releases::FeaturesMap{*algorithms::features_of(asked, noise)}, persons);
  Sized out;
  out.size.weight = asked.weight;
  out.size.numbers = algorithms::ask_of(asked, noise, settings.unit).dimension;
  out.size.sensitivity = noise == NoiseKind::Laplace ? distance.l1 : std::sqrt(distance.l2_squared);
  out.step = distance.counts ? 1.0 : 0x1p-20;
  return out;
}

bool all_have_form(const StatisticsSettings& settings, NoiseKind noise) {
  return std::all_of(settings.questions.begin(), settings.questions.end(),
                     [noise](const StatisticAsked& asked) { return algorithms::has_form(asked, noise); });
}

bool any_gaussian_reports(const StatisticsSettings& settings) {
  return std::any_of(settings.questions.begin(), settings.questions.end(), [](const StatisticAsked& asked) {
    return algorithms::reports_of(asked) == releases::Randomiser::Gaussian;
  });
}

bool any_reports(const StatisticsSettings& settings) {
  return std::any_of(settings.questions.begin(), settings.questions.end(),
                     [](const StatisticAsked& asked) { return algorithms::reports_of(asked).has_value(); });
}

bool any_selects(const StatisticsSettings& settings) {
  return std::any_of(settings.questions.begin(), settings.questions.end(), algorithms::selects);
}

/// Parts of what a silo promises, which add up to 1.
Result<std::vector<double>> shares_of(const StatisticsSettings& settings, NoiseKind noise,
                                      StatisticsNoise::Budget budget) {
  std::vector<double> out(settings.questions.size(), 0.0);  // of what reads public records
  std::vector<std::size_t> charged;
  std::vector<statistics::QuestionSize> sizes;
  for (std::size_t q = 0; q < out.size(); ++q) {
    if (algorithms::reads_public(settings.questions[q])) continue;
    charged.push_back(q);
    if (budget == StatisticsNoise::Budget::Weights) sizes.push_back(sized(settings.questions[q], noise, settings).size);
  }
  if (charged.empty()) return out;
  std::vector<double> shares(charged.size(), 1.0 / static_cast<double>(charged.size()));
  if (budget == StatisticsNoise::Budget::Weights) {
    UNDERTONE_TRY(shares,
                  noise == NoiseKind::Laplace ? statistics::laplace_shares(sizes) : statistics::gaussian_shares(sizes));
  }
  for (std::size_t i = 0; i < charged.size(); ++i) out[charged[i]] = shares[i];
  return out;
}

/// Of discrete Laplace noise on a step: 2 q / (1 - q)^2.
double laplace_variance(double scale, double step) {
  const double half = std::sinh(0.5 * step / scale);
  return 0.5 / half / half * step * step;
}

/// A question that spends some of a promise.
struct ChargedQuestion {
  Sized own;
  double share = 0.0;
};

/// The weighted variance of all numbers at one silo's promise; infinity where the law cannot keep it.
double variance_at(const std::vector<ChargedQuestion>& questions, NoiseKind noise, const releases::Target& target,
                   const CohortNoise& promises) {
  double whole = 0.0;  // epsilon, or mu^2
  const auto* concentrated = std::get_if<releases::ConcentratedDp>(&target);
  if (noise == NoiseKind::Laplace) {
    whole = concentrated == nullptr ? releases::epsilon_of(target).value() : std::sqrt(2.0 * concentrated->rho.value());
  } else if (const auto* approximate = std::get_if<releases::ApproximateDp>(&target)) {
    const double shift = promises.shift_of(*approximate);
    whole = shift * shift;
  } else if (concentrated != nullptr) {
    whole = 2.0 * concentrated->rho.value();
  } else {
    return std::numeric_limits<double>::infinity();
  }
  double out = 0.0;
  WorkMeter::charge(20 * questions.size());
  for (const ChargedQuestion& question : questions) {
    const double sensitivity = question.own.size.sensitivity;
    const double each = noise == NoiseKind::Laplace
                            ? laplace_variance(sensitivity / (question.share * whole), question.own.step)
                            : sensitivity * sensitivity / (question.share * whole);
    out += question.own.size.weight * static_cast<double>(question.own.size.numbers) * each;
  }
  return out;
}

/// Of the cohort together. Silos that are alike are worked out once: there are thousands of them.
double variance_of(const StatisticsSettings& settings, NoiseKind noise, const std::vector<double>& shares,
                   const CohortNoise& promises) {
  std::vector<ChargedQuestion> questions;
  for (std::size_t q = 0; q < shares.size(); ++q)
    if (!algorithms::reads_public(settings.questions[q]))
      questions.push_back({sized(settings.questions[q], noise, settings), shares[q]});
  double out = 0.0;
  double last = 0.0;
  const releases::SiloFacts* before = nullptr;
  for (const releases::SiloFacts& facts : promises.cohort()) {
    const bool alike = before != nullptr && before->target.index() == facts.target.index() &&
                       before->epsilon() == facts.epsilon() && before->delta() == facts.delta();
    if (!alike) last = variance_at(questions, noise, facts.target, promises);
    before = &facts;
    out += last;
  }
  return out;
}

Result<NoiseKind> chosen_law(const StatisticsSettings& settings, const StatisticsNoise& noise,
                             const CohortNoise& promises) {
  const std::vector<releases::SiloFacts>& cohort = promises.cohort();
  if (noise.law == StatisticsNoise::Law::Laplace) return NoiseKind::Laplace;
  const bool pure = std::any_of(cohort.begin(), cohort.end(), [](const releases::SiloFacts& facts) {
    return std::holds_alternative<releases::PureDp>(facts.target);
  });
  if (noise.law == StatisticsNoise::Law::Gaussian) {
    if (!pure) return NoiseKind::Gaussian;
    return Error{ErrorCode::InvalidArgument,
                 "Gaussian noise keeps no promise of delta 0: every silo needs one above it"};
  }
  if (!pure && any_gaussian_reports(settings)) return NoiseKind::Gaussian;
  if (pure || any_reports(settings) || any_selects(settings)) return NoiseKind::Laplace;
  if (!all_have_form(settings, NoiseKind::Laplace)) return NoiseKind::Gaussian;
  double best = std::numeric_limits<double>::infinity();
  NoiseKind out = NoiseKind::Laplace;
  for (const NoiseKind kind : {NoiseKind::Laplace, NoiseKind::Gaussian}) {
    UNDERTONE_TRY(const std::vector<double> shares, shares_of(settings, kind, noise.budget));
    const double variance = variance_of(settings, kind, shares, promises);
    if (variance < best) out = kind;
    best = std::min(best, variance);
  }
  return out;
}

/// The half-width that was asked for, in units of the total. @return nothing where the question has none to ask for
std::optional<double> width_of_total(const StatisticAsked& asked, double records) {
  const double width = *asked.half_width;
  return std::visit(
      Overloaded{
          [&](const algorithms::CountAsked& /*what*/) -> std::optional<double> { return width; },
          [&](const algorithms::HistogramAsked& /*what*/) -> std::optional<double> { return width; },
          [&](const algorithms::TableAsked& /*what*/) -> std::optional<double> { return width; },
          [&](const algorithms::SumAsked& what) -> std::optional<double> {
            return width / (0.5 * (what.high - what.low));
          },
          [&](const algorithms::MeanAsked& what) -> std::optional<double> {
            return width * records / (0.5 * (what.high - what.low));
          },
          [](const auto& /*several numbers of several units*/) -> std::optional<double> { return std::nullopt; }},
      asked.what);
}

Result<std::vector<double>> strengths_for(const StatisticsSettings& settings,
                                          const std::vector<releases::SiloFacts>& cohort) {
  UNDERTONE_TRY(const statistics::Confidence confidence, statistics::Confidence::create(settings.confidence));
  const double records = std::accumulate(
      cohort.begin(), cohort.end(), 0.0,
      [](double sum, const releases::SiloFacts& facts) { return sum + static_cast<double>(facts.records); });
  std::vector<statistics::TargetWidth> targets;
  for (const StatisticAsked& asked : settings.questions) {
    if (!asked.half_width)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("the {}: expected half_width, as the budget is by them", asked.name)};
    const std::optional<double> width = width_of_total(asked, records);
    if (!width) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format(
              "the {}: widths are of counts, means, sums, histograms and tables, and not of means or sums beside the "
              "number of records",
              asked.name)};
    }
    const Sized own = sized(asked, settings.noise, settings);
    targets.push_back({*width, own.size.sensitivity, own.step});
  }
  const auto silos = static_cast<std::int64_t>(cohort.size());
  return settings.noise == NoiseKind::Laplace ? statistics::laplace_epsilons_for(targets, silos, confidence)
                                              : statistics::gaussian_shifts_for(targets, silos, confidence);
}

/// Cuts of means with heavy tails, for the noise that they will have: four digits of each, so that everybody has the
/// same.
Status settle_cuts(std::vector<StatisticAsked>& questions, const CohortNoise& promises,
                   statistics::Confidence confidence) {
  for (StatisticAsked& asked : questions) {
    auto* cut = std::get_if<algorithms::CutMeanAsked>(&asked.what);
    if (cut == nullptr) continue;
    const double noise = confidence.z() * promises.of_mean(questions.size());
    if (!(std::isfinite(noise) && noise > 0.0))
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("the {}: these promises have no noise to weigh", asked.name)};
    const double best = statistics::best_threshold(cut->moment, noise, cut->influence);
    const double unit = std::pow(10.0, std::floor(std::log10(best)) - 3.0);
    cut->threshold = std::ceil(best / unit) * unit;
    if (cut->influence == statistics::Influence::Clip) cut->threshold = std::min(cut->threshold, cut->farthest());
    const double least = 0.5 * (cut->high - cut->low) * statistics::kCutRadiusMin;
    if (!(cut->threshold >= least))
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("the {}: moments.bound is so small that numbers would be cut to within {:.3g} of {}: "
                               "expected {:.3g} or more",
                               asked.name, cut->threshold, cut->about, least)};
  }
  return {};
}

}  // namespace

Result<StatisticsSettings> with_noise_for(StatisticsSettings settings, const StatisticsNoise& noise,
                                          const std::vector<releases::SiloFacts>& cohort) {
  for (const StatisticAsked& asked : settings.questions)
    if (Status sound = algorithms::Statistics::check_unit(asked, settings.unit); !sound) return sound.error();
  const CohortNoise promises(cohort);
  if (WorkMeter::stopped()) return Error{ErrorCode::LimitExceeded, "the choice of noise was stopped"};
  UNDERTONE_TRY(settle_functions(settings.questions, promises));
  UNDERTONE_TRY(settle_models(settings.questions, promises));
  UNDERTONE_TRY(const statistics::Confidence confidence, statistics::Confidence::create(settings.confidence));
  UNDERTONE_TRY(settle_cuts(settings.questions, promises, confidence));
  UNDERTONE_TRY(settle_selections(settings.questions, cohort, confidence));
  UNDERTONE_TRY(const NoiseKind law, chosen_law(settings, noise, promises));
  settings.noise = law;
  for (const StatisticAsked& asked : settings.questions)
    if (Status sound = algorithms::Statistics::check_form(asked, settings.noise); !sound) return sound.error();
  if (any_reports(settings) && noise.budget != StatisticsNoise::Budget::Equal) {
    return Error{ErrorCode::InvalidArgument,
                 "reports of single records have no noise of a total to weigh: expected the budget \"equal\""};
  }
  if (any_selects(settings)) {
    if (noise.budget != StatisticsNoise::Budget::Equal)
      return Error{ErrorCode::InvalidArgument, "selections have no noise to weigh: expected the budget \"equal\""};
    return settings;  // a plan gives every release the same part, whatever its law
  }
  if (noise.budget == StatisticsNoise::Budget::HalfWidths) {
    UNDERTONE_TRY(std::vector<double> strengths, strengths_for(settings, cohort));
    settings.strengths = std::move(strengths);
    return settings;
  }
  const bool single = std::all_of(settings.questions.begin(), settings.questions.end(), algorithms::is_single);
  if (single && settings.unit == releases::Unit::Record && settings.noise == NoiseKind::Laplace &&
      noise.budget == StatisticsNoise::Budget::Equal)
    return settings;
  UNDERTONE_TRY(std::vector<double> shares, shares_of(settings, settings.noise, noise.budget));
  settings.shares = std::move(shares);
  return settings;
}

}  // namespace undertone::jobs
