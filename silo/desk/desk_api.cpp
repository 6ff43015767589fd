#include "silo/desk/desk_api.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/net/status_socket.hpp"
#include "shared/preview/planned_releases.hpp"
#include "silo/desk/desk_files.hpp"
#include "silo/desk/records_view.hpp"
#include "silo/owner/agent_standing.hpp"
#include "silo/owner/evidence_pack.hpp"
#include "silo/owner/job_decisions.hpp"
#include "verifier/findings_json.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;  // of a path

constexpr std::size_t kExampleNumbers = 6;
constexpr std::size_t kPackBytesMax = std::size_t{1} << 30U;
constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20U;

http::Reply json_reply(const Json& body) {
  return {200, "application/json", body.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

http::Reply refusal(const Error& error) {
  const int status = error.code == ErrorCode::UnknownRun        ? 404
                     : error.code == ErrorCode::PolicyRefused   ? 409
                     : error.code == ErrorCode::InvalidArgument ? 400
                                                                : 500;
  return http::error_reply(status, to_string(error.code), error.message);
}

Words words_of(std::string_view target) {
  Words out;
  std::string_view path = target.substr(0, target.find('?'));
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    out.emplace_back(path.substr(0, path.find('/')));
    path.remove_prefix(out.back().size());
  }
  return out;
}

Json standing_of(const SiloConfig& config) {
  const Result<std::string> said = net::read_status(net::StatusSocket::beside(config.desk));
  if (!said) return {{"runs", false}, {"why_not", "the agent does not run: " + said.error().message}};
  const Result<AgentStanding> standing = AgentStanding::read(*said);
  if (!standing) return {{"runs", true}, {"connected", false}, {"why_not", standing.error().message}};
  return {{"runs", true},
          {"connected", standing->connected},
          {"why_not", standing->connected ? standing->unable : standing->why_not},
          {"busy", standing->busy_since.has_value()}};
}

/// The runs that a data set has been charged for, in order, as its budget went.
Json charges_of(const Files& files, const std::string& dataset) {
  Json out = Json::array();
  for (auto run = files.runs.rbegin(); run != files.runs.rend(); ++run) {
    if (run->dataset != dataset || run->account == nullptr || run->account->returned) continue;
    out.push_back({{"at", run->account->reserved_at},
                   {"run", run->run.hex()},
                   {"id", short_name(run->run)},
                   {"name", run->name},
                   {"filtered", run->account->filtered},
                   {"epsilon", run->account->epsilon.value_rounded_up()},
                   {"delta", run->account->delta.value_rounded_up()}});
  }
  return out;
}

http::Reply overview(const OwnerOptions& options, const Words& /*path*/, const http::Request& /*request*/) {
  const Result<Files> files = open_files(options);
  if (!files) return refusal(files.error());
  const Result<bool> paused = files->desk.desk->paused();
  if (!paused) return refusal(paused.error());
  Json datasets = Json::array();
  for (const DatasetConfig& dataset : files->config.datasets) {
    Json one = budget_json(*files, dataset);
    one["unit"] = std::string(releases::to_string(dataset.unit()));
    one["begun"] = files->ledgers.contains(dataset.name);
    one["charges"] = charges_of(*files, dataset.name);
    datasets.push_back(std::move(one));
  }
  Json jobs = Json::array();
  for (const KnownRun& run : files->runs) jobs.push_back(to_json(run));
  return json_reply({{"silo", files->config.id.name()},
                     {"consortium", files->config.consortium},
                     {"coordinator", fmt::format("{}:{}", files->config.host, files->config.port)},
                     {"paused", *paused},
                     {"agent", standing_of(files->config)},
                     {"datasets", std::move(datasets)},
                     {"jobs", std::move(jobs)}});
}

/// What an answer would look like, of invented values: nothing is read for it.
Json example_of(const planning::Plan& plan, const RunId& run) {
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const planning::Release& release = segment.release;
    if (release.is_public() || release.ask.kind() == releases::QuestionKind::Path) continue;
    const Json said = preview::to_json(preview::PlannedRelease{release, segment.rounds, release, 0.0});
    if (!said.contains("noise_stddev_of_mean") || !said["noise_stddev_of_mean"].is_number()) continue;
    const double noise = release.noise_stddev_of_answer();  // of groups that of each one's mean
    std::mt19937_64 seeded(run.job[0]);  // the same picture each time: this is no private noise, and of no record
    std::normal_distribution<double> normal(0.0, 1.0);
    Json invented = Json::array();
    Json sent = Json::array();
    const std::size_t numbers = std::min<std::size_t>(kExampleNumbers, static_cast<std::size_t>(release.answer_size()));
    for (std::size_t i = 0; i < numbers; ++i) {
      const double value = 0.3 * std::cos(1.7 * static_cast<double>(i) + 0.4);
      invented.push_back(value);
      sent.push_back(value + noise * normal(seeded));
    }
    return {{"of", preview::describe(preview::PlannedRelease{release, segment.rounds, release, 0.0})},
            {"noise_stddev", noise},
            {"invented", std::move(invented)},
            {"sent", std::move(sent)}};
  }
  return nullptr;
}

