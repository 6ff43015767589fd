#include "operator/operator_commands.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "operator/export_folder.hpp"
#include "operator/round_lines.hpp"
#include "operator/run_choice.hpp"
#include "operator/run_names.hpp"
#include "operator/run_progress.hpp"
#include "operator/status_line.hpp"
#include "operator/unexpected_json.hpp"
#include "shared/base/files.hpp"
#include "shared/base/nearest_word.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/jobs/job.hpp"
#include "shared/service/clock.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kLook{500};     // how often `watch` asks
constexpr std::chrono::seconds kCompletionMost{2};  // of what a person waits for at a prompt
constexpr std::chrono::seconds kGoneMost{60};       // how long `watch` waits for a coordinator that is restarted

struct Answer {
  Json body;
  int status = 0;
};

/// The coordinator's answer as JSON; its refusals as errors.
Result<Answer> ask(const OperatorClient& client, const std::string& method, const std::string& target,
                   const std::string& body = "") {
  UNDERTONE_TRY(const net::HttpAnswer answer, client.http->request(method, target, body));
  Json json = Json::parse(answer.body, nullptr, false);
  if (answer.status >= 200 && answer.status < 300 && !json.is_discarded())
    return Answer{std::move(json), answer.status};
  std::string message = fmt::format("the coordinator answers {}", answer.status);
  if (json.is_object() && json.contains("error") && json["error"].contains("message"))
    message = plain_lines(json["error"]["message"].get<std::string>());
  const ErrorCode code = answer.status == 401   ? ErrorCode::Unauthorized
                         : answer.status == 404 ? ErrorCode::UnknownRun
                         : answer.status < 500  ? ErrorCode::InvalidArgument
                                                : ErrorCode::Internal;
  return Error{code, message};
}

/// Asks on while the coordinator cannot be reached: it was there a moment ago, and is restarted or behind a torn cable.
Result<Answer> ask_on(const OperatorClient& client, const std::string& target, StatusLine& status) {
  const auto first = std::chrono::steady_clock::now();
  bool told = false;
  while (true) {
    Result<Answer> answer = ask(client, "GET", target);
    const bool gone = !answer && answer.error().code == ErrorCode::Unreachable;
    if (!gone || std::chrono::steady_clock::now() - first > kGoneMost) return answer;
    status.clear();
    if (!told) fmt::print(stderr, "undertone: {}; asking on for {} s\n", answer.error().message, kGoneMost.count());
    told = true;
    std::this_thread::sleep_for(kLook);
  }
}

/// Fetches a file of a run as it is.
/// What is at the target; results that are being written are waited for.
Result<std::string> fetch(const OperatorClient& client, const std::string& target) {
  constexpr int kLooks = 240;
  constexpr auto kPause = std::chrono::milliseconds(500);
  Result<net::HttpAnswer> answer = client.http->request("GET", target, "");
  for (int look = 0; look < kLooks && answer && answer->status == 409; ++look) {
    std::this_thread::sleep_for(kPause);
    answer = client.http->request("GET", target, "");
  }
  if (!answer) return answer.error();
  if (answer->status != 200) {
    const ErrorCode code = answer->status == 404 ? ErrorCode::UnknownRun : ErrorCode::Internal;
    return Error{code, fmt::format("{}: the coordinator answers {}", target, answer->status)};
  }
  return answer->body;
}

std::string text(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? plain_text(object[key].get<std::string>()) : "";
}

/// The one run that a word names.
Result<std::string> find_run(const OperatorClient& client, const std::string& word, Prefer prefer = Prefer::Newest) {
  if (word.size() == 2 * RunId::kBytes) return word;
  RunChoice choice(word, prefer);
  std::string target = "/api/v1/runs?limit=200";
  std::optional<std::int64_t> before;
  while (true) {
    UNDERTONE_TRY(const Answer page, ask(client, "GET", target));
    for (const Json& run : page.body.at("runs")) {
      if (choice.look(run)) return choice.chosen();
    }
    UNDERTONE_TRY(const std::optional<std::int64_t> older, next_runs(page.body, before));
    if (!older) return choice.chosen();
    before = *older;
    target = fmt::format("/api/v1/runs?limit=200&before={}", *before);
  }
}

bool has_ended(const std::string& state) { return state == "succeeded" || state == "failed" || state == "cancelled"; }

