#include "shared/jobs/vector_question.hpp"

#include <algorithm>
#include <cmath>

#include "shared/jobs/statistic_columns.hpp"

namespace undertone::jobs {
namespace {

using algorithms::LinearModelAsked;
using algorithms::NumberColumn;
using algorithms::StatisticAsked;
using algorithms::VectorMeanAsked;
using PublicUse = VectorMeanAsked::Combination;

constexpr std::size_t kDegreeMax = 5;
constexpr double kRadiusMax = 1e6;

/// Numbers, missing indicators left out, and of listed values an indicator each.
bool add_columns(config::Section& section, const ColumnIndex& known, const std::string& name,
                 std::vector<NumberColumn>& out) {
  const std::optional<Column> column = named_column(section, "columns", known, name);
  if (!column) return false;
  if (numeric_of(known, *column) != nullptr) {
    out.push_back(*number_column(section, "columns", known, name));
    return true;
  }
  const std::optional<algorithms::TableAxis> axis = table_axis(section, "columns", known, name);
  if (!axis) return false;
  const auto* indicators = std::get_if<statistics::IndicatorCells>(&axis->cells);
  if (indicators == nullptr) {
    section.problem("columns", fmt::format("expected features: \"{}\" is the label", name));
    return false;
  }
  for (std::size_t i = 0; i < axis->values.size(); ++i)
    out.push_back({fmt::format("{}={}", name, axis->values[i]), indicators->first + i, -1.0, 1.0});
  return true;
}

std::optional<std::vector<NumberColumn>> columns_of(config::Section& section, const std::vector<std::string>& names,
                                                    const ColumnIndex& known) {
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    section.problem("columns", "expected each column once");
    return std::nullopt;
  }
  std::vector<NumberColumn> out;
  for (const std::string& name : names) {
    if (out.size() > statistics::kBallCoordinatesMax) break;
    if (!add_columns(section, known, name, out)) return std::nullopt;
  }
  if (out.size() > statistics::kBallCoordinatesMax) {
    section.problem("columns", fmt::format("expected at most {} numbers of a record", statistics::kBallCoordinatesMax));
    return std::nullopt;
  }
  return out;
}

std::vector<StatisticAsked> mean_questions(config::Section& section, const WrittenVector& written,
                                           std::vector<NumberColumn> columns) {
  VectorMeanAsked mean;
  const double longest = std::sqrt(static_cast<double>(columns.size()));
  mean.radius = written.norm.value_or(longest);
  mean.combination = written.combination.value_or(PublicUse::Weighted);
  mean.spread = written.spread;
  mean.adapter = written.adapter;
  if (mean.spread && *mean.spread > mean.radius) {
    section.problem("spread", fmt::format("expected at most the norm {}, which no record's distance from the mean of "
                                          "its law exceeds on average, got {}",
                                          mean.radius, *mean.spread));
    return {};
  }
  if (written.reports == releases::Randomiser::Direction && columns.size() < 2) {
    section.problem("columns", "expected two or more: a direction of one number is its sign");
    return {};
  }
  if (written.combination && written.reports && written.adapter == releases::UnitAdapter::Normalise) {
    section.problem("adapter",
                    "expected round or lift beside public records: normalised reports are of directions, and "
                    "public records are not");
    return {};
  }
  mean.columns = std::move(columns);
  std::vector<StatisticAsked> out;
  const std::string of = fmt::format("mean of {} columns as one vector", mean.columns.size());
  if (written.combination) {
    mean.of_public = true;
    out.push_back({of + ", of public records", 0, mean});
    mean.of_public = false;
    mean.beside_public = true;
  }
  if (mean.combination == PublicUse::ThrowAway && written.combination) return out;
  mean.reports = written.reports;
  out.push_back({of + (mean.reports ? ", from reports" : ""), 0, std::move(mean)});
  return out;
}

/// Whether the loss is of a margin or of a residual, and which.
/// @return false where a problem was noted
bool settle_loss(config::Section& section, const WrittenVector& written, bool two_values, const std::string& response,
                 LinearModelAsked& model) {
  using Loss = WrittenVector::Loss;
  using statistics::LipschitzLoss;
  const Loss loss = written.loss.value_or(Loss::Hinge);
  const bool of_margin = loss == Loss::Hinge || loss == Loss::Logistic;
  if (of_margin && !two_values) {
    section.problem("response",
                    fmt::format("expected a label of two values, which \"{}\" is not; of numbers there are the losses "
                                "absolute, quantile and piecewise",
                                response));
    return false;
  }
  model.of_residual = !of_margin && (!two_values || loss != Loss::Piecewise);
  switch (loss) {
    case Loss::Hinge:
      model.loss = LipschitzLoss::hinge();
      return true;
    case Loss::Logistic:
      model.loss = LipschitzLoss::logistic();
      return true;
    case Loss::Absolute:
      model.loss = LipschitzLoss::absolute();
      return true;
    case Loss::Quantile:
      model.loss = LipschitzLoss::quantile(written.probability);
      return true;
    case Loss::Piecewise:
      break;
  }
  const bool far =
      std::any_of(written.kinks.begin(), written.kinks.end(), [](double kink) { return std::abs(kink) > kRadiusMax; });
  if (far) section.problem("kinks", fmt::format("expected numbers of {} at most", kRadiusMax));
  const Result<LipschitzLoss> made = LipschitzLoss::piecewise(written.kinks, written.slopes);
  if (!made) section.problem("slopes", made.error().message);
  if (far || !made) return false;
  model.loss = *made;
  return true;
}

}  // namespace

