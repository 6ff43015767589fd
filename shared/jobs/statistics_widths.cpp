#include "shared/jobs/statistics_widths.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "shared/algorithms/one_round/statistics.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/jobs/cohort_section.hpp"
#include "shared/jobs/function_degrees.hpp"
#include "shared/jobs/stated_reports.hpp"
#include "shared/jobs/stated_statistics.hpp"
#include "shared/jobs/stated_survival.hpp"
#include "shared/jobs/stated_vectors.hpp"
#include "shared/statistics/cosine_series.hpp"
#include "shared/statistics/quantiles.hpp"
#include "shared/statistics/survival/survival_curve.hpp"

namespace undertone::jobs {
namespace {

/// What a width depends on: the noise of a total over all silos.
struct TotalNoise {
  double records = 0.0;
  double half_width = 0.0;  // of the total
  double stddev = 0.0;
  double z = 0.0;
  bool gaussian = false;
  std::string_view units = "records";  // or persons
  std::size_t silos = 1;
};

/// What would make it narrower: noise falls as epsilon, records and the question's part of the promise grow.
std::string needed(double factor) {
  return fmt::format(
      "about {:.2g} times the epsilon, the records or the question's part of the promise would be needed", factor);
}

/// @param share of the half-width in half the range
void warn_of_range(double share, std::vector<std::string>& warnings) {
  if (share < 1.0) return;
  warnings.push_back(fmt::format("the interval is wider than the column's range, {:.3g} times: it says nothing; {}",
                                 share, needed(share)));
}

void put_cells(const TotalNoise& noise, std::size_t cells, PlannedWidth& out) {
  out.half_width = noise.half_width;
  out.of = fmt::format("each of {} cells, in {}", cells, noise.units);
  if (static_cast<double>(cells) > noise.records) {
    out.warnings.push_back(
        fmt::format("{} cells for {:.0f} {}: a cell has {:.2g} on average, and noise of standard deviation {:.3g}",
                    cells, noise.records, noise.units, noise.records / static_cast<double>(cells), noise.stddev));
  }
  if (noise.half_width >= noise.records) {
    out.warnings.push_back(fmt::format("the interval of a cell is wider than all {:.0f} {}: it says nothing; {}",
                                       noise.records, noise.units, needed(noise.half_width / noise.records)));
  }
}

/// The largest noise of a prefix count, in standard deviations of a cell's or a node's.
double worst_prefix(const algorithms::QuantilesAsked& what, bool tree) {
  const auto leaves = static_cast<double>(what.cells.edges.size() - 1);
  if (tree) return std::sqrt(statistics::tree_prefix_variances(std::llround(leaves)).maxCoeff());
  return std::sqrt(leaves / 4.0);  // k (1 - k / m) at half of the cells
}

/// The survival at the last edge of the grid, by the question's guess. Silos whose curves count by themselves are taken
/// to be alike.
void put_survival(const algorithms::SurvivalAsked& what, const TotalNoise& noise, PlannedWidth& out) {
  const double parts = what.pooled ? 1.0 : static_cast<double>(noise.silos);
  const statistics::ExitLayout layout = layout_of(what);
  const double records = noise.records / parts;
  const statistics::NoisedTable table{statistics::expected_cells(layout, what.edges, records, what.guess), records,
                                      noise.stddev * noise.stddev / parts, 0.0, layout.groups == 1};
  const statistics::LifeTable life(table, layout, 0,
                                   what.on_grid ? statistics::Times::OnGrid : statistics::Times::Continuous);
  const statistics::SizeOf size = layout.groups == 1 ? statistics::SizeOf::Table : statistics::SizeOf::Group;
  const statistics::SurvivalPoint point = statistics::survival_point(table, life, layout.intervals, size, life.size());
  out.half_width = noise.z * std::sqrt(point.spread.noise / parts);
  out.of = fmt::format(
      "S({:.6g}){}, if {:.3g} % have no event until then and {:.3g} % of them are lost before (guessed); of what "
      "{} are drawn from {:.4g}",
      what.edges.back(), layout.groups > 1 ? fmt::format(" of one of {} groups of the same size", layout.groups) : "",
      100.0 * what.guess.survival, 100.0 * what.guess.censored, noise.units,
      noise.z * std::sqrt(point.spread.total() / parts));
  const std::size_t horizon = life.horizon();
  if (horizon == layout.intervals) return;
  const double needed_risk = 4.0 * life.noise_of_at_risk(horizon);
  const double at_risk = std::max(life.at_risk()[static_cast<Eigen::Index>(horizon)], 1e-9);
  out.warnings.push_back(
      fmt::format("by that guess nothing is stated beyond {:.6g}: {:.3g} would be at risk then{}, and four deviations "
                  "of the noise are "
                  "{:.3g}; {}, or a grid that ends earlier or has fewer edges",
                  what.edges[horizon], at_risk, parts > 1.0 ? " at a silo" : "", needed_risk,
                  needed(std::max(1.0, needed_risk / at_risk))));
}

void put_width(const algorithms::StatisticAsked& asked, const TotalNoise& noise, PlannedWidth& out) {
  const auto mean = [&](double low, double high) {
    out.half_width = 0.5 * (high - low) * noise.half_width / noise.records;
    out.of = "the mean, in the column's unit";
    warn_of_range(noise.half_width / noise.records, out.warnings);
  };
  std::visit(
      Overloaded{
          [&](const algorithms::CountAsked& /*what*/) {
            out.half_width = noise.half_width;
            out.of = fmt::format("the count, in {}", noise.units);
            if (noise.half_width >= noise.records)
              out.warnings.push_back(fmt::format("the interval is wider than all {}: it says nothing; {}", noise.units,
                                                 needed(noise.half_width / noise.records)));
          },
          [&](const algorithms::MeanAsked& what) { mean(what.low, what.high); },
          [&](const algorithms::SumAsked& what) {
            mean(what.low, what.high);
            out.half_width *= noise.records;
            out.of = "the sum, in the column's unit";
          },
          [&](const algorithms::CountedSumAsked& what) {
            const double centre = what.low + 0.5 * (what.high - what.low);
            const double half = 0.5 * (what.high - what.low);
            if (what.is_mean) {
              mean(what.low, what.high);
              out.of =
                  "the mean of records, in the column's unit, if everybody has as many as may count; with fewer it "
                  "is as much wider";
            } else {
              out.half_width = std::hypot(centre, half) * noise.half_width;
              out.of = "the sum over records, in the column's unit";
            }
            out.of += fmt::format("; of the number of records {:.4g}", noise.half_width);
          },
          [&](const algorithms::CutMeanAsked& what) {
            const double bias = what.bias();
            const bool clips = what.influence == statistics::Influence::Clip;
            const double share = noise.half_width / noise.records;
            const double of_range = 0.5 * (what.high - what.low) * share;
            out.half_width = what.radius() * share + bias;
            out.of = fmt::format(
                "the mean, in the column's unit, of numbers {} {:.6g} +- {:.6g}: {:.4g} by noise and "
                "{:.4g} by the cut; without a moment it would be {:.4g}",
                clips ? "cut to" : "bent smoothly to stay within", what.about, what.radius(), what.radius() * share,
                bias, of_range);
            if (!clips) {
              const double mean_noise = share;
              const double clip = statistics::best_threshold(what.moment, mean_noise);
              const double clipped = clip * mean_noise + statistics::cut_bias(what.moment, clip);
              if (clipped < out.half_width)
                out.warnings.push_back(fmt::format(
                    "a clip in place of the smooth influence would have the interval {:.4g}: what is known of its bias "
                    "is closer",
                    clipped));
            }
            if (of_range <= out.half_width)
              out.warnings.emplace_back(
                  "the mean over the column's range has a narrower interval, and needs no moment: ask for it without");
          },
          [&](const algorithms::VarianceAsked& what) {
            mean(what.low, what.high);
            // s^2 = v2 + 4 m^2 v1 + 2 v1^2, at the largest |m|, 1.
            const double first = noise.stddev / noise.records;
            const double second = first / (noise.gaussian ? std::numbers::sqrt2 : 0.5);
            const double half = 0.5 * (what.high - what.low);
            const double spread =
                noise.z * half * half * std::sqrt(second * second + 4.0 * first * first + 2.0 * std::pow(first, 4));
            out.of =
                fmt::format("the mean, in the column's unit; of the variance at most {:.4g}, in its square", spread);
          },
          [&](const algorithms::HistogramAsked& what) { put_cells(noise, what.edges.size() - 1, out); },
          [&](const algorithms::TableAsked& what) {
            std::size_t cells = 1;
            for (const algorithms::TableAxis& axis : what.axes) cells *= axis.values.size();
            put_cells(noise, cells, out);
          },
          [&](const algorithms::SurvivalAsked& what) { put_survival(what, noise, out); },
          [&](const algorithms::GroupMeansAsked& what) {
            const auto groups = static_cast<double>(what.by.values.size());
            const double share = noise.z * noise.stddev * groups / noise.records;  // of half the column's range
            out.half_width = 0.5 * (what.high - what.low) * share;
            out.of = fmt::format(
                "the mean of a group if all {} are equally large, in the column's unit; a difference of two is known "
                "1.4 times as badly",
                what.by.values.size());
            warn_of_range(share, out.warnings);
          },
          [&](const algorithms::QuantilesAsked& what) {
            const std::optional<statistics::FeatureMap> map = algorithms::features_of(
                asked, noise.gaussian ? statistics::NoiseKind::Gaussian : statistics::NoiseKind::Laplace);
            out.half_width =
                noise.z * noise.stddev * worst_prefix(what, std::holds_alternative<statistics::TreeMap>(*map));
            out.of = fmt::format("the {} below an edge, of {} edges", noise.units, what.cells.edges.size());
            if (out.half_width >= 0.5 * noise.records)
              out.warnings.push_back("the interval of a median is the whole range: it says nothing; " +
                                     needed(2.0 * out.half_width / noise.records));
          },
          [&](const algorithms::CovarianceAsked& what) {
            const auto columns = static_cast<double>(what.columns.size());
            out.half_width = noise.z * columns * noise.stddev / noise.records;
            out.of = "a mean product of two columns, each scaled to [-1, 1]";
            warn_of_range(out.half_width, out.warnings);
          },
          [](const algorithms::ReportsAsked& /*of no total*/) { UNDERTONE_CHECK(false); },
          [](const algorithms::FunctionAsked& /*apart*/) { UNDERTONE_CHECK(false); },
          [](const algorithms::SelectedQuantileAsked& /*apart*/) { UNDERTONE_CHECK(false); },
          [](const algorithms::LeastLossAsked& /*apart*/) { UNDERTONE_CHECK(false); },
          [](const algorithms::VectorMeanAsked& /*apart*/) { UNDERTONE_CHECK(false); },
          [](const algorithms::LinearModelAsked& /*apart*/) { UNDERTONE_CHECK(false); },
          [&](const algorithms::RegressionAsked& what) {
            const auto columns = static_cast<double>(what.columns.size());
            const double cross = (columns + 1.0) * noise.stddev;
            out.half_width = noise.z * cross / noise.records;
            // rho = n x the smallest variance of a combination / (s2 sqrt(2 d)), and below 2 nothing is stated.
            const double least = 2.0 * cross * std::sqrt(2.0 * columns) / noise.records;
            out.of = fmt::format(
                "a mean product of two columns, each scaled to [-1, 1]; coefficients are stated where every "
                "combination of "
                "the scaled columns has a variance of {:.3g} or more",
                least);
            if (least >= 1.0)
              out.warnings.push_back("columns in [-1, 1] have no such variance: every coefficient will be refused; " +
                                     needed(least));
          }},
      asked.what);
}

/// The half-width of each mean, as a share of the column's range, if every silo added its records up and answered with
/// one noised total of each number: at the epsilon that the reports cost, by discrete Laplace noise.
Result<double> share_as_sum(const std::vector<const planning::Release*>& asked, statistics::Confidence confidence) {
  std::vector<statistics::NoiseTerm> terms;
  double records = 0.0;
  double range = 1.0;
  for (const planning::Release* release : asked) {
    const auto& reports = std::get<mechanisms::LocalReports>(release->mechanism);
    const auto& bound = std::get<releases::RangeBound>(release->ask.bound);
    UNDERTONE_TRY(const releases::Epsilon epsilon, releases::Epsilon::create(reports.cost().pure.value_rounded_down()));
    const bool counted = releases::reports_indicators(release->ask);
    UNDERTONE_TRY(const mechanisms::LaplaceLattice sum,
                  counted ? mechanisms::laplace_counts(epsilon, release->ask.dimension, release->records_drawn)
                          : mechanisms::laplace_values(bound, epsilon, release->ask.dimension, release->records_drawn));
    planning::Release as_sum = *release;
    as_sum.mechanism = sum;
    terms.push_back({noise_of(as_sum), 1.0});
    records += static_cast<double>(release->records_drawn);
    range = bound.high - bound.low;
  }
  UNDERTONE_TRY(const statistics::NoiseLaw law, statistics::NoiseLaw::create(std::move(terms)));
  return law.half_width(confidence.alpha()) / records / range;
}

/// Of reports: each mean's interval as it is where the mean is in the middle of its range, which is where it is widest.
Status put_report_widths(const algorithms::StatisticAsked& asked, const algorithms::ReportsAsked& what,
                         const std::vector<const planning::Release*>& releases, statistics::Confidence confidence,
                         std::vector<PlannedWidth>& out) {
  UNDERTONE_TRY(const double as_sum, share_as_sum(releases, confidence));
  const auto coordinates = static_cast<Eigen::Index>(what.columns.size());
  for (Eigen::Index j = 0; j < coordinates; ++j) {
    std::vector<statistics::ReportedTotal> totals;
    std::vector<std::int64_t> records;
    for (const planning::Release* release : releases) {
      totals.push_back(reported_total(*release, j, std::nullopt));
      records.push_back(release->records_drawn);
    }
    UNDERTONE_TRY(
        const statistics::Stated middle,
        statistics::state_reported_mean(totals, reporting_of(totals, records, coordinates), confidence, false));
    const algorithms::NumberColumn& column = what.columns[static_cast<std::size_t>(j)];
    PlannedWidth& width = out.emplace_back();
    width.statistic = coordinates == 1 ? asked.name : fmt::format("{}, {}", asked.name, column.name);
    width.law = releases::what_leaves(releases.front()->ask);
    width.half_width = (column.high - column.low) * middle.noise.half_width();
    width.as_sum = (column.high - column.low) * as_sum;
    width.of = what.indicator ? "the share" : "the mean, in the column's unit";
    warn_of_range(2.0 * middle.noise.half_width(), width.warnings);
  }
  return {};
}

/// How far the series of a kernel in the middle of the columns may be from it.
double unknown_of(const algorithms::KernelsOf& kernels, double width) {
  // Of a product, as statistics::product_of has it.
  const double each = 1.0 + statistics::gaussian_series(0.0, width, kernels.terms).error;
  return std::pow(each, static_cast<double>(kernels.columns.size())) - 1.0;
}

/// Of a function: one of the means that everything else is computed from, in units of its range, by the form that was
/// asked for and by the other one.
Status put_function_width(const algorithms::StatisticAsked& asked, const algorithms::FunctionAsked& what,
                          std::size_t questions, const std::vector<releases::SiloFacts>& cohort,
                          const std::vector<const planning::Release*>& releases, statistics::Confidence confidence,
                          PlannedWidth& out) {
  const FunctionNoise guessed = CohortNoise(cohort).of(what, questions);
  const statistics::FeatureMap map = algorithms::features_of(what);
  const statistics::CoordinateRange range = *statistics::reported_range(map);
  const double width = range.high - range.low;
  double variance = 0.0;
  double records = 0.0;
  for (const planning::Release* release : releases) {
    const double own = mechanisms::noise_stddev_of_sum(release->mechanism, release->records_drawn);
    // A report is of one number alone: its slots are that many fewer.
    variance += what.reports ? own * own * static_cast<double>(statistics::dimension(map)) : own * own;
    records += static_cast<double>(release->records_drawn);
  }
  const double stddev = std::sqrt(variance) / records;
  out.statistic = asked.name;
  out.law = what.reports ? releases::what_leaves(releases.front()->ask)
            : std::holds_alternative<mechanisms::LaplaceLattice>(releases.front()->mechanism) ? "discrete Laplace"
                                                                                              : "Gaussian";
  out.half_width = confidence.z() * stddev;
  const double ratio = guessed.reports / guessed.totals;
  if (what.reports) {
    out.as_sum = out.half_width / ratio;
  } else {
    out.as_reports = out.half_width * ratio;
  }
  out.of = fmt::format("each of {} means in [{:.3g}, {:.3g}] that answers are computed from",
                       statistics::dimension(map), range.low, range.high);
  if (const auto* kernels = std::get_if<algorithms::KernelsOf>(&what.of))
    out.of += fmt::format(
        "; besides, {} cosines of a column leave {:.2g} of a kernel of width 1 unknown, {:.2g} of one "
        "of width 0.5",
        kernels->terms, unknown_of(*kernels, 1.0), unknown_of(*kernels, 0.5));
  warn_of_range(2.0 * out.half_width / width, out.warnings);
  return {};
}

/// Of a selection: how much worse than the best a silo's choice may be, at most with that confidence.
void put_choice_width(const algorithms::StatisticAsked& asked, const std::vector<const planning::Release*>& releases,
                      statistics::Confidence confidence, PlannedWidth& out) {
  out.statistic = asked.name;
  out.law = "exponential mechanism";
  for (const planning::Release* release : releases) {
    const auto& selection = std::get<mechanisms::Selection>(release->mechanism);
    const auto count = static_cast<double>(release->ask.candidate_count());
    // P[score < best - (R / epsilon) (ln m + ln(1 / alpha))] <= alpha (McSherry and Talwar 2007).
    const double worse = static_cast<double>(selection.draw.range().value()) /
                         selection.draw.epsilon().value_rounded_down() *
                         (std::log(count) - std::log(confidence.alpha()));
    const releases::QuantileCell* cell = release->ask.quantile_cell();
    const double unit = static_cast<double>(selection.lattice.levels()) *
                        (cell != nullptr ? static_cast<double>(cell->denominator) : 1.0);
    out.half_width = std::max(out.half_width, worse / unit);
    if (worse / unit >= 0.5 * static_cast<double>(release->records_drawn))
      out.warnings.push_back(fmt::format("a choice that is worse by {:.4g} of {} {} says nothing; {}", worse / unit,
                                         release->records_drawn, releases::plural_of(release->ask.unit()),
                                         needed(2.0 * worse / unit / static_cast<double>(release->records_drawn))));
  }
  const auto* quantile = std::get_if<algorithms::SelectedQuantileAsked>(&asked.what);
  if (quantile != nullptr && releases.size() > 1)
    out.warnings.emplace_back(
        "cells that silos choose do not add up: there is an answer of each silo, and none of all");
  out.of = quantile != nullptr ? fmt::format("the {} between the chosen cell and the rank, of one silo",
                                             releases::plural_of(releases.front()->ask.unit()))
                               : "the summed losses, over the largest that one can be (around a centre: twice the "
                                 "largest difference there is), by "
                                 "which a silo's choice is worse than the best";
}

/// Of a mean of vectors: by how much each estimate that can be made is expected to be off.
void put_vector_width(const algorithms::StatisticAsked& asked, const algorithms::VectorMeanAsked& what,
                      const std::vector<const planning::Release*>& releases, std::int64_t public_records,
                      statistics::Confidence confidence, PlannedWidth& out) {
  out.statistic = asked.name;
  if (what.of_public) {
    out.law = "none: public records";
    out.of = "each column's mean of the public records";
    return;
  }
  out.law = what.reports ? releases::what_leaves(releases.front()->ask)
            : std::holds_alternative<mechanisms::LaplaceLattice>(releases.front()->mechanism) ? "discrete Laplace"
                                                                                              : "Gaussian";
  double variance = 0.0;
  double records = 0.0;
  for (const planning::Release* release : releases) {
    variance += std::pow(mechanisms::noise_stddev_of_sum(release->mechanism, release->records_drawn), 2);
    records += static_cast<double>(release->records_drawn);
  }
  out.half_width = confidence.z() * std::sqrt(variance) / records * what.radius;
  const ExpectedErrors errors = expected_errors(what, releases, what.beside_public ? public_records : 0);
  out.of = fmt::format(
      "a column's mean of the protected {}, scaled to [-1, 1]; of the whole vector {:.4g} is expected to be off, of a "
      "law with spread {:.4g}",
      releases::plural_of(releases.front()->ask.unit()), errors.of_protected, what.spread.value_or(what.radius));
  if (what.beside_public)
    out.of += fmt::format(", by the {} public records alone {:.4g}, weighted together {:.4g}", public_records,
                          errors.of_public, errors.weighted);
  warn_of_range(out.half_width, out.warnings);
}

/// Of a linear model: the noise on the mean vector that its slope at 0 is made of, by the form that was asked for and,
/// at the same shift, by the other one.
void put_model_width(const algorithms::StatisticAsked& asked, const algorithms::LinearModelAsked& what,
                     const std::vector<const planning::Release*>& releases, statistics::Confidence confidence,
                     PlannedWidth& out) {
  out.statistic = asked.name;
  out.law = what.reports ? releases::what_leaves(releases.front()->ask) : "Gaussian";
  double variance = 0.0;
  double other = 0.0;
  double records = 0.0;
  for (const planning::Release* release : releases) {
    variance += std::pow(mechanisms::noise_stddev_of_sum(release->mechanism, release->records_drawn), 2);
    records += static_cast<double>(release->records_drawn);
    // Two records are 2 apart in either form, copies aside: a total has that noise once, reports once a record.
    const double shift_squared = release->cost_of_draw().gaussian.value_rounded_up();
    other += 4.0 / shift_squared * (what.reports ? 1.0 : static_cast<double>(release->records_drawn));
  }
  out.half_width = confidence.z() * std::sqrt(variance) / records;
  (what.reports ? out.as_sum : out.as_reports) = confidence.z() * std::sqrt(other) / records;
  out.of = fmt::format(
      "each number of the mean of {} over the norm; the slope is a polynomial of degree {}, at most {:.2g} off",
      what.of_residual ? "(x, y)" : "y x", what.degree, what.slope().error);
  warn_of_range(out.half_width, out.warnings);
}

}  // namespace

Result<std::vector<PlannedWidth>> planned_widths(const Job& job, const std::map<SiloId, planning::Plan>& plans) {
  const auto* settings = job.algorithm.as<algorithms::StatisticsSettings>();
  UNDERTONE_CHECK(settings != nullptr);
  UNDERTONE_TRY(const statistics::Confidence confidence, statistics::Confidence::create(settings->confidence));
  TotalNoise noise;
  double units = 0.0;
  for (const CohortMember& member : job.cohort) units += static_cast<double>(member.facts.records);
  noise.records = units;
  noise.z = confidence.z();
  noise.gaussian = settings->noise == statistics::NoiseKind::Gaussian;
  noise.units = releases::plural_of(job.unit);
  std::vector<PlannedWidth> out;
  for (std::size_t q = 0; q < settings->questions.size(); ++q) {
    std::vector<const planning::Release*> asked;
    for (const CohortMember& member : job.cohort) {
      asked.push_back(plans.at(member.facts.silo).release({q}));
      UNDERTONE_CHECK(asked.back() != nullptr);
    }
    if (const auto* reports = std::get_if<algorithms::ReportsAsked>(&settings->questions[q].what)) {
      if (Status put = put_report_widths(settings->questions[q], *reports, asked, confidence, out); !put)
        return put.error();
      continue;
    }
    if (const auto* mean = std::get_if<algorithms::VectorMeanAsked>(&settings->questions[q].what)) {
      std::int64_t public_records = 0;
      for (const CohortMember& member : job.cohort) public_records += member.facts.public_records;
      put_vector_width(settings->questions[q], *mean, asked, public_records, confidence, out.emplace_back());
      continue;
    }
    if (const auto* model = std::get_if<algorithms::LinearModelAsked>(&settings->questions[q].what)) {
      put_model_width(settings->questions[q], *model, asked, confidence, out.emplace_back());
      continue;
    }
    if (algorithms::selects(settings->questions[q])) {
      put_choice_width(settings->questions[q], asked, confidence, out.emplace_back());
      continue;
    }
    if (const auto* function = std::get_if<algorithms::FunctionAsked>(&settings->questions[q].what)) {
      if (Status put = put_function_width(settings->questions[q], *function, settings->questions.size(),
                                          silo_facts(job.cohort), asked, confidence, out.emplace_back());
          !put)
        return put.error();
      continue;
    }
    std::vector<statistics::NoiseTerm> terms;
    terms.reserve(asked.size());
    for (const planning::Release* release : asked) terms.push_back({noise_of(*release), 1.0});
    UNDERTONE_TRY(const statistics::NoiseLaw law, statistics::NoiseLaw::create(std::move(terms)));
    const releases::Ask& ask = asked.front()->ask;
    const bool every_record = releases::units_of_one(ask) > 1;
    noise.units = every_record ? "records" : releases::plural_of(job.unit);
    noise.records = units * static_cast<double>(releases::units_of_one(ask));
    noise.half_width = law.half_width(confidence.alpha());
    noise.stddev = law.stddev();
    PlannedWidth& width = out.emplace_back();
    width.statistic = settings->questions[q].name;
    width.law = noise.gaussian ? "Gaussian" : "discrete Laplace";
    noise.silos = asked.size();
    put_width(settings->questions[q], noise, width);
  }
  if (job.unit == releases::Unit::Person)
    for (PlannedWidth& width : out) width.as_reports.reset();  // each would be of one record
  return out;
}

}  // namespace undertone::jobs
