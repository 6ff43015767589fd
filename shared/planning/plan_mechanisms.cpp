#include <algorithm>
#include <cmath>

#include "shared/base/exact_text.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/mechanisms/binomial_sum/binomial_report.hpp"
#include "shared/planning/plan.hpp"
#include "shared/planning/plan_parts.hpp"
#include "shared/releases/canonical_ask.hpp"

namespace undertone::planning {
namespace {

/// Whether both parts of a fair gradient, and half of the model's, which a base of the attribute alone may be cut to,
/// are some units long. @see fairness::FairBlocks
Status check_parts_of_fair_gradient(const releases::Ask& ask, const mechanisms::Lattice& lattice) {
  const auto* fair = std::get_if<releases::FairGradientMap>(&ask.map);
  if (fair == nullptr) return {};
  const double least = std::min(0.5 * std::sqrt(fair->terms.model_share), std::sqrt(1.0 - fair->terms.model_share));
  if (least * static_cast<double>(lattice.clip) >= std::sqrt(static_cast<double>(ask.dimension))) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("a shift this small leaves a part of a fair gradient fewer units than its {} numbers",
                           ask.dimension)};
}

Result<mechanisms::GaussianLattice> gaussian_statistic(const Release& release, releases::GaussianShift shift) {
  const releases::PairDistance distance = releases::pair_distance(release.ask);
  const std::int64_t most = release.records_drawn * releases::units_of_one(release.ask);  // of one total
  if (distance.counts) return mechanisms::gaussian_counts(std::llround(distance.l2_squared), shift, most);
  return mechanisms::gaussian_values(std::sqrt(distance.l2_squared), shift, release.ask.dimension, most);
}

Result<mechanisms::LaplaceLattice> laplace_statistic(const Release& release, releases::Epsilon epsilon) {
  const releases::PairDistance distance = releases::pair_distance(release.ask);
  const std::int64_t most = release.records_drawn * releases::units_of_one(release.ask);  // of one total
  if (distance.counts) return mechanisms::laplace_cells(std::llround(distance.l1), epsilon, most);
  return mechanisms::laplace_moments(distance.l1, epsilon, release.ask.dimension, most);
}

/// One of a feature map's totals or cells, by scores that one record moves by at most `levels` each, or by the
/// denominator times that.
Result<mechanisms::Mechanism> selection_of_totals(const Release& release, releases::Epsilon epsilon) {
  constexpr double kLargest = 1.0;  // of a record's number
  const releases::QuantileCell* cell = release.ask.quantile_cell();
  const std::int64_t factor = cell != nullptr ? cell->denominator : 1;
  UNDERTONE_TRY(const auto lattice, mechanisms::ClampLattice::finest(kLargest, release.records_drawn, factor));
  UNDERTONE_TRY(const auto range, mechanisms::ScoreRange::of_each_score(lattice.levels() * factor));
  UNDERTONE_TRY(const auto draw, mechanisms::ExponentialMechanism::create(epsilon, range));
  return mechanisms::Mechanism(mechanisms::Selection{lattice, draw});
}

}  // namespace

