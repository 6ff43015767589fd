#include "shared/jobs/function_question.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "shared/jobs/statistic_columns.hpp"
#include "shared/statistics/bernstein.hpp"
#include "shared/statistics/count_polynomial.hpp"

namespace undertone::jobs {
namespace {

using algorithms::FunctionAsked;
using algorithms::NumberColumn;
using algorithms::StatisticAsked;

constexpr double kParameterBoundMax = 1e4;

std::optional<std::vector<NumberColumn>> number_columns(config::Section& section, const std::vector<std::string>& names,
                                                        const ColumnIndex& known, std::size_t most) {
  if (names.size() > most) {
    section.problem("columns", fmt::format("expected {} columns at most, got {}", most, names.size()));
    return std::nullopt;
  }
  std::vector<NumberColumn> out;
  for (const std::string& name : names) {
    const std::optional<NumberColumn> column = number_column(section, "columns", known, name);
    if (!column) return std::nullopt;
    out.push_back(*column);
  }
  return out;
}

std::optional<StatisticAsked> parse_marginals(config::Section& section, const WrittenFunction& written,
                                              const std::vector<std::string>& columns, const ColumnIndex& known) {
  algorithms::MarginalsOf out;
  for (const std::string& name : columns) {
    const std::optional<algorithms::TableAxis> axis = table_axis(section, "columns", known, name);
    if (!axis) return std::nullopt;
    // Of two values, one of which every record has, the second says what the first is.
    const bool two = axis->values.size() == 2 && axis->whole;
    for (std::size_t cell = two ? 1 : 0; cell < axis->values.size(); ++cell)
      out.literals.push_back({name, axis->values[cell], two ? axis->values[0] : "", {axis->cells, cell}});
  }
  if (out.literals.size() > statistics::kLiteralsMax) {
    section.problem("columns",
                    fmt::format("expected {} values at most, got {}", statistics::kLiteralsMax, out.literals.size()));
    return std::nullopt;
  }
  if (written.width > out.literals.size()) {
    section.problem("width", fmt::format("expected at most the {} values that are asked about, got {}",
                                         out.literals.size(), written.width));
    return std::nullopt;
  }
  if (written.degree > written.width) {
    section.problem("degree", fmt::format("expected at most the width, {}, got {}", written.width, written.degree));
    return std::nullopt;
  }
  out.width = written.width;
  out.degree = written.degree;
  return StatisticAsked{fmt::format("marginals of {} values, {} at a time", out.literals.size(), out.width), 0,
                        FunctionAsked{std::move(out)}};
}

std::optional<StatisticAsked> parse_kernels(config::Section& section, const WrittenFunction& written,
                                            const std::vector<std::string>& columns, const ColumnIndex& known) {
  auto numbers = number_columns(section, columns, known, statistics::kCosineCoordinatesMax);
  if (!numbers) return std::nullopt;
  const std::size_t count = numbers->size();
  return StatisticAsked{fmt::format("kernels over {} columns", count), 0,
                        FunctionAsked{algorithms::KernelsOf{*std::move(numbers), written.terms}}};
}

std::optional<StatisticAsked> parse_loss(config::Section& section, const WrittenFunction& written,
                                         const std::vector<std::string>& columns, const std::string& response,
                                         const ColumnIndex& known) {
  const std::size_t most = statistics::kLossParametersMax - (written.intercept ? 1 : 0);
  auto numbers = number_columns(section, columns, known, most);
  if (!numbers) return std::nullopt;
  algorithms::LossOf out;
  const std::optional<NumberColumn> label = response_column(section, "response", known, response);
  if (!label) return std::nullopt;
  out.label = *label;
  out.loss = written.loss;
  out.columns = *std::move(numbers);
  out.intercept = written.intercept;
  out.half_width = written.parameter_bound;
  out.degree = written.degree;
  out.order = written.order;
  out.centre = written.centre;
  out.ridge = written.ridge;
  const std::size_t parameters = out.columns.size() + (out.intercept ? 1 : 0);
  if (!out.centre.empty() && out.centre.size() != parameters) {
    section.problem("centre", fmt::format("expected {} numbers, one for each parameter in the order of columns, then "
                                          "the intercept's, got {}",
                                          parameters, out.centre.size()));
    return std::nullopt;
  }
  return StatisticAsked{fmt::format("{} loss of {}", statistics::to_string(out.loss), response), 0,
                        FunctionAsked{std::move(out)}};
}

}  // namespace

WrittenFunction read_function(config::Section& section, std::optional<FunctionKind> kind) {
  using statistics::ScalarLoss;
  const auto of = [&](FunctionKind one) { return !kind || *kind == one; };
  WrittenFunction out;
  if (of(FunctionKind::Marginals))
    out.width = static_cast<std::size_t>(section.integer(
        "width", 1, statistics::kConjunctionWidthMax, "of marginals: how many values can be asked for together later"));
  if ((of(FunctionKind::Marginals) || of(FunctionKind::Loss)) && (!kind || section.has("degree")))
    out.degree = static_cast<std::size_t>(section.integer(
        "degree", 1, static_cast<std::int64_t>(statistics::kLossDegreeMax),
        "of marginals: so many values together are released, and more follow by a polynomial that is nearly right; of "
        "loss: of the polynomial in each parameter. Without it the one that promises the least error for these "
        "records"));
  if (of(FunctionKind::Kernels) && (!kind || section.has("terms")))
    out.terms = static_cast<std::size_t>(
        section.integer("terms", 2, 64, "of kernels: cosines of each column. Without it what the records carry"));
  if (of(FunctionKind::Loss)) {
    section.otherwise("loss", "logistic");
    out.loss = section.choice<ScalarLoss>("loss",
                                          {{"logistic", ScalarLoss::Logistic},
                                           {"hinge", ScalarLoss::Hinge},
                                           {"squared", ScalarLoss::Squared},
                                           {"absolute", ScalarLoss::Absolute}},
                                          "of loss: of a linear model's score of the columns, each scaled to [-1, 1]");
    section.otherwise("intercept", true);
    out.intercept = section.boolean("intercept", "of loss: whether the last parameter is one (default true)");
    section.otherwise("parameter_bound", 4.0);
    out.parameter_bound = section.number("parameter_bound", 0.0, kParameterBoundMax,
                                         "of loss: every parameter is at most this large (default 4)", true);
    if (!kind || section.has("order"))
      out.order = static_cast<std::size_t>(
          section.integer("order", 1, static_cast<std::int64_t>(statistics::BernsteinPolynomial::kOrderMax),
                          "of loss: of the iterated Bernstein operator (2, or 4 with very many records)"));
  }
  return out;
}

void read_least(config::Section& section, WrittenFunction& out) {
  if (section.has("centre"))
    out.centre = section.numbers("centre",
                                 "of least_loss: the middle of the grid, a number for each parameter in the order of "
                                 "columns, then the intercept's. "
                                 "parameter_bound is then how far the grid reaches from it. In a small grid losses "
                                 "differ little, and the choice is "
                                 "the better for it (default: 0)");
  if (!std::all_of(out.centre.begin(), out.centre.end(),
                   [](double number) { return std::abs(number) <= kParameterBoundMax; }))
    section.problem("centre", fmt::format("expected numbers of magnitude at most {:g}", kParameterBoundMax));
  if (section.has("ridge")) {
    out.ridge = section.number("ridge", 0.0, kParameterBoundMax,
                               "of least_loss with a centre: half of it times the parameters' squared norm is added to "
                               "the loss (default 0)");
    if (!section.recording() && out.centre.empty() && out.ridge > 0.0)
      section.problem("ridge", "expected a centre beside it");
  }
}

std::optional<StatisticAsked> parse_function(config::Section& section, FunctionKind kind,
                                             const WrittenFunction& written, const std::vector<std::string>& columns,
                                             const std::string& response, const ColumnIndex& known) {
  std::vector<std::string> sorted = columns;
  if (kind == FunctionKind::Loss) sorted.push_back(response);
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    section.problem("columns", "expected each column once, and the response not among them");
    return std::nullopt;
  }
  switch (kind) {
    case FunctionKind::Marginals:
      return parse_marginals(section, written, columns, known);
    case FunctionKind::Kernels:
      return parse_kernels(section, written, columns, known);
    case FunctionKind::Loss:
      return parse_loss(section, written, columns, response, known);
  }
  return std::nullopt;
}

}  // namespace undertone::jobs