/// Finds the run that the path names, and answers about it.
template <class Answer>
http::Reply about_run(const OwnerOptions& options, const Words& path, Answer&& answer) {
  const Result<Files> files = open_files(options);
  if (!files) return refusal(files.error());
  const auto found = std::find_if(files->runs.begin(), files->runs.end(), [&](const KnownRun& run) {
    return run.run.hex() == path[3];  // in full: a coordinator may give two runs ids that begin alike
  });
  if (found == files->runs.end()) return http::error_reply(404, "unknown_run", "this silo knows no such run");
  return answer(*files, *found);
}

http::Reply one_job(const OwnerOptions& options, const Words& path, const http::Request& /*request*/) {
  return about_run(options, path, [&](const Files& files, const KnownRun& run) {
    Json out = to_json(run);
    out["asked_by"] = fmt::format("the coordinator of {}", files.config.consortium);
    out["job"] = run.job_bytes;
    out["right_guess"] = largest_right_guess(run.epsilon, run.delta);
    out["rests_on_others"] = run.job && run.job->shuffle.has_value();
    const Result<std::string> summary = summary_of(files, run);
    out["summary"] = summary ? *summary : summary.error().message;
    if (const DatasetConfig* dataset = config_of(files.config, run.dataset); dataset != nullptr) {
      out["unit"] = std::string(releases::to_string(dataset->unit()));
      out["budget"] = budget_json(files, *dataset);
      // Whoever listens to everything, and not to this job alone.
      const Budget reserved = reserved_of(files, dataset->name);
      const bool counted = run.account != nullptr && !run.account->returned;
      out["right_guess_of_all"] =
          largest_right_guess(reserved.epsilon.value_rounded_up() + (counted ? 0.0 : run.epsilon),
                              reserved.delta.value_rounded_up() + (counted ? 0.0 : run.delta));
    }
    if (run.state == "waiting") out["refused_now"] = refused_now(files, run, options.noise);
    if (const Result<planning::Plan> plan = plan_of(files, run); plan) {
      Json releases = Json::array();
      for (const preview::PlannedRelease& one : preview::releases_of(*plan)) releases.push_back(preview::describe(one));
      out["releases_planned"] = std::move(releases);
      out["example"] = example_of(*plan, run.run);
    }
    return json_reply(out);
  });
}

template <Decision kDecision>
http::Reply decided(const OwnerOptions& options, const Words& path, const http::Request& request) {
  return about_run(options, path, [&](const Files& files, const KnownRun& run) {
    const std::vector<std::string> may = candidates_of(kDecision);
    if (std::find(may.begin(), may.end(), run.state) == may.end())
      return http::error_reply(409, "not_now", fmt::format("the run is {}: there is nothing to decide", run.state));
    if (kDecision != Decision::Withdrawn && !request.target.ends_with("?dataset=" + run.dataset))
      return http::error_reply(409, "not_now", fmt::format("the job is offered on the data set {} now", run.dataset));
    if (request.body.size() > kOwnersReasonMax)
      return http::error_reply(413, "limit_exceeded", fmt::format("a reason has {} bytes at most", kOwnersReasonMax));
    if (const Status allowed = check_decision(files, run, kDecision, options.noise); !allowed)
      return refusal(allowed.error());
    if (const Status made = decide(files, run, kDecision, "the page", request.body); !made)
      return refusal(made.error());
    http::Reply reply = json_reply({{"run", run.run.hex()}, {"decision", to_string(kDecision)}});
    reply.event = fmt::format("job_{} run={} job={}", to_string(kDecision), run.run.hex(), quoted_text(run.name));
    return reply;
  });
}

