#include "shared/jobs/stated_survival.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "shared/statistics/comparisons.hpp"
#include "shared/statistics/survival/log_rank.hpp"
#include "shared/statistics/survival/survival_curve.hpp"
#include "shared/statistics/survival/table_models.hpp"

namespace undertone::jobs {
namespace {

using algorithms::SurvivalAsked;
using statistics::Interval;
using statistics::LifeTable;
using statistics::NoisedTable;
using statistics::Stated;
using statistics::TableFunctional;

constexpr double kEndless = std::numeric_limits<double>::infinity();

/// A table whose curves count by themselves: of all silos together, or of one of them.
struct Part {
  NoisedTable raw;
  NoisedTable fitted;  // adds up to its records where every record is in a cell
  double weight = 1.0;
};

std::vector<Part> parts_of(const SurvivalAsked& asked, const std::vector<ToldExits>& silos) {
  double all = 0.0;
  std::vector<const ToldExits*> ordered;
  for (const ToldExits& silo : silos) {
    all += static_cast<double>(silo.records);
    ordered.push_back(&silo);
  }
  // Sums are made in an order that the numbers have themselves: whoever is named first changes no bit.
  std::sort(ordered.begin(), ordered.end(), [](const ToldExits* a, const ToldExits* b) {
    if (a->records != b->records) return a->records < b->records;
    if (a->noise.variance() != b->noise.variance()) return a->noise.variance() < b->noise.variance();
    return std::lexicographical_compare(a->cells.begin(), a->cells.end(), b->cells.begin(), b->cells.end());
  });
  std::vector<Part> out;
  for (const ToldExits* told : ordered) {
    const ToldExits& silo = *told;
    const auto records = static_cast<double>(silo.records);
    NoisedTable raw = statistics::noised_table(silo.cells, records, silo.noise);
    if (asked.pooled && !out.empty()) {
      NoisedTable& sum = out.front().raw;
      sum.cells += raw.cells;
      sum.records += raw.records;
      sum.noise_variance += raw.noise_variance;
      sum.fourth_cumulant += raw.fourth_cumulant;
      continue;
    }
    out.push_back({std::move(raw), {}, asked.pooled ? 1.0 : records / all});
  }
  for (Part& part : out) part.fitted = asked.whole() ? statistics::balanced(part.raw) : part.raw;
  return out;
}

/// One group's curves in every part.
class Curves {
 public:
  Curves(const SurvivalAsked& asked, const std::vector<Part>& parts, std::size_t group)
      : asked_(asked), times_(asked.on_grid ? statistics::Times::OnGrid : statistics::Times::Continuous) {
    const statistics::ExitLayout layout = layout_of(asked);
    horizon_ = layout.intervals;
    // The size of a group among several is noised, and its raw cells are independent of the other groups': they are
    // looked at alone.
    const bool alone = layout.groups == 1;
    statistics::ExitLayout own = layout;
    own.groups = 1;
    const auto cells = static_cast<Eigen::Index>(own.size());
    for (const Part& part : parts) {
      NoisedTable table = alone ? part.fitted : part.raw;
      if (!alone) table.cells = part.raw.cells.segment(static_cast<Eigen::Index>(group) * cells, cells).eval();
      LifeTable life(table, own, 0, times_);
      horizon_ = std::min(horizon_, life.horizon());
      const double records = alone ? part.raw.records : std::max(life.size(), 1.0);
      lives_.push_back({std::move(table), std::move(life), part.weight, records,
                        alone ? statistics::SizeOf::Table : statistics::SizeOf::Group});
    }
    for (std::size_t ended = 1; ended <= horizon_; ++ended) points_.push_back(point_at(ended));
  }
  /// How many intervals every part carries.
  [[nodiscard]] std::size_t horizon() const noexcept { return horizon_; }
  /// Whether there are several silos, each of which counts by itself.
  [[nodiscard]] bool several() const noexcept { return lives_.size() > 1; }
  /// At the ends of the first intervals, up to the horizon.
  [[nodiscard]] const std::vector<statistics::SurvivalPoint>& points() const noexcept { return points_; }
  [[nodiscard]] Stated survival(std::size_t ended, statistics::Confidence confidence, bool sampling) const {
    const statistics::SurvivalPoint& found = points_[ended - 1];
    Stated out = several() ? statistics::state_wald(found.value, found.spread, confidence, sampling, {0.0, 1.0})
                           : statistics::state_survival_point(found, confidence, sampling);
    out.note = coarse(bracket(ended), out.noise.half_width());
    return out;
  }
  /// Between what a curve lies whatever the order inside of intervals.
  [[nodiscard]] Interval bracket(std::size_t ended) const {
    Interval out;
    for (const Life& one : lives_) {
      const Interval own = statistics::grid_bracket(one.life, ended);
      out.low += one.weight * own.low;
      out.high += one.weight * own.high;
    }
    return out;
  }
  /// The note of a number that the order inside of intervals may move by more than half of the noise's half-width.
  [[nodiscard]] std::string coarse(Interval between, double half_width) const {
    if (asked_.on_grid || !(between.half_width() > 0.25 * half_width)) return "";
    return fmt::format("the grid is coarse: whatever the order inside of intervals, from {:.4g} to {:.4g}", between.low,
                       between.high);
  }
  /// A functional of every part's life table, weighed. @pre within the horizon, where it has one
  struct Weighed {
    double value = 0.0;
    statistics::Spread spread;
  };
  [[nodiscard]] Weighed weighed(const std::function<TableFunctional(const LifeTable&)>& functional,
                                bool of_total = false) const {
    Weighed out;
    for (const Life& one : lives_) {
      const TableFunctional found = functional(one.life);
      const double weight = of_total ? 1.0 : one.weight;
      out.value += weight * found.value;
      statistics::add_spread(out.spread, statistics::spread_of(one.table, found.gradient, one.size), weight);
    }
    return out;
  }
  /// A mean time lies in here, whatever the times inside of intervals are.
  [[nodiscard]] Interval mean_bracket(std::size_t ended) const {
    Interval out;
    for (const Life& one : lives_) {
      const Interval own = statistics::restricted_mean_bracket(one.life, ended, asked_.edges);
      out.low += one.weight * own.low;
      out.high += one.weight * own.high;
    }
    return out;
  }

