#include "coordinator/jobs/job_service.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "shared/base/contained.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/sealed/round_layout.hpp"

namespace undertone::coordinator {
namespace {

/// The run that a silo's message is about, if it is about one.
const RunId* run_of(const wire::Message& message) {
  return std::visit(
      [](const auto& m) -> const RunId* {
        if constexpr (requires { m.run; }) {
          return &m.run;
        } else {
          return nullptr;
        }
      },
      message);
}

}  // namespace

JobService::JobService(RunStore& store, wire::Limits wire, const ServiceLimits& limits, Clock clock,
                       std::set<std::string> shufflers, jobs::Planner planner, jobs::AlgorithmMaker make_algorithm)
    : store_(&store),
      wire_(wire),
      limits_(limits),
      clock_(std::move(clock)),
      shufflers_(std::move(shufflers)),
      planner_(std::move(planner)),
      make_algorithm_(std::move(make_algorithm)),
      encoder_(wire) {}

Result<JobService::Actions> JobService::start(TimePoint now, const std::map<RunId, RoundIndex>& set_aside) {
  started_ = now;
  started_at_ = clock_();
  if (Status dated = store_->set_missing_ends(clock_()); !dated) return dated.error();
  UNDERTONE_TRY(const std::vector<RunId> unfinished, store_->unfinished());
  Actions out;
  // What was under way goes on, whatever the limit says today; what waited waits.
  for (const RunId& run : unfinished) {
    UNDERTONE_TRY(const std::optional<RunRecord> record, store_->find(run));
    if (const auto aside = set_aside.find(run); aside != set_aside.end()) {
      const std::string reason = fmt::format(
          "set aside: the coordinator died again and again while it worked on round {}; the run is not taken up any "
          "more",
          aside->second.value);
      UNDERTONE_TRY(store_->fail(run, RunState::Failed, reason));
      UNDERTONE_TRY(store_->set_ended_at(run, date_of(now)));
      out.emplace_back(OfRun{run, RunMachine::LogEvent{true, fmt::format("run_set_aside run={} round={}", run.hex(),
                                                                         aside->second.value)}});
    } else if (record->state == RunState::Queued) {
      queue_.push_back(run);
    } else if (Status launched = launch(run, now, out); !launched) {
      return launched.error();
    }
  }
  return settle(now, std::move(out));
}

Status JobService::launch(const RunId& run, TimePoint now, Actions& out) {
  UNDERTONE_TRY(std::optional<RunRecord> record, store_->find(run));
  if (!record) return Error{ErrorCode::StorageFailed, "a run has vanished from the store"};
  Result<RunMachine> machine = contained("opening the run", [&] {
    return RunMachine::open(*store_, *std::move(record), wire_, planner_, make_algorithm_);
  });
  if (!machine) {
    // Written by a version that knew more than this one: the run fails, the service goes on.
    const std::string reason = fmt::format("this version cannot run the job: {}", machine.error().message);
    UNDERTONE_TRY(store_->fail(run, RunState::Failed, reason));
    out.emplace_back(OfRun{
        run, RunMachine::LogEvent{true, fmt::format("run_failed run={} reason={}", run.hex(), quoted_text(reason))}});
    return store_->set_ended_at(run, date_of(now));
  }
  RunMachine& placed = *machines_.emplace(run, std::make_unique<RunMachine>(*std::move(machine))).first->second;
  UNDERTONE_TRY(take(run, placed.start(now), out));
  for (const SiloId& silo : connected_) {
    if (placed.job().member(silo) == nullptr) continue;
    UNDERTONE_TRY(take(run, placed.on_connected(silo, now), out));
  }
  for (const std::string& shuffler : shufflers_connected_) {
    UNDERTONE_TRY(take(run, placed.on_shuffler_connected(shuffler, now), out));
  }
  return {};
}

Status JobService::launch_queued(TimePoint now, Actions& out) {
  // What has ended and waits for silos to hear of it takes nobody's place.
  const auto under_way = [this] {
    return static_cast<std::size_t>(
        std::count_if(machines_.begin(), machines_.end(), [](const auto& one) { return !one.second->ended(); }));
  };
  while (!queue_.empty() && under_way() < limits_.runs_at_once) {
    const RunId next = queue_.front();
    queue_.erase(queue_.begin());
    UNDERTONE_TRY(launch(next, now, out));
  }
  return {};
}

Status JobService::take(const RunId& run, Result<std::vector<RunMachine::Action>> actions, Actions& out) {
  if (!actions) return actions.error();
  for (RunMachine::Action& action : *actions) {
    if (auto* send = std::get_if<RunMachine::Send>(&action)) {
      out.emplace_back(std::move(*send));
    } else if (auto* shuffled = std::get_if<RunMachine::SendToShuffler>(&action)) {
      out.emplace_back(std::move(*shuffled));
    } else if (const auto* armed = std::get_if<RunMachine::ArmTimer>(&action)) {
      timers_[run] = armed->at;
    } else if (auto* advance = std::get_if<Advance>(&action)) {
      out.emplace_back(std::move(*advance));
    } else {
      if (std::holds_alternative<RunMachine::Goodbye>(action)) done_.insert(run);
      if (std::holds_alternative<RunMachine::Ended>(action)) ended_.insert(run);
      std::visit(
          [&](auto& what) {
            using What = std::decay_t<decltype(what)>;
            if constexpr (std::is_constructible_v<decltype(OfRun::what), What>)
              out.emplace_back(OfRun{run, std::move(what)});
          },
          action);
    }
  }
  return {};
}

std::int64_t JobService::date_of(TimePoint now) const {
  constexpr std::int64_t kDay = std::int64_t{24} * 3600;
  const std::int64_t wall = clock_();
  const std::int64_t expected = started_at_ + std::chrono::duration_cast<std::chrono::seconds>(now - started_).count();
  return std::abs(wall - expected) > kDay ? expected : wall;
}

std::int64_t JobService::forget_before(TimePoint now) const {
  const std::int64_t wall = clock_();
  if (date_of(now) != wall) return 0;
  return wall - std::chrono::duration_cast<std::chrono::seconds>(limits_.runs_kept).count();
}

Status JobService::date_ends(TimePoint now) {
  for (const RunId& run : std::exchange(ended_, {})) {
    if (Status dated = store_->set_ended_at(run, date_of(now)); !dated) return dated;
  }
  return {};
}

Result<JobService::Actions> JobService::settle(TimePoint now, Actions out) {
  if (Status dated = date_ends(now); !dated) return dated.error();
  const bool any_done = !done_.empty();
  for (const RunId& run : std::exchange(done_, {})) {
    machines_.erase(run);
    timers_.erase(run);
  }
  if (any_done) {
    UNDERTONE_TRY(const std::vector<RunId> forgotten, store_->prune(limits_.runs_kept_max, forget_before(now)));
    for (const RunId& run : forgotten) out.emplace_back(Forgotten{run});
  }
  UNDERTONE_TRY(launch_queued(now, out));
  UNDERTONE_TRY(date_ends(now));  // of those that ended as they were launched
  if (!timers_.empty()) {
    const auto earliest = std::min_element(timers_.begin(), timers_.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
    out.emplace_back(ArmTimer{earliest->second});
  }
  return out;
}

Result<PlannedJob> PlannedJob::plan(const std::string& text, const std::string& file, const jobs::Planner& planner,
                                    const std::optional<std::filesystem::path>& public_folder) {
  return contained("planning the job", [&] { return plan_of_text(text, file, planner, public_folder); });
}

Result<PlannedJob> PlannedJob::plan_of_text(const std::string& text, const std::string& file,
                                            const jobs::Planner& planner,
                                            const std::optional<std::filesystem::path>& public_folder) {
  UNDERTONE_TRY(jobs::ReadJob read, jobs::read_job(text, file));
  UNDERTONE_TRY(PreparedJob prepared, PreparedJob::make(std::move(read), file, planner, public_folder));
  const jobs::Job& job = prepared.job;
  if (job.algorithm->traits().simulated_only) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: /algorithm/kind: {} is a baseline of simulations, which no silo answers: undertone "
                             "simulate runs it",
                             file, job.algorithm->name())};
  }
  return PlannedJob(text, file, std::move(prepared));
}

