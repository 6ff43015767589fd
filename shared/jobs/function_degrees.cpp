#include "shared/jobs/function_degrees.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shared/base/overloaded.hpp"
#include "shared/base/work_meter.hpp"
#include "shared/statistics/count_polynomial.hpp"
#include "shared/statistics/loss_surface.hpp"
#include "shared/statistics/quantiles.hpp"

namespace undertone::jobs {
namespace {

using algorithms::FunctionAsked;

constexpr double kReportsPerNumber = 10.0;
constexpr std::size_t kFunctionsMax = 16;  // of a job: choosing takes time before anybody has approved it

std::size_t numbers_of(const FunctionAsked& settled) {
  return static_cast<std::size_t>(statistics::dimension(algorithms::features_of(settled)));
}

/// As many records with one report each would say as much as the answers do.
double effective_reports(const FunctionAsked& asked, std::size_t questions, const FunctionAsked& smallest,
                         const CohortNoise& promises) {
  if (asked.reports) return promises.records();
  const FunctionNoise noise = promises.of(smallest, questions);
  const double louder = noise.reports / noise.totals;
  return promises.records() * louder * louder;
}

/// t that makes error plus two standard deviations of the noise of Any over the whole width least.
void choose(algorithms::MarginalsOf& of, const FunctionAsked& asked, std::size_t questions,
            const CohortNoise& promises) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t t = 1; t <= of.width; ++t) {
    if (statistics::conjunction_count(of.literals.size(), t) > kFunctionNumbersMax) break;
    FunctionAsked tried = asked;
    std::get<algorithms::MarginalsOf>(tried.of).degree = t;
    const FunctionNoise noise = promises.of(tried, questions);
    const statistics::CountPolynomial any = statistics::count_polynomial(statistics::Quantifier::Any, of.width, t);
    const double wrong = any.error + 2.0 * any.amplification * (asked.reports ? noise.reports : noise.totals);
    if (!(wrong < best)) continue;
    best = wrong;
    of.degree = t;
  }
}

void choose(algorithms::KernelsOf& of, const FunctionAsked& asked, std::size_t questions, const CohortNoise& promises) {
  constexpr double kSmoothness = 2.0;  // h of the rate
  const auto p = static_cast<double>(of.columns.size());
  FunctionAsked smallest = asked;
  std::get<algorithms::KernelsOf>(smallest.of).terms = 2;
  const double records = effective_reports(asked, questions, smallest, promises);
  const double terms =
      2.5 * std::pow(std::sqrt(records / 1000.0) * promises.least_epsilon() / static_cast<double>(questions),
                     2.0 / (p + 2.0 * kSmoothness));
  of.terms = static_cast<std::size_t>(std::clamp(std::round(terms), 2.0, 8.0));
  while (of.terms > 2 && statistics::cosine_count(of.columns.size(), of.terms) > kFunctionNumbersMax) --of.terms;
}

/// The degree and the order that make the approximation and two standard deviations of the noise least.
void choose(algorithms::LossOf& of, const FunctionAsked& asked, std::size_t questions, const CohortNoise& promises) {
  constexpr std::size_t kPointsMax = 512;  // of a grid that is tried: a fiftieth of a second for all of them
  constexpr std::size_t kOrder = 2;        // of a larger grid
  const std::size_t parameters = of.columns.size() + (of.intercept ? 1 : 0);
  if (of.degree != 0 && statistics::grid_count(parameters, of.degree) > kPointsMax) {
    of.order = kOrder;
    return;
  }
  const algorithms::LossOf open = of;
  double best = std::numeric_limits<double>::infinity();
  for (const std::size_t order : {1U, 2U, 4U}) {
    if (WorkMeter::stopped()) return;  // whoever set the meter refuses the job
    for (std::size_t degree = 1; degree <= 64; degree += degree < 8 ? 1 : 4) {
      FunctionAsked tried = asked;
      auto& loss = std::get<algorithms::LossOf>(tried.of);
      loss.order = open.order != 0 ? open.order : order;
      loss.degree = open.degree != 0 ? open.degree : degree;
      if (statistics::grid_count(parameters, loss.degree) > kPointsMax) break;
      const FunctionNoise noise = promises.of(tried, questions);
      const auto map = std::get<statistics::LossesMap>(algorithms::features_of(tried));
      const double wrong =
          statistics::expected_error(map, loss.order, asked.reports ? noise.reports : noise.totals, 2.0);
      if (wrong < best) {
        best = wrong;
        of.degree = loss.degree;
        of.order = loss.order;
      }
      if (open.degree != 0) break;
    }
    if (open.order != 0) break;
  }
}

/// A grid to choose from: 1025 points of one parameter, 65 of two and 25 of three, so that steps are small beside what
/// a choice may be off.
std::size_t default_grid(const algorithms::LossOf& of) {
  const std::size_t parameters = of.columns.size() + (of.intercept ? 1 : 0);
  return parameters == 1 ? 1024 : parameters == 2 ? 64 : 24;
}