Result<mechanisms::Mechanism> Plan::mechanism_for(const Release& release, const Strength& strength) const {
  return std::visit(
      Overloaded{
          [&](releases::GaussianShift shift) -> Result<mechanisms::Mechanism> {
            if (shuffling_ && shuffling_->binomial) return binomial_for(release, shift);
            if (const releases::ReportsForm* form = release.ask.reports()) {
              UNDERTONE_TRY(const mechanisms::LocalReports reports,
                            mechanisms::gaussian_reports(release.ask.dimension, *form, shift, release.records_drawn));
              return mechanisms::Mechanism(reports);
            }
            UNDERTONE_TRY(
                const mechanisms::GaussianLattice lattice,
                std::holds_alternative<releases::PairBound>(release.ask.bound)
                    ? gaussian_statistic(release, shift)
                    : mechanisms::gaussian_lattice(release.ask.clip(), shift, release.ask.dimension,
                                                   release.records_max(), releases::parts_of_unit(release.ask)));
            // What does not depend on the unit is added up besides, and has to stay far from where integers end.
            if (!std::holds_alternative<releases::PairBound>(release.ask.bound) &&
                !(release.ask.reach() / lattice.lattice.step * static_cast<double>(release.records_max()) < 0x1p61))
              return Error{ErrorCode::LimitExceeded,
                           fmt::format("a sum of {} records leaves 62 bits", release.records_max())};
            if (Status finer = check_parts_of_fair_gradient(release.ask, lattice.lattice); !finer) return finer.error();
            return mechanisms::Mechanism(lattice);
          },
          [&](const PureShare& share) -> Result<mechanisms::Mechanism> {
            const auto* range = std::get_if<releases::RangeBound>(&release.ask.bound);
            const auto* statistic = std::get_if<releases::StatisticMap>(&release.ask.map);
            const Eigen::Index dimension = release.ask.dimension;
            if (const auto* minimiser = std::get_if<releases::MinimiserMap>(&release.ask.map)) {
              UNDERTONE_TRY(const releases::Delta failure, releases::Delta::create(failure_each_));
              UNDERTONE_TRY(const mechanisms::PerturbedObjective objective,
                            mechanisms::perturbed_objective({release.ask.clip().value(), release.records_drawn,
                                                             dimension, minimiser->domain, minimiser->start.norm()},
                                                            share.epsilon, failure));
              return mechanisms::Mechanism(objective);
            }
            if (const releases::ReportsForm* form = release.ask.reports();
                form != nullptr && releases::of_vectors(form->randomiser)) {
              UNDERTONE_TRY(const mechanisms::LocalReports reports,
                            mechanisms::direction_reports(dimension, *form, share.epsilon, release.records_drawn));
              return mechanisms::Mechanism(reports);
            }
            if (const releases::ReportsForm* form = release.ask.summed_reports()) {
              UNDERTONE_TRY(const mechanisms::DirectionSum sum,
                            mechanisms::direction_sum(release.ask.clip(), dimension, *form, share.epsilon,
                                                      release.records_drawn));
              return mechanisms::Mechanism(sum);
            }
            if (const releases::ReportsForm* form = release.ask.reports()) {
              // What check_noise has seen to.
              UNDERTONE_TRY(const mechanisms::LocalReports reports,
                            mechanisms::local_reports(*range, releases::reports_indicators(release.ask), *form,
                                                      share.epsilon, release.records_drawn));
              return mechanisms::Mechanism(reports);
            }
            UNDERTONE_TRY(const mechanisms::LaplaceLattice lattice,
                          std::holds_alternative<releases::PairBound>(release.ask.bound)
                              ? laplace_statistic(release, share.epsilon)
                          : range == nullptr ? mechanisms::laplace_lattice(release.ask.clip(), share.epsilon, dimension,
                                                                           release.records_drawn)
                          : statistic != nullptr && statistic->indicators
                              ? mechanisms::laplace_counts(share.epsilon, dimension, release.records_drawn)
                              : mechanisms::laplace_values(*range, share.epsilon, dimension, release.records_drawn));
            return mechanisms::Mechanism(lattice);
          },
          [&](const ConcentratedShare& share) -> Result<mechanisms::Mechanism> {
            // What check_noise has seen to.
            UNDERTONE_TRY(const mechanisms::GeneralisedGaussianLattice lattice,
                          mechanisms::generalised_gaussian_lattice(std::get<releases::DualBound>(release.ask.bound),
                                                                   *release.ask.noise_norm(), share.rho,
                                                                   release.ask.dimension, release.records_max()));
            return mechanisms::Mechanism(lattice);
          },
          [&](const RangedShare& share) -> Result<mechanisms::Mechanism> {
            const bool local = std::holds_alternative<releases::LocalChoicesMap>(release.ask.map);
            if (!local && release.ask.candidates() == nullptr) return selection_of_totals(release, share.epsilon);
            const auto* bound = std::get_if<releases::MaxBound>(&release.ask.bound);
            if (bound == nullptr)
              return Error{ErrorCode::InvalidArgument, "selections are of contributions bounded in every coordinate"};
            if (release.ask.path() != nullptr) {
              UNDERTONE_TRY(const mechanisms::PathSelection selection, path_selection_of(release, share.epsilon));
              return mechanisms::Mechanism(selection);
            }
            const auto* choices = std::get_if<releases::LocalChoicesMap>(&release.ask.map);
            const geometry::Vertices& candidates = choices != nullptr ? choices->vertices : *release.ask.candidates();
            UNDERTONE_TRY(const auto lattice,
                          mechanisms::ClampLattice::finest(bound->bound.value(), release.records_drawn,
                                                           candidates.score_factor()));
            UNDERTONE_TRY(const auto range,
                          mechanisms::ScoreRange::of_differences(candidates.score_range(lattice.levels())));
            UNDERTONE_TRY(const auto draw, mechanisms::ExponentialMechanism::create(share.epsilon, range));
            return mechanisms::Mechanism(mechanisms::Selection{lattice, draw});
          }},
      strength);
}

