#include "coordinator/runs/run_machine.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "shared/base/contained.hpp"
#include "shared/base/plain_text.hpp"

namespace undertone::coordinator {
namespace {

constexpr int kChangesMax = 16;     // of a silo's answer to the job, in a process's life: each is a commit
constexpr int kOffersAgainMax = 3;  // in a round, to a silo that says it does not know the run

static_assert(jobs::kJobBytesMax <= wire::kJobOfferBytesMax);

/// What an operator reads of a refusal.
std::string words_of(wire::Refusal refusal) {
  if (refusal == wire::Refusal::Paused) return "paused by its owner";
  if (refusal == wire::Refusal::Unavailable) return "it cannot write its ledger: its disk has no room, or has failed";
  return std::string(wire::to_string(refusal));
}

}  // namespace

RunMachine::RunMachine(RunStore& store, RunRecord record, PreparedJob prepared, wire::Limits limits,
                       const jobs::AlgorithmMaker& make_algorithm)
    : store_(&store),
      record_(std::move(record)),
      job_(std::make_unique<jobs::Job>(std::move(prepared.job))),
      driver_(std::make_unique<RoundDriver>(
          *job_, record_.run, store, std::make_shared<const jobs::PlausibleCohort>(std::move(prepared.plausible)),
          std::move(prepared.mixed), make_algorithm, std::move(record_.checkpoint))),
      members_(*job_, std::move(record_.answers)),
      encoder_(limits) {}

template <class Event>
Status RunMachine::in_round(Event&& event, TimePoint now, Actions& out) {
  if (driver_->round() == nullptr) return {};  // none was opened yet, or it broke
  Result<Round::Actions> actions =
      contained("the round", [&]() -> Result<Round::Actions> { return event(*driver_->round()); });
  return actions ? carry_out(*std::move(actions), now, out) : fail_broken(actions.error(), now, out);
}

Result<RunMachine> RunMachine::open(RunStore& store, RunRecord record, wire::Limits limits,
                                    const jobs::Planner& planner, const jobs::AlgorithmMaker& make_algorithm) {
  UNDERTONE_TRY(const jobs::ReadJob read, jobs::read_job(record.job, record.name));
  UNDERTONE_TRY(const std::string kept, store.prepared(record.run));
  // A function of the job, kept since it can take seconds: of a run that an earlier version began it is found again.
  const bool ended = is_end(record.state);
  Result<PreparedJob> prepared = PreparedJob::read(read, kept, ended);
  if (!prepared) prepared = ended ? PreparedJob::unplanned(read) : PreparedJob::make(read, record.name, planner);
  if (!prepared) return prepared.error();
  return RunMachine(store, std::move(record), *std::move(prepared), limits, make_algorithm);
}

Result<std::vector<RunMachine::Action>> RunMachine::start(TimePoint now) {
  Actions out;
  const Status restored = driver_->restore();
  if (!restored && !ended()) {
    UNDERTONE_TRY(fail(RunState::Failed, restored.error(), now, out));
    arm(out);
    return out;
  }
  out.push_back(LogEvent{false, fmt::format("run_started run={} job={} silos={} rounds={} resumed_at={}",
                                            record_.run.hex(), quoted_text(job_->name), job_->cohort.size(),
                                            driver_->rounds_total(), driver_->rounds_closed())});
  members_.begin_away(now);
  UNDERTONE_TRY(resume(now, restored, out));
  next_resend_ = now + job_->participation.resend;
  arm(out);
  return out;
}

Status RunMachine::resume(TimePoint now, const Status& restored, Actions& out) {
  switch (record_.state) {
    case RunState::Queued:
      UNDERTONE_TRY(store_->set_joining(record_.run));
      record_.state = RunState::Joining;
      [[fallthrough]];
    case RunState::Joining:
      phase_ = Phase::Joining;
      deadline_ = now + job_->participation.join_deadline;
      return members_.everybody_answered() ? begin_rounds(now, out) : Status();
    case RunState::Running:
      return open_round(now, out);
    case RunState::Succeeded: {
      Result<algorithms::Outcome> outcome = restored ? driver_->outcome() : restored.error();
      if (outcome) {
        out.push_back(Ended{std::move(outcome)});
      } else {  // the silos hear of the end all the same
        out.push_back(LogEvent{true, fmt::format("outcome_unreadable run={} reason={}", record_.run.hex(),
                                                 quoted_text(outcome.error().message))});
      }
      leave(now, out);
      return {};
    }
    case RunState::Failed:
    case RunState::Cancelled:
      out.push_back(Ended{
          Error{record_.state == RunState::Failed ? ErrorCode::QuorumMissed : ErrorCode::Cancelled, record_.failure}});
      leave(now, out);
      return {};
  }
  return {};
}

Result<std::vector<RunMachine::Action>> RunMachine::on_connected(const SiloId& silo, TimePoint now) {
  Actions out;
  Member* member = members_.find(silo);
  if (member == nullptr) {
    out.push_back(LogEvent{true, fmt::format("silo_ignored silo={} reason=\"not of the job's cohort\"", silo.name())});
    return out;
  }
  member->connected = true;
  member->away_since.reset();
  switch (phase_) {
    case Phase::Joining:
      if (!members_.answered(silo)) offer(silo, out);
      break;
    case Phase::Round:
      UNDERTONE_TRY(in_round([&](Round& round) { return round.on_back(silo); }, now, out));
      if (phase_ != Phase::Round) break;  // that ended the run
      if (!members_.answered(silo)) offer(silo, out);
      if (members_.takes_part(silo) && driver_->round()->wants(silo)) ask(silo, out);
      break;
    case Phase::Leaving:
    case Phase::Done:
      out.push_back(Send{silo, ended_bytes_});
      break;
  }
  arm(out);
  return out;
}

Result<std::vector<RunMachine::Action>> RunMachine::on_disconnected(const SiloId& silo, TimePoint now) {
  Actions out;
  Member* member = members_.find(silo);
  if (member == nullptr) return out;
  member->connected = false;
  member->away_since = now;
  member->told_end = false;
  if (phase_ == Phase::Round) {
    UNDERTONE_TRY(in_round([&](Round& round) { return round.on_away(silo, now); }, now, out));
  }
  arm(out);
  return out;
}

std::optional<Round::Reception> RunMachine::refuses(const SiloId& silo, const wire::VectorHeader& header) const {
  const Member* member = members_.find(silo);
  if (member == nullptr || member->implausible) return Round::Reception::Foreign;
  switch (phase_) {
    case Phase::Joining:
      return Round::Reception::Foreign;
    case Phase::Round:
      return driver_->round()->refuses(silo, header);
    case Phase::Leaving:
    case Phase::Done:
      break;
  }
  return Round::Reception::Late;
}

Result<std::vector<RunMachine::Action>> RunMachine::on_message(const SiloId& silo, const wire::Message& message,
                                                               TimePoint now) {
  Actions out;
  if (members_.find(silo) == nullptr) return out;
  UNDERTONE_TRY(std::visit(
      [&](const auto& body) -> Status {
        if constexpr (requires { on(silo, body, now, out); }) {
          return on(silo, body, now, out);
        } else {
          out.push_back(
              LogEvent{true, fmt::format("message_ignored silo={} kind={}", silo.name(), wire::name_of(message))});
          return {};
        }
      },
      message));
  arm(out);
  return out;
}

Result<std::vector<RunMachine::Action>> RunMachine::on_shuffler_connected(const std::string& shuffler, TimePoint now) {
  Actions out;
  if (!is_of_job(shuffler)) return out;
  send_to_shuffler(shuffler, wire::JobOffer{record_.run, record_.job}, out);
  UNDERTONE_TRY(in_round([&](Round& round) { return round.on_shuffler_connected(shuffler); }, now, out));
  arm(out);
  return out;
}

Result<std::vector<RunMachine::Action>> RunMachine::on_shuffler_message(const std::string& shuffler,
                                                                        wire::Message message, TimePoint now) {
  Actions out;
  if (!is_of_job(shuffler)) return out;
  UNDERTONE_TRY(
      in_round([&](Round& round) { return round.on_shuffler_message(shuffler, std::move(message), now); }, now, out));
  arm(out);
  return out;
}

Result<std::vector<RunMachine::Action>> RunMachine::on_timer(TimePoint now) {
  Actions out;
  if (deadline_ && now >= *deadline_) {
    deadline_.reset();
    Status done;
    switch (phase_) {
      case Phase::Joining:
        done = begin_rounds(now, out);
        break;
      case Phase::Round:
        done = in_round([&](Round& round) { return round.on_deadline(now); }, now, out);
        break;
      case Phase::Leaving:
        phase_ = Phase::Done;
        out.push_back(Goodbye{});
        break;
      case Phase::Done:
        break;
    }
    if (!done) return done.error();
  }
  if (now >= next_resend_) {
    for (const auto& [silo, member] : members_.all()) {
      if (member.connected) say_what_is_due(silo, member, out);
    }
    if (phase_ == Phase::Round) {
      UNDERTONE_TRY(in_round([&](Round& round) { return round.on_resend(); }, now, out));
    }
    next_resend_ = now + job_->participation.resend;
  }
  arm(out);
  return out;
}

Result<std::vector<RunMachine::Action>> RunMachine::cancel(const std::string& reason, TimePoint now) {
  UNDERTONE_CHECK(!ended());
  Actions out;
  if (Status done = fail(RunState::Cancelled, {ErrorCode::Cancelled, reason}, now, out); !done) return done.error();
  arm(out);
  return out;
}

Status RunMachine::on(const SiloId& silo, const wire::JobAnswer& answer, TimePoint now, Actions& out) {
  if (answer.run != record_.run) return {};
  Member& member = *members_.find(silo);
  if (phase_ != Phase::Joining && phase_ != Phase::Round) {
    // Once: it is told again with every resend, until it has seen it.
    if (!answer.refusal && ended_bytes_ && !std::exchange(member.told_end, true))
      out.push_back(Send{silo, ended_bytes_});
    return {};
  }
  const bool news = members_.is_news(silo, answer.refusal);
  if (news && ++member.changes > kChangesMax) return {};
  if (news) {
    const releases::SiloFacts& facts = member.of_job->facts;
    if (Status stored = store_->record_answer(record_.run, silo, answer.refusal, answer.explanation,
                                              {facts.epsilon().value(), facts.delta()});
        !stored)
      return stored;
    members_.answer(member, answer.refusal);
    out.push_back(LogEvent{answer.refusal.has_value(),
                           fmt::format("job_answered silo={} answer={}", silo.name(),
                                       answer.refusal ? wire::to_string(*answer.refusal) : "accepted")});
  }
  if (phase_ == Phase::Joining) return members_.everybody_answered() ? begin_rounds(now, out) : Status();
  if (answer.refusal) return in_round([&](Round& round) { return round.on_lost(silo); }, now, out);
  if (news && members_.takes_part(silo) && driver_->round()->expect(silo, driver_->participant(*member.of_job)))
    ask(silo, out);
  return {};
}

Status RunMachine::on(const SiloId& silo, const wire::JobPending& pending, TimePoint /*now*/, Actions& /*out*/) {
  if (pending.run == record_.run && !members_.answered(silo)) members_.find(silo)->said = "waits for its owner";
  return {};
}

Status RunMachine::on(const SiloId& silo, const wire::QueryRefused& refused, TimePoint now, Actions& out) {
  if (refused.run != record_.run || phase_ != Phase::Round || refused.round != driver_->round()->index() ||
      driver_->round()->closed())
    return {};
  Member& member = *members_.find(silo);
  if (refused.refusal == wire::Refusal::UnknownRun && member.offers_again < kOffersAgainMax) {
    ++member.offers_again;
    offer(silo, out);
    if (members_.takes_part(silo)) ask(silo, out);
    return {};
  }
  // What may pass is asked for again until the round's deadline.
  if (refused.refusal == wire::Refusal::Paused || refused.refusal == wire::Refusal::Unavailable) {
    member.said = words_of(refused.refusal);
    return {};
  }
  out.push_back(LogEvent{true, fmt::format("query_refused silo={} round={} reason={}", silo.name(), refused.round.value,
                                           wire::to_string(refused.refusal))});
  member.said = fmt::format("refused: {}", words_of(refused.refusal));
  member.dropped = true;
  return in_round([&](Round& round) { return round.on_lost(silo); }, now, out);
}

Status RunMachine::on(const SiloId& silo, const wire::ReplyMessage& reply, TimePoint now, Actions& out) {
  if (phase_ != Phase::Round || members_.find(silo)->implausible) return {};
  std::optional<Round::Reception> reception;
  Result<Round::Actions> actions = contained(
      "taking a reply", [&]() -> Result<Round::Actions> { return driver_->round()->on_reply(silo, reply, reception); });
  if (!actions) return fail_broken(actions.error(), now, out);
  if (!reception) return {};
  out.push_back(ReplyCounted{*reception});
  const auto ignored = [&](std::string_view reason) {
    out.push_back(LogEvent{true, fmt::format("reply_ignored silo={} round={} reason=\"{}\"", silo.name(),
                                             reply.reply.round.value, reason)});
  };
  switch (*reception) {
    case Round::Reception::Accepted:
    case Round::Reception::Duplicate:
    case Round::Reception::Late:
      break;
    case Round::Reception::Foreign:
      ignored("of another run, round or cohort");
      break;
    case Round::Reception::Misshapen:
      ignored("not of the query's shape");
      break;
    case Round::Reception::Implausible:
      exclude(silo, reply.reply, out);
      break;
  }
  return carry_out(*std::move(actions), now, out);
}

void RunMachine::exclude(const SiloId& silo, const queries::Reply& reply, Actions& out) {
  Member& member = *members_.find(silo);
  member.said = driver_->why_implausible(silo, reply);
  out.push_back(LogEvent{true, fmt::format("reply_refused silo={} round={} reason={}", silo.name(), reply.round.value,
                                           quoted_text(member.said))});
  member.dropped = true;
  member.implausible = true;
}

Status RunMachine::on(const SiloId& silo, const wire::ReplyHandedOver& handed, TimePoint now, Actions& out) {
  if (handed.run != record_.run || driver_->round() == nullptr || handed.round != driver_->round()->index()) return {};
  return in_round([&](Round& round) { return round.on_handed_over(silo, handed.receipts); }, now, out);
}

Status RunMachine::on(const SiloId& silo, const wire::ReceiptMessage& receipt, TimePoint /*now*/, Actions& /*out*/) {
  return store_->record_receipt(silo, receipt.receipt);
}

Status RunMachine::on(const SiloId& silo, const wire::JobEndedSeen& seen, TimePoint /*now*/, Actions& out) {
  if (seen.run != record_.run) return {};
  Status done = store_->record_end_seen(record_.run, silo);
  members_.find(silo)->seen_end = true;
  unaware_.erase(silo);
  if (phase_ == Phase::Leaving) finish_leaving(out);
  return done;
}

Status RunMachine::fail_broken(const Error& failure, TimePoint now, Actions& out) {
  driver_->drop_round();
  delivered_ = true;  // nobody can be told by it
  return ended() ? Status() : fail(RunState::Failed, failure, now, out);
}

Status RunMachine::carry_out(Round::Actions actions, TimePoint now, Actions& out) {
  for (Round::Action& action : actions) {
    Status done;
    if (auto* committed = std::get_if<Round::Commit>(&action)) {
      if (driver_->round() != nullptr) done = driver_->commit(std::move(*committed));
    } else if (const auto* send = std::get_if<Round::ToShuffler>(&action)) {
      send_to_shuffler(send->shuffler, send->message, out);
    } else if (const auto* offered = std::get_if<Round::OfferJob>(&action)) {
      send_to_shuffler(offered->shuffler, wire::JobOffer{record_.run, record_.job}, out);
    } else if (const auto* asked = std::get_if<Round::AskSilos>(&action)) {
      for (const SiloId& silo : asked->silos) {
        // One that has refused the job or a query since is still among those that the round expects.
        if (members_.connected(silo) && members_.takes_part(silo)) ask(silo, out);
      }
    } else if (const auto* armed = std::get_if<Round::ArmDeadline>(&action)) {
      deadline_ = armed->at;
    } else if (auto* event = std::get_if<Round::LogEvent>(&action)) {
      out.emplace_back(std::move(*event));
    } else if (const auto* aborted = std::get_if<Round::AbortRound>(&action)) {
      done = fail(RunState::Failed, aborted->reason, now, out);
    } else {
      UNDERTONE_CHECK(std::holds_alternative<Round::CloseRound>(action));
      done = close_round(now, out);
    }
    if (!done) return done;
  }
  return {};
}

Status RunMachine::begin_rounds(TimePoint now, Actions& out) {
  const std::size_t accepted = members_.participants().size();
  if (accepted < job_->participation.quorum) {
    return fail(RunState::Failed,
                {ErrorCode::QuorumMissed, fmt::format("{} silos accepted the job, quorum is {}; not: {}", accepted,
                                                      job_->participation.quorum, members_.absent())},
                now, out);
  }
  UNDERTONE_TRY(const auto begun, driver_->begin());
  if (const auto* failure = std::get_if<RunFailure>(&begun)) return fail(RunState::Failed, failure->reason, now, out);
  record_.state = RunState::Running;
  return open_round(now, out);
}

Status RunMachine::open_round(TimePoint now, Actions& out) {
  members_.forget_offers_again();
  UNDERTONE_TRY(const auto made, driver_->make_round(members_.participants(), now));
  if (const auto* failure = std::get_if<RunFailure>(&made)) return fail(RunState::Failed, failure->reason, now, out);
  query_bytes_ = std::make_shared<const std::string>(encoder_.encode(std::get<wire::QueryMessage>(made)));
  phase_ = Phase::Round;
  delivered_ = false;
  for (const auto& [silo, member] : members_.all()) {
    if (!member.away_since) continue;
    const auto away = [&silo = silo, since = *member.away_since](Round& round) { return round.on_away(silo, since); };
    UNDERTONE_TRY(in_round(away, now, out));
  }
  return in_round([&](Round& round) { return round.open(now); }, now, out);
}

Status RunMachine::close_round(TimePoint now, Actions& out) {
  deadline_.reset();  // nobody is waited for
  Advance advance = driver_->close_round(now);
  if (!advance.takes_long()) return go_on(std::move(advance).perform(), now, out);
  out.push_back(LogEvent{false, fmt::format("advance_began run={} round={} replies={}", record_.run.hex(),
                                            advance.round().value, advance.replies())});
  out.push_back(std::move(advance));
  return {};
}

Result<std::vector<RunMachine::Action>> RunMachine::on_advanced(Advanced advanced, TimePoint now) {
  Actions out;
  if (ended()) return out;
  UNDERTONE_TRY(go_on(std::move(advanced), now, out));
  arm(out);
  return out;
}

Status RunMachine::go_on(Advanced advanced, TimePoint now, Actions& out) {
  members_.forget_said();
  UNDERTONE_TRY(const auto done, driver_->commit_round(std::move(advanced)));
  if (const auto* failure = std::get_if<RunFailure>(&done)) return fail(RunState::Failed, failure->reason, now, out);
  const auto& [record, replies, last] = std::get<RoundDriver::Closed>(done);
  out.push_back(RoundClosed{record.round, rounds_total(), static_cast<std::size_t>(replies), record.missing,
                            record.metrics, record.elapsed});
  UNDERTONE_TRY(deliver_round(now, out));
  return last ? succeed(now, out) : open_round(now, out);
}

Status RunMachine::deliver_round(TimePoint now, Actions& out) {
  delivered_ = true;
  return in_round([&](Round& round) { return round.delivered(); }, now, out);
}

Status RunMachine::succeed(TimePoint now, Actions& out) {
  record_.state = RunState::Succeeded;
  out.push_back(Ended{driver_->outcome()});
  leave(now, out);
  return {};
}

Status RunMachine::fail(RunState state, const Error& failure, TimePoint now, Actions& out) {
  UNDERTONE_TRY(store_->fail(record_.run, state, failure.message));
  record_.state = state;
  record_.failure = failure.message;
  out.push_back(Ended{failure});
  driver_->give_up();
  if (!delivered_) {
    UNDERTONE_TRY(in_round([&](Round& round) { return round.cancel(); }, now, out));
    UNDERTONE_TRY(deliver_round(now, out));
  }
  leave(now, out);
  return {};
}

void RunMachine::leave(TimePoint now, Actions& out) {
  phase_ = Phase::Leaving;
  ended_bytes_ = std::make_shared<const std::string>(
      encoder_.encode(wire::JobEnded{record_.run, record_.state == RunState::Succeeded}));
  deadline_ = now + job_->participation.round_deadline;
  for (const auto& [silo, member] : members_.all()) {
    if (members_.accepted(silo) && !member.seen_end) unaware_.insert(silo);
    if (member.connected) out.push_back(Send{silo, ended_bytes_});
  }
  finish_leaving(out);
}

void RunMachine::finish_leaving(Actions& out) {
  if (!unaware_.empty()) return;
  phase_ = Phase::Done;
  deadline_.reset();
  out.push_back(Goodbye{});
}

void RunMachine::say_what_is_due(const SiloId& silo, const Member& member, Actions& out) {
  switch (phase_) {
    case Phase::Joining:
      if (!members_.answered(silo)) offer(silo, out);
      break;
    case Phase::Round:
      if (!members_.answered(silo)) {
        offer(silo, out);
      } else if (members_.takes_part(silo) && driver_->round()->wants(silo)) {
        ask(silo, out);
      }
      break;
    case Phase::Leaving:
      if (!member.seen_end) out.push_back(Send{silo, ended_bytes_});
      break;
    case Phase::Done:
      break;
  }
}

void RunMachine::offer(const SiloId& silo, Actions& out) {
  if (!offer_bytes_)
    offer_bytes_ = std::make_shared<const std::string>(encoder_.encode(wire::JobOffer{record_.run, record_.job}));
  out.push_back(Send{silo, offer_bytes_});
}

void RunMachine::ask(const SiloId& silo, Actions& out) {
  UNDERTONE_CHECK(query_bytes_ != nullptr);
  out.push_back(Send{silo, query_bytes_});
}

void RunMachine::send_to_shuffler(const std::string& shuffler, const wire::Message& message, Actions& out) {
  out.push_back(SendToShuffler{shuffler, std::make_shared<const std::string>(encoder_.encode(message))});
}

void RunMachine::arm(Actions& out) {
  if (phase_ == Phase::Done) return;
  out.push_back(ArmTimer{deadline_ ? std::min(*deadline_, next_resend_) : next_resend_});
}

bool RunMachine::is_of_job(const std::string& shuffler) const {
  return job_->shuffle && job_->shuffle->party(shuffler) != nullptr;
}

std::optional<RunMachine::Progress> RunMachine::progress() const {
  const Round* round = driver_->round();
  if (round == nullptr) return std::nullopt;
  return Progress{round->index(), round->accepted()};
}

std::string RunMachine::why_missing(const SiloId& silo) const {
  const auto answer = members_.answers().find(silo);
  if (phase_ == Phase::Joining && members_.takes_part(silo)) return {};
  if (answer != members_.answers().end() && answer->second)
    return fmt::format("refused the job: {}", words_of(*answer->second));
  const Member* member = members_.find(silo);
  if (member == nullptr) return kNotConnected;
  if (member->dropped) return member->said.empty() ? "refused" : member->said;
  if (!member->connected) return kNotConnected;
  if (!member->said.empty()) return member->said;
  if (driver_->is_advancing()) return {};  // the round is closed
  return answer == members_.answers().end() ? "has not answered the offer" : "computing";
}

}  // namespace undertone::coordinator
