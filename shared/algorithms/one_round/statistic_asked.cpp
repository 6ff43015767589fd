#include "shared/algorithms/one_round/statistic_asked.hpp"

#include <bit>
#include <utility>

#include "shared/base/overloaded.hpp"

namespace undertone::algorithms {
namespace {

using statistics::FeatureMap;
using statistics::NoiseKind;

constexpr std::size_t kTreeLeavesMin = 16;

FeatureMap cells_of(const StatisticAsked& asked, const HistogramAsked& histogram) {
  if (histogram.gradients) return statistics::CellsMap{{*histogram.gradients}};
  return statistics::CellsMap{{statistics::BinnedCells{asked.coordinate, histogram.encoded}}};
}

statistics::VectorMomentsMap moments_of(const std::vector<NumberColumn>& columns) {
  statistics::VectorMomentsMap out;
  for (const NumberColumn& column : columns) out.coordinates.push_back(column.coordinate);
  return out;
}

std::vector<std::size_t> coordinates_of(const std::vector<NumberColumn>& columns) {
  std::vector<std::size_t> out;
  out.reserve(columns.size());
  for (const NumberColumn& column : columns) out.push_back(column.coordinate);
  return out;
}

statistics::BallMap ball_of(const VectorMeanAsked& what) {
  using Besides = statistics::BallMap::Besides;
  return {coordinates_of(what.columns), what.radius, {}, false, what.of_public ? Besides::Square : Besides::Nothing};
}

statistics::BallMap ball_of(const LinearModelAsked& what) {
  using Besides = statistics::BallMap::Besides;
  statistics::BallMap out{coordinates_of(what.columns),
                          what.radius,
                          {},
                          what.intercept,
                          what.reports ? Besides::Nothing : Besides::Products};
  if (what.of_residual) {
    out.coordinates.push_back(what.response.coordinate);
  } else {
    out.sign = what.response.coordinate;
  }
  return out;
}

/// Of a report of each record's vector.
releases::Ask vector_reports(statistics::BallMap map, releases::ReportsForm form) {
  const Eigen::Index dimension = map.length();
  const auto norm =
      form.randomiser == releases::Randomiser::Gaussian ? releases::PairBound::Norm::L2 : releases::PairBound::Norm::L1;
  return {releases::FeaturesMap{std::move(map)}, {}, releases::PairBound{norm}, dimension, form};
}

FeatureMap grid_of(const LeastLossAsked& what) {
  FunctionAsked grid{what.of};
  std::get<LossOf>(grid.of).order = 1;
  return features_of(grid);
}

}  // namespace

std::string_view kind_of(const StatisticAsked& asked) noexcept {
  return std::visit(
      Overloaded{[](const CountAsked& /*what*/) -> std::string_view { return "count"; },
                 [](const MeanAsked& /*what*/) -> std::string_view { return "mean"; },
                 [](const SumAsked& /*what*/) -> std::string_view { return "sum"; },
                 [](const CountedSumAsked& what) -> std::string_view { return what.is_mean ? "mean" : "sum"; },
                 [](const CutMeanAsked& /*what*/) -> std::string_view { return "mean"; },
                 [](const VarianceAsked& /*what*/) -> std::string_view { return "variance"; },
                 [](const HistogramAsked& what) -> std::string_view {
                   return what.gradients ? "gradient_norms" : "histogram";
                 },
                 [](const QuantilesAsked& /*what*/) -> std::string_view { return "quantiles"; },
                 [](const TableAsked& /*what*/) -> std::string_view { return "table"; },
                 [](const SurvivalAsked& /*what*/) -> std::string_view { return "survival"; },
                 [](const GroupMeansAsked& /*what*/) -> std::string_view { return "group_means"; },
                 [](const CovarianceAsked& /*what*/) -> std::string_view { return "covariance"; },
                 [](const RegressionAsked& /*what*/) -> std::string_view { return "regression"; },
                 [](const ReportsAsked& /*what*/) -> std::string_view { return "reports"; },
                 [](const FunctionAsked& what) -> std::string_view { return kind_of(what); },
                 [](const SelectedQuantileAsked& /*what*/) -> std::string_view { return "selected_quantile"; },
                 [](const LeastLossAsked& /*what*/) -> std::string_view { return "least_loss"; },
                 [](const VectorMeanAsked& /*what*/) -> std::string_view { return "vector_mean"; },
                 [](const LinearModelAsked& /*what*/) -> std::string_view { return "linear_model"; }},
      asked.what);
}

std::optional<releases::Randomiser> reports_of(const StatisticAsked& asked) noexcept {
  if (const auto* reports = std::get_if<ReportsAsked>(&asked.what)) return reports->randomiser;
  if (const auto* mean = std::get_if<VectorMeanAsked>(&asked.what)) return mean->reports;
  if (const auto* model = std::get_if<LinearModelAsked>(&asked.what))
    return model->reports ? std::optional(releases::Randomiser::Gaussian) : std::nullopt;
  const auto* function = std::get_if<FunctionAsked>(&asked.what);
  return function == nullptr ? std::nullopt : function->reports;
}

bool has_form(const StatisticAsked& asked, NoiseKind noise) {
  if (const std::optional<releases::Randomiser> randomiser = reports_of(asked))
    return (noise == NoiseKind::Gaussian) == (*randomiser == releases::Randomiser::Gaussian);
  return features_of(asked, noise).has_value();
}

bool selects(const StatisticAsked& asked) noexcept {
  return std::holds_alternative<SelectedQuantileAsked>(asked.what) ||
         std::holds_alternative<LeastLossAsked>(asked.what);
}

bool reads_public(const StatisticAsked& asked) noexcept {
  const auto* mean = std::get_if<VectorMeanAsked>(&asked.what);
  return mean != nullptr && mean->of_public;
}

bool takes_one_record(const StatisticAsked& asked) noexcept {
  // Nobody leaves by halves, and what is inferred from a table is of whole records.
  const auto* table = std::get_if<TableAsked>(&asked.what);
  return asked.one_record || std::holds_alternative<SurvivalAsked>(asked.what) ||
         std::holds_alternative<GroupMeansAsked>(asked.what) ||
         (table != nullptr && (table->tested || table->modelled));
}

bool is_single(const StatisticAsked& asked) noexcept {
  return std::holds_alternative<CountAsked>(asked.what) || std::holds_alternative<MeanAsked>(asked.what);
}

std::optional<FeatureMap> features_of(const StatisticAsked& asked, NoiseKind noise) {
  const bool laplace = noise == NoiseKind::Laplace;
  return std::visit(
      Overloaded{
          [&](const CountAsked& /*what*/) -> std::optional<FeatureMap> {
            return statistics::CountMap{statistics::IndicatorCells{asked.coordinate, 1}, 0};
          },
          [&](const MeanAsked& /*what*/) -> std::optional<FeatureMap> { return statistics::SumMap{asked.coordinate}; },
          [&](const SumAsked& /*what*/) -> std::optional<FeatureMap> { return statistics::SumMap{asked.coordinate}; },
          [&](const CountedSumAsked& /*what*/) -> std::optional<FeatureMap> {
            return statistics::CountedSumMap{asked.coordinate};
          },
          [&](const VarianceAsked& /*what*/) -> std::optional<FeatureMap> {
            return statistics::MomentsMap{asked.coordinate, laplace};
          },
          [&](const CutMeanAsked& what) -> std::optional<FeatureMap> {
            const double half = 0.5 * (what.high - what.low);
            return statistics::CutMomentsMap{asked.coordinate, (what.about - what.low) / half - 1.0,
                                             what.threshold / half, laplace, what.influence};
          },
          [&](const HistogramAsked& what) -> std::optional<FeatureMap> { return cells_of(asked, what); },
          [&](const QuantilesAsked& what) -> std::optional<FeatureMap> {
            const std::size_t leaves = what.cells.edges.size() - 1;
            if (laplace || leaves < kTreeLeavesMin || !std::has_single_bit(leaves)) return cells_of(asked, what.cells);
            return statistics::TreeMap{{asked.coordinate, what.cells.encoded}};
          },
          [&](const TableAsked& what) -> std::optional<FeatureMap> {
            statistics::CellsMap map;
            for (const TableAxis& axis : what.axes) map.axes.push_back(axis.cells);
            return map;
          },
          [&](const SurvivalAsked& what) -> std::optional<FeatureMap> {
            statistics::CellsMap map;
            for (const TableAxis& axis : what.by) map.axes.push_back(axis.cells);
            map.axes.emplace_back(what.cells);
            return map;
          },
          [&](const GroupMeansAsked& what) -> std::optional<FeatureMap> {
            if (laplace) return std::nullopt;
            return statistics::GroupMomentsMap{what.by.cells, asked.coordinate, true};
          },
          [&](const CovarianceAsked& what) -> std::optional<FeatureMap> {
            if (laplace) return std::nullopt;
            return moments_of(what.columns);
          },
          [&](const RegressionAsked& what) -> std::optional<FeatureMap> {
            if (laplace) return std::nullopt;
            statistics::VectorMomentsMap map = moments_of(what.columns);
            map.coordinates.push_back(what.response.coordinate);
            return map;
          },
          [](const ReportsAsked& /*what*/) -> std::optional<FeatureMap> { return std::nullopt; },
          [](const FunctionAsked& what) -> std::optional<FeatureMap> {
            if (what.reports) return std::nullopt;
            return features_of(what);
          },
          [&](const SelectedQuantileAsked& what) -> std::optional<FeatureMap> { return cells_of(asked, what.cells); },
          [](const LeastLossAsked& what) -> std::optional<FeatureMap> { return grid_of(what); },
          [](const VectorMeanAsked& what) -> std::optional<FeatureMap> {
            if (what.reports) return std::nullopt;
            return ball_of(what);
          },
          [&](const LinearModelAsked& what) -> std::optional<FeatureMap> {
            if (what.reports || laplace) return std::nullopt;
            return ball_of(what);
          }},
      asked.what);
}

bool takes_persons(const StatisticAsked& asked) noexcept {
  using Form = releases::PersonContribution::Form;
  if (asked.persons == Form::Number) return std::holds_alternative<HistogramAsked>(asked.what);
  if (asked.persons != Form::Mean) {
    const auto* count = std::get_if<CountAsked>(&asked.what);
    // A complement is of records: whoever has none with a value may have several without it.
    return (count != nullptr && !count->complement) || std::holds_alternative<HistogramAsked>(asked.what) ||
           std::holds_alternative<TableAsked>(asked.what) ||
           (asked.persons == Form::Total && std::holds_alternative<CountedSumAsked>(asked.what));
  }
  return std::visit(
      Overloaded{[](const CountAsked& /*what*/) { return true; }, [](const MeanAsked& /*what*/) { return true; },
                 [](const SumAsked& /*what*/) { return true; }, [](const CountedSumAsked& /*what*/) { return false; },
                 [](const CutMeanAsked& /*what*/) { return true; }, [](const VarianceAsked& /*what*/) { return true; },
                 [](const HistogramAsked& /*what*/) { return true; },
                 [](const QuantilesAsked& /*what*/) { return true; }, [](const TableAsked& /*what*/) { return true; },
                 [](const SurvivalAsked& /*what*/) { return true; },
                 [](const GroupMeansAsked& /*what*/) { return true; },
                 [&](const CovarianceAsked& what) { return !what.near_normal || asked.one_record; },
                 [](const RegressionAsked& /*what*/) { return true; },
                 [](const ReportsAsked& /*what*/) { return true; }, [](const FunctionAsked& /*what*/) { return true; },
                 // The ends of an interval rest on records that are drawn one by one.
                 [](const SelectedQuantileAsked& what) { return what.end == SelectedQuantileAsked::End::Middle; },
                 [](const LeastLossAsked& /*what*/) { return true; },
                 [](const VectorMeanAsked& what) { return !what.of_public && !what.beside_public; },
                 // Reports of vectors would give the loss of a person's mean record, which is not her mean loss.
                 [](const LinearModelAsked& what) { return !what.reports; }},
      asked.what);
}

releases::Ask ask_of(const StatisticAsked& asked, NoiseKind noise, releases::Unit unit) {
  if (const auto* reports = std::get_if<ReportsAsked>(&asked.what)) {
    releases::StatisticMap map{{}, reports->indicator};
    for (const NumberColumn& column : reports->columns) map.coordinates.push_back(column.coordinate);
    const auto dimension = static_cast<Eigen::Index>(map.coordinates.size());
    return {std::move(map),
            {},
            reports->indicator ? releases::RangeBound{0.0, 1.0} : releases::RangeBound{-1.0, 1.0},
            dimension,
            releases::ReportsForm{reports->randomiser}};
  }
  if (const auto* function = std::get_if<FunctionAsked>(&asked.what); function != nullptr && function->reports) {
    statistics::FeatureMap map = features_of(*function);
    const Eigen::Index dimension = statistics::dimension(map);
    const std::optional<statistics::CoordinateRange> range = statistics::reported_range(map);
    UNDERTONE_CHECK(range.has_value());
    return {releases::FeaturesMap{std::move(map)},
            {},
            releases::RangeBound{range->low, range->high},
            dimension,
            releases::ReportsForm{*function->reports, function->seed}};
  }
  if (const auto* mean = std::get_if<VectorMeanAsked>(&asked.what)) {
    if (mean->reports) return vector_reports(ball_of(*mean), {*mean->reports, 0, mean->adapter, 1});
    if (mean->of_public) {
      const statistics::BallMap map = ball_of(*mean);
      return {releases::FeaturesMap{map},
              {releases::Block::Public},
              releases::PairBound{releases::PairBound::Norm::L2},
              statistics::dimension(map)};
    }
  }
  if (const auto* model = std::get_if<LinearModelAsked>(&asked.what); model != nullptr && model->reports) {
    const auto copies = static_cast<std::uint32_t>(model->copies ? statistics::copies_of(model->degree) : 1);
    return vector_reports(ball_of(*model), {releases::Randomiser::Gaussian, 0, releases::UnitAdapter::Round, copies});
  }
  if (selects(asked)) {
    FeatureMap map = *features_of(asked, noise);
    const Eigen::Index totals = statistics::dimension(map);
    const auto* quantile = std::get_if<SelectedQuantileAsked>(&asked.what);
    return {releases::FeaturesMap{std::move(map)},
            {},
            releases::RangeBound{0.0, 1.0},
            totals,
            quantile != nullptr ? releases::SelectionForm{quantile->rank}
                                : releases::SelectionForm{releases::LeastTotal{}}};
  }
  const bool counted = std::holds_alternative<CountAsked>(asked.what);
  if (noise == NoiseKind::Laplace && is_single(asked) && unit == releases::Unit::Record) {
    return {releases::StatisticMap{{asked.coordinate}, counted},
            {},
            counted ? releases::RangeBound{0.0, 1.0} : releases::RangeBound{-1.0, 1.0},
            1};
  }
  const std::optional<FeatureMap> features = features_of(asked, noise);
  UNDERTONE_CHECK(features.has_value());
  const Eigen::Index dimension = statistics::dimension(*features);
  const auto norm = noise == NoiseKind::Laplace ? releases::PairBound::Norm::L1 : releases::PairBound::Norm::L2;
  return {releases::FeaturesMap{*features}, {}, releases::PairBound{norm}, dimension};
}

}  // namespace undertone::algorithms