/// @return an error that says where the run stands, unless it has ended
Status check_ended(const OperatorClient& client, const std::string& run) {
  UNDERTONE_TRY(const Answer answer, ask(client, "GET", "/api/v1/runs/" + run));
  const std::string state = text(answer.body, "state");
  if (has_ended(state)) return {};
  const std::string id = text(answer.body, "id");
  return Error{ErrorCode::InvalidArgument,
               fmt::format("run {} of \"{}\" has not ended: it is {}; `undertone watch {}` follows it", id,
                           text(answer.body, "name"), state, id)};
}

/// The closed rounds of a run as CSV.
Result<std::string> rounds_csv(const OperatorClient& client, const std::string& run) {
  std::string rows = kRoundsCsvHeader;
  std::uint64_t next = 0;
  while (true) {
    UNDERTONE_TRY(const Answer page, ask(client, "GET", fmt::format("/api/v1/runs/{}/rounds?from={}", run, next)));
    if (page.body.at("rounds").empty()) return rows;
    for (const Json& round : page.body["rounds"]) rows += rounds_csv_line(round);
    UNDERTONE_TRY(const std::uint64_t further, next_rounds(page.body, next));
    next = further;
  }
}

void print_run(const Json& run) {
  std::string line = fmt::format("{}  {:10} {:28} submitted {}", text(run, "id"), text(run, "state"), text(run, "name"),
                                 text(run, "submitted_at"));
  if (run.contains("rounds_total"))
    line += fmt::format("  round {}/{}", run["rounds_closed"].get<std::uint64_t>(),
                        run["rounds_total"].get<std::uint64_t>());
  if (const std::string failure = text(run, "failure"); !failure.empty()) line += "\n              " + failure;
  fmt::print("{}\n", line);
}

/// How many others of the newest runs have the name. Where the coordinator does not say, it is none: the run is queued.
std::size_t namesakes(const OperatorClient& client, const std::string& run, const std::string& name) {
  const Result<Answer> page = ask(client, "GET", "/api/v1/runs?limit=200");
  if (!page) return 0;
  std::size_t out = 0;
  for (const Json& other : page->body.value("runs", Json::array()))
    out += text(other, "name") == plain_text(name) && text(other, "run") != run ? 1 : 0;
  return out;
}

/// Says which silos of a cohort the coordinator never saw, and which it saw have a name like theirs.
/// A silo that the cohort has besides is not meant by another's name.
void print_never_seen(const OperatorClient& client, const Json& submitted, const jobs::Job& job) {
  const Json unknown = submitted.value("never_seen", Json::array());
  if (unknown.empty()) return;
  std::vector<std::string> seen;
  if (const Result<Answer> silos = ask(client, "GET", "/api/v1/silos"); silos) {
    for (const Json& silo : silos->body.value("silos", Json::array())) {
      const Result<SiloId> id = SiloId::create(text(silo, "silo"));
      if (id && job.member(*id) == nullptr) seen.push_back(id->name());
    }
  }
  constexpr std::size_t kNamed = 10;
  for (std::size_t i = 0; i < std::min(unknown.size(), kNamed); ++i) {
    const std::string silo = plain_text(unknown[i].get<std::string>());
    const std::string meant = nearest_word(silo, seen);
    fmt::print("silo \"{}\" has never connected: no certificate of this name was ever seen{}\n", silo,
               meant.empty() ? "" : fmt::format("; do you mean \"{}\"?", meant));
  }
  if (unknown.size() > kNamed) fmt::print("nor have {} more of the cohort\n", unknown.size() - kNamed);
}

/// Waits while the coordinator plans a job, which it goes on with whether anybody waits or not.
Result<Answer> planned(const OperatorClient& client, Result<Answer> answer) {
  constexpr int kAccepted = 202;
  std::string said;
  while (answer && answer->status == kAccepted) {
    const std::string id = text(answer->body, "planning");
    const std::uint64_t before = answer->body.value("before", std::uint64_t{0});
    const std::string line = before == 0 ? "the coordinator plans the job"
                                         : fmt::format("the job waits to be planned, {} came before it", before);
    if (line != said) fmt::print(stderr, "{}; submitting it again names its run\n", line);
    said = line;
    answer = ask(client, "GET", "/api/v1/planning/" + id);  // answered when it is planned, or after some seconds
  }
  return answer;
}

}  // namespace

