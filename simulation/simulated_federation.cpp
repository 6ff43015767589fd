#include "simulation/simulated_federation.hpp"

#include <algorithm>
#include <utility>

#include "shared/jobs/public_records.hpp"

namespace undertone::simulation {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAskAgain{200};  // of people and their tools
constexpr std::chrono::seconds kAftermath{120};

std::set<std::string> names_of(const std::vector<SimulatedFederation::Shuffler>& shufflers) {
  std::set<std::string> out;
  for (const SimulatedFederation::Shuffler& shuffler : shufflers) out.insert(shuffler.name);
  return out;
}

std::map<std::string, std::string> secrets_of(const std::vector<SimulatedFederation::Shuffler>& shufflers) {
  std::map<std::string, std::string> out;
  for (const SimulatedFederation::Shuffler& shuffler : shufflers) out.emplace(shuffler.name, shuffler.secret);
  return out;
}

}  // namespace

Nonce simulated_nonce(std::uint64_t seed) {
  const Digest digest = sha256("undertone simulated nonce " + std::to_string(seed));
  Nonce nonce{};
  std::copy_n(digest.begin(), nonce.size(), nonce.begin());
  return nonce;
}

SimulatedFederation::SimulatedFederation(Setup setup)
    : setup_(std::move(setup)),
      world_(setup_.seed, setup_.faults),
      audit_(secrets_of(setup_.shufflers), setup_.sealing_secret, setup_.planner, setup_.public_folder),
      runs_(setup_.jobs.size()),
      refused_(setup_.jobs.size()) {
  world_.watch_despair([this](const std::string& process) {
    audit_.violate(process + " gave up, and its disk is well: what it left there cannot be read");
  });
  const std::set<std::string> names = names_of(setup_.shufflers);
  if (!setup_.make_algorithm) setup_.make_algorithm = jobs::algorithms_with(setup_.public_folder);
  const auto of_run = [this](const coordinator::JobService::OfRun& said) {
    if (std::holds_alternative<coordinator::RunMachine::RoundClosed>(said.what))
      audit_.check_rounds(said.run, *coordinator_->store());
    if (watch_.of_run) watch_.of_run(said);
  };
  coordinator_ = std::make_unique<SimulatedCoordinator>(
      world_, SimulatedCoordinator::Setup{names, setup_.sealing_secret, setup_.planner, setup_.make_algorithm,
                                          setup_.public_folder, of_run});
  world_.add(*coordinator_, milliseconds(0));
  for (const Shuffler& shuffler : setup_.shufflers) {
    shufflers_.push_back(std::make_unique<SimulatedShuffler>(
        world_, shuffler.name, shuffler.secret,
        SimulatedShuffler::Watch{[this](const std::string& name, const shuffler::BatchMachine::Action& action) {
                                   audit_.acts(name, action);
                                 },
                                 [this](const std::string& name, const std::vector<shuffler::Batch>& batches) {
                                   audit_.restored(name, batches);
                                 }}));
    SimulatedShuffler& process = *shufflers_.back();
    world_.add(process, milliseconds(0));
    world_.link(*coordinator_, process);
    process.know(*coordinator_);
    coordinator_->know(process);
  }
  for (SimulatedSilo& spec : setup_.silos) {
    const SiloId id = spec.id;
    SimulatedSiloProcess::Watch watch;
    watch.leaving = [this](const SimulatedSiloProcess::Leaving& leaving) {
      audit_.leaving(leaving, *silos_.at(leaving.silo));
      if (watch_.leaving) watch_.leaving(leaving);
    };
    watch.received = [this](const SiloId& silo, const wire::Message& message) {
      if (watch_.received) watch_.received(silo, message);
    };
    watch.rested = [this](SimulatedSiloProcess& silo) { audit_.rested(silo); };
    watch.halted = [this](const SiloId& silo, const Error& reason) {
      audit_.violate(fmt::format("silo {} halted: {}", silo.name(), reason.message));
    };
    auto process = std::make_unique<SimulatedSiloProcess>(world_, std::move(spec), setup_.seed, setup_.noise, names,
                                                          setup_.planner, std::move(watch));
    const auto joins = setup_.joins.find(id);
    world_.add(*process, joins == setup_.joins.end() ? milliseconds(0) : joins->second);
    world_.link(*process, *coordinator_);
    process->know(*coordinator_);
    coordinator_->know(*process);
    for (const std::unique_ptr<SimulatedShuffler>& shuffler : shufflers_) {
      world_.link(*process, *shuffler);
      process->know(*shuffler);
      shuffler->know(*process);
    }
    silos_.emplace(id, std::move(process));
  }
  setup_.silos.clear();
}