Result<std::optional<RunId>> JobService::known(const std::string& job, bool again) const {
  UNDERTONE_TRY(const std::optional<RunRecord> newest, store_->newest_run(sha256(job)));
  if (newest && (!again || !is_end(newest->state))) return std::optional(newest->run);
  return std::optional<RunId>();
}

Result<JobService::Submitted> JobService::submit(const PlannedJob& planned, const Nonce& nonce, bool again,
                                                 TimePoint now) {
  const jobs::Job& job = planned.prepared_.job;
  if (job.shuffle) {
    if (const Status able = check_shuffle(*job.shuffle); !able)
      return Error{able.error().code, planned.file_ + ": " + able.error().message};
  }
  UNDERTONE_TRY(const std::optional<RunId> there, known(planned.text_, again));
  if (there) return Submitted{*there, false, {}};
  const Digest id = sha256(planned.text_);
  if (queue_.size() >= limits_.runs_queued_max) {
    return Error{ErrorCode::LimitExceeded, fmt::format("{} jobs wait already, which is the most", queue_.size())};
  }
  const RunId run{id, nonce};
  std::vector<SiloId> cohort;
  cohort.reserve(job.cohort.size());
  for (const jobs::CohortMember& member : job.cohort) cohort.push_back(member.facts.silo);
  UNDERTONE_TRY(store_->begin(run, job.name, planned.text_, cohort, planned.prepared_.save(), clock_()));
  queue_.push_back(run);
  UNDERTONE_TRY(Actions actions, settle(now, {}));
  return Submitted{run, true, std::move(actions)};
}

