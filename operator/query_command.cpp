#include "operator/query_command.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "operator/statistic_lines.hpp"
#include "shared/config/json_section.hpp"
#include "shared/jobs/released_exits.hpp"
#include "shared/jobs/released_function.hpp"
#include "shared/jobs/stated_json.hpp"
#include "shared/report/result_csv.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kUsualConfidence = 0.95;

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

bool asks_function(const ResultQuery& query) {
  return !query.all.empty() || !query.any.empty() || !query.kernel.empty() || !query.at.empty() || query.minimum;
}

bool asks_exits(const ResultQuery& query) {
  return !query.times.empty() || !query.quantiles.empty() || !query.against.empty() || !query.test.empty();
}

/// Whether a statistic has what is asked for.
bool can_answer(const nlohmann::json& row, const ResultQuery& query) {
  if (!row.is_object()) return false;
  if (asks_exits(query)) return row.contains("exits");
  if (asks_function(query)) return row.contains("function");
  if (!query.csv) return row.contains("exits") || row.contains("function");
  const auto estimates = row.find("estimates");
  return estimates != row.end() && estimates->is_array() && !estimates->empty();
}

std::string kinds_that_answer(const ResultQuery& query) {
  if (asks_exits(query)) return "it has no table of a question of kind survival, of which that is asked";
  if (asks_function(query)) return "it has no question of kind marginals, kernels or loss, of which that is asked";
  return query.csv ? "it has no statistic with rows"
                   : "it has no question of kind marginals, kernels, loss or survival";
}

Result<FoundStatistic> find_statistic(const ResultQuery& query) {
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(query.result, kResultBytesMax));
  const auto statistics = document.root.is_object() ? document.root.find("statistics") : document.root.end();
  if (!document.root.is_object() || statistics == document.root.end() || !statistics->is_array())
    return refused(query, document.root.is_object() && document.root.contains("metrics")
                              ? "expected the result of a run of statistics, and this run trained a model"
                              : "expected the result of a run of statistics that succeeded");
  std::string known;
  std::vector<std::size_t> named;
  std::optional<std::size_t> numbered;
  std::size_t answering = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < statistics->size(); ++i) {
    const nlohmann::json& one = (*statistics)[i];
    if (!can_answer(one, query)) continue;
    ++answering;
    last = i;
    known += fmt::format("{}{} (\"{}\")", known.empty() ? "" : ", ", i, name_of(one));
    if (query.statistic == name_of(one)) named.push_back(i);
    if (query.statistic == fmt::format("{}", i)) numbered = i;
  }
  if (answering == 0) return refused(query, kinds_that_answer(query));
  if (query.statistic.empty()) {
    if (answering > 1)
      return refused(query, fmt::format("several statistics: expected --statistic with one of {}", known));
    return FoundStatistic{name_of((*statistics)[last]), last, (*statistics)[last]};
  }
  if (!numbered && named.size() > 1)
    return refused(query, fmt::format("several statistics have the name \"{}\": expected the number of one of {}",
                                      query.statistic, known));
  if (!numbered && named.empty())
    return refused(
        query, fmt::format("\"{}\" is none of the statistics that can answer, expected {}", query.statistic, known));
  const std::size_t place = numbered ? *numbered : named.front();
  return FoundStatistic{name_of((*statistics)[place]), place, (*statistics)[place]};
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
                             {"confidence", confidence.value()}})
                           .dump());
    return service::kDone;
  }
  fmt::print(
      "{}: least at {:.6g}, where it is {:.6g}, {}; had that point been chosen before the noise, {:.6g} to "
      "{:.6g} at {:.4g} %: as the least of noised numbers it is too low rather than too high. The polynomial need not "
      "be "
      "convex, and this is the best of several descents\n",
      named.name, fmt::join(parameters, ", "), least->risk, named.function.of_whom(), there->noise.low,
      there->noise.high, 100.0 * confidence.value());
  return service::kDone;
}