SimulatedFederation::~SimulatedFederation() = default;

void SimulatedFederation::run(Watch watch) {
  watch_ = std::move(watch);
  for (std::size_t job = 0; job < setup_.jobs.size(); ++job) {
    world_.after(setup_.jobs[job].submitted, [this, job] { submit(job); });
    if (setup_.jobs[job].cancelled) world_.after(*setup_.jobs[job].cancelled, [this, job] { cancel(job); });
  }
  for (const OwnersAct& one : setup_.acts) world_.after(one.at, [this, one] { act(one); });
  const auto stopped = [this] { return setup_.stop && setup_.stop(); };
  if (!world_.run(setup_.time_max, [&] { return !violations().empty() || stopped() || all_ended(); })) {
    std::string open;
    for (std::size_t job = 0; job < runs_.size(); ++job) open += fmt::format("; job {}: {}", job, where_it_stands(job));
    audit_.violate(fmt::format("the runs did not end within {} ms of virtual time{}", setup_.time_max.count(), open));
    return;
  }
  if (stopped()) return;
  world_.calm();
  (void)world_.run(world_.elapsed() + kAftermath, [this] { return !violations().empty(); });
  if (!violations().empty()) return;
  check_ends();
}

void SimulatedFederation::submit(std::size_t job) {
  const Job& wanted = setup_.jobs[job];
  world_.after(*coordinator_, milliseconds(0), [this, job, &wanted] {
    const Nonce nonce = wanted.nonce.value_or(simulated_nonce(setup_.seed + job));
    const Result<std::optional<RunId>> run = coordinator_->submit(wanted.text, wanted.file, nonce);
    if (!run) {
      refused_[job] = run.error();
    } else if (*run) {
      runs_[job] = **run;
      audit_.submitted(**run, wanted.text);
    }
  });
  // Until an answer came.
  world_.after(kAskAgain, [this, job] {
    if (!runs_[job] && !refused_[job]) submit(job);
  });
}

void SimulatedFederation::cancel(std::size_t job) {
  const auto heard = std::make_shared<bool>(false);
  world_.after(*coordinator_, milliseconds(0), [this, job, heard] {
    *heard = refused_[job].has_value() || (runs_[job] && coordinator_->cancel(*runs_[job]));
  });
  world_.after(kAskAgain, [this, job, heard] {
    if (!*heard) cancel(job);
  });
}

void SimulatedFederation::act(const OwnersAct& act) {
  using What = OwnersAct::What;
  SimulatedSiloProcess& silo = *silos_.at(act.silo);
  if (act.what == What::Leave) {
    left_.insert(act.silo);
    return world_.retire(silo);
  }
  const auto done = std::make_shared<bool>(false);
  world_.after(silo, milliseconds(0), [this, act, &silo, done] {
    if (act.what == What::Withdraw) {
      if (!runs_[act.job]) return;
      *done = silo.withdraw(*runs_[act.job]);
      if (*done) audit_.withdrawn(act.silo, *runs_[act.job]);
    } else {
      const bool pauses = act.what == What::Pause;
      if (!pauses) audit_.paused(act.silo, false);  // it may be on disk although the process dies over it
      *done = silo.set_paused(pauses);
      if (*done && pauses) audit_.paused(act.silo, true);
    }
  });
  world_.after(kAskAgain, [this, act, done] {
    const bool given_up = left_.contains(act.silo) || (act.what == What::Withdraw && refused_[act.job]);
    if (!*done && !given_up) this->act(act);
  });
}

