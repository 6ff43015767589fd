#include "coordinator/http/api.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "coordinator/console/console_files.hpp"
#include "coordinator/jobs/metrics_json.hpp"
#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/jobs/metric_values.hpp"
#include "shared/report/report_page.hpp"
#include "shared/report/reported_run.hpp"
#include "shared/report/result_csv.hpp"
#include "shared/service/clock.hpp"

namespace undertone::coordinator {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPageNameMax = 32;  // bytes
constexpr std::size_t kListMax = 200;
constexpr std::size_t kRoundsMax = 1000;
constexpr std::size_t kRoundNamesMax = 10'000;
constexpr std::size_t kCandidatesMax = 10;  // that a refusal names, of the runs that a word may mean
constexpr std::size_t kNeverSeenMax = 100;  // that a submission's answer names
constexpr std::size_t kResultBytesMax = std::size_t{256} << 20U;

http::Reply json_reply(int status, const Json& body) {
  return {status, "application/json", body.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::InvalidConfig:
    case ErrorCode::Malformed:
      return 400;
    case ErrorCode::UnknownRun:
      return 404;
    case ErrorCode::LimitExceeded:
      return 429;
    case ErrorCode::Cancelled:
      return 503;
    default:
      return 500;
  }
}

http::Reply reply_of(const Error& error) {
  return http::error_reply(status_of(error.code), to_string(error.code), error.message);
}

http::Reply method_not_allowed(const std::string& allow) {
  http::Reply out = http::error_reply(405, "method_not_allowed", fmt::format("this resource has {}", allow));
  out.allow = allow;
  return out;
}

/// A segment of a path that no proxy reads otherwise: not empty, not "." or "..", nothing encoded in it.
bool is_plain(std::string_view segment) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '~';
  };
  return !segment.empty() && segment != "." && segment != ".." && std::all_of(segment.begin(), segment.end(), plain);
}

std::optional<int> digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

/// "%20" and "+" are a blank, in a query's value.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::optional<int> high = text[i] == '%' && i + 2 < text.size() ? digit_of(text[i + 1]) : std::nullopt;
    const std::optional<int> low = high ? digit_of(text[i + 2]) : std::nullopt;
    out += low ? static_cast<char>(*high * 16 + *low) : text[i] == '+' ? ' ' : text[i];
    if (low) i += 2;
  }
  return out;
}

Json time_or_null(std::int64_t seconds) { return seconds == 0 ? Json(nullptr) : Json(service::utc_time(seconds)); }

std::string id_of(const RunId& run) { return run.hex().substr(64, 12); }

Json summary_of(const RunRecord& run, const RunMachine* machine) {
  Json out = {{"run", run.run.hex()},
              {"id", id_of(run.run)},
              {"name", run.name},
              {"state", to_string(run.state)},
              {"submitted_at", time_or_null(run.submitted_at)},
              {"ended_at", time_or_null(run.ended_at)}};
  if (!run.failure.empty()) out["failure"] = run.failure;
  if (machine != nullptr) {
    out["rounds_total"] = machine->rounds_total();
    out["rounds_closed"] = machine->rounds_closed();
  }
  return out;
}

/// What counters are made of: an evaluation's values with their names.
std::vector<std::pair<std::string, double>> values_of(const algorithms::MetricsRow& row, const jobs::JobTerms& job) {
  std::vector<std::pair<std::string, double>> out;
  for (jobs::MetricValue& one : jobs::metric_values(job, row)) out.emplace_back(std::move(one.name), one.value);
  return out;
}

/// The one run that a segment of a path means, or the reply that says why there is none.
std::variant<RunRecord, http::Reply> find_run(RunStore& store, const std::string& word) {
  if (const Result<RunId> id = RunId::from_hex(word); id) {
    Result<std::optional<RunRecord>> run = store.look_at(*id);
    if (!run) return reply_of(run.error());
    if (!*run) return http::error_reply(404, "unknown_run", "no such run");
    return **std::move(run);
  }
  const Result<std::vector<RunRecord>> called = store.called(word, kCandidatesMax);
  if (!called) return reply_of(called.error());
  if (called->empty()) {
    return http::error_reply(404, "unknown_run",
                             fmt::format("no run is called \"{}\", and no run's id begins so", plain_text(word)));
  }
  if (called->size() == 1) {
    Result<std::optional<RunRecord>> run = store.look_at(called->front().run);  // with its job and answers
    if (!run) return reply_of(run.error());
    if (*run) return **std::move(run);
    return http::error_reply(404, "unknown_run", "no such run");
  }
  Json candidates = Json::array();
  for (const RunRecord& run : *called) candidates.push_back(summary_of(run, nullptr));
  Json error = {{"code", "ambiguous"},
                {"message", fmt::format("\"{}\" may mean {}{} runs: name one by its id", plain_text(word),
                                        called->size() == kCandidatesMax ? "at least " : "", called->size())},
                {"candidates", std::move(candidates)}};
  return json_reply(409, {{"error", std::move(error)}});
}