int submit_job(const OperatorOptions& options, const std::filesystem::path& job, bool again) {
  const Result<std::string> bytes = read_file(job, jobs::kJobBytesMax);
  if (!bytes) return service::fail(bytes.error());
  // What is wrong with the file is better said here, with its name.
  const Result<jobs::Job> parsed = jobs::parse_job(*bytes, job.string());
  if (!parsed) return service::fail(parsed.error());
  const Result<OperatorClient> client = connect_operator(options.config);
  if (!client) return service::fail(client.error());
  const Result<Answer> answer =
      planned(*client, ask(*client, "POST", again ? "/api/v1/jobs?again=1" : "/api/v1/jobs", *bytes));
  if (!answer) return service::fail(answer.error());
  if (options.json) {
    fmt::print("{}\n", answer->body.dump(2));
    return service::kDone;
  }
  const bool created = answer->body.at("created").get<bool>();
  fmt::print("run {} of \"{}\"{}\n", text(answer->body, "id"), parsed->name,
             created ? " is queued" : ": submitted before; --again runs a job again that has ended");
  if (const std::size_t others = created ? namesakes(*client, text(answer->body, "run"), parsed->name) : 0;
      others > 0) {
    fmt::print("{} of the newest runs {} the same name; {} means this one alone\n", others,
               others == 1 ? "has" : "have", text(answer->body, "id"));
  }
  print_never_seen(*client, answer->body, *parsed);
  return service::kDone;
}

int show_status(const OperatorOptions& options) {
  const Result<OperatorClient> client = connect_operator(options.config);
  if (!client) return service::fail(client.error());
  if (options.run.empty()) {
    const Result<Answer> runs = ask(*client, "GET", "/api/v1/runs?limit=50");
    const Result<Answer> silos = ask(*client, "GET", "/api/v1/silos");
    if (!runs) return service::fail(runs.error());
    if (!silos) return service::fail(silos.error());
    if (options.json) {
      Json out = runs->body;
      out["silos"] = silos->body.at("silos");
      fmt::print("{}\n", out.dump(2));
      return service::kDone;
    }
    for (const Json& run : runs->body.at("runs")) print_run(run);
    if (runs->body.at("runs").empty()) fmt::print("No job has been submitted yet.\n");
    for (const Json& silo : silos->body.at("silos")) {
      const std::string away = text(silo, "why_away");
      fmt::print("silo {:20} {:14} epsilon accepted so far {:.4g}{}\n", text(silo, "silo"),
                 silo.at("connected").get<bool>() ? "connected" : "not connected",
                 silo.at("epsilon_accepted").get<double>(), away.empty() ? "" : "  away: " + away);
    }
    return service::kDone;
  }
  const Result<std::string> run = find_run(*client, options.run);
  if (!run) return service::fail(run.error());
  const Result<Answer> answer = ask(*client, "GET", "/api/v1/runs/" + *run);
  if (!answer) return service::fail(answer.error());
  if (options.json) {
    fmt::print("{}\n", answer->body.dump(2));
    return service::kDone;
  }
  print_run(answer->body);
  if (const Json last = answer->body.value("last_metrics", Json::object()); !last.empty()) {
    fmt::print("  last evaluation:{}\n", shown_metrics(last));
    for (const std::string& verdict : shown_verdicts(last)) fmt::print("  {}\n", verdict);
  }
  for (const Json& silo : answer->body.value("silos", Json::array())) {
    const std::string why = text(silo, "why_missing");
    const std::string explained = text(silo, "explanation");
    fmt::print("  {:20} {:14} {:22} epsilon {:<6.4g}{}{}\n", text(silo, "silo"),
               silo.at("connected").get<bool>() ? "connected" : "not connected", text(silo, "answer"),
               silo.at("epsilon").get<double>(), why.empty() ? "" : "  missing: " + why,
               explained.empty() ? "" : "  it says: " + explained);
  }
  return service::kDone;
}