http::Reply left_of_run(const OwnerOptions& options, const Words& path, const http::Request& request) {
  return about_run(options, path, [&](const Files& files, const KnownRun& run) {
    Json out;
    const bool values = request.target.ends_with("?values=1");
    if (const Status read = releases_json(files, run, values, out); !read) return refusal(read.error());
    return json_reply({{"run", run.run.hex()}, {"releases", std::move(out)}});
  });
}

template <bool kPaused>
http::Reply set_pause(const OwnerOptions& options, const Words& /*path*/, const http::Request& /*request*/) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return refusal(config.error());
  const Result<DeskFile> desk = open_desk(*config);
  if (!desk) return refusal(desk.error());
  if (const Status done = desk->desk->set_paused(kPaused); !done) return refusal(done.error());
  http::Reply reply = json_reply({{"paused", kPaused}});
  reply.event = kPaused ? "silo_paused" : "silo_resumed";
  return reply;
}

/// The ledgers, by the separate verifier.
http::Reply verified(const OwnerOptions& options, const Words& /*path*/, const http::Request& /*request*/) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return refusal(config.error());
  Json out = Json::array();
  for (const DatasetConfig& dataset : config->datasets) {
    if (!ledger_has_begun(dataset)) continue;
    Json findings = verifier::to_json(verifier::verify_ledger(dataset.ledger, {dataset.ledger_head, dataset.name, {}}));
    findings["dataset"] = dataset.name;
    out.push_back(std::move(findings));
  }
  return json_reply({{"ledgers", std::move(out)}});
}

/// A pack of one run, or of all.
http::Reply evidence(const OwnerOptions& options, const Words& path, const http::Request& /*request*/) {
  std::string pattern = (std::filesystem::temp_directory_path() / "undertone-pack-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return http::error_reply(500, "storage_failed",
                             fmt::format("{}: no folder can be made there for the pack", pattern));
  const std::filesystem::path folder = pattern;
  const std::vector<std::string> runs = path.size() > 3 ? std::vector{path[3]} : std::vector<std::string>();
  const Status written = write_evidence(options, runs, folder / "pack.zip");
  Result<std::string> bytes =
      written ? read_file(folder / "pack.zip", kPackBytesMax) : Result<std::string>(written.error());
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!bytes) return refusal(bytes.error());
  http::Reply reply{200, "application/zip", *std::move(bytes)};
  reply.file_name = runs.empty() ? "evidence.zip" : fmt::format("evidence-{}.zip", runs.front().substr(64, 12));
  reply.event = "evidence_made";
  return reply;
}

http::Reply policy(const OwnerOptions& options, const Words& /*path*/, const http::Request& /*request*/) {
  const Result<std::string> text = read_file(options.config, kConfigBytesMax);
  if (!text) return refusal(text.error());
  const Json config = Json::parse(*text, nullptr, false);
  return json_reply({{"policy", config.is_object() && config.contains("policy") ? config["policy"] : Json(nullptr)},
                     {"file", options.config.string()}});
}

http::Reply list_datasets(const OwnerOptions& options, const Words& /*path*/, const http::Request& /*request*/) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return refusal(config.error());
  Json out = Json::array();
  for (const DatasetConfig& dataset : config->datasets) {
    out.push_back(
        {{"name", dataset.name},
         {"unit", std::string(releases::to_string(dataset.unit()))},
         {"source", file_of(dataset.source).string()},
         {"served", dataset.snapshots ? "a snapshot, made when it was added or amended" : "the source itself"},
         {"permit", dataset.permit ? describe(*dataset.permit) : ""},
         {"holdout_public", dataset.holdout_public}});
  }
  return json_reply({{"datasets", std::move(out)}});
}

