#include <cstdio>
#include <set>

#include "shared/base/plain_text.hpp"
#include "shared/net/status_socket.hpp"
#include "shared/service/clock.hpp"
#include "shared/service/help_texts.hpp"
#include "silo/agent/job_summary.hpp"
#include "silo/owner/agent_standing.hpp"
#include "silo/owner/disk_room.hpp"
#include "silo/owner/job_prospects.hpp"
#include "silo/owner/questions.hpp"

/// Jobs, and what the owner says to them.
namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;

Result<std::string> summary_of(const Files& files, const KnownRun& run) {
  if (!run.job) return Error{ErrorCode::UnknownRun, "the job of this run is not kept any more"};
  const jobs::CohortMember* member = run.job->member(files.config.id);
  if (member == nullptr) return Error{ErrorCode::PolicyRefused, "the job's cohort does not name this silo"};
  UNDERTONE_TRY(planning::Plan plan, jobs::plan_of(*run.job, *member));
  if (run.account != nullptr) {  // what was accepted is described, or nothing
    UNDERTONE_TRY(files.ledgers.at(run.dataset).ledger->check_reserved(run.run, plan));
  }
  return describe_job(run.run, {*run.job, std::move(plan)}, files.config.id, run.dataset,
                      reserved_of(files, run.dataset), files.config.policy.total, filter_of(files, run.dataset));
}

/// Why the agent would refuse the job if it were offered again now; nothing where it would not.
std::string refused_now(const Files& files, const KnownRun& run, crypto::NoiseKind noise) {
  const DatasetConfig* dataset = config_of(files.config, run.dataset);
  if (dataset == nullptr) return fmt::format("the configuration has no data set \"{}\" any more", run.dataset);
  const jobs::CohortMember* member = run.job ? run.job->member(files.config.id) : nullptr;
  if (member == nullptr) return "the job's cohort does not name this silo";
  return every_reason(
      {{dataset->name, objections_now(files, *dataset, facts_as_offered(*dataset, *member), *run.job, noise)}});
}

/// What the owner reads of a job that they refused themselves.
Status note_refused(const Files& files, const KnownRun& run) {
  return files.desk.desk->past().note({run.run, run.dataset, run.name, PastOffer::Outcome::Refused,
                                       to_string(ObjectionKind::Owner), "you refused it", run.epsilon, run.delta,
                                       service::wall_clock()});
}

/// States of runs that a decision can be about.
std::vector<std::string> candidates_of(Decision decision) {
  if (decision == Decision::Withdrawn) return {"open", "approved", "waiting"};
  return {"waiting"};
}

int decide(const OwnerOptions& options, Decision decision, const char* question, const char* done) {
  const Result<Files> files = open_files(options);
  if (!files) return fail(files.error());
  const Result<const KnownRun*> run = find_run(*files, options.job, candidates_of(decision));
  if (!run) return fail(run.error(), kNo);
  if (decision == Decision::Approved) {
    const std::string refused = refused_now(*files, **run, options.noise);
    if (!refused.empty()) {
      return fail({ErrorCode::PolicyRefused, fmt::format("run {}: this would be refused, because {}; it still waits",
                                                         short_name((*run)->run), plain_text(refused))},
                  kNo);
    }
  }
  const Result<std::string> summary = summary_of(*files, **run);
  if (summary) fmt::print("{}", *summary);
  if (!summary && decision == Decision::Approved) return fail(summary.error(), kNo);
  if (!confirmed(options, question)) return kNo;
  const Result<bool> made = files->desk.desk->decide((*run)->run, decision);
  if (!made) return fail(made.error());
  if (!*made) return fail({ErrorCode::InvalidArgument, "this run was withdrawn; that is final"}, kNo);
  if (decision == Decision::Refused) {
    if (Status noted = note_refused(*files, **run); !noted) return fail(noted.error());
  }
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

nlohmann::ordered_json json_of(const KnownRun& run) {
  return {{"run", run.run.hex()},
          {"id", short_name(run.run)},
          {"name", run.name},
          {"dataset", run.dataset},
          {"state", run.state},
          {"at", run.at},
          {"kind", run.kind},
          {"reason", plain_text(run.reason)},
          {"releases", run.account == nullptr ? 0 : run.account->releases},
          {"epsilon", run.epsilon},
          {"delta", run.delta}};
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
      out.push_back(json_of(run));
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

int refuse_job(const OwnerOptions& options) {
  return decide(options, Decision::Refused, "Refuse this job?",
                "Refused. The coordinator is told what policy.explain_refusals lets it know.");
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