 private:
  [[nodiscard]] statistics::SurvivalPoint point_at(std::size_t ended) const {
    std::vector<statistics::WeighedPoint> points;
    for (const Life& one : lives_)
      points.push_back(
          {statistics::survival_point(one.table, one.life, ended, one.size, one.records), one.weight, one.records});
    return points.size() == 1 ? points.front().point : statistics::standardised(points);
  }
  struct Life {
    NoisedTable table;
    LifeTable life;
    double weight = 1.0;
    double records = 1.0;
    statistics::SizeOf size = statistics::SizeOf::Table;
  };
  const SurvivalAsked& asked_;
  statistics::Times times_;
  std::vector<Life> lives_;
  std::size_t horizon_ = 0;
  std::vector<statistics::SurvivalPoint> points_;
};

Stated refused(std::string why, Interval all, bool sampling) {
  Stated out;
  out.noise = all;
  if (sampling) out.population = all;
  out.note = "refused: " + std::move(why);
  return out;
}

std::string beyond_horizon(const SurvivalAsked& asked, const Curves& curves) {
  return fmt::format(
      "beyond {:.6g} too few are at risk{} beside the noise, or none is left; more records or a larger epsilon would "
      "carry it, or an earlier or coarser end of the grid",
      asked.edges[curves.horizon()], curves.several() ? " at some silo" : "");
}

/// This states what lies within the horizon, and refuses the rest.
struct Stating {
  const SurvivalAsked& asked;
  statistics::Confidence confidence;
  bool sampling = false;

