#include <cstdio>
#include <set>

#include "shared/base/plain_text.hpp"
#include "shared/net/status_socket.hpp"
#include "shared/service/clock.hpp"
#include "shared/service/help_texts.hpp"
#include "silo/owner/agent_standing.hpp"
#include "silo/owner/disk_room.hpp"
#include "silo/owner/job_decisions.hpp"
#include "silo/owner/questions.hpp"

/// Jobs, and what the owner says to them.
namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;

int decide(const OwnerOptions& options, Decision decision, const char* question, const char* done,
           const std::string& reason = "") {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  const Result<const KnownRun*> run = find_run(*files, options.job, candidates_of(decision));
  if (!run) return fail(run.error(), kNo);
  if (const Status allowed = check_decision(*files, **run, decision, options.noise); !allowed)
    return fail(allowed.error(), kNo);
  const Result<std::string> summary = summary_of(*files, **run);
  if (summary) fmt::print("{}", *summary);
  if (!summary && decision == Decision::Approved) return fail(summary.error(), kNo);
  if (!confirmed(options, question)) return kNo;
  if (const Status made = decide(*files, **run, decision, "the command", reason); !made)
    return fail(made.error(), made.error().code == ErrorCode::InvalidArgument ? kNo : kCannotStart);
  fmt::print("{}\n", done);
  return kDone;
}

void print_job(const KnownRun& run) {
  const std::uint64_t releases = run.account == nullptr ? 0 : run.account->releases;
  fmt::print("{}  {:10} {:20} {:24} data set {:16} epsilon {:<6.4g} {} answers sent\n", short_name(run.run), run.state,
             run.at.empty() ? "-" : run.at, plain_text(run.name), run.dataset, run.epsilon, releases);
  if (run.reason.empty()) return;
  fmt::print("    {}{}\n", run.kind.empty() ? "" : run.kind + ": ", plain_text(run.reason));
}

}  // namespace

int list_jobs(const OwnerOptions& options) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  const Result<bool> paused = files->desk.desk->paused();
  if (!paused) return fail(paused.error());
  Json out = Json::array();
  for (const KnownRun& run : files->runs) {
    if (options.json) {
      out.push_back(to_json(run));
    } else {
      print_job(run);
    }
  }
  if (options.json) {
    fmt::print("{}\n",
               Json{{"paused", *paused}, {"jobs", std::move(out)}}.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    if (files->runs.empty()) fmt::print("No job has been offered yet.\n");
    if (*paused) fmt::print("The silo is paused: it answers nothing until `undertone-silo resume`.\n");
  }
  return kDone;
}

int complete_jobs(const OwnerOptions& options) {
  const Result<Files> files = open_files(options);
  if (!files) return kDone;
  std::set<std::string> printed;
  const auto offer = [&](const std::string& word) {
    // The operator chose the names: what a shell would expand is left out.
    if (!service::is_completable(word) || !word.starts_with(options.job)) return;
    if (printed.insert(word).second) fmt::print("{}\n", word);
  };
  for (const KnownRun& run : files->runs) offer(run.name);
  if (options.job.empty()) return kDone;
  for (const KnownRun& run : files->runs) offer(short_name(run.run));
  return kDone;
}

int approve_job(const OwnerOptions& options) {
  return decide(
      options, Decision::Approved, "Take part, and charge this?",
      "Approved. The agent takes part when the coordinator offers the job again; until then `jobs` says approved.");
}

int refuse_job(const OwnerOptions& options, const std::string& reason) {
  if (reason.size() > kOwnersReasonMax)
    return fail({ErrorCode::InvalidArgument, fmt::format("--reason: {} bytes at most", kOwnersReasonMax)}, kUsage);
  return decide(options, Decision::Refused, "Refuse this job?",
                "Refused. The coordinator is told what policy.explain_refusals lets it know.", reason);
}

int withdraw_job(const OwnerOptions& options) {
  return decide(options, Decision::Withdrawn, "Withdraw for good? What was sent stays sent and charged.",
                "Withdrawn. Nothing more is answered in this run.");
}

int check_health(const OwnerOptions& options) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return fail(config.error());
  const Result<std::string> said = net::read_status(net::StatusSocket::beside(config->desk));
  if (!said) return fail({said.error().code, fmt::format("the agent does not run: {}", said.error().message)}, kNo);
  const Result<AgentStanding> standing = AgentStanding::read(*said);
  if (!standing) return fail(standing.error(), kNo);
  // A connection that the coordinator says nothing on is closed by the agent itself (session.silence_ms).
  if (!standing->connected)
    return fail({ErrorCode::Unreachable, fmt::format("the agent runs and is not connected: {}", standing->why_not)},
                kNo);
  if (!standing->unable.empty())
    return fail({ErrorCode::StorageFailed, fmt::format("the agent answers nothing: {}", standing->unable)}, kNo);
  // Connected it may be, and refuse everything: what cannot be committed is not answered.
  std::vector<std::filesystem::path> written = {config->desk};
  for (const DatasetConfig& dataset : config->datasets)
    written.insert(written.end(), {dataset.ledger, dataset.ledger_head});
  for (const std::filesystem::path& file : written) {
    if (const Status room = check_room(file); !room) return fail(room.error(), kNo);
  }
  const Result<DeskFile> desk = open_desk(*config);
  const Result<bool> paused = desk ? desk->desk->paused() : desk.error();
  if (!paused) return fail(paused.error(), kNo);
  fmt::print("connected{}{}\n", *paused ? "; paused by its owner" : "",
             standing->busy_since ? "; busy since " + service::utc_minute(*standing->busy_since) : "");
  return kDone;
}

int set_paused(const OwnerOptions& options, bool paused) {
  const Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return fail(config.error());
  const Result<DeskFile> desk = open_desk(*config);
  if (!desk) return fail(desk.error());
  if (Status done = desk->desk->set_paused(paused); !done) return fail(done.error());
  fmt::print(fmt::runtime(paused ? "Paused: from now on nothing is answered, until `undertone-silo resume`.\n"
                                 : "Resumed.\n"));
  return kDone;
}

}  // namespace undertone::silo
