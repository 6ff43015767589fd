#include "shared/planning/noise_checks.hpp"

#include <optional>
#include <string>
#include <vector>

#include "shared/planning/plan_parts.hpp"

namespace undertone::planning {
namespace {

/// Whether records have numbers of their own to report, in the public range that the ask says.
bool reports_of_its_own(const releases::Ask& ask) {
  if (releases::of_vectors(ask.reports()->randomiser)) {
    const auto* features = std::get_if<releases::FeaturesMap>(&ask.map);
    const auto* ball = features == nullptr ? nullptr : std::get_if<statistics::BallMap>(&features->features);
    const bool one = !releases::of_directions(ask.reports()->randomiser) || ask.reports()->copies == 1;
    return one && ball != nullptr && ball->besides == statistics::BallMap::Besides::Nothing &&
           ball->length() == ask.dimension && std::holds_alternative<releases::PairBound>(ask.bound);
  }
  const auto* range = std::get_if<releases::RangeBound>(&ask.bound);
  if (range == nullptr) return false;
  if (const auto* statistic = std::get_if<releases::StatisticMap>(&ask.map))
    return static_cast<Eigen::Index>(statistic->coordinates.size()) == ask.dimension;
  const auto* features = std::get_if<releases::FeaturesMap>(&ask.map);
  if (features == nullptr || statistics::dimension(features->features) != ask.dimension) return false;
  const std::optional<statistics::CoordinateRange> own = statistics::reported_range(features->features);
  return own && own->low == range->low && own->high == range->high;
}

/// Whether a selection is among what a feature map's totals can be scored by: each number of a record is in [0, 1], so
/// that one record moves a total by 1 at most.
bool selects_of_features(const releases::Ask& ask) {
  const auto* features = std::get_if<releases::FeaturesMap>(&ask.map);
  const auto* range = std::get_if<releases::RangeBound>(&ask.bound);
  if (features == nullptr || range == nullptr || range->low != 0.0 || range->high != 1.0 ||
      statistics::dimension(features->features) != ask.dimension)
    return false;
  if (const releases::QuantileCell* cell = ask.quantile_cell()) {
    const auto* cells = std::get_if<statistics::CellsMap>(&features->features);
    return cells != nullptr && cells->axes.size() == 1 &&
           std::holds_alternative<statistics::BinnedCells>(cells->axes.front()) && cell->numerator > 0 &&
           cell->numerator < cell->denominator && cell->denominator <= statistics::kProbabilityDenominatorMax;
  }
  return std::holds_alternative<statistics::LossesMap>(features->features);
}

/// Whether a path's nodes are disjoint parts of one permutation, each with records at this silo, within the slice that
/// the ask names, and its terms such as a lattice can hold.
std::string misfit_of_path(const releases::Ask& ask, const releases::SiloFacts& facts) {
  const std::vector<releases::PathNode>& nodes = ask.path()->nodes;
  const auto* most = std::get_if<releases::MaxBound>(&ask.bound);
  if (nodes.empty() || most == nullptr || ask.candidates() == nullptr || !ask.records.slice)
    return "a path of nodes, each of a part of the records, makes an estimate of which a vertex is selected";
  if (ask.records.block != releases::Block::Training || ask.records.draw_fraction < 1.0 || ask.share || ask.epsilon)
    return "paths are of training records, all of a node's, and their epsilon is what the promise allows";
  if (ask.records.slice->assignment != releases::Slice::Assignment::Permutation || ask.records.with_replacement)
    return "a path's nodes are parts of a permutation";
  const releases::Slice::Positions hull = ask.records.slice->positions(facts.records);
  std::vector<releases::Slice::Positions> taken;
  for (const releases::PathNode& node : nodes) {
    if (node.slice.assignment != releases::Slice::Assignment::Permutation)
      return "a path's nodes are parts of a permutation";
    if (!(node.factor > 0.0 && node.factor <= 1.0 && node.carried >= 0.0 && node.carried <= 1.0) ||
        (node.carried != 0.0) != (&node != &nodes.front()) || node.bound.value() > most->bound.value())
      return "a path's first node has a gradient, the others differences, within the bound that the ask names";
    const releases::Slice::Positions own = node.slice.positions(facts.records);
    if (own.from >= own.to)
      return fmt::format("its {} training records leave none for part {} of {} of a path: fewer parts are needed",
                         facts.records, node.slice.index + 1, node.slice.of);
    if (own.from < hull.from || own.to > hull.to) return "a node lies outside the slice of its path";
    for (const releases::Slice::Positions& other : taken)
      if (own.from < other.to && other.from < own.to) return "two nodes of a path read the same records";
    taken.push_back(own);
  }
  return "";
}

/// Why numbers that are cut one by one do not go with what is asked; empty where they do, and of every other bound.
std::string misfit_of_influence(const releases::Ask& ask, const releases::SiloFacts& facts, bool shuffled) {
  const auto* influence = std::get_if<releases::InfluenceBound>(&ask.bound);
  if (influence == nullptr) return "";
  if (!std::holds_alternative<releases::GradientMap>(ask.map) || !std::holds_alternative<releases::SumForm>(ask.form) ||
      ask.summed_reports() != nullptr || ask.noise_norm() || ask.beside_public)
    return "sums of gradients alone are cut coordinate by coordinate";
  if (ask.records.block != releases::Block::Training) return "training records alone are cut coordinate by coordinate";
  if (ask.records.slice && ask.records.slice->assignment != releases::Slice::Assignment::Permutation)
    return "what is cut coordinate by coordinate has no account for secret parts: expected \"parts\": \"permutation\"";
  if (influence->groups() == 1) return "";
  if (shuffled) return "a median of groups is not hidden by shufflers: expected one group, or mode isrl";
  if (!ask.records.slice || ask.records.draw_fraction < 1.0 || ask.records.with_replacement)
    return "groups are parts of a permutation, of which every record is read";
  const releases::Slice::Positions own = ask.records.slice->positions(facts.records);
  if (own.to - own.from < static_cast<std::int64_t>(influence->groups()))
    return fmt::format("{} records of a part make no {} groups: fewer groups are needed", own.to - own.from,
                       influence->groups());
  return "";
}

/// Generalised Gaussian noise is of sums that are bounded in a dual norm, and nothing is known of it but its rho.
Status check_generalised_noise(const releases::Ask& ask, const releases::SiloFacts& facts, bool shuffled) {
  const auto refuse = [&](std::string_view why) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("silo {}: generalised Gaussian noise {}", facts.silo.name(), why)};
  };
  const auto* dual = std::get_if<releases::DualBound>(&ask.bound);
  if (dual == nullptr || !(*ask.noise_norm() > 2.0 && *ask.noise_norm() <= dual->exponent()))
    return refuse("in l_r is of sums that are bounded in l_q with 2 < r <= q: of l2 the Gaussian is exact");
  if (!std::holds_alternative<releases::GradientMap>(ask.map) &&
      !std::holds_alternative<releases::GradientDifferenceMap>(ask.map))
    return refuse("is of gradients and their differences: nothing else is cut in a dual norm");
  if (std::holds_alternative<releases::PureDp>(facts.target))
    return refuse("has no pure epsilon: expected a delta above 0 or a rho");
  if (shuffled) return refuse("is not hidden by shufflers: expected mode isrl");
  if (ask.records.with_replacement) return refuse("has no account for draws with replacement");
  if (ask.records.slice && ask.records.slice->assignment != releases::Slice::Assignment::Permutation)
    return refuse("has no account for secret parts: expected parts that compose in parallel");
  if (ask.epsilon) return refuse("has no pure epsilon, and one was chosen for it");
  return {};
}

}  // namespace