Result<JobService::Actions> JobService::cancel(const RunId& run, const std::string& reason, TimePoint now) {
  const auto queued = std::find(queue_.begin(), queue_.end(), run);
  Actions out;
  if (queued != queue_.end()) {
    UNDERTONE_TRY(store_->fail(run, RunState::Cancelled, reason));
    UNDERTONE_TRY(store_->set_ended_at(run, date_of(now)));
    queue_.erase(queued);
    out.emplace_back(OfRun{run, RunMachine::Ended{Error{ErrorCode::Cancelled, reason}}});
    return settle(now, std::move(out));
  }
  const auto found = machines_.find(run);
  if (found == machines_.end() || found->second->ended()) {
    UNDERTONE_TRY(const std::optional<RunRecord> record, store_->find(run));
    if (!record) return Error{ErrorCode::UnknownRun, "no such run"};
    return Error{ErrorCode::InvalidArgument, fmt::format("the run has ended: {}", to_string(record->state))};
  }
  UNDERTONE_TRY(take(run, found->second->cancel(reason, now), out));
  return settle(now, std::move(out));
}

Result<JobService::Actions> JobService::on_connected(const SiloId& silo, TimePoint now) {
  connected_.insert(silo);
  told_over_.erase(silo);
  UNDERTONE_TRY(store_->record_seen(silo));
  Actions out;
  // A silo that missed an end still holds its reservation open.
  UNDERTONE_TRY(const auto ends, store_->ends_unseen(silo));
  for (const auto& [run, succeeded] : ends) {
    if (machines_.contains(run)) continue;
    out.emplace_back(
        SessionSend{silo, std::make_shared<const std::string>(encoder_.encode(wire::JobEnded{run, succeeded}))});
  }
  for (const auto& [run, machine] : machines_) {
    if (machine->job().member(silo) == nullptr) continue;
    UNDERTONE_TRY(take(run, machine->on_connected(silo, now), out));
  }
  return settle(now, std::move(out));
}

Result<JobService::Actions> JobService::on_disconnected(const SiloId& silo, TimePoint now) {
  connected_.erase(silo);
  told_over_.erase(silo);
  Actions out;
  for (const auto& [run, machine] : machines_) {
    UNDERTONE_TRY(take(run, machine->on_disconnected(silo, now), out));
  }
  return settle(now, std::move(out));
}

