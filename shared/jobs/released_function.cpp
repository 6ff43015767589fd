#include "shared/jobs/released_function.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "shared/base/overloaded.hpp"
#include "shared/folds/reports_fold.hpp"
#include "shared/jobs/function_degrees.hpp"
#include "shared/jobs/stated_reports.hpp"
#include "shared/queries/wire_lattice.hpp"
#include "shared/statistics/bernstein.hpp"
#include "shared/statistics/cosine_series.hpp"
#include "shared/statistics/loss_surface.hpp"

namespace undertone::jobs {
namespace {

using algorithms::FunctionAsked;
using algorithms::KernelsOf;
using algorithms::LossOf;
using algorithms::MarginalsOf;
using algorithms::NumberColumn;
using Json = nlohmann::ordered_json;
using statistics::Stated;

constexpr double kKernelWidthMin = 1e-6;  // no function that is released says anything of so narrow a kernel

double variance_of(const statistics::CoordinateNoise& noise) {
  const Result<statistics::NoiseLaw> law = statistics::NoiseLaw::create({{noise, 1.0}});
  UNDERTONE_CHECK(law.has_value());
  return law->variance();
}

void add_totals(const SiloTotals& silo, bool counts, ReleasedFunction& out, double& variance) {
  const int step_log2 = queries::statistic_lattice(silo.release->ask).step_log2;
  for (Eigen::Index j = 0; j < out.means.size(); ++j)
    out.means[j] += std::ldexp(static_cast<double>((*silo.totals)[static_cast<std::size_t>(j)]), step_log2) /
                    static_cast<double>(out.records);
  const statistics::CoordinateNoise noise = noise_of(*silo.release);
  variance += variance_of(noise) / static_cast<double>(out.records) / static_cast<double>(out.records);
  if (const auto* laplace = std::get_if<statistics::LaplaceNoise>(&noise)) {
    out.laplace = true;
    out.noise_step += laplace->step / static_cast<double>(out.records);
  }
  // Every record's number was cut to its lattice.
  if (!counts) out.noise_step = std::max(out.noise_step, 2.0 * silo.release->lattice().step);
}

struct StringEstimate {
  double mean = 0.0;      // in units of the range
  double variance = 0.0;  // of its error, at most
};
/// What a silo's reports on one number say against public strings. @return nothing where there are none
std::optional<StringEstimate> against_strings(const planning::Release& release, Eigen::Index coordinate,
                                              std::int64_t total) {
  const auto& reports = std::get<mechanisms::LocalReports>(release.mechanism);
  const auto slots = static_cast<double>(folds::ReportShape(release.ask).slots(release.records_drawn, coordinate));
  const auto estimate = [&](const auto& strings) -> std::optional<StringEstimate> {
    const auto levels = static_cast<double>(strings.chance().levels());
    // Which of the silo's records report on it adds at most 1/4.
    return StringEstimate{static_cast<double>(total) * strings.chance().levels_per_unit() / levels / slots,
                          (strings.variance_max() / levels / levels + 0.25) / slots};
  };
  return std::visit(Overloaded{[&](const mechanisms::StringBit& bit) { return estimate(bit); },
                               [&](const mechanisms::StringIndex& index) { return estimate(index); },
                               [](const auto& /*numbers*/) -> std::optional<StringEstimate> { return std::nullopt; }},
                    reports.randomiser);
}

/// @return of each mean, at most
double add_reports(const SiloTotals& silo, const statistics::CoordinateRange& range, ReleasedFunction& out) {
  const double share = static_cast<double>(silo.records) / static_cast<double>(out.records);
  const double width = range.high - range.low;
  double most = 0.0;
  for (Eigen::Index j = 0; j < out.means.size(); ++j) {
    const std::int64_t total = (*silo.totals)[static_cast<std::size_t>(j)];
    double mean = 0.0;  // of the number as a share of its range
    double variance = 0.0;
    if (const std::optional<StringEstimate> against = against_strings(*silo.release, j, total)) {
      mean = against->mean;
      variance = against->variance;
    } else {
      const statistics::ReportedTotal reported = reported_total(*silo.release, j, total);
      mean = statistics::mean_of_reports(reported);
      variance = statistics::variance_of_reports(reported);
    }
    out.means[j] += share * (range.low + width * mean);
    most = std::max(most, variance);
  }
  return share * share * width * width * most;
}

Error other_kind(const ReleasedFunction& function, const char* expected) {
  return {ErrorCode::InvalidArgument,
          fmt::format("expected {}, this is a function of kind {}", expected, algorithms::kind_of(function.asked))};
}

Json column_json(const NumberColumn& column) {
  return {{"column", column.name}, {"low", column.low}, {"high", column.high}};
}

NumberColumn parse_column(config::Section& section, std::size_t coordinate) {
  constexpr double kBoundMax = 1e300;
  NumberColumn out;
  out.name = section.text("column", "its name");
  out.coordinate = coordinate;
  out.low = section.number("low", -kBoundMax, kBoundMax, "its lower bound");
  out.high = section.number("high", -kBoundMax, kBoundMax, "its upper bound");
  if (!(out.low < out.high)) section.problem("high", "expected more than low");
  return out;
}

/// Coordinates of a result mean nothing: columns differ, which is all that is asked of them.
std::vector<NumberColumn> parse_columns(config::Section& section, std::size_t most) {
  std::vector<NumberColumn> out;
  for (config::Section& one : section.objects("columns", 1, most, "of numbers"))
    out.push_back(parse_column(one, out.size()));
  return out;
}

MarginalsOf parse_marginals(config::Section& section) {
  MarginalsOf out;
  for (config::Section& one : section.objects("literals", 1, statistics::kLiteralsMax, "values")) {
    algorithms::NamedLiteral literal;
    literal.column = one.text("column", "its column");
    literal.value = one.text("value", "the value");
    if (one.has("other")) literal.other = one.text("other", "the one other value");
    literal.literal = {statistics::IndicatorCells{out.literals.size(), 1}, 0};
    out.literals.push_back(std::move(literal));
  }
  const auto literals = static_cast<std::int64_t>(std::max<std::size_t>(out.literals.size(), 1));
  out.width = static_cast<std::size_t>(
      section.integer("width", 1, std::min<std::int64_t>(literals, statistics::kConjunctionWidthMax), "k"));
  out.degree = static_cast<std::size_t>(section.integer("degree", 1, literals, "t"));
  return out;
}

KernelsOf parse_kernels(config::Section& section) {
  constexpr std::int64_t kTermsMax = 4096;
  KernelsOf out{parse_columns(section, statistics::kCosineCoordinatesMax), 0};
  out.terms = static_cast<std::size_t>(section.integer("terms", 2, kTermsMax, "t"));
  return out;
}

LossOf parse_loss(config::Section& section) {
  using statistics::ScalarLoss;
  LossOf out;
  out.loss = section.choice<ScalarLoss>("loss",
                                        {{"logistic", ScalarLoss::Logistic},
                                         {"hinge", ScalarLoss::Hinge},
                                         {"squared", ScalarLoss::Squared},
                                         {"absolute", ScalarLoss::Absolute}},
                                        "of a record");
  out.columns = parse_columns(section, statistics::kLossParametersMax);
  config::Section label = section.object("label");
  out.label = parse_column(label, out.columns.size());
  out.intercept = section.boolean("intercept", "whether the last parameter is one");
  out.half_width = section.number("half_width", 0.0, 1e6, "of the box", true);
  out.degree = static_cast<std::size_t>(
      section.integer("degree", 1, static_cast<std::int64_t>(statistics::kPolynomialDegreeMax), "k"));
  out.order = static_cast<std::size_t>(
      section.integer("order", 1, static_cast<std::int64_t>(statistics::BernsteinPolynomial::kOrderMax), "h"));
  return out;
}

/// Where a value stands among the literals, and whether it is the literal's other one.
struct FoundValue {
  std::size_t literal = 0;
  bool negated = false;
};
Result<FoundValue> find_value(const MarginalsOf& of, const AskedValue& asked) {
  std::string known;
  for (std::size_t i = 0; i < of.literals.size(); ++i) {
    const algorithms::NamedLiteral& literal = of.literals[i];
    if (literal.column != asked.column) continue;
    if (literal.value == asked.value) return FoundValue{i, false};
    if (!literal.other.empty() && literal.other == asked.value) return FoundValue{i, true};
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", literal.value);
    if (!literal.other.empty()) known += fmt::format(", \"{}\"", literal.other);
  }
  return Error{ErrorCode::InvalidArgument,
               known.empty()
                   ? fmt::format("\"{}\" is no column that was asked about", asked.column)
                   : fmt::format("\"{}\" is no value of \"{}\", expected {}", asked.value, asked.column, known)};
}

/// The product over some literals, of which negated ones stand as 1 less the literal: what it is of conjunctions.
void add_product(const std::vector<FoundValue>& factors, double coefficient, std::size_t literals,
                 std::map<std::size_t, double>& terms, double& constant) {
  std::vector<std::size_t> negated;
  std::vector<std::size_t> held;
  for (const FoundValue& factor : factors) (factor.negated ? negated : held).push_back(factor.literal);
  for (std::size_t choice = 0; choice < (std::size_t{1} << negated.size()); ++choice) {
    std::vector<std::size_t> chosen = held;
    double sign = 1.0;
    for (std::size_t i = 0; i < negated.size(); ++i) {
      if ((choice >> i & 1U) == 0) continue;
      chosen.push_back(negated[i]);
      sign = -sign;
    }
    if (chosen.empty()) {
      constant += sign * coefficient;
      continue;
    }
    std::sort(chosen.begin(), chosen.end());
    terms[statistics::conjunction_place(chosen, literals)] += sign * coefficient;
  }
}

/// The map whose losses the result's polynomial is of.
statistics::LossesMap losses_of(const LossOf& of) {
  FunctionAsked asked;
  asked.of = of;
  return std::get<statistics::LossesMap>(algorithms::features_of(asked));
}

}  // namespace

Result<ReleasedFunction> release_function(const algorithms::StatisticAsked& asked,
                                          const std::vector<SiloTotals>& silos) {
  const auto* function = std::get_if<FunctionAsked>(&asked.what);
  UNDERTONE_CHECK(function != nullptr);
  const statistics::FeatureMap map = algorithms::features_of(*function);
  const std::optional<statistics::CoordinateRange> range = statistics::reported_range(map);
  UNDERTONE_CHECK(range.has_value());
  ReleasedFunction out{*function, Eigen::VectorXd::Zero(statistics::dimension(map))};
  for (const SiloTotals& silo : silos) {
    if (silo.records < 1 || static_cast<Eigen::Index>(silo.totals->size()) != out.means.size())
      return Error{ErrorCode::Internal, fmt::format("the {}: {} totals of {} records, {} were asked for", asked.name,
                                                    silo.totals->size(), silo.records, out.means.size())};
    out.records += silo.records;
  }
  if (out.records < 1) return Error{ErrorCode::InvalidArgument, fmt::format("the {}: nobody answered", asked.name)};
  if (const std::optional<releases::PersonContribution>& persons = silos.front().release->ask.records.persons)
    out.person_records_max = persons->records_max;
  double variance = 0.0;
  for (const SiloTotals& silo : silos) {
    if (function->reports) {
      variance += add_reports(silo, *range, out);
    } else {
      add_totals(silo, releases::pair_distance({map}, silo.release->ask.records.persons).counts, out, variance);
    }
  }
  if (function->reports && !releases::reports_indicators(silos.front().release->ask))
    out.noise_step = 2.0 * silos.front().release->lattice().step;
  out.noise_stddev = std::sqrt(variance);
  return out;
}

std::string ReleasedFunction::of_whom() const {
  if (!person_records_max) return fmt::format("of {} records", records);
  return fmt::format("of {} persons, each by the mean over {} of her records at most", records, *person_records_max);
}

Json to_json(const ReleasedFunction& function) {
  Json out = {{"kind", std::string(algorithms::kind_of(function.asked))}};
  const auto put_columns = [&out](const std::vector<NumberColumn>& columns) {
    out["columns"] = Json::array();
    for (const NumberColumn& column : columns) out["columns"].push_back(column_json(column));
  };
  std::visit(Overloaded{[&](const MarginalsOf& of) {
                          out["literals"] = Json::array();
                          for (const algorithms::NamedLiteral& literal : of.literals) {
                            Json one = {{"column", literal.column}, {"value", literal.value}};
                            if (!literal.other.empty()) one["other"] = literal.other;
                            out["literals"].push_back(std::move(one));
                          }
                          out["width"] = of.width;
                          out["degree"] = of.degree;
                        },
                        [&](const KernelsOf& of) {
                          put_columns(of.columns);
                          out["terms"] = of.terms;
                        },
                        [&](const LossOf& of) {
                          out["loss"] = std::string(statistics::to_string(of.loss));
                          put_columns(of.columns);
                          out["label"] = column_json(of.label);
                          out["intercept"] = of.intercept;
                          out["half_width"] = of.half_width;
                          out["degree"] = of.degree;
                          out["order"] = of.order;
                        }},
             function.asked.of);
  out["form"] = function.asked.reports ? "reports" : "total";
  if (function.asked.reports) out["randomiser"] = std::string(releases::to_string(*function.asked.reports));
  out["records"] = function.records;
  if (function.person_records_max) out["person_records_max"] = *function.person_records_max;
  out["noise_stddev"] = function.noise_stddev;
  out["noise_step"] = function.noise_step;
  out["noise_law"] = function.laplace ? "laplace" : "normal";
  out["means"] = std::vector<double>(function.means.begin(), function.means.end());
  return out;
}

ReleasedFunction parse_released_function(config::Section section) {
  constexpr double kNoiseMax = 1e9;
  enum class Kind : std::uint8_t { Marginals, Kernels, Loss };
  ReleasedFunction out;
  switch (section.choice<Kind>(
      "kind", {{"marginals", Kind::Marginals}, {"kernels", Kind::Kernels}, {"loss", Kind::Loss}}, "of function")) {
    case Kind::Marginals:
      out.asked.of = parse_marginals(section);
      break;
    case Kind::Kernels:
      out.asked.of = parse_kernels(section);
      break;
    case Kind::Loss:
      out.asked.of = parse_loss(section);
      break;
  }
  const bool reports = section.choice<bool>("form", {{"total", false}, {"reports", true}}, "how silos answered");
  if (reports)
    out.asked.reports = section.choice<releases::Randomiser>("randomiser",
                                                             {{"bit", releases::Randomiser::Bit},
                                                              {"laplace", releases::Randomiser::Laplace},
                                                              {"string_bit", releases::Randomiser::StringBit},
                                                              {"index", releases::Randomiser::Index}},
                                                             "of reports");
  out.records = section.integer("records", 1, std::int64_t{1} << 52U, "n");
  if (section.has("person_records_max") || section.recording())
    out.person_records_max = section.integer("person_records_max", 1, releases::kPersonRecordsMax,
                                             "of persons, whom `records` then counts: so many of her records at most");
  out.noise_stddev = section.number("noise_stddev", 0.0, kNoiseMax, "of each mean");
  out.noise_step = section.number("noise_step", 0.0, kNoiseMax, "of each mean");
  out.laplace = section.choice<bool>("noise_law", {{"normal", false}, {"laplace", true}}, "its tails");
  const std::vector<double> means = section.numbers("means", "of the map");
  out.means = Eigen::Map<const Eigen::VectorXd>(means.data(), static_cast<Eigen::Index>(means.size()));
  if (section.recording()) return out;
  // The map is made of what was read where that is sound; its size has a bound before it is made.
  const std::size_t numbers = std::visit(
      Overloaded{[](const MarginalsOf& of) { return statistics::conjunction_count(of.literals.size(), of.degree); },
                 [](const KernelsOf& of) { return statistics::cosine_count(of.columns.size(), of.terms); },
                 [](const LossOf& of) {
                   return statistics::grid_count(of.columns.size() + (of.intercept ? 1 : 0), of.degree);
                 }},
      out.asked.of);
  if (numbers > kFunctionNumbersMax || means.size() != numbers)
    section.problem("means",
                    fmt::format("expected as many means as the function has, {} at most", kFunctionNumbersMax));
  if (const auto* loss = std::get_if<LossOf>(&out.asked.of);
      loss != nullptr && loss->columns.size() + (loss->intercept ? 1 : 0) > statistics::kLossParametersMax)
    section.problem("columns", fmt::format("expected {} parameters at most", statistics::kLossParametersMax));
  return out;
}

Stated state_combination(const ReleasedFunction& function, const Combination& combination,
                         statistics::Confidence confidence, statistics::Interval possible) {
  double value = combination.constant;
  double squares = 0.0;
  double absolute = 0.0;
  for (const auto& [place, weight] : combination.terms) {
    value += weight * function.means[place];
    squares += weight * weight;
    absolute += std::abs(weight);
  }
  Stated out;
  out.value = value;
  out.noise_stddev = function.noise_stddev * std::sqrt(squares);
  const double quantile = function.laplace
                              ? std::max(confidence.z(), std::log(1.0 / confidence.alpha()) / std::numbers::sqrt2)
                              : confidence.z();
  const double half = quantile * out.noise_stddev + function.noise_step * absolute + combination.error;
  out.noise = statistics::cut_to({value - half, value + half}, possible);
  if (combination.error > 0.0)
    out.note = fmt::format("within {:.3g} of what was asked, but for noise{}: it is in the interval", combination.error,
                           combination.measured ? ", as far as was found over records that fill the cube" : "");
  return out;
}

Result<AskedValue> parse_asked_value(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0 && equals + 1 < text.size())
    return AskedValue{text.substr(0, equals), text.substr(equals + 1)};
  return Error{ErrorCode::InvalidArgument, fmt::format("expected COLUMN=VALUE, got \"{}\"", text)};
}