/// One run's report as a page that is a file of its own.
http::Reply report_reply(const std::filesystem::path& folder, const std::string& id) {
  const Result<std::vector<report::ReportedRun>> runs = report::load_runs(folder);
  if (!runs) return reply_of(runs.error());
  http::Reply out{200, "text/html; charset=utf-8", report::report_page(*runs)};
  out.file_name = fmt::format("report-{}.html", id);
  return out;
}

/// A table of a result for a spreadsheet. @param statistic its number; nothing: the evaluations
http::Reply table_reply(const std::string& result, const std::string& id, std::optional<std::uint64_t> statistic) {
  const Json read = Json::parse(result);
  const Json& statistics = read.contains("statistics") ? read["statistics"] : Json::array();
  if (statistic && *statistic >= statistics.size())
    return http::error_reply(404, "not_found", fmt::format("the run has {} statistics", statistics.size()));
  http::Reply out{200, "text/csv; charset=utf-8",
                  statistic ? report::estimates_csv(statistics[*statistic]) : report::evaluations_csv(read)};
  out.file_name =
      statistic ? fmt::format("statistic-{}-{}.csv", *statistic, id) : fmt::format("evaluations-{}.csv", id);
  return out;
}

using Path = std::vector<std::string>;
const Path kJobs = {"api", "v1", "jobs"};
const Path kPlans = {"api", "v1", "plans"};
constexpr const char* kReading = "GET, HEAD";
// A coordinator knows names by the certificates that silos come with, not by those that were issued.
constexpr const char* kNeverSeen = "never connected: no certificate of this name was ever seen";

}  // namespace

/// A target cut into its path's parts and its query's values.
struct Api::Target {
  std::vector<std::string> path;
  bool sound = true;  // the path begins with a slash and has plain segments alone
  std::map<std::string, std::string> query;

  explicit Target(std::string_view target) {
    const std::size_t mark = target.find('?');
    std::string_view rest = target.substr(0, mark);
    sound = rest.starts_with('/');
    while (rest.starts_with('/') && rest != "/") {
      rest.remove_prefix(1);
      path.emplace_back(rest.substr(0, rest.find('/')));
      sound = sound && is_plain(path.back());
      rest.remove_prefix(path.back().size());
    }
    sound = sound && (rest.empty() || path.empty());  // no slash at the end, but where it is all
    rest = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
    while (!rest.empty()) {
      const std::string_view pair = rest.substr(0, rest.find('&'));
      const std::size_t equals = pair.find('=');
      query[std::string(pair.substr(0, equals))] =
          equals == std::string_view::npos ? "" : std::string(pair.substr(equals + 1));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    }
  }

  /// A value of the query as it was meant; empty where it is absent.
  [[nodiscard]] std::string text(const std::string& key) const {
    const auto found = query.find(key);
    return found == query.end() ? "" : decoded(found->second);
  }
  [[nodiscard]] bool again() const {
    const auto found = query.find("again");
    return found != query.end() && found->second != "0";
  }
  /// A whole number of the query. @return `fallback` where it is absent, an error where it is something else
  [[nodiscard]] Result<std::uint64_t> number(const std::string& key, std::uint64_t fallback) const {
    const auto found = query.find(key);
    if (found == query.end()) return fallback;
    std::uint64_t value = 0;
    const std::string& text = found->second;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || value > INT64_MAX) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: expected a whole number, got \"{}\"", key, plain_text(text))};
    }
    return value;
  }
};

Api::Api(const JobService& service, std::filesystem::path results, Metrics& metrics, ApiHooks hooks)
    : service_(&service), results_(std::move(results)), metrics_(&metrics), hooks_(std::move(hooks)) {}

