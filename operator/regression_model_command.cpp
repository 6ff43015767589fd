#include "operator/regression_model_command.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "operator/statistic_lines.hpp"
#include "operator/unexpected_json.hpp"
#include "shared/base/files.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/schema_section.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

/// Coefficients by name, "(intercept)" among them, in the units of the columns.
using Coefficients = std::map<std::string, double>;

Result<Coefficients> found_regression(const Json& result, const std::string& label, const std::string& file) {
  const auto statistics = result.is_object() ? result.find("statistics") : result.end();
  if (!result.is_object() || statistics == result.end() || !statistics->is_array())
    return Error{ErrorCode::InvalidData,
                 fmt::format("{}: expected the result of a run of statistics that succeeded", file)};
  for (const Json& statistic : *statistics) {
    if (!statistic.is_object() || statistic.value("kind", "") != "regression" ||
        statistic.value("response", "") != label || !statistic.contains("estimates") ||
        !statistic["estimates"].is_array())
      continue;
    Coefficients out;
    for (const Json& estimate : statistic["estimates"]) {
      const bool stated = estimate.is_object() && estimate.contains("name") && estimate["name"].is_string() &&
                          estimate.contains("value") && estimate["value"].is_number();
      if (!stated)
        return Error{ErrorCode::InvalidData,
                     fmt::format("{}: the regression of {} was refused: its noised moments do not carry coefficients",
                                 file, label)};
      out.emplace(estimate["name"].get<std::string>(), estimate["value"].get<double>());
    }
    return out;
  }
  return Error{ErrorCode::InvalidData, fmt::format("{}: expected a regression of the label {}", file, label)};
}

/// What a coefficient is of one encoded feature, and what it adds to the intercept: a number is centre + half u.
struct Encoded {
  double weight = 0.0;
  double offset = 0.0;
};
Encoded encoded(double coefficient, const data::NumericColumn* column) {
  if (column == nullptr) return {coefficient, 0.0};
  const double half = 0.5 * (column->max - column->min);
  return {coefficient * half, coefficient * (column->min + half)};
}

}  // namespace

int regression_model(const std::filesystem::path& result_file, const std::filesystem::path& job_file,
                     const std::filesystem::path& out) {
  const Result<std::string> bytes = read_file(job_file, jobs::kJobBytesMax);
  if (!bytes) return service::fail(bytes.error());
  const Result<jobs::Job> job = jobs::parse_job(*bytes, job_file.string());
  if (!job) return service::fail(job.error());
  const auto* number = std::get_if<data::NumericLabel>(&job->schema.label);
  const bool classifies = std::holds_alternative<data::BinaryLabel>(job->schema.label);
  if (number == nullptr && !classifies)
    return service::fail({ErrorCode::InvalidData,
                          fmt::format("{}: expected a label that is a number or has two values", job_file.string())});
  const Result<std::string> text = read_file(result_file, kResultBytesMax);
  if (!text) return service::fail(text.error());
  const Json result = Json::parse(*text, nullptr, false);
  const Result<Coefficients> found = reading_json(result_file.string(), [&]() -> Result<Coefficients> {
    return found_regression(result, data::label_column(job->schema), result_file.string());
  });
  if (!found) return service::fail(found.error());
  // What the model's score is divided by, and what it is of: the label's own units, or half a margin.
  const double half = classifies ? 0.5 : 0.5 * (number->column.max - number->column.min);
  double intercept = classifies ? 0.0 : -(number->column.min + half);
  if (const auto constant = found->find("(intercept)"); constant != found->end()) intercept += constant->second;
  Json weights = Json::array();
  const std::vector<std::string> names = data::encoded_names(job->schema);
  std::size_t at = 0;
  for (const data::FeatureColumn& feature : job->schema.features) {
    const auto* numeric = std::get_if<data::NumericColumn>(&feature);
    for (std::size_t i = 0; i < data::encoded_width(feature); ++i, ++at) {
      const auto coefficient = found->find(names[at]);
      Encoded one;
      if (coefficient != found->end()) one = encoded(coefficient->second, i == 0 ? numeric : nullptr);
      intercept += one.offset;
      weights.push_back({{"feature", names[at]}, {"weight", one.weight / half}});
    }
  }
  const Json model = {{"format", "undertone.model/2"},
                      {"kind", classifies ? "logistic" : "least_squares"},
                      {"job", job->name},
                      {"run", result.value("run", "")},
                      {"data", jobs::to_json(job->schema)},
                      {"weights", std::move(weights)},
                      {"intercept", intercept / half}};
  const std::string content = model.dump(2) + "\n";
  if (out.empty() || out == "-") {
    fmt::print("{}", content);
    return service::kDone;
  }
  if (Status written = write_file_atomically(out, content); !written) return service::fail(written.error());
  fmt::print(stderr, "The model of the regression is in {}; the noise of the run is in every weight.\n", out.string());
  return service::kDone;
}

}  // namespace undertone::operators