Result<Stated> marginal(const ReleasedFunction& function, statistics::Quantifier quantifier,
                        const std::vector<AskedValue>& values, statistics::Confidence confidence) {
  const auto* of = std::get_if<MarginalsOf>(&function.asked.of);
  if (of == nullptr) return other_kind(function, "marginals");
  if (values.empty() || values.size() > of->width)
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("expected 1 to {} values, the width that was asked for, got {}", of->width, values.size())};
  std::vector<FoundValue> found;
  for (const AskedValue& value : values) {
    UNDERTONE_TRY(const FoundValue one, find_value(*of, value));
    if (std::any_of(found.begin(), found.end(), [&](const FoundValue& other) { return other.literal == one.literal; }))
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("\"{}={}\" is asked twice, or with its opposite", value.column, value.value)};
    found.push_back(one);
  }
  const statistics::CountPolynomial polynomial = statistics::count_polynomial(quantifier, found.size(), of->degree);
  std::map<std::size_t, double> terms;
  Combination combination;
  combination.constant = polynomial.newton.front();
  combination.error = polynomial.error;
  const std::size_t products = statistics::conjunction_count(found.size(), polynomial.degree);
  for (std::size_t place = 0; place < products; ++place) {
    std::vector<FoundValue> factors;
    for (const std::size_t i : statistics::conjunction_at(place, found.size(), polynomial.degree))
      factors.push_back(found[i]);
    const double coefficient = polynomial.newton[factors.size()];
    if (coefficient != 0.0) add_product(factors, coefficient, of->literals.size(), terms, combination.constant);
  }
  for (const auto& [place, weight] : terms)
    if (weight != 0.0) combination.terms.emplace_back(static_cast<Eigen::Index>(place), weight);
  return state_combination(function, combination, confidence, {0.0, 1.0});
}