std::optional<Api::PlanningAsked> Api::planning_of(const http::Request& request) const {
  using What = PlanningAsked::What;
  const Target target(request.target);
  if (request.rights != http::Rights::Change || !target.sound) return std::nullopt;
  const std::vector<std::string>& path = target.path;
  if (request.method == "POST" && path == kJobs) {
    const Result<std::optional<RunId>> known = service_->known(request.body, target.again());
    if (!known || *known) return std::nullopt;
    return PlanningAsked{What::Enter, "", target.again() ? PlanningPurpose::SubmitAgain : PlanningPurpose::Submit};
  }
  if (request.method == "POST" && path == kPlans)
    return PlanningAsked{What::Enter, "", PlanningPurpose::Show, target.text("page").substr(0, kPageNameMax)};
  if (path.size() < 4 || path[0] != "api" || path[1] != "v1" || path[2] != "planning") return std::nullopt;
  if (path.size() == 4 && request.method == "GET") return PlanningAsked{What::Look, path[3]};
  if (path.size() == 5 && path[4] == "cancel" && request.method == "POST") return PlanningAsked{What::Cancel, path[3]};
  return std::nullopt;
}

http::Reply Api::still_planning(const std::string& id, std::size_t before) {
  return json_reply(202, {{"planning", id}, {"before", before}});
}

http::Reply Api::planning_cancelled(const std::string& id) {
  return json_reply(200, {{"planning", id}, {"state", "cancelled"}});
}

http::Reply Api::refusal(const Error& error) { return reply_of(error); }

http::Reply Api::counted(http::Reply reply) const {
  metrics_->http(reply.status);
  return reply;
}

http::Reply Api::handle(const http::Request& request) {
  http::Reply reply = route(request, Target(request.target));
  if (!reply.work) metrics_->http(reply.status);
  return reply;
}

http::Reply Api::route(const http::Request& request, const Target& target) {
  const std::vector<std::string>& path = target.path;
  const bool get = request.method == "GET";
  const bool known = request.rights != http::Rights::None;
  if (!target.sound && known) {
    return http::error_reply(
        400, "malformed",
        "a path begins with a slash; its segments are letters, digits, -, _ and ~, and dots among them");
  }
  if (std::optional<http::Reply> file = pages::file_reply(request, pages::console_files()); file)
    return *std::move(file);
  const bool health = target.sound && (path == Path{"healthz"} || path == Path{"readyz"});
  if (health && get && path == Path{"healthz"}) return {200, "text/plain", "ok\n"};
  if (health && get) {
    return hooks_.ready() ? http::Reply{200, "text/plain", "ready\n"} : http::Reply{503, "text/plain", "not ready\n"};
  }
  if (!known)
    return http::error_reply(401, "unauthorized",
                             "an operator's certificate or the token of this coordinator is needed");
  if (health || (path == Path{"metrics"} && !get)) return method_not_allowed(kReading);
  if (path == Path{"metrics"}) {
    Metrics::Gauges gauges = hooks_.gauges();
    gauges.under_way = under_way();
    return {200, "text/plain; version=0.0.4", metrics_->render(gauges)};
  }
  if (path.size() < 3 || path[0] != "api" || path[1] != "v1")
    return http::error_reply(404, "not_found", "no such resource; docs/api.md lists them");
  if (request.method == "POST" && request.rights != http::Rights::Change)
    return http::error_reply(403, "forbidden", "a viewer looks, and changes nothing: this takes an operator");
  if (path == kJobs && request.method == "POST") return known_run(request, target);
  if (path[2] == "events" && path.size() == 3 && get && hooks_.changes != nullptr) {
    http::Reply events{200, "text/event-stream", ""};
    events.changes = hooks_.changes;
    return events;
  }
  if (path[2] == "runs" && path.size() == 3 && get) return list(target);
  if (path[2] == "runs" && path.size() >= 4) return of_run(request, target);
  if (path[2] == "silos" && path.size() == 3 && get) return silos();
  if (path[2] == "sealing-keys" && path.size() == 3 && request.method == "POST") {
    const Result<Digest> fingerprint = hooks_.make_sealing_key();
    if (!fingerprint) return reply_of(fingerprint.error());
    http::Reply reply = json_reply(201, {{"fingerprint", to_hex(*fingerprint)}});
    reply.event = fmt::format("sealing_key_made fingerprint={}", to_hex(*fingerprint));
    return reply;
  }
  if (path.size() == 3 && (path[2] == "jobs" || path[2] == "plans" || path[2] == "sealing-keys"))
    return method_not_allowed("POST");
  // The planning desk has answered all that is right. A request that comes here has a wrong method or a wrong path.
  const bool planning = path[2] == "planning" && (path.size() == 4 || (path.size() == 5 && path[4] == "cancel"));
  if (planning && path.size() == 4 && !get) return method_not_allowed(kReading);
  if (planning && path.size() == 5 && request.method != "POST") return method_not_allowed("POST");
  if (planning) return http::error_reply(404, "not_found", "no such planning");
  if (path.size() == 3 && (path[2] == "events" || path[2] == "runs" || path[2] == "silos"))
    return method_not_allowed(kReading);
  return http::error_reply(404, "not_found", "no such resource; docs/api.md lists them");
}