int watch_run(const OperatorOptions& options) {
  const Result<OperatorClient> client = connect_operator(options.config);
  if (!client) return service::fail(client.error());
  const Result<std::string> run = find_run(*client, options.run);
  if (!run) return service::fail(run.error());
  RunProgress progress;
  StatusLine status;
  std::uint64_t next = 0;
  std::string said;
  while (true) {
    const Result<Answer> state = ask_on(*client, "/api/v1/runs/" + *run, status);
    if (!state) return service::fail(state.error());
    const Result<Answer> rounds = ask_on(*client, fmt::format("/api/v1/runs/{}/rounds?from={}", *run, next), status);
    if (!rounds) return service::fail(rounds.error());
    const Json& closed = rounds->body.at("rounds");
    for (const Json& round : closed) {
      const std::string line = progress.closed(round, state->body);
      if (options.json) {
        fmt::print("{}\n", round.dump());
      } else if (!status.is_drawn() && progress.is_line_due()) {
        status.print(line);
      }
    }
    if (!closed.empty()) {
      const Result<std::uint64_t> further = next_rounds(rounds->body, next);
      if (!further) return service::fail(further.error());
      next = *further;
    }
    // The run's state of this look may be older than the rounds: ask once more before saying that it is over.
    const std::string now = text(rounds->body, "state");
    if (has_ended(now)) {
      if (!closed.empty()) continue;
      const Result<Answer> last = ask_on(*client, "/api/v1/runs/" + *run, status);
      if (!last) return service::fail(last.error());
      if (options.json) {
        fmt::print("{}\n", last->body.dump());
      } else {
        if (status.is_drawn() && next > 0)
          status.draw(progress.bar(last->body, service::wall_clock(), status.columns()));
        status.keep();
        status.print(now + (text(last->body, "failure").empty() ? "" : ": " + text(last->body, "failure")));
        for (const std::string& verdict : shown_verdicts(last->body.value("last_metrics", Json::object())))
          status.print(verdict);
      }
      return now == "succeeded" ? service::kDone : service::kFailed;
    }
    if (!options.json) {
      // On a terminal the bar says of a round what is waited for; a line that stays is worth it for owners alone.
      const std::string line = progress.waiting(state->body, service::wall_clock());
      const bool stays = !status.is_drawn() || now == "joining";
      if (stays && line != said && !line.empty() && closed.empty()) status.print(line);
      if (closed.empty()) said = line;
      if (status.is_drawn()) status.draw(progress.bar(state->body, service::wall_clock(), status.columns()));
    }
    std::fflush(stdout);
    std::this_thread::sleep_for(kLook);
  }
}

int complete_runs(const OperatorOptions& options) {
  const Result<OperatorClient> client = connect_operator(options.config, kCompletionMost);
  if (!client) return service::kDone;
  const Result<Answer> page = ask(*client, "GET", "/api/v1/runs?limit=200");
  if (!page) return service::kDone;
  for (const std::string& name : run_names(page->body, options.run)) fmt::print("{}\n", name);
  return service::kDone;
}

int cancel_run(const OperatorOptions& options) {
  const Result<OperatorClient> client = connect_operator(options.config);
  if (!client) return service::fail(client.error());
  const Result<std::string> run = find_run(*client, options.run);
  if (!run) return service::fail(run.error());
  const Result<Answer> answer = ask(*client, "POST", "/api/v1/runs/" + *run + "/cancel");
  if (!answer) return service::fail(answer.error());
  if (options.json) {
    fmt::print("{}\n", answer->body.dump(2));
  } else {
    fmt::print("cancelled; what the silos have sent stays charged in their ledgers\n");
  }
  return service::kDone;
}

int make_sealing_key(const OperatorOptions& options) {
  const Result<OperatorClient> client = connect_operator(options.config);
  if (!client) return service::fail(client.error());
  const Result<Answer> answer = ask(*client, "POST", "/api/v1/sealing-keys");
  if (!answer) return service::fail(answer.error());
  fmt::print("{}\n", options.json ? answer->body.dump(2) : answer->body.value("fingerprint", ""));
  return service::kDone;
}

int export_run(const OperatorOptions& options, const std::filesystem::path& out) {
  const Result<OperatorClient> client = connect_operator(options.config);
  if (!client) return service::fail(client.error());
  const Result<std::string> run = find_run(*client, options.run, Prefer::Succeeded);
  if (!run) return service::fail(run.error());
  if (const Status free = check_export_folder(out, *run); !free) return service::fail(free.error());
  if (const Status ended = check_ended(*client, *run); !ended) return service::fail(ended.error());
  std::vector<ExportedFile> files;
  for (const char* part : {"job", "result", "model"}) {
    Result<std::string> content = fetch(*client, fmt::format("/api/v1/runs/{}/{}", *run, part));
    const bool none = !content && content.error().code == ErrorCode::UnknownRun;
    if (none && std::string_view(part) == "model") continue;  // a failed run has none
    if (!content) return service::fail(content.error());
    files.emplace_back(fmt::format("{}.json", part), *std::move(content));
  }
  Result<std::string> rows = rounds_csv(*client, *run);
  if (!rows) return service::fail(rows.error());
  files.emplace_back("rounds.csv", *std::move(rows));
  if (const Status written = write_export(out, files); !written) return service::fail(written.error());
  for (const auto& [name, content] : files) fmt::print("{}\n", (out / name).string());
  return service::kDone;
}