Result<Stated> kernel_mean(const ReleasedFunction& function, const std::vector<std::pair<std::string, double>>& centre,
                           double width, statistics::Confidence confidence) {
  const auto* of = std::get_if<KernelsOf>(&function.asked.of);
  if (of == nullptr) return other_kind(function, "kernels");
  if (!(std::isfinite(width) && width >= kKernelWidthMin))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("expected a finite width of {} or more, got {}", kKernelWidthMin, width)};
  for (std::size_t i = 0; i < centre.size(); ++i) {
    const std::string& name = centre[i].first;
    const auto is_name = [&](const auto& one) { return one == name; };
    if (std::none_of(of->columns.begin(), of->columns.end(),
                     [&](const NumberColumn& column) { return is_name(column.name); }))
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("\"{}\" is none of the columns that kernels are over", name)};
    for (std::size_t j = 0; j < i; ++j)
      if (is_name(centre[j].first)) return Error{ErrorCode::InvalidArgument, fmt::format("two values of \"{}\"", name)};
  }
  std::vector<statistics::CosineSeries> factors;
  for (std::size_t j = 0; j < of->columns.size(); ++j) {
    const NumberColumn& column = of->columns[j];
    const auto given =
        std::find_if(centre.begin(), centre.end(), [&](const auto& one) { return one.first == column.name; });
    if (given == centre.end())
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("expected a value of \"{}\", too: kernels are over {} columns", column.name, of->columns.size())};
    if (!(given->second >= column.low && given->second <= column.high))
      return Error{ErrorCode::InvalidArgument, fmt::format("expected \"{}\" from {} to {}, got {}", column.name,
                                                           column.low, column.high, given->second)};
    const double middle = 2.0 * (given->second - column.low) / (column.high - column.low) - 1.0;
    factors.push_back(statistics::gaussian_series(middle, width, of->terms));
  }
  const statistics::CosineSeries series = statistics::product_of(factors);
  Combination combination;
  combination.constant = series.coefficients[0];
  combination.error = series.error;
  for (Eigen::Index place = 1; place < series.coefficients.size(); ++place)
    combination.terms.emplace_back(place - 1, series.coefficients[place]);
  return state_combination(function, combination, confidence, {0.0, 1.0});
}