http::Reply Api::shown_plan(const Result<std::string>& plan) {
  if (!plan) return reply_of(plan.error());
  return {200, "application/json", *plan + "\n"};
}

http::Reply Api::known_run(const http::Request& request, const Target& target) const {
  const Result<std::optional<RunId>> known = service_->known(request.body, target.again());
  if (!known) return reply_of(known.error());
  if (!*known) return reply_of(Error{ErrorCode::Internal, "the job was not planned"});
  return submitted(request.body, ApiHooks::Submitted{**known, false});
}

http::Reply Api::submitted(const std::string& text, const Result<ApiHooks::Submitted>& outcome) const {
  if (!outcome) return reply_of(outcome.error());
  Json body = {{"run", outcome->run.hex()},
               {"id", outcome->run.hex().substr(64, 12)},
               {"job_sha256", to_hex(outcome->run.job)},
               {"created", outcome->created}};
  if (Json unknown = never_seen(text); !unknown.empty()) body["never_seen"] = std::move(unknown);
  return json_reply(outcome->created ? 201 : 200, body);
}

/// Silos of a cohort that never were here: their names may be misspelt.
nlohmann::ordered_json Api::never_seen(const std::string& text) const {
  Json out = Json::array();
  const Result<jobs::ReadJob> job = jobs::read_job(text, "job");
  if (!job) return out;
  for (const jobs::CohortMember& member : job->terms().cohort) {
    if (out.size() < kNeverSeenMax && !service_->store().seen().contains(member.facts.silo))
      out.push_back(member.facts.silo.name());
  }
  return out;
}

http::Reply Api::list(const Target& target) {
  const Result<std::uint64_t> most = target.number("limit", 50);
  const Result<std::uint64_t> before = target.number("before", 0);
  if (!most) return reply_of(most.error());
  if (!before) return reply_of(before.error());
  const std::size_t wanted = std::min<std::size_t>(*most, kListMax);
  SoughtRuns sought{target.text("name"), std::nullopt};
  if (const std::string state = target.text("state"); !state.empty()) {
    sought.state = parse_run_state(state);
    if (!sought.state)
      return reply_of(
          Error{ErrorCode::InvalidArgument,
                fmt::format("state: expected queued, joining, running, succeeded, failed or cancelled, got \"{}\"",
                            plain_text(state))});
  }
  const Result<std::vector<RunRecord>> runs =
      service_->store().list(wanted, static_cast<std::int64_t>(*before), sought);
  if (!runs) return reply_of(runs.error());
  Json out = Json::array();
  for (const RunRecord& run : *runs) out.push_back(summary_of(run, service_->machine(run.run)));
  Json body = {{"runs", std::move(out)}};
  if (runs->size() == wanted && !runs->empty()) body["next_before"] = runs->back().number;
  return json_reply(200, body);
}

http::Reply Api::of_run(const http::Request& request, const Target& target) {
  const std::vector<std::string>& path = target.path;
  const std::string part = path.size() == 5 ? path[4] : "";
  static const std::set<std::string> kParts = {"", "cancel", "job", "model", "report", "result", "rounds", "table"};
  if (path.size() > 5 || !kParts.contains(part))
    return http::error_reply(404, "not_found", "no such resource; docs/api.md lists them");
  // Which methods a resource has does not depend on whether there is such a run.
  if (part == "cancel" && request.method != "POST") return method_not_allowed("POST");
  if (part != "cancel" && request.method != "GET") return method_not_allowed(kReading);
  const std::variant<RunRecord, http::Reply> found = find_run(service_->store(), path[3]);
  if (const auto* refused = std::get_if<http::Reply>(&found)) return *refused;
  const RunRecord& run = std::get<RunRecord>(found);
  if (part == "cancel") return cancel(run, request.who);
  if (part == "job") return {200, "application/json", run.job};
  if (part == "rounds") return rounds(run, target);
  if (part == "result" || part == "model" || part == "report" || part == "table") return of_result(run, part, target);
  return one_run(run);
}

