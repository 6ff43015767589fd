#include "shared/jobs/stated_choices.hpp"

#include <utility>

#include "shared/statistics/quantiles.hpp"

namespace undertone::jobs {
namespace {

using algorithms::LeastLossAsked;
using algorithms::SelectedQuantileAsked;
using statistics::Stated;

/// Whether the rank that was aimed at is as far out as the silo's own draw needs it.
bool far_enough(const SelectedQuantileAsked& what, const SiloTotals& silo, statistics::Confidence confidence) {
  const auto& draw = std::get<mechanisms::Selection>(silo.release->mechanism).draw;
  const Result<statistics::SelectedRanks> needed =
      statistics::selection_ranks(what.probability, silo.records, what.cells.edges.size() - 1,
                                  2.0 * draw.epsilon().value_rounded_down(), confidence);
  const double rank = static_cast<double>(what.rank.numerator) / static_cast<double>(what.rank.denominator);
  return needed && (what.end == SelectedQuantileAsked::End::Low ? rank <= needed->low : rank >= needed->high);
}

Result<StatedQuestion> state(const SelectedQuantileAsked& what, const std::vector<SiloTotals>& silos,
                             statistics::Confidence confidence) {
  using End = SelectedQuantileAsked::End;
  const std::vector<double>& edges = what.cells.edges;
  Stated out;
  out.noise = {edges.front(), edges.back()};
  if (silos.size() > 1) {
    out.note = "refused: cells that silos choose do not add up; each silo has its own";
    return StatedQuestion{{{fmt::format("quantile {}", what.probability), std::move(out)}}, {}, {}};
  }
  const auto cell = static_cast<std::size_t>(silos.front().totals->front());
  const double edge = what.end == End::Low ? edges[cell] : edges[cell + 1];
  if (what.end != End::Middle && !far_enough(what, silos.front(), confidence)) {
    out.note = "refused: the draw was at a smaller epsilon than the rank was chosen for";
    return StatedQuestion{{{fmt::format("quantile {}", what.probability), std::move(out)}}, {}, {}};
  }
  out.value = edge;
  if (what.end == End::Low) out.noise.low = edge;
  if (what.end == End::High) out.noise.high = edge;
  out.note = what.end == End::Middle
                 ? fmt::format("the upper edge of the cell that was selected for it{}",
                               silos.front().release->ask.unit() == releases::Unit::Record
                                   ? "; two selections further out make an interval"
                                   : "")
                 : "one end of an interval for what the records are drawn from, the other is asked apart";
  if (what.end != End::Middle) out.population = out.noise;
  return StatedQuestion{{{fmt::format("quantile {}{}", what.probability,
                                      what.end == End::Middle ? ""
                                      : what.end == End::Low  ? ", low end"
                                                              : ", high end"),
                          std::move(out)}},
                        {},
                        {}};
}

Result<StatedQuestion> state(const LeastLossAsked& what, const statistics::LossesMap& map,
                             const std::vector<SiloTotals>& silos) {
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(map.parameters()));
  double records = 0.0;
  for (const SiloTotals& silo : silos) {
    mean +=
        static_cast<double>(silo.records) * statistics::grid_point(map, static_cast<std::size_t>(silo.totals->front()));
    records += static_cast<double>(silo.records);
  }
  mean /= records;
  StatedQuestion out;
  for (Eigen::Index j = 0; j < mean.size(); ++j) {
    const auto column = static_cast<std::size_t>(j);
    const std::string name = column < what.of.columns.size() ? what.of.columns[column].name : "(intercept)";
    Stated stated;
    stated.value = mean[j];
    const double middle = map.centre.empty() ? 0.0 : map.centre[column];
    stated.noise = {middle - map.half_width, middle + map.half_width};
    stated.note = silos.size() > 1
                      ? fmt::format("the mean of what the silos chose, weighted by {}: no interval is known",
                                    releases::plural_of(silos.front().release->ask.unit()))
                      : "chosen by the exponential mechanism: no interval is known";
    out.estimates.push_back({name, std::move(stated)});
  }
  return out;
}

}  // namespace

Result<StatedQuestion> state_choice(const algorithms::StatisticAsked& asked, const std::vector<SiloTotals>& silos,
                                    statistics::Confidence confidence) {
  UNDERTONE_CHECK(!silos.empty());
  for (const SiloTotals& silo : silos) {
    const std::int64_t chosen = silo.totals->front();
    if (chosen < 0 || chosen >= silo.release->ask.candidate_count())
      return Error{ErrorCode::Internal,
                   fmt::format("the {}: candidate {} of {}", asked.name, chosen, silo.release->ask.candidate_count())};
  }
  if (const auto* quantile = std::get_if<SelectedQuantileAsked>(&asked.what))
    return state(*quantile, silos, confidence);
  const auto& features = std::get<releases::FeaturesMap>(silos.front().release->ask.map).features;
  return state(std::get<LeastLossAsked>(asked.what), std::get<statistics::LossesMap>(features), silos);
}

}  // namespace undertone::jobs