namespace {

/// One run's column in a comparison.
struct Compared {
  Json column;
  std::vector<std::string> verdicts;
};

/// @param result of the run @param word by which it was named
Compared compared_run(const Json& result, const std::string& word, bool is_folder) {
  Json column = {{"run", !is_folder && text(result, "run").size() > 64 ? text(result, "run").substr(64, 12) : word},
                 {"job", text(result.at("job"), "name")},
                 {"succeeded", result.at("succeeded")},
                 {"rounds closed", result.at("rounds")}};
  for (const auto& [key, value] : result.at("settings").items()) column[key] = value;
  double epsilon = 0.0;
  for (const Json& silo : result.at("privacy")) epsilon = std::max(epsilon, silo.at("epsilon").get<double>());
  column["epsilon, largest of a silo"] = epsilon;
  if (!result.at("metrics").empty()) {
    const Json& last = result["metrics"].back();
    const Json noise = last.value("noise_stddev", Json::object());
    for (const auto& [key, value] : last.items()) {
      if (!value.is_number()) continue;
      column["last " + key] = value;
      if (noise.is_object() && noise.contains(key)) column["last " + key + ", noise's deviation"] = noise[key];
    }
  }
  return {std::move(column), shown_verdicts(result)};
}

}  // namespace

int compare_runs(const OperatorOptions& options, const std::vector<std::string>& runs) {
  std::optional<OperatorClient> client;
  Json columns = Json::array();
  std::vector<std::vector<std::string>> verdicts;
  for (const std::string& word : runs) {
    Result<std::string> content = std::string();
    const bool is_folder = std::filesystem::exists(std::filesystem::path(word) / "result.json");
    if (is_folder) {
      content = read_file(std::filesystem::path(word) / "result.json", std::size_t{512} << 20U);
    } else {
      if (!client) {
        Result<OperatorClient> connected = connect_operator(options.config);
        if (!connected) return service::fail(connected.error());
        client.emplace(*std::move(connected));
      }
      const Result<std::string> run = find_run(*client, word);
      if (!run) return service::fail(run.error());
      content = fetch(*client, "/api/v1/runs/" + *run + "/result");
    }
    if (!content) return service::fail(content.error());
    const Json result = Json::parse(*content, nullptr, false);
    if (!result.is_object() || !result.contains("settings"))
      return service::fail({ErrorCode::InvalidData, fmt::format("{}: not a result", word)});
    Result<Compared> compared =
        reading_json(word, [&]() -> Result<Compared> { return compared_run(result, word, is_folder); });
    if (!compared) return service::fail(compared.error());
    verdicts.push_back(std::move(compared->verdicts));
    columns.push_back(std::move(compared->column));
  }
  if (options.json) {
    fmt::print("{}\n", columns.dump(2));
    return service::kDone;
  }
  std::vector<std::string> keys;
  for (const Json& column : columns) {
    for (const auto& [key, value] : column.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  for (const std::string& key : keys) {
    std::string line = fmt::format("{:28}", plain_text(key));
    bool differ = false;
    for (const Json& column : columns) {
      const Json value = column.value(key, Json());
      differ = differ || value != columns.front().value(key, Json());
      const std::string shown = value.is_string()         ? plain_text(value.get<std::string>())
                                : value.is_number_float() ? fmt::format("{:.6g}", value.get<double>())
                                : value.is_null()         ? "-"
                                                          : plain_text(value.dump());
      line += fmt::format(" {:>22}", shown);
    }
    fmt::print("{}{}\n", line, differ ? "  *" : "");
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (const std::string& verdict : verdicts[i]) fmt::print("{}: {}\n", runs[i], verdict);
  }
  return service::kDone;
}

}  // namespace undertone::operators