bool SimulatedFederation::all_ended() {
  for (std::size_t job = 0; job < runs_.size(); ++job) {
    if (!runs_[job] && !refused_[job]) return false;
  }
  return coordinator_->alive() && coordinator_->service() != nullptr && coordinator_->service()->idle();
}

std::string SimulatedFederation::where_it_stands(std::size_t job) const {
  if (refused_[job]) return "refused";
  if (!runs_[job]) return "not submitted";
  const coordinator::JobService* service = coordinator_->service();
  const coordinator::RunMachine* machine = service == nullptr ? nullptr : service->machine(*runs_[job]);
  if (machine == nullptr) return service == nullptr ? "the coordinator is down" : "over or queued";
  std::string out = fmt::format("phase {}", static_cast<int>(machine->phase()));
  if (const auto progress = machine->progress()) out += fmt::format(", round {}", progress->round.value);
  for (const auto& [id, silo] : silos_) {
    out += fmt::format(", {} {}{}", id.name(), silo->alive() ? "lives" : "is down",
                       silo->ledger() == nullptr ? " without a ledger" : "");
    if (const std::string why = machine->why_missing(id); !why.empty()) out += " (" + why + ")";
  }
  return out;
}

void SimulatedFederation::check_ends() {
  for (std::size_t job = 0; job < runs_.size(); ++job) {
    if (!runs_[job]) continue;
    audit_.check_rounds(*runs_[job], store());
    const Result<algorithms::Outcome> said = outcome(job);
    const std::optional<algorithms::Outcome>& expected = audit_.expected(*runs_[job]);
    const auto where = [&] { return fmt::format("job {}", job); };
    if (said.has_value() != expected.has_value()) {
      audit_.violate(fmt::format("{}: it ended otherwise than its rounds: {}", where(),
                                 said ? "well, and they do not" : said.error().message));
    } else if (said) {
      if (said->vectors != expected->vectors) audit_.violate(where() + ": the model is not what its replies lead to");
      if (said->statistics != expected->statistics)
        audit_.violate(where() + ": a statistic is not what its replies lead to");
      for (std::size_t i = 0; i < said->metrics.size(); ++i) {
        if (i >= expected->metrics.size() || said->metrics[i].values != expected->metrics[i].values)
          audit_.violate(where() + ": an evaluation is not what its replies lead to");
      }
    }
    for (const auto& [id, silo] : silos_) {
      if (left_.contains(id) || silo->ledger() == nullptr) continue;
      const silo::RunAccount* account = silo->ledger()->account(*runs_[job]);
      if (account != nullptr && !account->ended)
        audit_.violate(fmt::format("{}: silo {} never heard that it is over", where(), id.name()));
    }
  }
}

Result<algorithms::Outcome> SimulatedFederation::outcome(std::size_t job) {
  if (refused_[job]) return *refused_[job];
  if (!runs_[job] || coordinator_->store() == nullptr)
    return Error{ErrorCode::Internal, "the simulated run did not end"};
  UNDERTONE_TRY(std::optional<coordinator::RunRecord> record, store().find(*runs_[job]));
  if (!record) return Error{ErrorCode::Internal, "the run is not in the store"};
  if (!coordinator::is_end((*record).state)) return Error{ErrorCode::Internal, "the simulated run did not end"};
  UNDERTONE_TRY(coordinator::RunMachine machine,
                coordinator::RunMachine::open(store(), *std::move(record), wire::Limits{}, setup_.planner,
                                              setup_.make_algorithm));
  UNDERTONE_TRY(std::vector<coordinator::RunMachine::Action> actions, machine.start(world_.now()));
  for (coordinator::RunMachine::Action& action : actions) {
    if (auto* ended = std::get_if<coordinator::RunMachine::Ended>(&action)) return std::move(ended->outcome);
  }
  return Error{ErrorCode::Internal, "an ended run does not say how"};
}

}  // namespace undertone::simulation