Status check_noise(const releases::Ask& ask, const releases::SiloFacts& facts, bool shuffled) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::InvalidArgument, fmt::format("silo {}: {}", facts.silo.name(), why)};
  };
  if ((ask.shift || ask.epsilon) && std::holds_alternative<releases::ConcentratedDp>(facts.target))
    return refuse("noise that the job chooses is held to an epsilon and a delta: expected no rho");
  if (const releases::ReportsForm* reports = ask.summed_reports()) {
    if (!releases::of_directions(reports->randomiser) || reports->copies != 1 ||
        !std::holds_alternative<releases::GradientMap>(ask.map) ||
        !std::holds_alternative<releases::L2Bound>(ask.bound) || ask.smoothness() || ask.noise_norm())
      return refuse("reports that a silo adds up are directions of clipped gradients, and nothing else");
    if (shuffled) return refuse("reports that a silo adds up are not hidden by shufflers: expected mode isrl");
    if (ask.records.draw_fraction < 1.0 || ask.records.with_replacement ||
        ask.records.block != releases::Block::Training ||
        (ask.records.slice && ask.records.slice->assignment != releases::Slice::Assignment::Permutation))
      return refuse(
          "a record reports once in a round, in a part that is read whole: expected \"parts\": \"permutation\", "
          "and no draws");
    return ask.shift || ask.epsilon
               ? refuse("the noise of reports follows from what is promised: none was to be chosen")
               : Status();
  }
  if (ask.reports() != nullptr) {
    if (!reports_of_its_own(ask))
      return refuse("records report numbers of their own in a public range, or vectors in a ball, and nothing else");
    if (shuffled) return refuse("reports leave in a secret order already: expected mode isrl");
    if (ask.records.draw_fraction < 1.0 || ask.records.slice || ask.records.with_replacement ||
        ask.records.block != releases::Block::Training)
      return refuse("reports are of all training records, each of which reports once");
    if (law_of(ask, facts.target) == Law::Gaussian && std::holds_alternative<releases::PureDp>(facts.target))
      return refuse("the noise of these reports is Gaussian: a pure target has none for it");
    if (ask.dimension > facts.records && !releases::of_vectors(ask.reports()->randomiser))
      return refuse("a record reports on one number alone: expected as many records as numbers, or more");
    return ask.shift || (ask.epsilon && law_of(ask, facts.target) == Law::Gaussian)
               ? refuse("the noise of reports follows from what is promised: none was to be chosen")
               : Status();
  }
  if (ask.selects() && ask.candidates() == nullptr) {
    if (!selects_of_features(ask)) return refuse("totals are selected by public scores of cells or of losses alone");
    if (shuffled) return refuse("selections and statistics are not hidden by shufflers: expected mode isrl");
    if (ask.records.draw_fraction < 1.0 || ask.records.slice || ask.records.with_replacement)
      return refuse("statistics are of all records");
    if (ask.shift || ask.epsilon || ask.share)
      return refuse(
          "selections have the same part of a promise as what is beside them: expected no share and no noise");
    return {};
  }
  if (std::holds_alternative<releases::PairBound>(ask.bound)) {
    const bool scores = std::holds_alternative<releases::ScoreMomentsMap>(ask.map);
    if ((!scores && !std::holds_alternative<releases::FeaturesMap>(ask.map)) || ask.selects())
      return refuse("bounds of pairs of records are of feature maps and of scores of a regression alone");
    if (scores && std::get<releases::PairBound>(ask.bound).norm != releases::PairBound::Norm::L2)
      return refuse("scores of a regression are bounded in l2");
    if (shuffled) return refuse("statistics are not hidden by shufflers: expected mode isrl");
    if (ask.records.draw_fraction < 1.0 || ask.records.slice || ask.records.with_replacement)
      return refuse("statistics are of all records");
    if (law_of(ask, facts.target) == Law::Pure)
      return ask.shift ? refuse("noise was chosen for a release that is not Gaussian") : Status();
    if (std::holds_alternative<releases::PureDp>(facts.target))
      return refuse("the noise of this statistic is Gaussian: a pure target has none for it");
    return {};
  }
  if (const std::string wrong = misfit_of_influence(ask, facts, shuffled); !wrong.empty()) return refuse(wrong);
  if (ask.path() != nullptr)
    if (const std::string wrong = misfit_of_path(ask, facts); !wrong.empty()) return refuse(wrong);
  if (std::holds_alternative<releases::MinimiserMap>(ask.map)) {
    if (!std::holds_alternative<releases::ApproximateDp>(facts.target))
      return refuse(
          "what a perturbed objective costs holds but for a failure: expected an epsilon and a delta above 0");
    if (shuffled) return refuse("a silo's own minimiser is not hidden by shufflers: expected mode isrl");
    if (ask.records.draw_fraction < 1.0 || ask.records.slice || ask.records.with_replacement ||
        ask.records.block != releases::Block::Training)
      return refuse("a silo's own minimiser is of all its training records");
    if (ask.shift || ask.epsilon || ask.share || releases::l2_clip_of(ask.bound) == nullptr)
      return refuse("the noise of a perturbed objective follows from what is promised and from a bound in l2");
    const auto& start = std::get<releases::MinimiserMap>(ask.map).start;
    if (start.size() != ask.dimension || !start.allFinite())
      return refuse("a minimiser has a public start of its size");
    return {};
  }
  const bool chooses_itself = std::holds_alternative<releases::LocalChoicesMap>(ask.map);
  if (chooses_itself && (ask.records.draw_fraction < 1.0 || ask.records.slice || ask.share || ask.epsilon))
    return refuse("a silo's own choices are by all its records");
  if (ask.noise_norm()) return check_generalised_noise(ask, facts, shuffled);
  if (law_of(ask, facts.target) == Law::Gaussian) {
    if (releases::l2_clip_of(ask.bound) == nullptr)
      return refuse("sums of contributions that are not bounded in l2 are not planned");
    if (std::holds_alternative<releases::ConcentratedDp>(facts.target) && ask.records.with_replacement)
      return refuse("draws with replacement are not accounted for in zCDP");
    return {};
  }
  if (!ask.selects() && !chooses_itself && std::holds_alternative<releases::MaxBound>(ask.bound))
    return refuse("sums of contributions that are bounded in every coordinate alone are not planned");
  if (shuffled) return refuse("selections and statistics are not hidden by shufflers: expected mode isrl");
  if (ask.shift) return refuse("noise was chosen for a release that is not Gaussian");
  if (ask.local() != nullptr) return refuse("the noise of local runs is Gaussian: a pure target has none for them");
  if (ask.records.with_replacement)
    return refuse("draws with replacement are of Gaussian sums alone: a record that is drawn twice counts twice");
  if (ask.smoothness())
    return refuse("the noise of a clip that follows the points is Gaussian: expected no smoothness");
  return {};
}

}  // namespace undertone::planning