http::Reply Api::cancel(const RunRecord& run, const std::string& who) {
  const Status cancelled = hooks_.cancel(run.run, who);
  if (!cancelled && cancelled.error().code == ErrorCode::InvalidArgument)
    return http::error_reply(409, "has_ended", cancelled.error().message);
  if (!cancelled) return reply_of(cancelled.error());
  http::Reply reply = json_reply(200, {{"run", run.run.hex()}, {"state", "cancelled"}});
  reply.event = fmt::format("run_cancelled run={} job={}", run.run.hex(), quoted_text(run.name));
  return reply;
}

http::Reply Api::of_result(const RunRecord& run, const std::string& part, const Target& target) const {
  const Result<std::uint64_t> statistic = target.number("statistic", UINT64_MAX >> 1U);
  if (!statistic) return reply_of(statistic.error());
  const bool written_soon = hooks_.being_written && hooks_.being_written(run.run);
  http::Reply out;
  out.work = [folder = results_ / run.run.hex(), id = id_of(run.run), state = std::string(to_string(run.state)), part,
              statistic = target.query.contains("statistic") ? std::optional(*statistic) : std::nullopt, written_soon] {
    const std::string file = part == "model" ? "model.json" : "result.json";
    const Result<std::string> content = read_file(folder / file, kResultBytesMax);
    if (!content && written_soon)
      return http::error_reply(409, "being_written", "the run has ended and its results are being written: ask again");
    if (!content) return http::error_reply(404, "not_found", fmt::format("the run has no {}: it is {}", part, state));
    if (part == "report") return report_reply(folder, id);
    if (part == "table") return table_reply(*content, id, statistic);
    return http::Reply{200, "application/json", *content};
  };
  return out;
}

http::Reply Api::one_run(const RunRecord& run) {
  const RunMachine* machine = service_->machine(run.run);
  Json out = summary_of(run, machine);
  const Result<jobs::ReadJob> read = jobs::read_job(run.job, "job");
  if (!read) return json_reply(200, out);
  const jobs::JobTerms& job = read->terms();
  const auto last = service_->store().last_metrics(run.run);
  if (!last) return reply_of(last.error());
  if (*last) {
    out["last_metrics"] = metrics_json(job, (**last).second);
    out["last_metrics"]["round"] = (**last).first.value;
    put_verdicts(job, (**last).second, out["last_metrics"]);
  }
  const Result<std::uint64_t> kept = service_->store().rounds_kept(run.run);
  if (!kept) return reply_of(kept.error());
  out["rounds_kept"] = *kept;
  out["quorum"] = job.participation.quorum;
  out["round_deadline_ms"] = job.participation.round_deadline.count();
  if (const auto ends = machine == nullptr ? std::nullopt : machine->join_deadline(); ends && hooks_.now) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*ends - hooks_.now());
    out["join_left_ms"] = std::max<std::int64_t>(left.count(), 0);
  }
  out["silos"] = Json::array();
  const std::optional<RunMachine::Progress> progress = machine == nullptr ? std::nullopt : machine->progress();
  for (const jobs::CohortMember& member : job.cohort) {
    const SiloId& silo = member.facts.silo;
    const auto answer = run.answers.find(silo);
    Json entry = {{"silo", silo.name()},
                  {"connected", service_->connected().contains(silo)},
                  {"answer", answer == run.answers.end() ? "none"
                             : answer->second            ? "refused: " + std::string(wire::to_string(*answer->second))
                                                         : "accepted"},
                  {"epsilon", member.facts.epsilon().value()},
                  {"delta", member.facts.delta()}};
    const auto explained = run.explanations.find(silo);
    const bool refused = answer != run.answers.end() && answer->second;
    if (refused && explained != run.explanations.end() && !explained->second.empty())
      entry["explanation"] = explained->second;
    const bool answered_round = progress && progress->answered.contains(silo);
    std::string why = machine != nullptr && !machine->ended() && !answered_round ? machine->why_missing(silo) : "";
    if (!why.empty() && !service_->store().seen().contains(silo)) why = kNeverSeen;
    if (why == RunMachine::kNotConnected && hooks_.why_away) {
      if (const std::string away = hooks_.why_away(silo); !away.empty()) why += ": " + away;
    }
    if (!why.empty()) entry["why_missing"] = why;
    out["silos"].push_back(std::move(entry));
  }
  return json_reply(200, out);
}

