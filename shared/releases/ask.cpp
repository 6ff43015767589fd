#include "shared/releases/ask.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/overloaded.hpp"

namespace undertone::releases {

std::string_view to_string(QuestionKind kind) noexcept {
  switch (kind) {
    case QuestionKind::Gradient:
      return "gradient";
    case QuestionKind::Metrics:
      return "metrics";
    case QuestionKind::GradientDifference:
      return "difference";
    case QuestionKind::LocalRun:
      return "local_run";
    case QuestionKind::Statistic:
      return "statistic";
    case QuestionKind::ControlledRun:
      return "controlled_run";
    case QuestionKind::Path:
      return "path";
    case QuestionKind::Scores:
      return "scores";
    case QuestionKind::FairGradient:
      return "fair_gradient";
    case QuestionKind::GroupShares:
      return "group_shares";
    case QuestionKind::ScoreMoments:
      return "score_moments";
  }
  return "";
}

std::string_view to_string(Randomiser randomiser) noexcept {
  switch (randomiser) {
    case Randomiser::Bit:
      return "bit";
    case Randomiser::Laplace:
      return "laplace";
    case Randomiser::StringBit:
      return "string_bit";
    case Randomiser::Index:
      return "index";
    case Randomiser::Direction:
      return "direction";
    case Randomiser::Gaussian:
      return "gaussian";
    case Randomiser::GaussianDirection:
      return "gaussian_direction";
  }
  return "";
}

std::string what_leaves(const Ask& ask) {
  const std::string_view unit = to_string(ask.unit());
  UNDERTONE_CHECK(ask.reports() != nullptr);
  switch (ask.reports()->randomiser) {
    case Randomiser::Bit:
      return fmt::format("one bit a {}", unit);
    case Randomiser::Laplace:
      return fmt::format("discrete Laplace a {}", unit);
    case Randomiser::StringBit:
      return fmt::format("one bit a {} against a public string", unit);
    case Randomiser::Index:
      return fmt::format("one number of a public string a {}", unit);
    case Randomiser::Direction:
      return fmt::format("one direction a {}", unit);
    case Randomiser::Gaussian:
      return fmt::format("one vector with Gaussian noise a {}", unit);
    case Randomiser::GaussianDirection:
      return fmt::format("one Gaussian vector that leans a {}'s way", unit);
  }
  return "";
}

std::string_view to_string(UnitAdapter adapter) noexcept {
  switch (adapter) {
    case UnitAdapter::Round:
      return "round";
    case UnitAdapter::Lift:
      return "lift";
    case UnitAdapter::Normalise:
      return "normalise";
  }
  return "";
}

bool reads_strings(Randomiser randomiser) noexcept {
  return randomiser == Randomiser::StringBit || randomiser == Randomiser::Index;
}

QuestionKind kind_of(const RecordMap& map) noexcept {
  return std::visit(Overloaded{[](const GradientMap& /*map*/) { return QuestionKind::Gradient; },
                               [](const GradientDifferenceMap& /*map*/) { return QuestionKind::GradientDifference; },
                               [](const MetricsMap& /*map*/) { return QuestionKind::Metrics; },
                               [](const LocalRunMap& run) {
                                 return run.steps.controlled ? QuestionKind::ControlledRun : QuestionKind::LocalRun;
                               },
                               [](const StatisticMap& /*map*/) { return QuestionKind::Statistic; },
                               [](const FeaturesMap& /*map*/) { return QuestionKind::Statistic; },
                               [](const PathMap& /*map*/) { return QuestionKind::Path; },
                               [](const ScoresMap& /*map*/) { return QuestionKind::Scores; },
                               [](const LocalChoicesMap& /*map*/) { return QuestionKind::LocalRun; },
                               [](const MinimiserMap& /*map*/) { return QuestionKind::LocalRun; },
                               [](const FairGradientMap& /*map*/) { return QuestionKind::FairGradient; },
                               [](const GroupSharesMap& /*map*/) { return QuestionKind::GroupShares; },
                               [](const ScoreMomentsMap& /*map*/) { return QuestionKind::ScoreMoments; }},
                    map);
}

PairDistance pair_distance(const FeaturesMap& map, const std::optional<PersonContribution>& persons) {
  using Shape = PersonContribution::Form;
  const statistics::PairwiseBound bound = statistics::pairwise_bound(map.features);
  const bool whole = statistics::counts(map.features);
  // Of whole counts the square is whole, whatever its root was rounded to.
  const double squared = whole ? std::nearbyint(bound.l2 * bound.l2) : bound.l2 * bound.l2;
  if (!persons || (persons->form == Shape::Mean && persons->records_max == 1)) return {bound.l1, squared, whole};
  if (persons->form == Shape::Mean) return {bound.l1, bound.l2 * bound.l2, false};
  UNDERTONE_CHECK(contributes_to(map, persons->form));
  const auto most = static_cast<double>(persons->records_max);
  if (persons->form == Shape::Number) return {bound.l1, squared, true};
  if (persons->form == Shape::Total) return {most * bound.l1, most * most * squared, whole};
  // The two are vectors of 0 and 1, each with so many ones at most.
  const double ones = std::min(2.0 * most, static_cast<double>(statistics::dimension(map.features)));
  return {ones, ones, true};
}

PairDistance pair_distance(const Ask& ask) {
  if (const auto* scores = std::get_if<ScoreMomentsMap>(&ask.map)) {
    UNDERTONE_CHECK(!ask.records.persons);
    return {statistics::score_distance(scores->terms.link) * std::sqrt(static_cast<double>(ask.dimension)),
            statistics::score_distance_squared(scores->terms.link), false};
  }
  return pair_distance(std::get<FeaturesMap>(ask.map), ask.records.persons);
}

bool contributes_to(const FeaturesMap& map, PersonContribution::Form form) noexcept {
  using Shape = PersonContribution::Form;
  const auto* cells = std::get_if<statistics::CellsMap>(&map.features);
  const bool counted = cells != nullptr || std::holds_alternative<statistics::CountMap>(map.features);
  switch (form) {
    case Shape::Mean:
      return true;
    case Shape::Any:
      return counted;
    case Shape::Total:
      return counted || std::holds_alternative<statistics::CountedSumMap>(map.features);
    case Shape::Number: {
      const auto* bins = cells == nullptr || cells->axes.size() != 1
                             ? nullptr
                             : std::get_if<statistics::BinnedCells>(&cells->axes.front());
      return bins != nullptr && bins->coordinate == 0;
    }
    case Shape::ClippedMean:
    case Shape::MeanOfClipped:
    case Shape::CappedSum:
      break;
  }
  return false;
}

std::int64_t units_of_one(const Ask& ask) noexcept {
  const std::optional<PersonContribution>& persons = ask.records.persons;
  return persons && persons->form == PersonContribution::Form::Total ? persons->records_max : 1;
}

const ClipNorm* l2_clip_of(const Bound& bound) noexcept {
  if (const auto* dual = std::get_if<DualBound>(&bound)) return &dual->l2();
  if (const auto* influence = std::get_if<InfluenceBound>(&bound)) return &influence->l2();
  const auto* l2 = std::get_if<L2Bound>(&bound);
  return l2 == nullptr ? nullptr : &l2->clip;
}

bool Ask::answers_in_totals() const noexcept {
  return kind() == QuestionKind::Statistic || kind() == QuestionKind::ScoreMoments;
}

const LocalSteps* Ask::local() const noexcept {
  const auto* run = std::get_if<LocalRunMap>(&map);
  return run == nullptr ? nullptr : &run->steps;
}

std::uint64_t Ask::draws() const noexcept {
  if (const LocalSteps* steps = local()) return steps->steps;
  if (const auto* choices = std::get_if<LocalChoicesMap>(&map)) return choices->steps;
  return 1;
}

Eigen::Index Ask::point_size(Eigen::Index model_dimension) const noexcept {
  switch (kind()) {
    case QuestionKind::Gradient:
    case QuestionKind::Metrics:
    case QuestionKind::LocalRun:
    case QuestionKind::ScoreMoments:
      return model_dimension;
    case QuestionKind::GradientDifference:
    case QuestionKind::ControlledRun:
      return 2 * model_dimension;
    case QuestionKind::Path:
      return static_cast<Eigen::Index>(path()->nodes.size()) * model_dimension;
    case QuestionKind::Scores:
      return model_dimension + dimension;
    case QuestionKind::FairGradient: {
      const fairness::Grouping& grouping = std::get<FairGradientMap>(map).terms.grouping;
      return model_dimension + grouping.weights() + grouping.cells();
    }
    case QuestionKind::Statistic:
    case QuestionKind::GroupShares:
      break;
  }
  return 0;
}

const ClipNorm& Ask::clip() const {
  const ClipNorm* clip = l2_clip_of(bound);
  UNDERTONE_CHECK(clip != nullptr);
  return *clip;
}

double Ask::reach() const {
  const auto* fair = std::get_if<FairGradientMap>(&map);
  return clip().value() + (fair == nullptr ? 0.0 : fair->terms.base_reach());
}

std::optional<double> Ask::smoothness() const noexcept {
  if (const auto* dual = std::get_if<DualBound>(&bound)) return dual->smoothness;
  const auto* l2 = std::get_if<L2Bound>(&bound);
  return l2 == nullptr ? std::nullopt : l2->smoothness;
}

namespace {

/// Floored above zero: where the points agree to a billionth there is nothing to learn from their difference.
double norm_at(double clip, double smoothness, double distance) {
  UNDERTONE_CHECK(std::isfinite(distance) && distance >= 0.0);
  return std::clamp(smoothness * distance, 0x1p-30 * clip, clip);
}

double norm_of(const Ask& ask) {
  const auto* dual = std::get_if<DualBound>(&ask.bound);
  return dual == nullptr ? ask.clip().value() : dual->clip().value();
}

}  // namespace

double Ask::scale_at(double distance) const {
  const std::optional<double> smooth = smoothness();
  return smooth ? norm_at(norm_of(*this), *smooth, distance) / norm_of(*this) : 1.0;
}

Ask Ask::scaled_to(double distance) const {
  const std::optional<double> smooth = smoothness();
  if (!smooth) return *this;
  Ask scaled = *this;
  if (const auto* dual = std::get_if<DualBound>(&bound)) {
    scaled.bound = dual->times(scale_at(distance));
  } else {
    scaled.bound = L2Bound{*ClipNorm::create(norm_at(norm_of(*this), *smooth, distance)), smooth};
  }
  return scaled;
}

double Ask::distance_exponent() const noexcept {
  const auto* dual = std::get_if<DualBound>(&bound);
  return dual == nullptr ? 2.0 : dual->primal_exponent();
}

const geometry::Vertices* Ask::candidates() const noexcept {
  const auto* selection = std::get_if<SelectionForm>(&form);
  return selection == nullptr ? nullptr : std::get_if<geometry::Vertices>(&selection->candidates);
}

const QuantileCell* Ask::quantile_cell() const noexcept {
  const auto* selection = std::get_if<SelectionForm>(&form);
  return selection == nullptr ? nullptr : std::get_if<QuantileCell>(&selection->candidates);
}

Eigen::Index Ask::candidate_count() const {
  const auto* selection = std::get_if<SelectionForm>(&form);
  UNDERTONE_CHECK(selection != nullptr);
  return std::visit(Overloaded{[](const geometry::Vertices& vertices) { return vertices.count(); },
                               [&](const LeastTotal& /*totals*/) { return dimension; },
                               [&](const QuantileCell& /*cells*/) { return dimension; }},
                    selection->candidates);
}

std::optional<double> Ask::noise_norm() const noexcept {
  const auto* sum = std::get_if<SumForm>(&form);
  return sum == nullptr ? std::nullopt : sum->noise_norm;
}

std::uint32_t Ask::groups() const noexcept {
  const auto* influence = std::get_if<InfluenceBound>(&bound);
  return influence == nullptr ? 1 : influence->groups();
}

const ReportsForm* Ask::reports() const noexcept { return std::get_if<ReportsForm>(&form); }

const ReportsForm* Ask::summed_reports() const noexcept {
  const auto* sum = std::get_if<SumForm>(&form);
  return sum == nullptr || !sum->of_reports ? nullptr : &*sum->of_reports;
}

std::int64_t parts_of_unit(const Ask& ask) {
  const std::optional<PersonContribution>& persons = ask.records.persons;
  if (!persons || persons->form != PersonContribution::Form::CappedSum || ask.kind() == QuestionKind::Metrics) return 1;
  return persons->records_max;
}

bool takes_persons(const Ask& ask) {
  if (ask.summed_reports() != nullptr) return false;  // the source's reports are of records
  // A sum of parts is made of gradients that are clipped in l2, and of nothing else.
  if (parts_of_unit(ask) > 1 &&
      (!std::holds_alternative<L2Bound>(ask.bound) ||
       (ask.kind() != QuestionKind::Gradient && ask.kind() != QuestionKind::GradientDifference &&
        ask.kind() != QuestionKind::LocalRun)))
    return false;
  return std::visit(
      Overloaded{
          [](const GradientMap& /*map*/) { return true; }, [](const GradientDifferenceMap& /*map*/) { return true; },
          [](const MetricsMap& /*map*/) { return true; }, [](const ScoresMap& /*map*/) { return true; },
          [](const PathMap& /*map*/) { return true; },
          // Control variates carry what a person said from round to round.
          [](const LocalRunMap& map) { return !map.steps.controlled; },
          [](const LocalChoicesMap& /*map*/) { return true; },
          // The proof is for a Hessian of rank one, a record's.
          [](const MinimiserMap& /*map*/) { return false; },
          // A person's records may be in several groups.
          [](const FairGradientMap& /*map*/) { return false; }, [](const GroupSharesMap& /*map*/) { return false; },
          // The variance that is made of outer products is that of independent records.
          [](const ScoreMomentsMap& /*map*/) { return false; },
          // Totals of persons are of feature maps.
          [&](const StatisticMap& /*map*/) {
            return ask.reports() != nullptr && ask.records.persons &&
                   ask.records.persons->form == PersonContribution::Form::Mean;
          },
          [&](const FeaturesMap& map) {
            using Shape = PersonContribution::Form;
            const Shape form = ask.records.persons ? ask.records.persons->form : Shape::Mean;
            const bool sums = std::holds_alternative<SumForm>(ask.form);
            return form == Shape::Mean || (sums && contributes_to(map, form));
          }},
      ask.map);
}

bool reports_indicators(const Ask& ask) {
  if (ask.records.persons) return false;  // a share of somebody's records
  if (const auto* statistic = std::get_if<StatisticMap>(&ask.map)) return statistic->indicators;
  return statistics::counts(std::get<FeaturesMap>(ask.map).features);
}

}  // namespace undertone::releases
