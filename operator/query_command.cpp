#include "operator/query_command.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "operator/estimates_csv.hpp"
#include "operator/statistic_lines.hpp"
#include "shared/base/contained.hpp"
#include "shared/config/json_section.hpp"
#include "shared/jobs/released_exits.hpp"
#include "shared/jobs/released_function.hpp"
#include "shared/jobs/stated_json.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

/// A question's place in the result, and its name.
struct NamedFunction {
  std::string name;
  jobs::ReleasedFunction function;
};

Error refused(const ResultQuery& query, const std::string& why) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", query.result.string(), why)};
}

/// A statistic of the result.
struct FoundStatistic {
  std::string name;
  std::size_t place = 0;
  nlohmann::json row;
};

std::string name_of(const nlohmann::json& row) {
  const auto found = row.find("statistic");
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// What was released so that it can be asked later: whatever else there is has its rows alone.
bool can_be_asked(const nlohmann::json& row) { return row.contains("function") || row.contains("exits"); }

Result<FoundStatistic> find_statistic(const ResultQuery& query) {
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(query.result, kResultBytesMax));
  const auto statistics = document.root.is_object() ? document.root.find("statistics") : document.root.end();
  if (!document.root.is_object() || statistics == document.root.end() || !statistics->is_array())
    return refused(query, document.root.is_object() && document.root.contains("metrics")
                              ? "expected the result of a run of statistics, and this run trained a model"
                              : "expected the result of a run of statistics that succeeded");
  std::string known;
  std::vector<std::size_t> wanted;
  std::size_t askable = 0;
  for (std::size_t i = 0; i < statistics->size(); ++i) {
    const nlohmann::json& one = (*statistics)[i];
    if (!one.is_object() || !(query.csv ? one.contains("estimates") : can_be_asked(one))) continue;
    ++askable;
    known += fmt::format("{}{} (\"{}\")", known.empty() ? "" : ", ", i, name_of(one));
    if (query.statistic.empty() || query.statistic == name_of(one) || query.statistic == fmt::format("{}", i))
      wanted.push_back(i);
  }
  if (askable == 0)
    return refused(query, query.csv ? "it has no statistic with estimates"
                                    : "it has no question of kind marginals, kernels, loss or survival");
  if (wanted.empty())
    return refused(query, fmt::format("\"{}\" is none of its statistics, expected {}", query.statistic, known));
  if (query.statistic.empty() && askable > 1)
    return refused(query, fmt::format("several statistics: expected --statistic with one of {}", known));
  const nlohmann::json& row = (*statistics)[wanted.front()];
  return FoundStatistic{name_of(row), wanted.front(), row};
}