std::vector<Metrics::RunProgress> Api::under_way() {
  std::vector<Metrics::RunProgress> out;
  const Result<std::vector<RunId>> unfinished = service_->store().unfinished();
  if (!unfinished) return out;  // a page of counters is worth having without this part of the store
  for (const RunId& run : *unfinished) {
    const RunMachine* machine = service_->machine(run);
    if (machine == nullptr) continue;  // it waits in the queue
    Metrics::RunProgress progress{
        id_of(run), machine->job().name, machine->rounds_closed(), machine->rounds_total(), {}};
    const auto last = service_->store().last_metrics(run);
    if (last && *last) progress.last_metrics = values_of((**last).second, machine->job());
    out.push_back(std::move(progress));
  }
  return out;
}

http::Reply Api::rounds(const RunRecord& run, const Target& target) {
  const Result<std::uint64_t> from = target.number("from", 0);
  const Result<std::uint64_t> most = target.number("limit", kRoundsMax);
  if (!from) return reply_of(from.error());
  if (!most) return reply_of(most.error());
  const Result<jobs::ReadJob> job = jobs::read_job(run.job, "job");
  if (!job) return reply_of(job.error());
  // A page names every silo of every round.
  const std::size_t fit =
      std::max<std::size_t>(1, kRoundNamesMax / std::max<std::size_t>(1, job->terms().cohort.size()));
  const Result<std::vector<RoundRecord>> closed =
      service_->store().rounds(run.run, RoundIndex{*from}, std::min<std::size_t>({*most, kRoundsMax, fit}));
  if (!closed) return reply_of(closed.error());
  Json out = Json::array();
  std::uint64_t next = *from;
  for (const RoundRecord& round : *closed) {
    Json answered = Json::array();
    Json missing = Json::array();
    for (const auto& [silo, digest] : round.accepted) answered.push_back(silo.name());
    for (const SiloId& silo : round.missing) missing.push_back(silo.name());
    Json entry = {{"round", round.round.value},
                  {"answered", std::move(answered)},
                  {"missing", std::move(missing)},
                  {"elapsed_ms", round.elapsed.count()}};
    if (round.metrics) entry["metrics"] = metrics_json(job->terms(), *round.metrics);
    out.push_back(std::move(entry));
    next = round.round.value + 1;
  }
  return json_reply(200, {{"state", to_string(run.state)}, {"rounds", std::move(out)}, {"next", next}});
}

http::Reply Api::silos() {
  const Result<std::map<SiloId, Charge>> charges = service_->store().charges();
  if (!charges) return reply_of(charges.error());
  std::map<SiloId, Json> known;
  const auto entry_of = [&](const SiloId& silo) -> Json& {
    Json& entry = known[silo];
    if (entry.is_null())
      entry = {{"silo", silo.name()}, {"connected", false}, {"epsilon_accepted", 0.0}, {"delta_accepted", 0.0}};
    return entry;
  };
  for (const SiloId& silo : service_->store().seen()) (void)entry_of(silo);
  for (const auto& [silo, charge] : *charges) {
    Json& entry = entry_of(silo);
    entry["epsilon_accepted"] = charge.epsilon;
    entry["delta_accepted"] = charge.delta;
  }
  for (const SiloSession& session : hooks_.sessions()) {
    Json& entry = entry_of(session.silo);
    entry["connected"] = true;
    entry["build"] = session.build;
    entry["protocol"] = session.protocol;
    entry["connected_since"] = service::utc_time(session.since);
    if (session.certificate_ends != 0) entry["certificate_ends"] = service::utc_time(session.certificate_ends);
    if (session.last_answer != 0) entry["last_answer"] = service::utc_time(session.last_answer);
  }
  Json out = Json::array();
  for (auto& [silo, entry] : known) {
    const std::string away = hooks_.why_away && entry["connected"] == false ? hooks_.why_away(silo) : "";
    if (!away.empty()) entry["why_away"] = away;
    out.push_back(std::move(entry));
  }
  Json body = {{"silos", std::move(out)}, {"shufflers", Json::array()}, {"runs", Json::object()}};
  for (const auto& [name, connected] : hooks_.shufflers ? hooks_.shufflers() : std::map<std::string, bool>())
    body["shufflers"].push_back({{"shuffler", name}, {"connected", connected}});
  const Result<std::map<RunState, std::int64_t>> runs = service_->store().count_by_state();
  if (!runs) return reply_of(runs.error());
  for (const auto& [state, count] : *runs) body["runs"][to_string(state)] = count;
  return json_reply(200, body);
}

}  // namespace undertone::coordinator