int query_function(const FoundStatistic& found, const ResultQuery& query) {
  const int asked = (query.all.empty() ? 0 : 1) + (query.any.empty() ? 0 : 1) + (query.kernel.empty() ? 0 : 1) +
                    (query.at.empty() ? 0 : 1) + (query.minimum ? 1 : 0);
  if (asked != 1)
    return service::fail(
        {ErrorCode::InvalidArgument, "expected exactly one of --marginal, --any, --kernel, --at and --minimum"});
  const Result<statistics::Confidence> confidence =
      statistics::Confidence::create(query.confidence.value_or(kUsualConfidence));
  if (!confidence) return service::fail(confidence.error());
  const Result<NamedFunction> named = function_of(found, query);
  if (!named) return service::fail(named.error());
  if (query.minimum) return print_minimum(*named, query, *confidence);
  const Result<statistics::Stated> stated = answer(*named, query, *confidence);
  if (!stated) return service::fail(stated.error());
  if (query.json) {
    Json out = {{"statistic", named->name},
                {"value", *stated->value},
                {"noise_stddev", stated->noise_stddev},
                {"interval", {stated->noise.low, stated->noise.high}},
                {"confidence", confidence->value()}};
    const std::optional<std::int64_t>& of_each = named->function.person_records_max;
    out[of_each ? "persons" : "records"] = named->function.records;
    if (of_each) out["person_records_max"] = *of_each;
    if (!stated->note.empty()) out["note"] = stated->note;
    fmt::print("{}\n", out.dump());
    return service::kDone;
  }
  fmt::print("{:.6g}, {:.6g} to {:.6g} with the noise at {:.4g} %, {}{}{}\n", *stated->value, stated->noise.low,
             stated->noise.high, 100.0 * confidence->value(), named->function.of_whom(),
             stated->note.empty() ? "" : "; ", stated->note);
  return service::kDone;
}

/// Returns a number of a statistic's row, or nothing where it has none.
std::optional<double> number_in(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
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
  row = {{"statistic", found.name}, {"silos", exits.silos.size()}, {"records", records}};
  if (const auto unit = found.row.find("unit"); unit != found.row.end() && unit->is_string())
    row["unit"] = unit->get<std::string>();
  row["kind"] = "survival";
  row["confidence"] = confidence.value();
  row["estimates"] = jobs::estimates_json(stated);
  if (!stated.tests.empty()) row["tests"] = jobs::tests_json(stated);
  row["by_silo"] = Json::array();
  return {};
}

int query_exits(const FoundStatistic& found, const ResultQuery& query) {
  const Result<statistics::Confidence> confidence = statistics::Confidence::create(
      query.confidence ? *query.confidence : number_in(found.row, "confidence").value_or(kUsualConfidence));
  if (!confidence) return service::fail(confidence.error());
  Json row;
  if (const Status put = put_later(found, query, *confidence, row); !put) return service::fail(put.error());
  if (query.csv) {
    fmt::print("{}", report::estimates_csv(row));
  } else if (query.json) {
    fmt::print("{}\n", row.dump());
  } else {
    fmt::print("{}Each interval holds by itself at {:.4g} %.\n",
               statistic_lines(Json::array({row}), row.at("estimates").size()), 100.0 * confidence->value());
  }
  return service::kDone;
}

/// Checks that the flags go together. @return an error that says which do not
Status check_flags(const ResultQuery& query) {
  const auto refuse = [](const char* why) { return Error{ErrorCode::InvalidArgument, why}; };
  if (asks_function(query) && asks_exits(query))
    return refuse("--times, --quantiles, --against and --test are asked of survival, and the others of a function");
  if (query.csv && query.json) return refuse("expected --csv or --json, not both");
  if (query.csv && asks_function(query)) return refuse("--csv has rows, and what is asked of a function is one number");
  if (query.csv && !query.test.empty()) return refuse("--csv has the rows of estimates, and no tests: ask with --json");
  if (query.csv && !asks_exits(query) && query.confidence)
    return refuse("--csv has the rows of the run, whose intervals are at the run's confidence");
  return {};
}

}  // namespace

int query_result(const ResultQuery& query) {
  if (const Status checked = check_flags(query); !checked) return service::fail(checked.error());
  const Result<FoundStatistic> found = find_statistic(query);
  if (!found) return service::fail(found.error());
  if (query.csv && !asks_exits(query)) {
    fmt::print("{}", report::estimates_csv(found->row));
    return service::kDone;
  }
  return found->row.contains("exits") ? query_exits(*found, query) : query_function(*found, query);
}

}  // namespace undertone::operators
