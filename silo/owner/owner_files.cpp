#include "silo/owner/owner_files.hpp"

#include <cstdio>
#include <set>

#include "shared/base/plain_text.hpp"

namespace undertone::silo {
namespace {

/// Whether the owner's word names this run: a prefix of its nonce or of its whole id, or the job's name.
bool names(const std::string& word, const RunId& run, const std::string& job_name) {
  const std::string hex = run.hex();
  return word.size() >= 4 &&
         (hex.compare(64, word.size(), word) == 0 || hex.compare(0, word.size(), word) == 0 || word == job_name);
}

Status collect_runs(Files& files) {
  Result<std::vector<DeskOffer>> offers = files.desk.desk->offers();
  if (!offers) return offers.error();
  std::map<RunId, Decision> decisions;
  for (const DeskOffer& offer : *offers) decisions[offer.run] = offer.decision;
  const auto add = [&files](KnownRun run) {
    if (!run.job_bytes.empty()) {
      Result<jobs::Job> job = jobs::parse_job(run.job_bytes, "job");
      if (job) run.name = job->name;
      if (job) run.job.emplace(*std::move(job));
    }
    files.runs.push_back(std::move(run));
  };
  std::set<RunId> seen;
  for (auto& [dataset, view] : files.ledgers) {
    for (const auto& [run, account] : view.ledger->accounts()) {
      const Result<std::optional<std::string>> job = view.ledger->job_of(run);
      if (!job) return job.error();
      const auto decision = decisions.find(run);
      const bool withdrawn = decision != decisions.end() &&
                             (decision->second == Decision::Withdrawn || decision->second == Decision::Refused);
      std::string state = account.returned ? "returned" : account.ended ? "ended" : withdrawn ? "withdrawn" : "open";
      seen.insert(run);
      add({run, dataset, std::move(state), "", std::nullopt, job->value_or(""), &account});
    }
  }
  for (const DeskOffer& offer : *offers) {
    if (!seen.contains(offer.run))
      add({offer.run, offer.dataset, to_string(offer.decision), "", std::nullopt, offer.job, nullptr});
  }
  return {};
}

}  // namespace

std::string short_name(const RunId& run) { return run.hex().substr(64, 12); }

Result<Files> open_files(const OwnerOptions& options) {
  Result<SiloConfig> config = load_silo_config(options.config);
  if (!config) return config.error();
  Result<DeskFile> desk = open_desk(*config);
  if (!desk) return desk.error();
  Files files{*std::move(config), *std::move(desk), {}, {}};
  for (const DatasetConfig& dataset : files.config.datasets) {
    if (!options.dataset.empty() && options.dataset != dataset.name) continue;
    if (!ledger_has_begun(dataset)) continue;
    Result<LedgerView> view = view_ledger(dataset, files.config.policy, options.noise);
    if (!view) return view.error();
    files.ledgers.emplace(dataset.name, *std::move(view));
  }
  UNDERTONE_TRY(collect_runs(files));
  return files;
}

Result<const KnownRun*> find_run(const Files& files, const std::string& word) {
  const KnownRun* found = nullptr;
  for (const KnownRun& run : files.runs) {
    if (!names(word, run.run, run.name)) continue;
    if (found != nullptr) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("\"{}\" names more than one run: give the beginning of one of the ids that `jobs` shows",
                               plain_text(word))};
    }
    found = &run;
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