WrittenVector read_vector(config::Section& section, std::optional<VectorKind> kind) {
  WrittenVector out;
  const bool every = !kind;
  if (every || section.has("norm")) {
    out.norm =
        section.number("norm", statistics::kBallRadiusMin, kRadiusMax,
                       "of vector_mean and linear_model: a record's vector, each column scaled to [-1, 1], is cut "
                       "to this length (default: the root of their number, which none exceeds)");
  }
  if (every || kind == VectorKind::Mean) {
    bool reports = false;
    if (!every && section.has("form"))
      reports = section.choice<bool>("form", {{"total", false}, {"reports", true}}, "how silos answer");
    if (reports) out.reports = releases::Randomiser::Direction;
    if (reports && section.has("randomiser"))
      out.reports = section.choice<releases::Randomiser>(
          "randomiser", {{"direction", releases::Randomiser::Direction}, {"gaussian", releases::Randomiser::Gaussian}},
          "what a record reports");
    if (every || (reports && section.has("adapter"))) {
      out.adapter = section.choice<releases::UnitAdapter>(
          "adapter",
          {{"round", releases::UnitAdapter::Round},
           {"lift", releases::UnitAdapter::Lift},
           {"normalise", releases::UnitAdapter::Normalise}},
          "of directions: round (default): the record's own or the opposite one, as its length has it; lift: in one "
          "dimension more, of the length 1; normalise: its own whatever its length, which estimates the mean "
          "direction");
    }
    if (every || section.has("public_records")) {
      out.combination = section.choice<PublicUse>(
          "public_records",
          {{"weighted", PublicUse::Weighted},
           {"empirical", PublicUse::Empirical},
           {"throw_away", PublicUse::ThrowAway}},
          "of vector_mean: the records that silos' owners declared public are asked for besides, exactly, and make one "
          "estimate with the others. weighted: by inverse variances, of the law that all are drawn from; empirical: of "
          "the records that there are; throw_away: public records alone, no other is read (default: none are asked "
          "for)");
    }
    if (every || (out.combination && section.has("spread"))) {
      out.spread = section.number("spread", 0.0, kRadiusMax,
                                  "of weighted: the root of the trace of the covariance, in the unit of norm, if it is "
                                  "known (default: as it is of the public records)",
                                  true);
    }
  }
  if (every || kind == VectorKind::LinearModel) {
    bool reports = false;
    if (!every && section.has("form"))
      reports = section.choice<bool>("form", {{"total", false}, {"reports", true}}, "how silos answer");
    if (reports) out.reports = releases::Randomiser::Gaussian;
    using Loss = WrittenVector::Loss;
    if (!every && section.has("loss"))
      out.loss = section.choice<Loss>("loss",
                                      {{"hinge", Loss::Hinge},
                                       {"logistic", Loss::Logistic},
                                       {"absolute", Loss::Absolute},
                                       {"quantile", Loss::Quantile},
                                       {"piecewise", Loss::Piecewise}},
                                      "of the margin y <w, x>, or of the residual <w, x> - y");
    if (every || out.loss == Loss::Quantile)
      out.probability = section.number("probability", 0.0, 1.0, "of the loss quantile: which quantile is wanted", true);
    if (every || out.loss == Loss::Piecewise) {
      out.kinks = section.numbers("kinks",
                                  "of the loss piecewise: where its slope rises, ascending; of a margin over the norm, "
                                  "or of a residual in half ranges of the response");
      out.slopes =
          section.numbers("slopes",
                          "of the loss piecewise: one more than kinks, ascending, in [-1, 1]: the slope before "
                          "the first kink, and after each");
    }
    if (every || section.has("smoothing"))
      out.smoothing = section.number("smoothing", 1e-3, 10.0,
                                     "of linear_model: b, over which a kink is rounded off, in the unit of kinks "
                                     "(default 0.25)");
    if (!every && section.has("parameter_bound"))
      out.parameter_bound = section.number("parameter_bound", 1e-3, kRadiusMax, "of the parameters' length");
    if (!every && section.has("degree"))
      out.degree = static_cast<std::size_t>(
          section.integer("degree", 1, static_cast<std::int64_t>(kDegreeMax), "of the slope's polynomial"));
    if (every || section.has("copies"))
      out.copies =
          section.boolean("copies",
                          "of the reports of linear_model: D (D + 1) + 1 noised copies of every record in place "
                          "of one, for comparison (default false)");
    if (!every && section.has("intercept")) {
      out.intercept = section.boolean("intercept", "a last parameter of 1");
    }
  }
  return out;
}