Status check_size(const algorithms::StatisticAsked& asked, const FunctionAsked& settled,
                  const std::vector<releases::SiloFacts>& cohort) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the {}: {}", asked.name, why)};
  };
  const std::size_t numbers = numbers_of(settled);
  if (numbers > kFunctionNumbersMax)
    return refuse(fmt::format("more than {} numbers would be released", kFunctionNumbersMax));
  if (!settled.reports) return {};
  for (const releases::SiloFacts& facts : cohort) {
    if (static_cast<double>(facts.records) >= kReportsPerNumber * static_cast<double>(numbers)) continue;
    return refuse(
        fmt::format("silo {} has {} records that report on {} numbers, one each: ten times as many as numbers "
                    "are needed; ask for totals, or for fewer numbers",
                    facts.silo.name(), facts.records, numbers));
  }
  return {};
}

}  // namespace

Status settle_functions(std::vector<algorithms::StatisticAsked>& questions, const CohortNoise& noise) {
  std::size_t functions = 0;
  for (algorithms::StatisticAsked& asked : questions) {
    if (auto* least = std::get_if<algorithms::LeastLossAsked>(&asked.what)) {
      if (least->of.degree == 0) least->of.degree = default_grid(least->of);
      if (statistics::grid_count(least->of.columns.size() + (least->of.intercept ? 1 : 0), least->of.degree) >
          kFunctionNumbersMax)
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("the {}: a grid of {} points in each parameter has more than {} of them", asked.name,
                                 least->of.degree + 1, kFunctionNumbersMax)};
    }
    auto* function = std::get_if<FunctionAsked>(&asked.what);
    if (function == nullptr) continue;
    if (++functions > kFunctionsMax)
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("more than {} questions of kind marginals, kernels and loss", kFunctionsMax)};
    if (!algorithms::is_settled(*function)) {
      const FunctionAsked open = *function;
      std::visit([&](auto& of) { choose(of, open, questions.size(), noise); }, function->of);
    }
    if (!algorithms::is_settled(*function))
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("the {}: more than {} numbers would be released: it has too many columns or too high a "
                               "degree",
                               asked.name, kFunctionNumbersMax)};
    if (Status sound = check_size(asked, *function, noise.cohort()); !sound) return sound;
  }
  return {};
}

double selection_epsilon(const releases::Target& target, std::size_t questions) {
  // Draws cost a little less than they may: their delta and their epsilon's units are rounded down.
  constexpr double kDrawn = 0.999;
  const double parts = static_cast<double>(questions) / kDrawn;
  const double whole = releases::epsilon_of(target).value() / parts;
  const auto* concentrated = std::get_if<releases::ConcentratedDp>(&target);
  // epsilon^2 / 8 of each, of rho.
  return concentrated == nullptr ? whole : std::min(whole, std::sqrt(8.0 * concentrated->rho.value() / parts));
}

Status settle_selections(std::vector<algorithms::StatisticAsked>& questions,
                         const std::vector<releases::SiloFacts>& cohort, statistics::Confidence confidence) {
  using End = algorithms::SelectedQuantileAsked::End;
  constexpr auto kDenominator = static_cast<double>(statistics::kProbabilityDenominatorMax);
  for (algorithms::StatisticAsked& asked : questions) {
    auto* quantile = std::get_if<algorithms::SelectedQuantileAsked>(&asked.what);
    if (quantile == nullptr) continue;
    double rank = quantile->probability;
    WorkMeter::charge(50 * cohort.size());
    if (WorkMeter::stopped()) return Error{ErrorCode::LimitExceeded, "the choice of ranks was stopped"};
    for (const releases::SiloFacts& facts : cohort) {
      if (quantile->end == End::Middle) break;
      const Result<statistics::SelectedRanks> ranks =
          statistics::selection_ranks(quantile->probability, facts.records, quantile->cells.edges.size() - 1,
                                      2.0 * selection_epsilon(facts.target, questions.size()), confidence);
      if (!ranks)
        return Error{ranks.error().code, fmt::format("silo {}: {}", facts.silo.name(), ranks.error().message)};
      rank = quantile->end == End::Low ? std::min(rank, ranks->low) : std::max(rank, ranks->high);
    }
    const double scaled = rank * kDenominator;
    const double whole = quantile->end == End::Low    ? std::floor(scaled)
                         : quantile->end == End::High ? std::ceil(scaled)
                                                      : std::round(scaled);
    quantile->rank = {static_cast<std::int64_t>(std::clamp(whole, 1.0, kDenominator - 1.0)),
                      statistics::kProbabilityDenominatorMax};
  }
  return {};
}

}  // namespace undertone::jobs