Result<Stated> risk_at(const ReleasedFunction& function, const Eigen::VectorXd& parameters,
                       statistics::Confidence confidence) {
  const auto* of = std::get_if<LossOf>(&function.asked.of);
  if (of == nullptr) return other_kind(function, "a loss");
  const statistics::LossesMap map = losses_of(*of);
  if (static_cast<std::size_t>(parameters.size()) != map.parameters() ||
      !(parameters.array().abs() <= map.half_width).all())
    return Error{ErrorCode::InvalidArgument, fmt::format("expected {} parameters from {} to {}", map.parameters(),
                                                         -map.half_width, map.half_width)};
  const Eigen::VectorXd weights = statistics::grid_weights(map, of->order, parameters);
  const double largest = statistics::largest_of(map.loss, map.reach());
  // About a second of losses, and at least 256 records.
  const std::size_t records_tried =
      std::clamp<std::size_t>((std::size_t{1} << 24U) / static_cast<std::size_t>(weights.size()), 256, 4096);
  Combination combination;
  combination.error = statistics::measured_error(map, weights, parameters, records_tried);
  combination.measured = true;
  for (Eigen::Index v = 0; v < weights.size(); ++v)
    if (weights[v] != 0.0) combination.terms.emplace_back(v, largest * weights[v]);
  return state_combination(function, combination, confidence, {0.0, largest});
}

Result<ReleasedMinimum> least_risk(const ReleasedFunction& function) {
  const auto* of = std::get_if<LossOf>(&function.asked.of);
  if (of == nullptr) return other_kind(function, "a loss");
  const statistics::LossesMap map = losses_of(*of);
  UNDERTONE_TRY(const statistics::BernsteinPolynomial polynomial,
                statistics::BernsteinPolynomial::create(function.means, map.parameters(), of->degree, of->order));
  const statistics::BernsteinPolynomial::Minimum found = polynomial.minimum();
  return ReleasedMinimum{map.half_width * (2.0 * found.point.array() - 1.0),
                         found.value * statistics::largest_of(map.loss, map.reach())};
}

}  // namespace undertone::jobs