/// What the records of one hold. It is for this machine's page alone.
http::Reply records_of(const OwnerOptions& options, const Words& path, const http::Request& /*request*/) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return refusal(config.error());
  const DatasetConfig* dataset = config_of(*config, path[3]);
  if (dataset == nullptr) return http::error_reply(404, "not_found", "this silo has no such data set");
  if (!ledger_has_begun(*dataset))
    return http::error_reply(409, "not_now",
                             "it has no ledger yet: `undertone-silo dataset add` or the first `run` begins one");
  const Result<LedgerView> ledger = view_ledger(*dataset, config->policy, options.noise);
  if (!ledger) return refusal(ledger.error());
  const Result<LoadedDataset> loaded = load_dataset(*dataset, *ledger->key, nullptr);
  if (!loaded) return refusal(loaded.error());
  return json_reply(records_json(*dataset, *loaded));
}

struct Route {
  const char* method;
  Words path;  // "*" stands for a run, or for a data set's name
  http::Reply (*answer)(const OwnerOptions& options, const Words& path, const http::Request& request);
};

const std::vector<Route>& routes() {
  static const std::vector<Route> kRoutes = {
      {"GET", {"api", "v1", "desk"}, overview},
      {"GET", {"api", "v1", "datasets"}, list_datasets},
      {"GET", {"api", "v1", "datasets", "*"}, records_of},
      {"GET", {"api", "v1", "evidence"}, evidence},
      {"GET", {"api", "v1", "policy"}, policy},
      {"GET", {"api", "v1", "jobs", "*"}, one_job},
      {"GET", {"api", "v1", "jobs", "*", "evidence"}, evidence},
      {"GET", {"api", "v1", "jobs", "*", "releases"}, left_of_run},
      {"POST", {"api", "v1", "jobs", "*", "approve"}, decided<Decision::Approved>},
      {"POST", {"api", "v1", "jobs", "*", "refuse"}, decided<Decision::Refused>},
      {"POST", {"api", "v1", "jobs", "*", "withdraw"}, decided<Decision::Withdrawn>},
      {"POST", {"api", "v1", "pause"}, set_pause<true>},
      {"POST", {"api", "v1", "resume"}, set_pause<false>},
      {"POST", {"api", "v1", "verify"}, verified},
  };
  return kRoutes;
}

bool fits(const Words& route, const Words& path) {
  return route.size() == path.size() &&
         std::equal(route.begin(), route.end(), path.begin(), [](const std::string& expected, const std::string& word) {
           return expected == "*" ? !word.empty() : expected == word;
         });
}

}  // namespace

double largest_right_guess(double epsilon, double delta) {
  // Divided by e^epsilon, which may be beyond all numbers.
  const double small = std::exp(-epsilon);
  return std::min(1.0, (1.0 + delta * small) / (1.0 + small));
}

http::Reply DeskApi::handle(const http::Request& request) const {
  if (std::optional<http::Reply> file = pages::file_reply(request, pages::desk_files()); file) return *std::move(file);
  if (request.rights != http::Rights::Change)
    return http::error_reply(401, "unauthorized", "this page is for whoever opened it: undertone-silo desk says how");
  const Words path = words_of(request.target);
  std::string allow;
  for (const Route& route : routes()) {
    if (!fits(route.path, path)) continue;
    if (request.method == route.method) {
      http::Reply reply;
      reply.work = [options = options_, path, request, answer = route.answer] {
        return answer(options, path, request);
      };
      return reply;
    }
    allow = route.method;
  }
  if (allow.empty()) return http::error_reply(404, "not_found", "no such resource");
  http::Reply refused = http::error_reply(405, "method_not_allowed", fmt::format("this resource has {}", allow));
  refused.allow = allow;
  return refused;
}

}  // namespace undertone::silo