Result<NamedFunction> function_of(const FoundStatistic& found, const ResultQuery& query) {
  config::Problems problems(query.result.string());
  jobs::ReleasedFunction function = jobs::parse_released_function(
      config::Section(found.row["function"], fmt::format("/statistics/{}/function", found.place), problems));
  if (!problems.none()) return problems.error();
  return NamedFunction{found.name, std::move(function)};
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

Result<statistics::Stated> kernel_of(const NamedFunction& named, const ResultQuery& query,
                                     statistics::Confidence confidence) {
  std::vector<std::pair<std::string, double>> centre;
  for (const std::string& part : parts_of(query.kernel)) {
    UNDERTONE_TRY(const jobs::AskedValue value, jobs::parse_asked_value(part));
    UNDERTONE_TRY(const double number, number_of(value.value));
    centre.emplace_back(value.column, number);
  }
  return jobs::kernel_mean(named.function, centre, query.width, confidence);
}

Result<std::vector<double>> numbers_of(const std::string& text) {
  std::vector<double> out;
  for (const std::string& part : parts_of(text)) {
    UNDERTONE_TRY(const double number, number_of(part));
    out.push_back(number);
  }
  return out;
}

/// What was asked, answered; a minimum is another thing.
Result<statistics::Stated> answer(const NamedFunction& named, const ResultQuery& query,
                                  statistics::Confidence confidence) {
  if (!query.kernel.empty()) return kernel_of(named, query, confidence);
  if (!query.at.empty()) {
    UNDERTONE_TRY(const std::vector<double> parameters, numbers_of(query.at));
    const auto count = static_cast<Eigen::Index>(parameters.size());
    return jobs::risk_at(named.function, Eigen::Map<const Eigen::VectorXd>(parameters.data(), count), confidence);
  }
  UNDERTONE_TRY(const std::vector<jobs::AskedValue> values, values_of(query.all.empty() ? query.any : query.all));
  return jobs::marginal(named.function, query.all.empty() ? statistics::Quantifier::Any : statistics::Quantifier::All,
                        values, confidence);
}

int print_minimum(const NamedFunction& named, const ResultQuery& query, statistics::Confidence confidence) {
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

int query_function(const FoundStatistic& found, const ResultQuery& query, statistics::Confidence confidence) {
  const int asked = (query.all.empty() ? 0 : 1) + (query.any.empty() ? 0 : 1) + (query.kernel.empty() ? 0 : 1) +
                    (query.at.empty() ? 0 : 1) + (query.minimum ? 1 : 0);
  if (asked != 1)
    return service::fail(
        {ErrorCode::InvalidArgument, "expected exactly one of --marginal, --any, --kernel, --at and --minimum"});
  const Result<NamedFunction> named = function_of(found, query);
  if (!named) return service::fail(named.error());
  if (query.minimum) return print_minimum(*named, query, confidence);
  const Result<statistics::Stated> stated = answer(*named, query, confidence);
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

/// @param row a statistic's, as results have them
Status put_later(const FoundStatistic& found, const ResultQuery& query, statistics::Confidence confidence, Json& row) {
  config::Problems problems(query.result.string());
  const jobs::ReleasedExits exits = jobs::parse_released_exits(
      config::Section(found.row["exits"], fmt::format("/statistics/{}/exits", found.place), problems));
  if (!problems.none()) return problems.error();
  jobs::LaterExits later;
  if (!query.times.empty()) {
    UNDERTONE_TRY(later.times, numbers_of(query.times));
  }
  if (!query.quantiles.empty()) {
    UNDERTONE_TRY(later.probabilities, numbers_of(query.quantiles));
  }
  later.against = query.against;
  if (query.test == "log_rank" || query.test == "gehan") later.gehan = query.test == "gehan";
  if (!query.test.empty() && !later.gehan)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("expected the test log_rank or gehan, got \"{}\"", query.test)};
  UNDERTONE_TRY(const jobs::StatedQuestion stated, jobs::state_later(exits, later, confidence));
  std::int64_t records = 0;
  for (const jobs::ToldExits& silo : exits.silos) records += silo.records;
  row = {{"statistic", found.name}, {"silos", exits.silos.size()},    {"records", records},
         {"kind", "survival"},      {"confidence", query.confidence}, {"estimates", jobs::estimates_json(stated)}};
  if (!stated.tests.empty()) row["tests"] = jobs::tests_json(stated);
  return {};
}

bool asks_function(const ResultQuery& query) {
  return !query.all.empty() || !query.any.empty() || !query.kernel.empty() || !query.at.empty() || query.minimum;
}

bool asks_exits(const ResultQuery& query) {
  return !query.times.empty() || !query.quantiles.empty() || !query.against.empty() || !query.test.empty();
}

int query_exits(const FoundStatistic& found, const ResultQuery& query, statistics::Confidence confidence) {
  if (asks_function(query))
    return service::fail({ErrorCode::InvalidArgument,
                          "of survival, expected --times, --quantiles, --against and --test, and none of --marginal, "
                          "--any, --kernel, --at and --minimum"});
  Json row;
  if (const Status put = put_later(found, query, confidence, row); !put) return service::fail(put.error());
  if (query.csv) {
    fmt::print("{}", estimates_csv(row));
  } else if (query.json) {
    fmt::print("{}\n", row.dump());
  } else {
    fmt::print("{}", statistic_lines(Json::array({row}), row.at("estimates").size()));
  }
  return service::kDone;
}

}  // namespace

int query_result(const ResultQuery& query) {
  const Result<statistics::Confidence> confidence = statistics::Confidence::create(query.confidence);
  if (!confidence) return service::fail(confidence.error());
  if (query.csv && (query.json || asks_function(query)))
    return service::fail({ErrorCode::InvalidArgument,
                          "--csv has the rows of a statistic: it goes with neither --json nor what is asked of a "
                          "function"});
  const Result<FoundStatistic> found = find_statistic(query);
  if (!found) return service::fail(found.error());
  // Rows as the run stated them, where nothing else is asked.
  if (found->row.contains("exits") && (asks_exits(query) || !query.csv)) return query_exits(*found, query, *confidence);
  if (asks_exits(query))
    return service::fail({ErrorCode::InvalidArgument,
                          fmt::format("--times, --quantiles, --against and --test are asked of survival, and \"{}\" is "
                                      "none",
                                      found->name)});
  if (!query.csv) return query_function(*found, query, *confidence);
  const Result<std::string> rows =
      contained("the result's rows", [&]() -> Result<std::string> { return estimates_csv(found->row); });
  if (!rows) return service::fail(rows.error());
  fmt::print("{}", *rows);
  return service::kDone;
}

}  // namespace undertone::operators
