#include "operator/query_command.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "operator/statistic_lines.hpp"
#include "shared/config/json_section.hpp"
#include "shared/jobs/released_function.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

/// A question's place in the result, and its name.
struct NamedFunction {
  std::string name;
  jobs::ReleasedFunction function;
};

Error refused(const FunctionQuery& query, const std::string& why) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", query.result.string(), why)};
}

Result<NamedFunction> find_function(const FunctionQuery& query) {
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(query.result, kResultBytesMax));
  const auto statistics = document.root.is_object() ? document.root.find("statistics") : document.root.end();
  if (!document.root.is_object() || statistics == document.root.end() || !statistics->is_array())
    return refused(query, document.root.is_object() && document.root.contains("metrics")
                              ? "expected the result of a run of statistics, and this run trained a model"
                              : "expected the result of a run of statistics that succeeded");
  std::string known;
  std::optional<std::size_t> found;
  std::size_t functions = 0;
  for (std::size_t i = 0; i < statistics->size(); ++i) {
    const nlohmann::json& one = (*statistics)[i];
    if (!one.is_object() || !one.contains("function")) continue;
    const std::string name =
        one.contains("statistic") && one["statistic"].is_string() ? one["statistic"].get<std::string>() : std::string();
    ++functions;
    known += fmt::format("{}{} (\"{}\")", known.empty() ? "" : ", ", i, name);
    if (query.statistic.empty() || query.statistic == name || query.statistic == fmt::format("{}", i)) {
      if (!found) found = i;
    }
  }
  if (functions == 0) return refused(query, "it has no question of kind marginals, kernels or loss");
  if (!found)
    return refused(query, fmt::format("\"{}\" is none of its functions, expected {}", query.statistic, known));
  if (query.statistic.empty() && functions > 1)
    return refused(query, fmt::format("several functions: expected --statistic with one of {}", known));
  const nlohmann::json& one = (*statistics)[*found];
  config::Problems problems(query.result.string());
  jobs::ReleasedFunction function = jobs::parse_released_function(
      config::Section(one["function"], fmt::format("/statistics/{}/function", *found), problems));
  if (!problems.none()) return problems.error();
  return NamedFunction{
      one.contains("statistic") && one["statistic"].is_string() ? one["statistic"].get<std::string>() : std::string(),
      std::move(function)};
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

Result<double> number_of(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return Error{ErrorCode::InvalidArgument, fmt::format("expected a number, got \"{}\"", text)};
}

Result<std::vector<jobs::AskedValue>> values_of(const std::string& text) {
  std::vector<jobs::AskedValue> out;
  for (const std::string& part : parts_of(text)) {
    UNDERTONE_TRY(jobs::AskedValue value, jobs::parse_asked_value(part));
    out.push_back(std::move(value));
  }
  return out;
}

Result<statistics::Stated> kernel_of(const NamedFunction& named, const FunctionQuery& query,
                                     statistics::Confidence confidence) {
  std::vector<std::pair<std::string, double>> centre;
  for (const std::string& part : parts_of(query.kernel)) {
    UNDERTONE_TRY(const jobs::AskedValue value, jobs::parse_asked_value(part));
    UNDERTONE_TRY(const double number, number_of(value.value));
    centre.emplace_back(value.column, number);
  }
  return jobs::kernel_mean(named.function, centre, query.width, confidence);
}

Result<std::vector<double>> parameters_of(const std::string& text) {
  std::vector<double> out;
  for (const std::string& part : parts_of(text)) {
    UNDERTONE_TRY(const double number, number_of(part));
    out.push_back(number);
  }
  return out;
}

/// What was asked, answered; a minimum is another thing.
Result<statistics::Stated> answer(const NamedFunction& named, const FunctionQuery& query,
                                  statistics::Confidence confidence) {
  if (!query.kernel.empty()) return kernel_of(named, query, confidence);
  if (!query.at.empty()) {
    UNDERTONE_TRY(const std::vector<double> parameters, parameters_of(query.at));
    const auto count = static_cast<Eigen::Index>(parameters.size());
    return jobs::risk_at(named.function, Eigen::Map<const Eigen::VectorXd>(parameters.data(), count), confidence);
  }
  UNDERTONE_TRY(const std::vector<jobs::AskedValue> values, values_of(query.all.empty() ? query.any : query.all));
  return jobs::marginal(named.function, query.all.empty() ? statistics::Quantifier::Any : statistics::Quantifier::All,
                        values, confidence);
}

int print_minimum(const NamedFunction& named, const FunctionQuery& query, statistics::Confidence confidence) {
  const Result<jobs::ReleasedMinimum> least = jobs::least_risk(named.function);
  if (!least) return service::fail(least.error());
  const Result<statistics::Stated> there = jobs::risk_at(named.function, least->parameters, confidence);
  if (!there) return service::fail(there.error());
  const std::vector<double> parameters(least->parameters.begin(), least->parameters.end());
  if (query.json) {
    fmt::print("{}\n", Json({{"statistic", named.name},
                             {"parameters", parameters},
                             {"risk", least->risk},
                             {"interval_of_a_fixed_point", {there->noise.low, there->noise.high}},
                             {"confidence", query.confidence}})
                           .dump());
    return service::kDone;
  }
  fmt::print(
      "{}: least at {:.6g}, where it is {:.6g}, {}; had that point been chosen before the noise, {:.6g} to "
      "{:.6g} at {:.4g} %: as the least of noised numbers it is too low rather than too high. The polynomial need not "
      "be "
      "convex, and this is the best of several descents\n",
      named.name, fmt::join(parameters, ", "), least->risk, named.function.of_whom(), there->noise.low,
      there->noise.high, 100.0 * query.confidence);
  return service::kDone;
}

}  // namespace

int query_function(const FunctionQuery& query) {
  const int asked = (query.all.empty() ? 0 : 1) + (query.any.empty() ? 0 : 1) + (query.kernel.empty() ? 0 : 1) +
                    (query.at.empty() ? 0 : 1) + (query.minimum ? 1 : 0);
  if (asked != 1)
    return service::fail(
        {ErrorCode::InvalidArgument, "expected exactly one of --marginal, --any, --kernel, --at and --minimum"});
  const Result<statistics::Confidence> confidence = statistics::Confidence::create(query.confidence);
  if (!confidence) return service::fail(confidence.error());
  const Result<NamedFunction> named = find_function(query);
  if (!named) return service::fail(named.error());
  if (query.minimum) return print_minimum(*named, query, *confidence);
  const Result<statistics::Stated> stated = answer(*named, query, *confidence);
  if (!stated) return service::fail(stated.error());
  if (query.json) {
    Json out = {{"statistic", named->name},
                {"value", *stated->value},
                {"noise_stddev", stated->noise_stddev},
                {"interval", {stated->noise.low, stated->noise.high}},
                {"confidence", query.confidence}};
    const std::optional<std::int64_t>& of_each = named->function.person_records_max;
    out[of_each ? "persons" : "records"] = named->function.records;
    if (of_each) out["person_records_max"] = *of_each;
    if (!stated->note.empty()) out["note"] = stated->note;
    fmt::print("{}\n", out.dump());
    return service::kDone;
  }
  fmt::print("{:.6g}, {:.6g} to {:.6g} with the noise at {:.4g} %, {}{}{}\n", *stated->value, stated->noise.low,
             stated->noise.high, 100.0 * query.confidence, named->function.of_whom(), stated->note.empty() ? "" : "; ",
             stated->note);
  return service::kDone;
}

}  // namespace undertone::operators
