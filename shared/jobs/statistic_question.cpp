#include "shared/jobs/statistic_question.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numbers>
#include <utility>
#include <vector>

#include "shared/base/plain_text.hpp"
#include "shared/jobs/function_question.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/statistic_columns.hpp"
#include "shared/jobs/survival_question.hpp"
#include "shared/jobs/vector_question.hpp"

namespace undertone::jobs {
namespace {

using algorithms::CountAsked;
using algorithms::HistogramAsked;
using algorithms::MeanAsked;
using algorithms::NumberColumn;
using algorithms::StatisticAsked;

enum class KindAsked : std::uint8_t {
  Count,
  Mean,
  Missing,
  Sum,
  Variance,
  Histogram,
  RecordsPerPerson,
  Quantiles,
  Table,
  Covariance,
  Regression,
  Marginals,
  Kernels,
  Loss,
  SelectedQuantile,
  LeastLoss,
  VectorMean,
  LinearModel,
  GradientNorms,
  Survival,
  GroupMeans
};

constexpr std::int64_t kBinsMax = 4096;
constexpr std::size_t kColumnsMax = 64;  // of covariances and regressions: 2144 numbers
constexpr std::size_t kAxesMax = 12;
constexpr std::size_t kCellsMax = std::size_t{1} << 16U;
constexpr std::size_t kProbabilitiesMax = 99;
constexpr std::size_t kSelectedMax = 8;         // each a release, or two
constexpr std::size_t kGroupsComparedMax = 64;  // whose means are compared
constexpr double kWeightMax = 1e6;
constexpr double kHalfWidthMax = 1e18;

/// A question asks for one of these things of a person's records.
enum class PersonsAsked : std::uint8_t { Mean, OneRecord, Any, Total };

/// A bound on a moment of a column, as it is written.
struct WrittenMoment {
  statistics::MomentBound of;
  std::optional<double> about;  // nothing: the middle of the column's range
  std::string source;
  statistics::Influence influence = statistics::Influence::Clip;
};

/// Whose lengths are counted, as it is written.
struct WrittenGradients {
  statistics::ScalarLoss loss = statistics::ScalarLoss::Squared;
  bool intercept = true;
  std::vector<double> point;  // empty: 0
};

/// What a question's section says, taken whole before any of it is looked at.
struct Written {
  KindAsked kind = KindAsked::Count;
  std::string column;
  std::string value;
  std::vector<std::string> columns;
  std::string response;
  std::vector<double> edges;
  std::int64_t bins = 0;
  std::vector<double> probabilities;
  bool near_normal = false;
  bool tested = false;  // a table
  std::string group;    // whose values are groups
  bool ends = true;
  WrittenFunction function;
  WrittenVector vector;
  WrittenGradients gradients;
  WrittenSurvival survival;
  bool reports = false;  // one of every record, instead of totals
  releases::Randomiser randomiser = releases::Randomiser::Bit;
  std::uint64_t seed = 0;  // of public strings
  double weight = 1.0;
  std::optional<double> half_width;
  PersonsAsked persons = PersonsAsked::Mean;
  std::optional<WrittenMoment> moment;
  bool complete = true;  // nothing that was missing was noted
};

bool is_binned(KindAsked kind) {
  return kind == KindAsked::Histogram || kind == KindAsked::RecordsPerPerson || kind == KindAsked::Quantiles ||
         kind == KindAsked::SelectedQuantile;
}
std::optional<FunctionKind> function_kind(KindAsked kind) {
  if (kind == KindAsked::Marginals) return FunctionKind::Marginals;
  if (kind == KindAsked::Kernels) return FunctionKind::Kernels;
  if (kind == KindAsked::Loss || kind == KindAsked::LeastLoss) return FunctionKind::Loss;
  return std::nullopt;
}
std::optional<VectorKind> vector_kind(KindAsked kind) {
  if (kind == KindAsked::VectorMean) return VectorKind::Mean;
  if (kind == KindAsked::LinearModel) return VectorKind::LinearModel;
  return std::nullopt;
}
bool may_report(KindAsked kind) {
  return kind == KindAsked::Count || kind == KindAsked::Mean || kind == KindAsked::Missing ||
         (function_kind(kind) && kind != KindAsked::LeastLoss);
}
bool is_listed(KindAsked kind) {
  return kind == KindAsked::Table || kind == KindAsked::Covariance || kind == KindAsked::Regression ||
         function_kind(kind) || vector_kind(kind);
}

/// @param bins set to the number of cells
WrittenGradients read_gradients(config::Section& section, std::int64_t& bins) {
  using statistics::ScalarLoss;
  constexpr std::int64_t kGradientBinsMax = 64;
  WrittenGradients out;
  const bool every = section.recording();
  if (!every && section.has("loss"))
    out.loss = section.choice<ScalarLoss>("loss",
                                          {{"squared", ScalarLoss::Squared},
                                           {"absolute", ScalarLoss::Absolute},
                                           {"logistic", ScalarLoss::Logistic},
                                           {"hinge", ScalarLoss::Hinge}},
                                          "of the model that the gradients are of");
  if (!every && section.has("intercept")) out.intercept = section.boolean("intercept", "a last parameter of 1");
  if (every || section.has("point"))
    out.point = section.numbers("point",
                                "of gradient_norms: the public point, one number for each encoded feature and one for "
                                "the intercept (default: 0)");
  if (!every) {
    bins = 24;
    if (section.has("bins"))
      bins = section.integer("bins", 2, kGradientBinsMax, "cells, each up to the root of 2 longer");
  }
  return out;
}

WrittenMoment read_moment(config::Section section) {
  constexpr double kOrderMax = 64.0;
  constexpr double kMomentMin = 1e-50;
  constexpr double kMomentMax = 1e50;
  constexpr std::size_t kSourceMax = 400;  // bytes
  WrittenMoment out;
  out.of.order = section.number("order", 2.0, kOrderMax, "k of E |x - about|^k <= bound^k");
  out.of.bound = section.number("bound", kMomentMin, kMomentMax, "in the column's unit");
  if (section.recording() || section.has("about"))
    out.about =
        section.number("about", -kMomentMax, kMomentMax, "a point within the column's bounds (default: their middle)");
  if (section.has("influence"))
    out.influence = section.choice<statistics::Influence>(
        "influence", {{"clip", statistics::Influence::Clip}, {"smooth", statistics::Influence::Smooth}},
        "clip (default): numbers are cut. smooth: they are bent by Catoni's function, which takes a policy with a "
        "release interval");
  out.source = section.text("source", "where the bound comes from, for those who read the result");
  if (out.source.size() > kSourceMax || !is_plain_text(out.source))
    section.problem("source", fmt::format("expected at most {} bytes of plain text", kSourceMax));
  section.finish();
  return out;
}

Written read_question(config::Section& section) {
  Written out;
  out.kind = section.choice<KindAsked>(
      "kind",
      {{"count", KindAsked::Count},
       {"mean", KindAsked::Mean},
       {"missing", KindAsked::Missing},
       {"sum", KindAsked::Sum},
       {"variance", KindAsked::Variance},
       {"histogram", KindAsked::Histogram},
       {"records_per_person", KindAsked::RecordsPerPerson},
       {"quantiles", KindAsked::Quantiles},
       {"table", KindAsked::Table},
       {"covariance", KindAsked::Covariance},
       {"regression", KindAsked::Regression},
       {"marginals", KindAsked::Marginals},
       {"kernels", KindAsked::Kernels},
       {"loss", KindAsked::Loss},
       {"selected_quantile", KindAsked::SelectedQuantile},
       {"least_loss", KindAsked::LeastLoss},
       {"vector_mean", KindAsked::VectorMean},
       {"linear_model", KindAsked::LinearModel},
       {"gradient_norms", KindAsked::GradientNorms},
       {"survival", KindAsked::Survival},
       {"group_means", KindAsked::GroupMeans}},
      "count: records with a value, or with each of a column's values; mean, sum, variance (with the mean and the "
      "standard deviation): of a column of numbers, where the value used for a missing one counts; missing: records "
      "whose number was missing, of a column with an indicator; histogram: records in each of its cells; "
      "records_per_person, of unit person: how many persons have how many records; quantiles: interpolated in cells; "
      "table: records with each combination of values; covariance: means, covariances and "
      "correlations; regression: coefficients of least squares; and what undertone query asks later, as often as "
      "anybody "
      "likes: marginals, the share of the records with all or any of some values; kernels, how many records are near "
      "any "
      "point; loss, the empirical risk of a linear model of three parameters at most, anywhere in a box. Chosen by the "
      "exponential "
      "mechanism, one answer of each silo: selected_quantile, an edge of cells on either side of a quantile, each a "
      "release of its own; least_loss, the parameters of a grid whose risk is nearly the least. Of records as vectors: "
      "vector_mean, their mean, with public records where silos have them; linear_model, a model from one round. "
      "gradient_norms: how many records have gradients of which length, for a bound on a moment. survival: when and "
      "how "
      "records were last seen, in one release, of which are curves, hazards, restricted means, quantiles, incidences, "
      "tests between groups and hazard ratios. group_means: means of a column of numbers in the groups of another one, "
      "their differences, and a test that they are alike (analysis of variance)");
  const bool every = section.recording();
  if (every || (may_report(out.kind) && section.has("form"))) {
    out.reports = section.choice<bool>(
        "form", {{"total", false}, {"reports", true}},
        "of count, mean, missing, marginals, kernels, loss, vector_mean and linear_model: total (default): a silo adds "
        "its records up and answers "
        "with noised totals; "
        "reports: with a report of every record by itself, each private on its own whoever sees it, in a secret order: "
        "far less is learnt, and nobody has to be trusted with a total. Of a count it is then the share; of marginals, "
        "kernels and loss each record reports on one number of many");
  }
  if (every || (out.reports && section.has("randomiser"))) {
    out.randomiser = section.choice<releases::Randomiser>(
        "randomiser",
        {{"bit", releases::Randomiser::Bit},
         {"laplace", releases::Randomiser::Laplace},
         {"string_bit", releases::Randomiser::StringBit},
         {"index", releases::Randomiser::Index}},
        "of reports: bit (default): one bit, the likelier 1 the larger the number; laplace: the number with noise of "
        "its own, which says more from an epsilon of about 3 on; of "
        "marginals, kernels and loss also, for comparison, since they say less: string_bit, a bit about the number and "
        "a "
        "public string; index, the number of one of 32 public strings. Of vector_mean: direction (default), one near "
        "the "
        "record's own (PrivUnit), or gaussian, its vector with Gaussian noise, which those of linear_model are");
  }
  if (every || (out.reports && releases::reads_strings(out.randomiser))) {
    section.otherwise("public_seed", 1);
    out.seed = static_cast<std::uint64_t>(
        section.integer("public_seed", 0, std::int64_t{1} << 52U, "of the public strings (default 1)"));
    if (!every && !function_kind(out.kind))
      section.problem("randomiser", "expected bit or laplace: strings are of marginals, kernels and loss");
  }
  const bool several = out.reports && out.kind == KindAsked::Mean && section.has("columns");
  if (several) section.refuse("column", "expected none beside columns");
  if (every || (!is_listed(out.kind) && !several && out.kind != KindAsked::RecordsPerPerson &&
                out.kind != KindAsked::GradientNorms && out.kind != KindAsked::Survival)) {
    out.column = section.text("column", "a feature or the label, by its name in data; not of what has columns");
    out.complete = out.complete && !out.column.empty();
  }
  if (out.kind == KindAsked::Count && (every || section.has("value"))) {
    out.value = section.text("value",
                             "of count: one of the values that data lists for the column; without it each of them, "
                             "counted together");
    out.complete = out.complete && !out.value.empty();
  }
  if (every || is_listed(out.kind) || several) {
    out.columns = section.texts(
        "columns",
        "of table and marginals: columns of listed values; of covariance, kernels and loss: of numbers; of regression: "
        "what the "
        "response is explained by, where a column of values is an indicator for each but the first; of "
        "the reports of a mean, instead of column: of numbers, each record reporting on one of them alone",
        {1});
    out.complete = out.complete && !out.columns.empty();
  }
  const bool modelled_table = out.kind == KindAsked::Table && section.has("response");
  if (every || out.kind == KindAsked::Regression || function_kind(out.kind) == FunctionKind::Loss ||
      out.kind == KindAsked::LinearModel || modelled_table) {
    out.response = section.text(
        "response",
        "of regression, loss and linear_model: a column of numbers, or a label of two values as -1 and 1; the losses "
        "hinge and logistic of linear_model are of such a label. Of a table (optional): a column of two values, whose "
        "logistic regression on the others is stated from the same cells");
    out.complete = out.complete && !out.response.empty();
  }
  if (every || out.kind == KindAsked::GroupMeans) {
    out.group = section.text("group", "of group_means: a column of two listed values or more");
    out.complete = out.complete && !out.group.empty();
  }
  if (every || (out.kind == KindAsked::Table && section.has("tests")))
    out.tested = section.boolean("tests",
                                 "of a table of two columns: test whether they are independent, and of two by two "
                                 "values state the odds ratio and the risk ratio, at no further cost (default false)");
  if (every || is_binned(out.kind)) {
    if (every || section.has("edges")) {
      out.edges = section.numbers(
          "edges",
          "of histogram, quantiles and selected_quantile, in the column's unit: ascending, from its lower bound to "
          "its upper one; a cell holds its upper edge. Of records_per_person: whole numbers from 0 to records_max "
          "(default: all of them)");
    }
    if (every || (!section.has("edges") && out.kind != KindAsked::RecordsPerPerson)) {
      out.bins = section.integer("bins", 2, kBinsMax, "instead of edges: so many cells of one width");
    } else {
      section.refuse("bins", "expected none beside edges");
    }
    out.complete = out.complete && (out.kind == KindAsked::RecordsPerPerson || out.bins >= 2 || !out.edges.empty());
  }
  const bool survival = out.kind == KindAsked::Survival;
  if (every || out.kind == KindAsked::Quantiles || out.kind == KindAsked::SelectedQuantile ||
      (survival && section.has("probabilities"))) {
    out.probabilities = section.numbers("probabilities",
                                        "of quantiles, selected_quantile and survival (default there: the median): "
                                        "shares of the records, each in (0, 1)");
    out.complete = out.complete && !out.probabilities.empty();
  }
  if (every || survival) {
    out.survival = read_survival(section);
    out.complete =
        out.complete &&
        (!survival || (!out.survival.time.empty() && !out.survival.event.empty() && !out.survival.events.empty()));
  }
  if (every || out.kind == KindAsked::SelectedQuantile) {
    section.otherwise("ends", true);
    out.ends = section.boolean("ends",
                               "of selected_quantile: the two ends of an interval (default true), or one edge near the "
                               "quantile, of which no interval is known");
  }
  if (every || (out.kind == KindAsked::Covariance && section.has("near_normal"))) {
    out.near_normal = section.boolean("near_normal",
                                      "of covariance: everybody declares the columns to be near a normal law, without "
                                      "which correlations have no interval for the population (default false)");
  }
  if (every || out.kind == KindAsked::GradientNorms) out.gradients = read_gradients(section, out.bins);
  if (every || function_kind(out.kind))
    out.function = read_function(section, every ? std::nullopt : function_kind(out.kind));
  if (every || out.kind == KindAsked::LeastLoss) read_least(section, out.function);
  if (every || vector_kind(out.kind)) out.vector = read_vector(section, every ? std::nullopt : vector_kind(out.kind));
  if (every || (out.kind == KindAsked::Mean && !out.reports && section.has("moments")))
    out.moment = read_moment(section.object(
        "moments",
        "of mean, where the column's bounds are far wider than most of its numbers: a bound on a moment, from which "
        "follows where numbers are cut for the least interval"));
  if (every || section.has("weight"))
    out.weight =
        section.number("weight", 0.0, kWeightMax, "of budget weights: of this question's noise (default 1)", true);
  if (every || section.has("half_width"))
    out.half_width = section.number("half_width", 0.0, kHalfWidthMax,
                                    "of budget half_widths: what its noise interval over all silos is to have, in "
                                    "records or in the unit of the column",
                                    true);
  if (every || (out.kind != KindAsked::RecordsPerPerson && section.has("persons"))) {
    section.otherwise("persons", "mean");
    out.persons = section.choice<PersonsAsked>(
        "persons",
        {{"mean", PersonsAsked::Mean},
         {"one_record", PersonsAsked::OneRecord},
         {"any", PersonsAsked::Any},
         {"total", PersonsAsked::Total}},
        "of unit person, of whom records_max records may count: mean (default): she counts with the mean over them; "
        "one_record: with one of them, drawn afresh. Of counts, histograms and tables also: any: once in every cell "
        "that one of them is in, as in how many patients ever had a diagnosis; total: with all of them, as in how many "
        "visits there were, which takes as much more noise. Total is of mean and sum as well, which are then of "
        "records, and the number of records comes with them at no cost");
  }
  section.finish();
  return out;
}

bool has_repeats(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

/// This checks what a table is asked besides its cells.
bool check_inference(config::Section& section, const algorithms::TableAsked& table) {
  constexpr std::size_t kTestedCellsMax = 64;
  if (!table.tested && !table.modelled) return true;
  std::size_t cells = 1;
  for (const algorithms::TableAxis& axis : table.axes) {
    cells *= axis.values.size();
    if (axis.whole || !table.tested) continue;
    section.problem("tests", fmt::format("expected columns of which every record has a listed value: \"{}\" has others",
                                         axis.column));
    return false;
  }
  if (table.tested && (table.axes.size() != 2 || table.axes[0].values.size() < 2 || table.axes[1].values.size() < 2)) {
    section.problem("tests", "expected two columns of two or more values each");
    return false;
  }
  if (table.modelled && (table.axes.size() < 2 || table.axes.back().values.size() != 2)) {
    section.problem("response", "expected a column of two values beside the others");
    return false;
  }
  if (cells <= kTestedCellsMax) return true;
  section.problem("columns", fmt::format("expected at most {} combinations of values for tests and models, got {}",
                                         kTestedCellsMax, cells));
  return false;
}

std::optional<StatisticAsked> parse_table(config::Section& section, const char* key, const ColumnIndex& known,
                                          std::vector<std::string> columns, const Written& written = {}) {
  if (!written.response.empty()) columns.push_back(written.response);
  algorithms::TableAsked table;
  std::string names;
  std::size_t cells = 1;
  if (has_repeats(columns)) {
    section.problem(key, "expected each column once");
    return std::nullopt;
  }
  for (const std::string& name : columns) {
    if (table.axes.size() == kAxesMax || cells > kCellsMax) break;
    std::optional<algorithms::TableAxis> axis = table_axis(section, key, known, name);
    if (!axis) return std::nullopt;
    names += (names.empty() ? "" : " x ") + name;
    cells = std::min(cells * axis->values.size(), kCellsMax + 1);
    table.axes.push_back(*std::move(axis));
  }
  if (columns.size() > kAxesMax || cells > kCellsMax) {
    section.problem(key, fmt::format("expected at most {} columns and {} combinations of values, got {} and {}",
                                     kAxesMax, kCellsMax, columns.size(),
                                     cells > kCellsMax ? std::string("more") : fmt::format("{}", cells)));
    return std::nullopt;
  }
  table.tested = written.tested;
  table.modelled = !written.response.empty();
  if (!check_inference(section, table)) return std::nullopt;
  return StatisticAsked{fmt::format("counts of {}", names), 0, std::move(table)};
}

/// Edges in the column's unit and as records are encoded: with the encoder's own arithmetic, so that a value on an edge
/// is on the encoded one.
std::optional<HistogramAsked> parse_cells(config::Section& section, const Written& written,
                                          const NumberColumn& column) {
  HistogramAsked out;
  out.edges = written.edges;
  if (out.edges.empty()) {
    for (std::int64_t i = 0; i <= written.bins; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(written.bins);
      out.edges.push_back(i == written.bins ? column.high : column.low + (column.high - column.low) * share);
    }
  }
  if (out.edges.size() < 3 || out.edges.size() > static_cast<std::size_t>(kBinsMax) + 1) {
    section.problem("edges", fmt::format("expected 3 to {} edges, got {}", kBinsMax + 1, out.edges.size()));
    return std::nullopt;
  }
  if (out.edges.front() != column.low || out.edges.back() != column.high) {
    section.problem("edges", fmt::format("expected edges from {} to {}, the bounds of \"{}\", which its values are cut "
                                         "to, got {} to {}",
                                         column.low, column.high, column.name, out.edges.front(), out.edges.back()));
    return std::nullopt;
  }
  for (const double edge : out.edges) {
    out.encoded.push_back(2.0 * (edge - column.low) / (column.high - column.low) - 1.0);
    const std::size_t at = out.encoded.size() - 1;
    if (at == 0 || (out.edges[at - 1] < edge && out.encoded[at - 1] < out.encoded[at])) continue;
    section.problem("edges", fmt::format("expected ascending edges, got {} after {}", edge, out.edges[at - 1]));
    return std::nullopt;
  }
  return out;
}

/// How many records have gradients of which length: cells that end where the longest gradient within the public bounds
/// does, each shorter than the next by the root of 2, and one for all that is shorter.
std::optional<StatisticAsked> parse_gradients(config::Section& section, const Written& written,
                                              const ColumnIndex& known) {
  constexpr double kPointMax = 1e6;
  constexpr std::size_t kPointNumbersMax = 4096;
  statistics::GradientCells cells;
  cells.loss = written.gradients.loss;
  cells.intercept = written.gradients.intercept;
  const std::size_t features = data::encoded_width(known.schema());
  const std::size_t wanted = features + (cells.intercept ? 1 : 0);
  if (features > kPointNumbersMax) {
    section.problem("kind", fmt::format("expected at most {} encoded features, got {}", kPointNumbersMax, features));
    return std::nullopt;
  }
  cells.point = written.gradients.point;
  if (cells.point.empty()) cells.point.assign(wanted, 0.0);
  if (cells.point.size() != wanted) {
    section.problem("point", fmt::format("expected {} numbers, one for each encoded feature{}, got {}", wanted,
                                         cells.intercept ? " and one for the intercept" : "", cells.point.size()));
    return std::nullopt;
  }
  double reach = 0.0;
  for (const double number : cells.point) {
    if (std::abs(number) > kPointMax) {
      section.problem("point", fmt::format("expected numbers of {} at most, got {}", kPointMax, number));
      return std::nullopt;
    }
    reach += std::abs(number);
  }
  const bool of_sign = cells.loss == statistics::ScalarLoss::Logistic || cells.loss == statistics::ScalarLoss::Hinge;
  if (std::holds_alternative<data::ClassLabel>(known.schema().label) ||
      (of_sign && !std::holds_alternative<data::BinaryLabel>(known.schema().label))) {
    section.problem("loss",
                    fmt::format("expected a label that goes with the loss \"{}\"", statistics::to_string(cells.loss)));
    return std::nullopt;
  }
  const models::LinearModel linear(models::Loss::LeastSquares, static_cast<Eigen::Index>(features), cells.intercept);
  const double steepest =
      std::max(statistics::steepness_of(cells.loss, reach, -1.0), statistics::steepness_of(cells.loss, -reach, 1.0));
  // Edges are in the plan's digest. Rounded to three digits, and made of exact halves, they do not depend on whose
  // exponential function it is.
  const double longest = std::strtod(
      fmt::format("{:.3g}", 1.01 * record_norm(models::Model(linear), known.schema()) * steepest).c_str(), nullptr);
  cells.edges.push_back(0.0);
  for (std::int64_t below = written.bins - 1; below >= 0; --below) {
    const double odd = below % 2 == 0 ? 1.0 : 0.5 * std::numbers::sqrt2;
    cells.edges.push_back(std::ldexp(longest * odd, -static_cast<int>(below / 2)));
  }
  HistogramAsked out{cells.edges, cells.edges};
  out.gradients = std::move(cells);
  return StatisticAsked{"lengths of gradients", 0, std::move(out)};
}

/// What a regression explains by: numbers, missing indicators left out, and of listed values all indicators but the
/// first, since they add up to the constant.
bool add_predictors(config::Section& section, const ColumnIndex& known, const std::string& name,
                    std::vector<NumberColumn>& out) {
  const std::optional<Column> column = named_column(section, "columns", known, name);
  if (!column) return false;
  if (numeric_of(known, *column) != nullptr) {
    const std::optional<NumberColumn> number = number_column(section, "columns", known, name);
    out.push_back(*number);
    return true;
  }
  const std::optional<algorithms::TableAxis> axis = table_axis(section, "columns", known, name);
  if (!axis) return false;
  const auto* indicators = std::get_if<statistics::IndicatorCells>(&axis->cells);
  if (indicators == nullptr || axis->values.size() < 2) {
    section.problem("columns",
                    fmt::format("expected numbers, or features of two or more listed values: \"{}\" is none", name));
    return false;
  }
  for (std::size_t i = 1; i < axis->values.size(); ++i)
    out.push_back({fmt::format("{}={}", name, axis->values[i]), indicators->first + i, -1.0, 1.0});
  return true;
}

/// Means of numbers from a report of each record.
std::optional<StatisticAsked> parse_reported_means(config::Section& section, const Written& written,
                                                   const ColumnIndex& known) {
  algorithms::ReportsAsked out;
  out.randomiser = written.randomiser;
  const bool several = !written.columns.empty();
  const std::vector<std::string> names = several ? written.columns : std::vector<std::string>{written.column};
  if (has_repeats(names) || names.size() > kColumnsMax) {
    section.problem("columns", fmt::format("expected 1 to {} columns, each once", kColumnsMax));
    return std::nullopt;
  }
  for (const std::string& name : names) {
    const std::optional<NumberColumn> column = number_column(section, several ? "columns" : "column", known, name);
    if (!column) return std::nullopt;
    out.columns.push_back(*column);
  }
  if (several) return StatisticAsked{fmt::format("means of {} columns from reports", names.size()), 0, std::move(out)};
  const NumberColumn column = out.columns.front();
  return StatisticAsked{fmt::format("mean of {} from reports", column.name), column.coordinate, std::move(out)};
}

/// The share of the records that a count is of, from a report of each record.
std::optional<StatisticAsked> parse_reported_share(config::Section& section, const Written& written,
                                                   std::optional<StatisticAsked> counted) {
  if (!counted) return std::nullopt;
  const auto* count = std::get_if<CountAsked>(&counted->what);
  if (count == nullptr) {
    section.problem("form", "expected reports on one value: with form reports, count has a value");
    return std::nullopt;
  }
  algorithms::ReportsAsked out;
  out.columns.push_back({counted->name, counted->coordinate, 0.0, 1.0});
  out.indicator = true;
  out.complement = count->complement;
  out.randomiser = written.randomiser;
  return StatisticAsked{counted->name + " from reports, as a share", counted->coordinate, std::move(out)};
}

bool check_count_of_columns(config::Section& section, std::size_t least, std::size_t count) {
  if (count >= least && count <= kColumnsMax) return true;
  section.problem("columns", fmt::format("expected {} to {} columns or indicators, got {}", least, kColumnsMax, count));
  return false;
}

std::optional<StatisticAsked> parse_covariance(config::Section& section, const Written& written,
                                               const ColumnIndex& known) {
  algorithms::CovarianceAsked out;
  out.near_normal = written.near_normal;
  if (!check_count_of_columns(section, 2, written.columns.size())) return std::nullopt;
  for (const std::string& name : written.columns) {
    const std::optional<NumberColumn> column = number_column(section, "columns", known, name);
    if (!column) return std::nullopt;
    out.columns.push_back(*column);
  }
  if (has_repeats(written.columns)) {
    section.problem("columns", "expected each column once");
    return std::nullopt;
  }
  return StatisticAsked{fmt::format("covariances of {} columns", out.columns.size()), 0, std::move(out)};
}

std::optional<StatisticAsked> parse_regression(config::Section& section, const Written& written,
                                               const ColumnIndex& known) {
  algorithms::RegressionAsked out;
  const std::optional<NumberColumn> response = response_column(section, "response", known, written.response);
  if (!response) return std::nullopt;
  out.response = *response;
  std::vector<std::string> all = written.columns;
  all.push_back(written.response);
  if (has_repeats(all)) {
    section.problem("columns", "expected each column once, and the response not among them");
    return std::nullopt;
  }
  for (const std::string& name : written.columns) {
    if (out.columns.size() > kColumnsMax) break;
    if (!add_predictors(section, known, name, out.columns)) return std::nullopt;
  }
  if (!check_count_of_columns(section, 1, out.columns.size())) return std::nullopt;
  return StatisticAsked{fmt::format("regression of {}", written.response), 0, std::move(out)};
}

std::optional<StatisticAsked> parse_count(config::Section& section, const Written& written, const ColumnIndex& known) {
  const std::optional<Column> column = named_column(section, "column", known, written.column);
  if (!column) return std::nullopt;
  const std::string& name = written.column;
  if (numeric_of(known, *column) != nullptr) {
    section.problem("column", fmt::format("expected a column with listed values: \"{}\" has numbers, of which there "
                                          "is a mean",
                                          name));
    return std::nullopt;
  }
  if (written.value.empty()) return parse_table(section, "column", known, {name});
  if (column->feature == nullptr && std::holds_alternative<data::ClassLabel>(known.schema().label)) {
    section.problem("column", fmt::format("expected a column with an indicator for each value: the classes of the "
                                          "label \"{}\" are one number; as a feature with categories they are counted",
                                          name));
    return std::nullopt;
  }
  std::optional<StatisticAsked> asked = indicator_of(known, *column, written.value);
  if (!asked) {
    section.problem("value",
                    fmt::format("expected a value that data lists for \"{}\", got \"{}\"", name, written.value));
    return std::nullopt;
  }
  asked->name = fmt::format("count of {}={}", name, written.value);
  return asked;
}

std::optional<StatisticAsked> parse_missing_count(config::Section& section, const NumberColumn& number,
                                                  const ColumnIndex& known) {
  const std::optional<Column> column = known.find(number.name);
  if (column->feature == nullptr || data::encoded_width(*column->feature) != 2) {
    section.problem("column",
                    fmt::format("expected a feature with a missing indicator, and \"{}\" has none", number.name));
    return std::nullopt;
  }
  return StatisticAsked{fmt::format("count of {} missing", number.name), number.coordinate + 1, CountAsked{}};
}

std::optional<StatisticAsked> parse_cut_mean(config::Section& section, const Written& written,
                                             const NumberColumn& column) {
  algorithms::CutMeanAsked out{
      column.low, column.high, written.moment->of, 0.0, written.moment->source, 0.0, written.moment->influence};
  out.about = written.moment->about.value_or(0.5 * column.low + 0.5 * column.high);
  if (written.persons == PersonsAsked::Any || written.persons == PersonsAsked::Total) {
    section.problem("persons", "expected mean or one_record beside moments");
    return std::nullopt;
  }
  if (!(out.about >= column.low && out.about <= column.high)) {
    section.problem("moments", fmt::format("expected about from {} to {}, the column's bounds, got {}", column.low,
                                           column.high, out.about));
    return std::nullopt;
  }
  return StatisticAsked{fmt::format("mean of {} by a moment", column.name), column.coordinate, std::move(out)};
}

/// Of one column of numbers.
std::optional<StatisticAsked> parse_number_question(config::Section& section, const Written& written,
                                                    const ColumnIndex& known) {
  const std::optional<NumberColumn> number = number_column(section, "column", known, written.column);
  if (!number) return std::nullopt;
  if (written.kind == KindAsked::Missing) return parse_missing_count(section, *number, known);
  const data::NumericColumn* numeric = numeric_of(known, *known.find(written.column));
  const std::string unit = numeric->date ? ", in days since 1970-01-01" : "";
  const auto asked = [&](const char* what, auto settings) {
    return StatisticAsked{fmt::format("{} of {}{}", what, number->name, unit), number->coordinate, std::move(settings)};
  };
  switch (written.kind) {
    case KindAsked::Mean:
      if (written.moment) return parse_cut_mean(section, written, *number);
      if (written.persons == PersonsAsked::Total)
        return asked("mean", algorithms::CountedSumAsked{number->low, number->high, true});
      return asked("mean", MeanAsked{number->low, number->high});
    case KindAsked::Sum:
      if (written.persons == PersonsAsked::Total)
        return asked("sum", algorithms::CountedSumAsked{number->low, number->high, false});
      return asked("sum", algorithms::SumAsked{number->low, number->high});
    case KindAsked::Variance:
      return asked("variance", algorithms::VarianceAsked{number->low, number->high});
    case KindAsked::GroupMeans: {
      std::optional<algorithms::TableAxis> by = table_axis(section, "group", known, written.group);
      if (!by) return std::nullopt;
      if (by->values.size() < 2 || by->values.size() > kGroupsComparedMax) {
        section.problem(
            "group", fmt::format("expected a column of 2 to {} values, got {}", kGroupsComparedMax, by->values.size()));
        return std::nullopt;
      }
      const std::string name = fmt::format("means of {}{} by {}", number->name, unit, written.group);
      return StatisticAsked{name, number->coordinate,
                            algorithms::GroupMeansAsked{number->low, number->high, *std::move(by)}};
    }
    default:
      break;
  }
  std::optional<HistogramAsked> cells = parse_cells(section, written, *number);
  if (!cells) return std::nullopt;
  if (written.kind == KindAsked::Histogram) return asked("histogram", *std::move(cells));
  const bool selected = written.kind == KindAsked::SelectedQuantile;
  const std::size_t probabilities_max = selected ? kSelectedMax : kProbabilitiesMax;
  const auto outside = std::find_if(written.probabilities.begin(), written.probabilities.end(),
                                    [](double p) { return !(p > 0.0 && p < 1.0); });
  if (written.probabilities.size() > probabilities_max || outside != written.probabilities.end()) {
    section.problem("probabilities", fmt::format("expected 1 to {} numbers in (0, 1), got {}", probabilities_max,
                                                 outside != written.probabilities.end()
                                                     ? fmt::format("{}", *outside)
                                                     : fmt::format("{} of them", written.probabilities.size())));
    return std::nullopt;
  }
  if (selected) return asked("selected quantiles", algorithms::SelectedQuantileAsked{*std::move(cells)});
  return asked("quantiles", algorithms::QuantilesAsked{*std::move(cells), written.probabilities});
}

/// The releases of a question for selected quantiles: two ends of each, or the edge itself. At which ranks the ends are
/// follows from the cohort.
std::vector<StatisticAsked> selections(const StatisticAsked& asked, const Written& written) {
  using End = algorithms::SelectedQuantileAsked::End;
  std::vector<StatisticAsked> out;
  for (const double p : written.probabilities) {
    for (const End end : written.ends ? std::vector<End>{End::Low, End::High} : std::vector<End>{End::Middle}) {
      StatisticAsked& one = out.emplace_back(asked);
      auto& quantile = std::get<algorithms::SelectedQuantileAsked>(one.what);
      quantile.probability = p;
      quantile.end = end;
      one.name = fmt::format("selected quantile {} of {}{}", p, asked.column,
                             end == End::Middle ? ""
                             : end == End::Low  ? ", low end"
                                                : ", high end");
    }
  }
  return out;
}

}  // namespace

namespace {

/// This reads everything but how persons contribute.
std::vector<StatisticAsked> parse_written(config::Section& section, const Written& written, const ColumnIndex& known) {
  if (section.recording() || !written.complete) return {};
  if (written.kind == KindAsked::Loss && written.function.degree > statistics::kPolynomialDegreeMax) {
    section.problem("degree", fmt::format("expected a degree of {} at most", statistics::kPolynomialDegreeMax));
    return {};
  }
  if (const std::optional<VectorKind> vector = vector_kind(written.kind)) {
    std::vector<StatisticAsked> asked =
        parse_vector(section, *vector, written.vector, written.columns, written.response, known);
    for (StatisticAsked& one : asked) {
      one.weight = written.weight;
      one.half_width = written.half_width;
    }
    return asked;
  }
  const std::optional<FunctionKind> function = function_kind(written.kind);
  std::optional<StatisticAsked> asked =
      function ? parse_function(section, *function, written.function, written.columns, written.response, known)
      : written.reports && written.kind == KindAsked::Mean ? parse_reported_means(section, written, known)
      : written.kind == KindAsked::Count                   ? parse_count(section, written, known)
      : written.kind == KindAsked::Table ? parse_table(section, "columns", known, written.columns, written)
      : written.kind == KindAsked::RecordsPerPerson
          ? std::optional(StatisticAsked{"records per person", 0, HistogramAsked{written.edges, {}}})
      : written.kind == KindAsked::GradientNorms ? parse_gradients(section, written, known)
      : written.kind == KindAsked::Survival   ? parse_survival(section, written.survival, written.probabilities, known)
      : written.kind == KindAsked::Covariance ? parse_covariance(section, written, known)
      : written.kind == KindAsked::Regression ? parse_regression(section, written, known)
                                              : parse_number_question(section, written, known);
  if (asked && function && written.reports) {
    auto& reported = std::get<algorithms::FunctionAsked>(asked->what);
    reported.reports = written.randomiser;
    reported.seed = written.seed;
  }
  if (written.reports && written.kind != KindAsked::Mean && !function)
    asked = parse_reported_share(section, written, std::move(asked));
  if (!asked) return {};
  asked->weight = written.weight;
  asked->half_width = written.half_width;
  asked->column = written.column;
  if (written.kind == KindAsked::SelectedQuantile) return selections(*asked, written);
  if (written.kind == KindAsked::LeastLoss) {
    algorithms::LossOf of = std::get<algorithms::LossOf>(std::get<algorithms::FunctionAsked>(asked->what).of);
    asked->name = "least " + asked->name;
    asked->what = algorithms::LeastLossAsked{std::move(of)};
  }
  return {*std::move(asked)};
}

}  // namespace

std::vector<StatisticAsked> parse_question(config::Section& section, const ColumnIndex& known) {
  const Written written = read_question(section);
  std::vector<StatisticAsked> out = parse_written(section, written, known);
  using Form = releases::PersonContribution::Form;
  for (StatisticAsked& asked : out) {
    if (written.kind == KindAsked::RecordsPerPerson) {
      asked.persons = Form::Number;
      continue;
    }
    asked.one_record = written.persons == PersonsAsked::OneRecord;
    asked.persons = written.persons == PersonsAsked::Any     ? Form::Any
                    : written.persons == PersonsAsked::Total ? Form::Total
                                                             : Form::Mean;
    if (std::holds_alternative<algorithms::CountedSumAsked>(asked.what))
      asked.name += " over records";
    else if (asked.persons != Form::Mean)
      asked.name += fmt::format(", {}", releases::to_string(asked.persons));
    if (asked.one_record) asked.name += ", one record of each";
    if (written.kind == KindAsked::Table && (written.tested || !written.response.empty()) &&
        asked.persons != Form::Mean)
      section.problem("persons", "expected one_record beside tests and a response: nobody may be in two cells");
    if (written.kind == KindAsked::Survival && asked.persons != Form::Mean)
      section.problem("persons", "expected one_record: nobody leaves twice");
    if (written.kind == KindAsked::GradientNorms && asked.persons != Form::Mean)
      section.problem("persons", "expected mean or one_record: a moment is of shares of persons");
  }
  return out;
}

Status settle_record_cells(StatisticAsked& asked, const std::optional<releases::PersonContribution>& person) {
  if (asked.persons != releases::PersonContribution::Form::Number) return {};
  if (!person)
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: expected unit \"person\", who has records", asked.name)};
  auto& cells = std::get<HistogramAsked>(asked.what);
  if (cells.edges.empty())
    for (std::int64_t edge = 0; edge <= person->records_max; ++edge) cells.edges.push_back(static_cast<double>(edge));
  const auto most = static_cast<double>(person->records_max);
  for (std::size_t i = 0; i < cells.edges.size(); ++i) {
    const double edge = cells.edges[i];
    if (edge != std::nearbyint(edge) || (i > 0 && edge <= cells.edges[i - 1])) break;
    cells.encoded.push_back(2.0 * edge / most - 1.0);  // as a silo encodes numbers of records
  }
  if (cells.encoded.size() == cells.edges.size() && cells.edges.size() >= 3 && cells.edges.front() == 0.0 &&
      cells.edges.back() == most)
    return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{}: expected 3 or more edges, ascending whole numbers from 0 to {}, which is records_max "
                           "and at least 2",
                           asked.name, person->records_max)};
}

}  // namespace undertone::jobs