Result<mechanisms::Mechanism> Plan::binomial_for(const Release& release, releases::GaussianShift shift) const {
  mechanisms::BinomialRound round{shift, failure_each_, release.ask.dimension,
                                  shuffling_->honest_silos * release.records_drawn, shuffling_->coins_max};
  UNDERTONE_TRY(const mechanisms::BinomialChoice choice, mechanisms::binomial_parameters_for(round));
  if (const Result<noise::BinomialTable> coins = mechanisms::binomial_coins(choice.parameters, release.records_drawn);
      !coins)
    return coins.error();
  constexpr std::int64_t kGridUnitsMax = std::int64_t{1} << 28U;  // that a silo's sum keeps well inside 62 bits
  if (release.records_drawn > kGridUnitsMax / choice.parameters.grid()) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{} records on a grid of {}: a silo's sum has at most {} grid units",
                             release.records_drawn, choice.parameters.grid(), kGridUnitsMax)};
  }
  UNDERTONE_TRY(const mechanisms::BinomialShift certified,
                mechanisms::binomial_shift(choice.parameters, round.dimension, round.vectors, failure_each_));
  return mechanisms::Mechanism(mechanisms::BinomialSum{
      mechanisms::binomial_lattice(choice.parameters, release.ask.clip()), choice.parameters, certified});
}

Result<mechanisms::Mechanism> Plan::mechanism_once(const Release& release, const Strength& strength,
                                                   Mechanisms& known) const {
  const releases::Ask& ask = release.ask;
  const double how_loud = std::visit(Overloaded{[](releases::GaussianShift shift) { return shift.value(); },
                                                [](const ConcentratedShare& share) { return share.rho.value(); },
                                                [](const auto& share) { return share.epsilon.value(); }},
                                     strength);
  // All that `mechanism_for` looks at, and nothing else: where records lie does not matter to it.
  const std::string demand = fmt::format(
      "{}{}/{}:{}:{}:{}:{}:{}:{}{}{}:{}:{}", static_cast<int>(ask.unit()),
      releases::canonical_text(ask.records.persons), releases::parts_of_unit(ask), ask.dimension, release.records_drawn,
      release.records_max(), release.block_records, releases::canonical_text(ask.bound), static_cast<int>(ask.kind()),
      releases::canonical_text(ask.map), releases::canonical_text(ask.form), strength.index(), exact_text(how_loud));
  if (const auto one = known.find(demand); one != known.end()) return one->second;
  Result<mechanisms::Mechanism> made = mechanism_for(release, strength);
  if (made) known.emplace(demand, *made);
  return made;
}

}  // namespace undertone::planning