std::vector<StatisticAsked> parse_vector(config::Section& section, VectorKind kind, const WrittenVector& written,
                                         const std::vector<std::string>& columns, const std::string& response,
                                         const ColumnIndex& known) {
  std::optional<std::vector<NumberColumn>> numbers = columns_of(section, columns, known);
  if (!numbers) return {};
  if (kind == VectorKind::Mean) return mean_questions(section, written, *std::move(numbers));
  LinearModelAsked model;
  const std::optional<Column> label = named_column(section, "response", known, response);
  if (!label) return {};
  const bool two_values = label->feature == nullptr && std::holds_alternative<data::BinaryLabel>(known.schema().label);
  if (!settle_loss(section, written, two_values, response, model)) return {};
  const std::optional<NumberColumn> number = response_column(section, "response", known, response);
  if (!number) return {};
  model.response = *number;
  if (model.of_residual && std::any_of(numbers->begin(), numbers->end(), [&](const NumberColumn& column) {
        return column.coordinate == number->coordinate;
      })) {
    section.problem("columns", fmt::format("expected no \"{}\", which is the response", response));
    return {};
  }
  model.reports = written.reports.has_value();
  if (!model.reports && written.degree > 1) {
    section.problem("degree", "expected 1: totals of products make a slope of degree 1, reports of up to 5");
    return {};
  }
  const std::size_t vector = numbers->size() + (model.of_residual ? 1 : 0);
  if (vector > statistics::kBallCoordinatesMax) {
    section.problem("columns", fmt::format("expected at most {} numbers of a record, the response of a residual among "
                                           "them, got {}",
                                           statistics::kBallCoordinatesMax, vector));
    return {};
  }
  if (!model.reports && vector >= statistics::kBallProductsMax) {
    section.problem("columns", fmt::format("expected fewer than {} numbers, the response of a residual among them, "
                                           "whose products are added up, got {}",
                                           statistics::kBallProductsMax, vector));
    return {};
  }
  if (written.copies && !model.reports) {
    section.problem("copies", "expected none: copies are of reports");
    return {};
  }
  model.intercept = written.intercept;
  model.radius = written.norm.value_or(std::sqrt(static_cast<double>(vector) + (model.intercept ? 1.0 : 0.0)));
  model.columns = *std::move(numbers);
  model.smoothing = written.smoothing;
  if (model.of_residual) {
    model.loss = model.loss.in_unit(model.radius);
    model.smoothing /= model.radius;
  }
  model.parameter_bound = written.parameter_bound;
  model.degree = model.reports ? written.degree : 1;
  model.copies = written.copies;
  const std::string name = fmt::format("linear model of {}{}", response, model.reports ? " from reports" : "");
  return {StatisticAsked{name, 0, std::move(model)}};
}

Status settle_models(std::vector<StatisticAsked>& questions, const CohortNoise& promises) {
  const auto charged =
      static_cast<double>(std::count_if(questions.begin(), questions.end(),
                                        [](const StatisticAsked& asked) { return !algorithms::reads_public(asked); }));
  for (StatisticAsked& asked : questions) {
    auto* model = std::get_if<LinearModelAsked>(&asked.what);
    if (model == nullptr || model->degree != 0) continue;
    if (model->copies) {
      model->degree = 1;
      continue;
    }
    double stddev = 0.0;  // the largest of the silos'
    std::int64_t records = 0;
    for (const releases::SiloFacts& facts : promises.cohort()) {
      records += facts.records;
      if (const auto* concentrated = std::get_if<releases::ConcentratedDp>(&facts.target)) {
        stddev = std::max(stddev, 2.0 / std::sqrt(2.0 * concentrated->rho.value() / charged));
      } else if (const auto* approximate = std::get_if<releases::ApproximateDp>(&facts.target)) {
        const double shift = promises.shift_of(*approximate);
        stddev = std::max(stddev, 2.0 / shift * std::sqrt(charged));
      } else {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("the {} is from reports with Gaussian noise: every silo needs a delta above 0", asked.name)};
      }
    }
    model->degree = statistics::hermite_degree(stddev, records);
  }
  return {};
}

}  // namespace undertone::jobs