Result<JobService::Actions> JobService::on_message(const SiloId& silo, const wire::Message& message, TimePoint now) {
  Actions out;
  if (const auto* receipt = std::get_if<wire::ReceiptMessage>(&message)) {
    UNDERTONE_TRY(store_->record_receipt(silo, receipt->receipt));
    return out;
  }
  const RunId* run = run_of(message);
  const auto found = run == nullptr ? machines_.end() : machines_.find(*run);
  if (found != machines_.end()) {
    UNDERTONE_TRY(take(found->first, found->second->on_message(silo, message, now), out));
  } else if (const auto* seen = std::get_if<wire::JobEndedSeen>(&message)) {
    UNDERTONE_TRY(store_->record_end_seen(seen->run, silo));
  } else if (const auto* answer = std::get_if<wire::JobAnswer>(&message); answer != nullptr && !answer->refusal) {
    // It reserved for a run that is over: it need not keep that open. Once, or whoever invents runs is answered for
    // ever.
    std::set<RunId>& told = told_over_[silo];
    if (told.size() < kUnknownRunsMax && told.insert(answer->run).second) {
      out.emplace_back(
          SessionSend{silo, std::make_shared<const std::string>(encoder_.encode(wire::JobEnded{answer->run, false}))});
    }
  }
  return settle(now, std::move(out));
}

std::optional<Round::Reception> JobService::refuses(const SiloId& silo, const wire::VectorHeader& header) const {
  const auto found = machines_.find(header.run);
  if (found == machines_.end()) return Round::Reception::Foreign;
  return found->second->refuses(silo, header);
}

Result<JobService::Actions> JobService::on_shuffler_connected(const std::string& shuffler, TimePoint now) {
  shufflers_connected_.insert(shuffler);
  Actions out;
  for (const auto& [run, machine] : machines_) {
    UNDERTONE_TRY(take(run, machine->on_shuffler_connected(shuffler, now), out));
  }
  return settle(now, std::move(out));
}

Result<JobService::Actions> JobService::on_shuffler_message(const std::string& shuffler, wire::Message message,
                                                            TimePoint now) {
  Actions out;
  const RunId* run = run_of(message);
  const auto found = run == nullptr ? machines_.end() : machines_.find(*run);
  if (found == machines_.end()) return out;
  const RunId known = found->first;
  UNDERTONE_TRY(take(known, found->second->on_shuffler_message(shuffler, std::move(message), now), out));
  return settle(now, std::move(out));
}

Result<Digest> make_sealing_key(RunStore& store) {
  const sealed::SealingKey key = sealed::SealingKey::generate();
  const Digest fingerprint = key.public_key().fingerprint();
  UNDERTONE_TRY(store.add_sealing_key(fingerprint, key.secret_bytes()));
  return fingerprint;
}

Status JobService::check_shuffle(const jobs::Shuffle& shuffle) const {
  for (const jobs::Shuffle::Party& party : shuffle.shufflers) {
    if (shufflers_.contains(party.name)) continue;
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("/privacy/shuffle/shufflers: this coordinator dials no shuffler \"{}\"", party.name)};
  }
  if (shuffle.adds()) return {};
  UNDERTONE_TRY(const std::optional<std::string> secret, store_->sealing_secret(shuffle.coordinator_key));
  if (secret) return {};
  return Error{ErrorCode::InvalidConfig,
               fmt::format("/privacy/shuffle/coordinator_key: this coordinator has no key of fingerprint {}; make one "
                           "with undertone sealing-key",
                           to_hex(shuffle.coordinator_key))};
}

Result<JobService::Actions> JobService::on_timer(TimePoint now) {
  Actions out;
  for (const auto& [run, machine] : machines_) {
    const auto due = timers_.find(run);
    if (due == timers_.end() || due->second > now) continue;
    timers_.erase(due);  // the machine arms the next one
    UNDERTONE_TRY(take(run, machine->on_timer(now), out));
  }
  return settle(now, std::move(out));
}

Result<JobService::Actions> JobService::on_advanced(Advanced advanced, TimePoint now) {
  Actions out;
  const auto found = machines_.find(advanced.run);
  if (found == machines_.end()) return out;
  UNDERTONE_TRY(take(found->first, found->second->on_advanced(std::move(advanced), now), out));
  return settle(now, std::move(out));
}

const RunMachine* JobService::machine(const RunId& run) const {
  const auto found = machines_.find(run);
  return found == machines_.end() ? nullptr : found->second.get();
}

}  // namespace undertone::coordinator
