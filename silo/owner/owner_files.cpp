#include "silo/owner/owner_files.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "shared/base/plain_text.hpp"
#include "shared/service/clock.hpp"
#include "silo/ledger/ledger_entry.hpp"

namespace undertone::silo {
namespace {

/// Whether the owner's word names this run: a prefix of its nonce or of its whole id, or the job's name.
bool names(const std::string& word, const RunId& run, const std::string& job_name) {
  const std::string hex = run.hex();
  return word.size() >= 4 &&
         (hex.compare(64, word.size(), word) == 0 || hex.compare(0, word.size(), word) == 0 || word == job_name);
}

/// Reads the job's text, where it is kept.
KnownRun with_job(KnownRun run, const SiloId& silo) {
  if (run.job_bytes.empty()) return run;
  Result<jobs::Job> job = jobs::parse_job(run.job_bytes, "job");
  if (!job) return run;
  run.name = job->name;
  if (const jobs::CohortMember* member = job->member(silo)) {
    run.epsilon = member->facts.epsilon().value();
    run.delta = member->facts.delta();
  }
  run.job.emplace(*std::move(job));
  return run;
}

std::string state_of(const RunAccount& account, const std::optional<Decision>& decision) {
  if (account.returned) return "returned";
  if (account.ended) return "ended";
  return decision == Decision::Withdrawn || decision == Decision::Refused ? "withdrawn" : "open";
}

/// What became of an offer stands above what its owner had decided: an approved job that the ledger refused is refused.
void add_outcome(KnownRun& run, const PastOffer& past) {
  const bool same = run.state == "refused" && past.outcome == PastOffer::Outcome::Refused;
  if (run.state != "waiting" && run.state != "approved" && !same) return;
  run.state = to_string(past.outcome);
  run.kind = past.kind;
  run.reason = past.reason;
  run.at = service::utc_time(past.at);
}

KnownRun of_past(const PastOffer& past) {
  KnownRun run{past.run,     past.dataset, to_string(past.outcome),    past.name, std::nullopt,
               "",           nullptr,      service::utc_time(past.at), past.kind, past.reason,
               past.epsilon, past.delta};
  return run;
}

}  // namespace

std::string short_name(const RunId& run) { return run.hex().substr(64, 12); }

Result<Files> open_files(const OwnerOptions& options) {
  UNDERTONE_TRY(SiloConfig config, load_silo_config(options.config));
  UNDERTONE_TRY(DeskFile desk, open_desk(config));
  Files files{std::move(config), std::move(desk), {}, {}};
  for (const DatasetConfig& dataset : files.config.datasets) {
    if (!options.dataset.empty() && options.dataset != dataset.name) continue;
    if (!ledger_has_begun(dataset)) continue;
    UNDERTONE_TRY(LedgerView view, view_ledger(dataset, files.config.policy, options.noise));
    files.ledgers.emplace(dataset.name, std::move(view));
  }
  UNDERTONE_TRY(std::vector<KnownRun> runs, known_runs(*files.desk.desk, files.ledgers, files.config.id));
  files.runs = std::move(runs);
  return files;
}

Result<std::vector<KnownRun>> known_runs(Desk& desk, const std::map<std::string, LedgerView>& ledgers,
                                         const SiloId& silo) {
  UNDERTONE_TRY(const std::vector<DeskOffer> offers, desk.offers());
  UNDERTONE_TRY(const std::vector<PastOffer> past, desk.past().all());
  std::map<RunId, Decision> decisions;
  for (const DeskOffer& offer : offers) decisions[offer.run] = offer.decision;
  std::map<RunId, const PastOffer*> outcomes;
  for (const PastOffer& offer : past) outcomes[offer.run] = &offer;
  std::vector<KnownRun> runs;
  std::set<RunId> seen;
  for (const auto& [dataset, view] : ledgers) {
    for (const auto& [run, account] : view.ledger->accounts()) {
      UNDERTONE_TRY(const std::optional<std::string> job, view.ledger->job_of(run));
      const auto decision = decisions.find(run);
      std::string state =
          state_of(account, decision == decisions.end() ? std::nullopt : std::optional(decision->second));
      seen.insert(run);
      KnownRun known{
          run, dataset, std::move(state), "", std::nullopt, job.value_or(""), &account, account.reserved_at, "", "",
          0.0, 0.0};
      // A policy that became stricter refuses what it accepted before.
      const auto outcome = outcomes.find(run);
      if (outcome != outcomes.end() && known.state == "open") known.reason = outcome->second->reason;
      runs.push_back(with_job(std::move(known), silo));
    }
  }
  for (const DeskOffer& offer : offers) {
    if (!seen.insert(offer.run).second) continue;
    KnownRun known{offer.run,
                   offer.dataset,
                   to_string(offer.decision),
                   "",
                   std::nullopt,
                   offer.job,
                   nullptr,
                   offer.first_seen == 0 ? "" : service::utc_time(offer.first_seen),
                   "",
                   "",
                   0.0,
                   0.0};
    const auto outcome = outcomes.find(offer.run);
    if (outcome != outcomes.end()) add_outcome(known, *outcome->second);
    runs.push_back(with_job(std::move(known), silo));
  }
  for (const PastOffer& offer : past) {
    if (seen.insert(offer.run).second) runs.push_back(of_past(offer));
  }
  // Times are written so that later ones compare as greater.
  std::stable_sort(runs.begin(), runs.end(), [](const KnownRun& a, const KnownRun& b) { return a.at > b.at; });
  return runs;
}

Result<const KnownRun*> find_run(const Files& files, const std::string& word, const std::vector<std::string>& states) {
  const KnownRun* found = nullptr;
  const KnownRun* other = nullptr;  // it has the name, and is in another state
  for (const KnownRun& run : files.runs) {
    if (!names(word, run.run, run.name)) continue;
    if (std::find(states.begin(), states.end(), run.state) == states.end()) {
      if (other == nullptr) other = &run;
      continue;
    }
    if (found != nullptr) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("\"{}\" names more than one run that is {}: give the beginning of one of the ids that "
                               "`jobs` shows",
                               plain_text(word), fmt::join(states, " or "))};
    }
    found = &run;
  }
  if (found == nullptr && other != nullptr) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("\"{}\": expected a run that is {}, found {} which is {}{}{}", plain_text(word),
                             fmt::join(states, " or "), short_name(other->run), other->state,
                             other->reason.empty() ? "" : ": ", plain_text(other->reason))};
  }
  if (found == nullptr)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("no run is called \"{}\"; `jobs` lists them", plain_text(word))};
  return found;
}

const DatasetConfig* config_of(const SiloConfig& config, const std::string& dataset) {
  for (const DatasetConfig& candidate : config.datasets) {
    if (candidate.name == dataset) return &candidate;
  }
  return nullptr;
}

Budget reserved_of(const Files& files, const std::string& dataset) {
  const auto view = files.ledgers.find(dataset);
  if (view == files.ledgers.end()) return {};
  return {view->second.ledger->epsilon_reserved(), view->second.ledger->delta_reserved()};
}

const silo::GaussianFilter* filter_of(const Files& files, const std::string& dataset) {
  const auto view = files.ledgers.find(dataset);
  if (view == files.ledgers.end()) return nullptr;
  const std::optional<silo::GaussianFilter>& filter = view->second.ledger->filter();
  return filter ? &*filter : nullptr;
}

nlohmann::ordered_json amounts(const releases::EpsilonAmount& epsilon, const releases::DeltaAmount& delta) {
  return {{"epsilon", epsilon.value_rounded_up()}, {"delta", delta.value_rounded_up()}};
}

}  // namespace undertone::silo