  [[nodiscard]] std::string name(const std::string& group, std::string what) const {
    return group.empty() ? what : fmt::format("{}: {}", group, what);
  }
  [[nodiscard]] Stated survival(const Curves& curves, std::size_t ended) const {
    if (ended <= curves.horizon()) return curves.survival(ended, confidence, sampling);
    Interval all{0.0, 1.0};
    Interval sampled = all;
    if (curves.horizon() > 0) {  // the curve falls
      const Stated last = curves.survival(curves.horizon(), confidence, sampling);
      all.high = last.noise.high;
      sampled.high = last.population ? last.population->high : 1.0;
    }
    Stated out = refused(beyond_horizon(asked, curves), all, sampling);
    if (sampling) out.population = sampled;
    return out;
  }
  [[nodiscard]] Stated functional(const Curves& curves, std::size_t ended, Interval all,
                                  const std::function<TableFunctional(const LifeTable&)>& of) const {
    if (ended > curves.horizon()) return refused(beyond_horizon(asked, curves), all, sampling);
    const Curves::Weighed found = curves.weighed(of);
    return statistics::state_wald(found.value, found.spread, confidence, sampling, all);
  }
  [[nodiscard]] Stated quantile(const Curves& curves, double p) const {
    const std::vector<statistics::SurvivalPoint>& points = curves.points();
    const auto interval = [&](const statistics::QuantileEdges& edges) {
      return Interval{asked.edges[edges.low], edges.high ? asked.edges[*edges.high] : kEndless};
    };
    const statistics::QuantileEdges own = statistics::quantile_edges(points, 1.0 - p, confidence, false);
    Stated out;
    out.noise = interval(own);
    if (sampling) {
      out.population = interval(statistics::quantile_edges(points, 1.0 - p, confidence, true));
      out.method = statistics::Method::Score;
    }
    if (own.first) out.value = asked.edges[*own.first];
    out.note = own.first ? "an edge of the grid" : "the curve does not fall so far where it can be read";
    return out;
  }
};

/// How many are left after an edge of the grid. @param ended 0 .. J
TableFunctional left_after(const LifeTable& life, std::size_t ended) {
  const double left = ended < life.intervals() ? life.entering()[static_cast<Eigen::Index>(ended)] : life.survivors();
  return {left, life.later_exits(ended)};
}

Stated mapped_to_ratio(Stated log) {
  const auto mapped = [](Interval interval) { return Interval{std::exp(interval.low), std::exp(interval.high)}; };
  log.noise = mapped(log.noise);
  if (log.population) log.population = mapped(*log.population);
  if (log.value) {
    log.value = std::exp(*log.value);
    log.noise_stddev *= *log.value;
  }
  return log;
}

/// A sum of a few cells of every silo, by the exact law of its noise where that is a table.
Stated state_few(const std::vector<ToldExits>& silos, const std::vector<Eigen::Index>& cells,
                 statistics::Confidence confidence) {
  double value = 0.0;
  double records = 0.0;
  statistics::Spread spread;
  std::vector<std::pair<statistics::NoiseLaw, double>> laws;
  for (const ToldExits& silo : silos) {
    records += static_cast<double>(silo.records);
    for (const Eigen::Index cell : cells) {
      value += silo.cells[cell];
      spread.noise += silo.noise.variance();
      if (laws.size() < statistics::NoiseLaw::kTermsMax) laws.emplace_back(silo.noise, 1.0);
    }
  }
  Stated out = statistics::state_wald(value, spread, confidence, false, {0.0, records});
  if (laws.size() != silos.size() * cells.size()) return out;
  const Result<statistics::NoiseLaw> law = statistics::NoiseLaw::sum(laws);
  if (!law) return out;
  const double half = law->half_width(confidence.alpha());
  out.noise = statistics::cut_to({value - half, value + half}, {0.0, records});
  return out;
}

void put_groups(const Stating& stating, const std::vector<ToldExits>& silos, const std::vector<Curves>& curves,
                StatedQuestion& out) {
  const SurvivalAsked& asked = stating.asked;
  const std::vector<std::string> names = group_names(asked);
  double records = 0.0;
  for (const ToldExits& silo : silos) records += static_cast<double>(silo.records);
  const statistics::ExitLayout layout = layout_of(asked);
  const std::size_t last = asked.at.back();
  const Interval any{0.0, kEndless};
  for (std::size_t g = 0; g < curves.size(); ++g) {
    const auto put = [&](std::string what, Stated stated) {
      out.estimates.push_back({stating.name(names[g], std::move(what)), std::move(stated)});
    };
    for (const std::size_t ended : asked.at)
      put(fmt::format("S({:.6g})", asked.edges[ended]), stating.survival(curves[g], ended));
    for (const std::size_t ended : asked.at) {
      if (ended == layout.intervals) {
        put(fmt::format("at risk after {:.6g}", asked.edges[ended]),
            state_few(silos, {layout.survivor(g)}, stating.confidence));
        continue;
      }
      const Curves::Weighed left =
          curves[g].weighed([&](const LifeTable& life) { return left_after(life, ended); }, true);
      put(fmt::format("at risk after {:.6g}", asked.edges[ended]),
          statistics::state_wald(left.value, left.spread, stating.confidence, false, {0.0, records}));
    }
    if (asked.causes.size() > 1)
      for (std::size_t cause = 0; cause < asked.causes.size(); ++cause)
        for (const std::size_t ended : asked.at)
          put(fmt::format("incidence of {}({:.6g})", asked.causes[cause], asked.edges[ended]),
              stating.functional(curves[g], ended, {0.0, 1.0},
                                 [&](const LifeTable& life) { return statistics::incidence(life, ended, cause); }));
    Stated hazard = stating.functional(
        curves[g], last, any, [&](const LifeTable& life) { return statistics::cumulative_hazard(life, last); });
    if (hazard.value) {
      const Interval between = curves[g].bracket(last);
      hazard.note = curves[g].coarse({-std::log(between.high), -std::log(std::max(between.low, 1e-300))},
                                     hazard.noise.half_width());
    }
    put(fmt::format("cumulative hazard({:.6g})", asked.edges[last]), std::move(hazard));
    Stated mean =
        stating.functional(curves[g], last, {0.0, asked.edges[last] - asked.edges.front()},
                           [&](const LifeTable& life) { return statistics::restricted_mean(life, last, asked.edges); });
    if (mean.value && !asked.on_grid) {
      const Interval bracket = curves[g].mean_bracket(last);
      mean.note = fmt::format("by trapezes; whatever the times inside of intervals, from {:.4g} to {:.4g}", bracket.low,
                              bracket.high);
    }
    put(fmt::format("restricted mean({:.6g})", asked.edges[last]), std::move(mean));
    for (const double p : asked.probabilities)
      put(fmt::format("quantile {} of the time", p), stating.quantile(curves[g], p));
  }
  std::vector<Eigen::Index> unknown;
  for (std::size_t g = 0; g < layout.groups; ++g) unknown.push_back(layout.unknown(g));
  out.estimates.push_back({"time or event missing", state_few(silos, unknown, stating.confidence)});
}

/// This compares groups: their curves with the first one's, and all of them by a test and hazard ratios.
void put_comparisons(const Stating& stating, const std::vector<Part>& parts, const std::vector<Curves>& curves,
                     StatedQuestion& out) {
  const SurvivalAsked& asked = stating.asked;
  const std::vector<std::string> names = group_names(asked);
  const std::size_t last = asked.at.back();
  for (std::size_t g = 1; g < curves.size(); ++g) {
    const std::string versus = fmt::format("{} less {}", names[g], names[0]);
    for (const std::size_t ended : asked.at) {
      const std::string name = fmt::format("{}: S({:.6g})", versus, asked.edges[ended]);
      if (ended > std::min(curves[g].horizon(), curves[0].horizon())) {
        const Curves& shorter = curves[g].horizon() < curves[0].horizon() ? curves[g] : curves[0];
        out.estimates.push_back({name, refused(beyond_horizon(asked, shorter), {-1.0, 1.0}, stating.sampling)});
        continue;
      }
      const Stated own = stating.survival(curves[g], ended);
      const Stated first = stating.survival(curves[0], ended);
      Stated difference = statistics::state_difference(own, first);
      if (!own.note.empty() || !first.note.empty()) difference.note = "of curves on a coarse grid: see their notes";
      out.estimates.push_back({name, std::move(difference)});
    }
    const std::string name = fmt::format("{}: restricted mean({:.6g})", versus, asked.edges[last]);
    const double most = asked.edges[last] - asked.edges.front();
    if (last > std::min(curves[g].horizon(), curves[0].horizon())) {
      out.estimates.push_back(
          {name, refused("one of the two curves cannot be read so far", {-most, most}, stating.sampling)});
      continue;
    }
    const auto mean = [&](const LifeTable& life) { return statistics::restricted_mean(life, last, asked.edges); };
    Curves::Weighed difference = curves[g].weighed(mean);
    const Curves::Weighed first = curves[0].weighed(mean);
    difference.value -= first.value;
    statistics::add_spread(difference.spread, first.spread, 1.0);  // of other cells: independent
    out.estimates.push_back({name, statistics::state_wald(difference.value, difference.spread, stating.confidence,
                                                          stating.sampling, {-most, most})});
  }
  std::vector<NoisedTable> strata;
  strata.reserve(parts.size());
  for (const Part& part : parts) strata.push_back(part.fitted);
  const GroupDesigns designs = group_designs(asked.by);
  const auto put_ratios = [&](std::optional<std::size_t> cause, const std::string& of) {
    const statistics::TableModel cox =
        statistics::table_cox(strata, layout_of(asked), designs.rows, statistics::Exposure::ConstantHazard, cause);
    for (std::size_t i = 0; i < designs.names.size(); ++i)
      out.estimates.push_back(
          {fmt::format("hazard ratio of {}{}", designs.names[i], of),
           mapped_to_ratio(statistics::state_coefficient(cox, i, stating.confidence, stating.sampling))});
  };
  put_ratios(std::nullopt, asked.causes.size() > 1 ? ", any event" : "");
  if (asked.causes.size() > 1)
    for (std::size_t cause = 0; cause < asked.causes.size(); ++cause) put_ratios(cause, ", " + asked.causes[cause]);
  const statistics::RankTest how{asked.on_grid ? statistics::Times::OnGrid : statistics::Times::Continuous,
                                 asked.gehan ? statistics::RankWeight::AtRisk : statistics::RankWeight::Equal};
  const Result<statistics::TestOutcome> test = statistics::log_rank(strata, layout_of(asked), how);
  NamedTest& one = out.tests.emplace_back();
  one.name =
      fmt::format("{} of {}{}", asked.gehan ? "Gehan" : "log-rank", asked.causes.size() > 1 ? "any event" : "the event",
                  strata.size() > 1 ? ", stratified by silo" : "");
  if (!test) {
    one.note = "refused: " + test.error().message;
    return;
  }
  one.statistic = test->degrees == 1 ? test->statistic * test->statistic : test->statistic;
  one.degrees = test->degrees;
  one.p_value = test->p_value;
  one.note = fmt::format("of the times until {:.6g}; noise has {:.0f} % of its variance", asked.edges[test->horizon],
                         100.0 * test->noise.trace() / std::max(test->noise.trace() + test->sampling.trace(), 1e-300));
}

}  // namespace

statistics::ExitLayout layout_of(const SurvivalAsked& asked) {
  return {asked.groups(), asked.cells.causes, asked.cells.intervals(), true};
}

std::vector<std::string> group_names(const SurvivalAsked& asked) { return combinations_of(asked.by); }

GroupDesigns group_designs(const std::vector<algorithms::TableAxis>& by) {
  GroupDesigns out;
  std::size_t groups = 1;
  for (const algorithms::TableAxis& axis : by) groups *= axis.values.size();
  for (const algorithms::TableAxis& axis : by)
    for (std::size_t value = 1; value < axis.values.size(); ++value)
      out.names.push_back(fmt::format("{}={}", axis.column, axis.values[value]));
  out.rows = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(groups), static_cast<Eigen::Index>(out.names.size()));
  for (std::size_t g = 0; g < groups; ++g) {
    std::size_t inner = groups;
    Eigen::Index column = 0;
    for (const algorithms::TableAxis& axis : by) {  // the last axis runs fastest
      inner /= axis.values.size();
      const std::size_t value = g / inner % axis.values.size();
      if (value > 0) out.rows(static_cast<Eigen::Index>(g), column + static_cast<Eigen::Index>(value) - 1) = 1.0;
      column += static_cast<Eigen::Index>(axis.values.size()) - 1;
    }
  }
  return out;
}

std::size_t estimates_of_group(const SurvivalAsked& asked) {
  const std::size_t causes = asked.causes.size() > 1 ? asked.causes.size() : 0;
  return (2 + causes) * asked.at.size() + 2 + asked.probabilities.size();
}

StatedQuestion state_survival(const SurvivalAsked& asked, const std::vector<ToldExits>& silos,
                              statistics::Confidence confidence, bool sampling, bool together) {
  UNDERTONE_CHECK(!silos.empty() && !asked.at.empty());
  const std::vector<Part> parts = parts_of(asked, silos);
  std::vector<Curves> curves;
  for (std::size_t g = 0; g < asked.groups(); ++g) curves.emplace_back(asked, parts, g);
  const Stating stating{asked, confidence, sampling};
  StatedQuestion out;
  put_groups(stating, silos, curves, out);
  if (curves.size() > 1 && together) put_comparisons(stating, parts, curves, out);
  return out;
}

}  // namespace undertone::jobs
