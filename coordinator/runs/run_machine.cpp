#include "coordinator/runs/run_machine.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/plain_text.hpp"

namespace undertone::coordinator {
namespace {

constexpr int kChangesMax = 16;     // of a silo's answer to the job, in a process's life: each is a commit
constexpr int kOffersAgainMax = 3;  // in a round, to a silo that says it does not know the run

static_assert(jobs::kJobBytesMax <= wire::kJobOfferBytesMax);

Error unfinished_checkpoint(const std::string& what) {
  return {ErrorCode::StorageFailed, "the store's checkpoint does not continue this job: " + what};
}

}  // namespace

RunMachine::RunMachine(RunStore& store, RunRecord record, jobs::Job job, jobs::PlausibleCohort plausible,
                       wire::Limits limits, jobs::Planner planner)
    : store_(&store),
      planner_(std::move(planner)),
      record_(std::move(record)),
      job_(std::make_unique<jobs::Job>(std::move(job))),
      algorithm_(jobs::make_algorithm(*job_)),
      encoder_(limits),
      plausible_(std::make_shared<const jobs::PlausibleCohort>(std::move(plausible))) {
  for (const planning::ScheduledRounds& part : jobs::schedule_of(*job_)) rounds_total_ += part.rounds;
}

Result<RunMachine> RunMachine::open(RunStore& store, RunRecord record, wire::Limits limits, jobs::Planner planner) {
  Result<jobs::Job> job = jobs::parse_job(record.job, record.name);
  if (!job) return job.error();
  const Result<std::string> kept = store.plausible(record.run);
  if (!kept) return kept.error();
  Result<jobs::PlausibleCohort> plausible =
      kept->empty() ? jobs::PlausibleCohort::of(*job, record.name, planner) : jobs::PlausibleCohort::read(*kept, *job);
  if (!plausible) return plausible.error();
  return RunMachine(store, std::move(record), *std::move(job), *std::move(plausible), limits, std::move(planner));
}

bool RunMachine::takes_part(const SiloId& silo) const {
  const auto answer = record_.answers.find(silo);
  return answer != record_.answers.end() && !answer->second && !dropped_.contains(silo);
}

Participant RunMachine::participant(const jobs::CohortMember& member) const {
  UNDERTONE_CHECK(spec_.has_value());
  return {spec_->weight(member), spec_->exact(member)};
}

bool RunMachine::everybody_answered() const {
  return std::all_of(job_->cohort.begin(), job_->cohort.end(), [&](const auto& m) { return answered(m.facts.silo); });
}

std::string RunMachine::saved_state() const {
  ByteWriter writer;
  algorithm_->save(writer);
  return std::move(writer).bytes();
}

Status RunMachine::restore() {
  if (!record_.checkpoint) return {};
  ByteReader reader(record_.checkpoint->algorithm_state);
  if (Status restored = algorithm_->restore(reader); !restored) return restored;
  return reader.end();
}

Result<std::vector<RunMachine::Action>> RunMachine::start(TimePoint now) {
  Actions out;
  if (const Status restored = restore(); !restored) {
    if (ended()) return restored.error();
    if (Status done = end(restored.error(), now, out); !done) return done.error();
    arm(out);
    return out;
  }
  out.push_back(Tell{false, fmt::format("run_started run={} name={} silos={} rounds={} resumed_at={}",
                                        record_.run.hex(), quoted_text(job_->name), job_->cohort.size(), rounds_total_,
                                        record_.checkpoint ? record_.checkpoint->round.value : 0)});
  Status done;
  switch (record_.state) {
    case RunState::Queued:
      done = store_->set_joining(record_.run);
      if (!done) return done.error();
      record_.state = RunState::Joining;
      [[fallthrough]];
    case RunState::Joining:
      phase_ = Phase::Joining;
      deadline_ = now + job_->participation.join_deadline;
      if (everybody_answered()) done = begin_rounds(now, out);
      break;
    case RunState::Running:
      done = open_round(now, out);
      break;
    case RunState::Succeeded: {
      const algorithms::Step step = algorithm_->start();
      if (!std::holds_alternative<algorithms::Finished>(step)) return unfinished_checkpoint("it is not at the end");
      out.push_back(Ended{std::get<algorithms::Finished>(step).outcome});
      leave(now, out);
      break;
    }
    case RunState::Failed:
    case RunState::Cancelled:
      out.push_back(Ended{
          Error{record_.state == RunState::Failed ? ErrorCode::QuorumMissed : ErrorCode::Cancelled, record_.failure}});
      leave(now, out);
      break;
  }
  if (!done) return done.error();
  next_resend_ = now + job_->participation.resend;
  arm(out);
  return out;
}

Result<std::vector<RunMachine::Action>> RunMachine::on_connected(const SiloId& silo) {
  Actions out;
  if (job_->member(silo) == nullptr) {
    out.push_back(Tell{true, fmt::format("silo_ignored silo={} reason=\"not of the job's cohort\"", silo.name())});
    return out;
  }
  connected_.insert(silo);
  switch (phase_) {
    case Phase::Joining:
      if (!answered(silo)) offer(silo, out);
      break;
    case Phase::Round:
      if (!answered(silo)) offer(silo, out);
      if (takes_part(silo) && wants(silo)) ask(silo, out);
      break;
    case Phase::Leaving:
    case Phase::Done:
      out.push_back(Send{silo, ended_bytes_});
      break;
  }
  arm(out);
  return out;
}

void RunMachine::on_disconnected(const SiloId& silo) {
  connected_.erase(silo);
  told_end_.erase(silo);
}

std::optional<RoundMachine::Reception> RunMachine::refuses(const SiloId& silo, const wire::VectorHeader& header) const {
  if (job_->member(silo) == nullptr || implausible_.contains(silo)) return RoundMachine::Reception::Foreign;
  if (phase_ == Phase::Leaving || phase_ == Phase::Done) return RoundMachine::Reception::Late;
  if (phase_ != Phase::Round || round_ == nullptr) return RoundMachine::Reception::Foreign;
  return round_->refuses(silo, header);
}

Result<std::vector<RunMachine::Action>> RunMachine::on_message(const SiloId& silo, const wire::Message& message,
                                                               TimePoint now) {
  Actions out;
  if (job_->member(silo) == nullptr) return out;
  Status done;
  if (const auto* answer = std::get_if<wire::JobAnswer>(&message)) {
    if (answer->run == record_.run) done = on(silo, *answer, now, out);
  } else if (const auto* reply = std::get_if<wire::ReplyMessage>(&message)) {
    done = on(silo, *reply, now, out);
  } else if (const auto* handed = std::get_if<wire::ReplyHandedOver>(&message)) {
    if (handed->run == record_.run && shuffled_ != nullptr && handed->round == shuffled_->setup().round)
      done = run_shuffled_actions(shuffled_->on_handed_over(silo, handed->receipts), now, out);
  } else if (const auto* refused = std::get_if<wire::QueryRefused>(&message)) {
    if (refused->run == record_.run) done = on(silo, *refused, now, out);
  } else if (const auto* receipt = std::get_if<wire::ReceiptMessage>(&message)) {
    done = store_->record_receipt(silo, receipt->receipt);
  } else if (const auto* seen = std::get_if<wire::JobEndedSeen>(&message)) {
    if (seen->run == record_.run) {
      done = store_->record_end_seen(record_.run, silo);
      seen_end_.insert(silo);
      if (phase_ == Phase::Leaving) maybe_done(out);
    }
  } else if (const auto* pending = std::get_if<wire::JobPending>(&message)) {
    if (pending->run == record_.run && !answered(silo)) said_[silo] = "waits for its owner";
  } else {
    out.push_back(Tell{true, fmt::format("message_ignored silo={} kind={}", silo.name(), wire::name_of(message))});
  }
  if (!done) return done.error();
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
        done = round_ != nullptr ? run_round_actions(round_->on_deadline(now), now, out)
                                 : run_shuffled_actions(shuffled_->on_deadline(now), now, out);
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
    resend(out);
    if (phase_ == Phase::Round && shuffled_ != nullptr) {
      if (Status done = run_shuffled_actions(shuffled_->on_resend(), now, out); !done) return done.error();
    }
    next_resend_ = now + job_->participation.resend;
  }
  arm(out);
  return out;
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

void RunMachine::resend(Actions& out) {
  for (const SiloId& silo : connected_) {
    switch (phase_) {
      case Phase::Joining:
        if (!answered(silo)) offer(silo, out);
        break;
      case Phase::Round:
        if (!answered(silo)) {
          offer(silo, out);
        } else if (takes_part(silo) && wants(silo)) {
          ask(silo, out);
        }
        break;
      case Phase::Leaving:
        if (!seen_end_.contains(silo)) out.push_back(Send{silo, ended_bytes_});
        break;
      case Phase::Done:
        break;
    }
  }
}

void RunMachine::arm(Actions& out) {
  if (phase_ == Phase::Done) return;
  out.push_back(ArmTimer{deadline_ ? std::min(*deadline_, next_resend_) : next_resend_});
}

Status RunMachine::on(const SiloId& silo, const wire::JobAnswer& answer, TimePoint now, Actions& out) {
  if (phase_ != Phase::Joining && phase_ != Phase::Round) {
    // Once: it is told again with every resend, until it has seen it.
    if (!answer.refusal && ended_bytes_ && told_end_.insert(silo).second) out.push_back(Send{silo, ended_bytes_});
    return {};
  }
  const auto known = record_.answers.find(silo);
  const bool news = known == record_.answers.end() || known->second != answer.refusal;
  if (news && ++changes_[silo] > kChangesMax) return {};
  if (news) {
    const releases::SiloFacts& facts = job_->member(silo)->facts;
    if (Status stored =
            store_->record_answer(record_.run, silo, answer.refusal, {facts.epsilon.value(), facts.delta.value()});
        !stored)
      return stored;
    said_.erase(silo);
    record_.answers[silo] = answer.refusal;
    out.push_back(
        Tell{answer.refusal.has_value(), fmt::format("job_answered silo={} answer={}", silo.name(),
                                                     answer.refusal ? wire::to_string(*answer.refusal) : "accepted")});
  }
  if (phase_ == Phase::Joining) {
    return everybody_answered() ? begin_rounds(now, out) : Status();
  }
  if (answer.refusal) return lose(silo, now, out);
  if (news && takes_part(silo) && round_ != nullptr) {  // a batch's silos are fixed: there it joins the next round
    round_->expect(silo, participant(*job_->member(silo)));
    ask(silo, out);
  }
  return {};
}

Status RunMachine::on(const SiloId& silo, const wire::QueryRefused& refused, TimePoint now, Actions& out) {
  if (phase_ != Phase::Round || refused.round != progress()->round) return {};
  if (refused.refusal == wire::Refusal::UnknownRun && offers_again_[silo] < kOffersAgainMax) {
    ++offers_again_[silo];
    offer(silo, out);
    if (takes_part(silo)) ask(silo, out);
    return {};
  }
  if (refused.refusal == wire::Refusal::Paused) {  // it is asked again until the deadline
    said_[silo] = "paused by its owner";
    return {};
  }
  out.push_back(Tell{true, fmt::format("query_refused silo={} round={} reason={}", silo.name(), refused.round.value,
                                       wire::to_string(refused.refusal))});
  said_[silo] = fmt::format("refused: {}", wire::to_string(refused.refusal));
  dropped_.insert(silo);
  return lose(silo, now, out);
}

Status RunMachine::on(const SiloId& silo, const wire::ReplyMessage& reply, TimePoint now, Actions& out) {
  if (phase_ != Phase::Round || round_ == nullptr || implausible_.contains(silo)) return {};
  auto reception = RoundMachine::Reception::Foreign;
  const std::vector<RoundMachine::Action> actions = round_->on_reply(silo, reply, reception);
  out.push_back(ReplyCounted{reception});
  switch (reception) {
    case RoundMachine::Reception::Accepted:
    case RoundMachine::Reception::Duplicate:
    case RoundMachine::Reception::Late:
      break;
    case RoundMachine::Reception::Foreign:
      out.push_back(Tell{true, fmt::format("reply_ignored silo={} round={} reason=\"of another run, round or cohort\"",
                                           silo.name(), reply.reply.round.value)});
      break;
    case RoundMachine::Reception::Misshapen:
      out.push_back(Tell{true, fmt::format("reply_ignored silo={} round={} reason=\"not of the query's shape\"",
                                           silo.name(), reply.reply.round.value)});
      break;
    case RoundMachine::Reception::Implausible: {
      const folds::PlausibleReplies& plausible = plausible_->of_silo(silo);
      said_[silo] =
          fmt::format("its answer has norm {:.4g}, its clip and noise explain at most {:.4g}",
                      plausible.length(*asked_, queries::values_of(reply.reply.answer)), plausible.reach(*asked_));
      out.push_back(Tell{true, fmt::format("reply_refused silo={} round={} reason={}", silo.name(),
                                           reply.reply.round.value, quoted_text(said_[silo]))});
      dropped_.insert(silo);
      implausible_.insert(silo);
      break;
    }
  }
  return run_round_actions(actions, now, out);
}

Status RunMachine::run_round_actions(const std::vector<RoundMachine::Action>& actions, TimePoint now, Actions& out) {
  for (const RoundMachine::Action& action : actions) {
    Status done;
    if (const auto* armed = std::get_if<RoundMachine::ArmDeadline>(&action)) {
      deadline_ = armed->at;
    } else if (const auto* again = std::get_if<RoundMachine::AskAgain>(&action)) {
      for (const SiloId& silo : again->silos) {
        if (takes_part(silo) && connected_.contains(silo)) ask(silo, out);  // it may have refused since
      }
    } else if (const auto* aborted = std::get_if<RoundMachine::AbortRound>(&action)) {
      done = end(aborted->reason, now, out);
    } else {
      done = close_round(now, out);
    }
    if (!done) return done;
  }
  return {};
}

Status RunMachine::begin_rounds(TimePoint now, Actions& out) {
  std::size_t accepted = 0;
  std::string absent;
  for (const jobs::CohortMember& member : job_->cohort) {
    if (takes_part(member.facts.silo)) {
      ++accepted;
      continue;
    }
    const auto answer = record_.answers.find(member.facts.silo);
    const std::string_view why = answer == record_.answers.end() ? "no answer" : wire::to_string(*answer->second);
    absent += fmt::format("{}{} ({})", absent.empty() ? "" : ", ", member.facts.silo.name(), why);
  }
  if (accepted < job_->participation.quorum) {
    return end(Error{ErrorCode::QuorumMissed, fmt::format("{} silos accepted the job, quorum is {}; not: {}", accepted,
                                                          job_->participation.quorum, absent)},
               now, out);
  }
  const algorithms::Step step = algorithm_->start();
  const auto& query = std::get<queries::Query>(step);
  const Checkpoint first{query.round, saved_state(), queries::query_digest(record_.run, query)};
  if (Status stored = store_->start_rounds(record_.run, first); !stored) return stored;
  record_.state = RunState::Running;
  record_.checkpoint = first;
  return open_round(now, out);
}

Status RunMachine::open_round(TimePoint now, Actions& out) {
  UNDERTONE_CHECK(record_.checkpoint.has_value());
  const algorithms::Step step = algorithm_->start();
  const auto* query = std::get_if<queries::Query>(&step);
  if (query == nullptr) return end(unfinished_checkpoint("it is at the end"), now, out);
  const Digest digest = queries::query_digest(record_.run, *query);
  if (digest != record_.checkpoint->query) return end(unfinished_checkpoint("its query is another"), now, out);

  phase_ = Phase::Round;
  round_began_ = now;
  offers_again_.clear();
  round_.reset();
  shuffled_.reset();
  spec_ = jobs::round_spec(*job_, queries::kind_of(query->question));
  if (job_->shuffle && !spec_->evaluation)  // evaluations are public
    return open_shuffled_round(*query, digest, now, out);
  query_bytes_ =
      std::make_shared<const std::string>(encoder_.encode(wire::QueryMessage{record_.run, job_->point_type, *query}));
  RoundMachine::Setup setup;
  setup.run = record_.run;
  setup.round = query->round;
  setup.query = digest;
  setup.shape.dimension = spec_->dimension;
  setup.shape.lattice = spec_->lattice;
  setup.shape.noise = job_->noise;
  setup.aggregation = spec_->aggregation;
  asked_ = std::make_shared<const folds::PlausibleReplies::Asked>(plausible_->asked(*query));
  setup.plausible = [cohort = plausible_, asked = asked_](const SiloId& silo, const std::vector<std::int64_t>& values) {
    return cohort->of_silo(silo).admits(*asked, values);
  };
  setup.quorum = job_->participation.quorum;
  setup.deadline = job_->participation.round_deadline;
  for (const jobs::CohortMember& member : job_->cohort) {
    if (takes_part(member.facts.silo)) setup.expected.emplace(member.facts.silo, participant(member));
  }
  round_ = std::make_unique<RoundMachine>(std::move(setup));
  const std::vector<RoundMachine::Action> opened = round_->open(now);
  for (const auto& [silo, expected] : round_->setup().expected) {
    if (connected_.contains(silo)) ask(silo, out);
  }
  return run_round_actions(opened, now, out);
}

Status RunMachine::close_round(TimePoint now, Actions& out) {
  said_.clear();
  const folds::Gathered gathered = round_ != nullptr ? round_->gathered() : shuffled_->gathered();
  std::map<SiloId, Digest> accepted;
  if (round_ != nullptr) {
    accepted = round_->accepted();
  } else {  // who said what is not known: all are put down with what they said together
    for (const SiloId& silo : shuffled_->accepted()) accepted.emplace(silo, shuffled_->digest());
  }
  const std::size_t rows_before = algorithm_->metrics().size();
  const Result<algorithms::Step> next = algorithm_->advance(gathered);
  if (!next) return end(next.error(), now, out);  // it diverged, say: that is this run's end, and no other's
  const auto* query = std::get_if<queries::Query>(&*next);
  RoundRecord closed{gathered.round, std::move(accepted), round_ != nullptr ? round_->missing() : shuffled_->missing(),
                     std::chrono::duration_cast<std::chrono::milliseconds>(now - round_began_), std::nullopt};
  if (std::vector<algorithms::MetricsRow> rows = algorithm_->metrics(); rows.size() > rows_before)
    closed.metrics = std::move(rows.back());
  Checkpoint checkpoint{gathered.round.next(), saved_state(),
                        query != nullptr ? queries::query_digest(record_.run, *query) : Digest{}};
  if (Status stored = store_->close_round(record_.run, closed, checkpoint, query == nullptr); !stored) return stored;
  record_.checkpoint = std::move(checkpoint);
  record_.checkpoint->algorithm_state.clear();  // the store has it, and so has the algorithm

  out.push_back(RoundClosed{gathered.round, rounds_total_, static_cast<std::size_t>(gathered.replies), closed.missing,
                            closed.metrics, closed.elapsed});
  if (shuffled_ != nullptr) {
    if (Status told = run_shuffled_actions(shuffled_->delivered(), now, out); !told) return told;
  }
  if (query == nullptr) return end(std::nullopt, now, out);
  return open_round(now, out);
}

std::optional<RunMachine::Progress> RunMachine::progress() const {
  if (round_ != nullptr) {
    Progress out{round_->setup().round, round_->state() == RoundMachine::State::Closed, {}};
    for (const auto& [silo, digest] : round_->accepted()) out.answered.insert(silo);
    return out;
  }
  if (shuffled_ != nullptr) {
    return Progress{shuffled_->setup().round, shuffled_->state() == ShuffledRound::State::Closed,
                    shuffled_->accepted()};
  }
  return std::nullopt;
}

bool RunMachine::wants(const SiloId& silo) const {
  return round_ != nullptr ? !round_->accepted().contains(silo) : shuffled_->wants(silo);
}

Status RunMachine::lose(const SiloId& silo, TimePoint now, Actions& out) {
  return round_ != nullptr ? run_round_actions(round_->on_lost(silo), now, out)
                           : run_shuffled_actions(shuffled_->on_lost(silo), now, out);
}

Status RunMachine::end(const std::optional<Error>& failure, TimePoint now, Actions& out) {
  if (failure) return fail(RunState::Failed, *failure, now, out);
  record_.state = RunState::Succeeded;
  out.push_back(Ended{std::get<algorithms::Finished>(algorithm_->start()).outcome});
  leave(now, out);
  return {};
}

Status RunMachine::fail(RunState state, const Error& failure, TimePoint now, Actions& out) {
  if (Status stored = store_->fail(record_.run, state, failure.message); !stored) return stored;
  record_.state = state;
  record_.failure = failure.message;
  out.push_back(Ended{failure});
  if (shuffled_ != nullptr && shuffled_->state() != ShuffledRound::State::Closed) {
    if (Status told = run_shuffled_actions(shuffled_->cancel(), now, out); !told) return told;
    if (Status told = run_shuffled_actions(shuffled_->delivered(), now, out); !told) return told;
  }
  leave(now, out);
  return {};
}

Result<std::vector<RunMachine::Action>> RunMachine::cancel(const std::string& reason, TimePoint now) {
  UNDERTONE_CHECK(!ended());
  Actions out;
  if (Status done = fail(RunState::Cancelled, {ErrorCode::Cancelled, reason}, now, out); !done) return done.error();
  arm(out);
  return out;
}

std::string RunMachine::why_missing(const SiloId& silo) const {
  const auto answer = record_.answers.find(silo);
  if (phase_ == Phase::Joining && takes_part(silo)) return {};
  if (answer != record_.answers.end() && answer->second)
    return fmt::format("refused the job: {}", wire::to_string(*answer->second));
  const auto said = said_.find(silo);
  if (dropped_.contains(silo)) return said == said_.end() ? "refused" : said->second;
  if (!connected_.contains(silo)) return "not connected";
  if (said != said_.end()) return said->second;
  return answer == record_.answers.end() ? "has not answered the offer" : "computing";
}

void RunMachine::leave(TimePoint now, Actions& out) {
  phase_ = Phase::Leaving;
  ended_bytes_ = std::make_shared<const std::string>(
      encoder_.encode(wire::JobEnded{record_.run, record_.state == RunState::Succeeded}));
  deadline_ = now + job_->participation.round_deadline;
  for (const SiloId& silo : connected_) out.push_back(Send{silo, ended_bytes_});
  maybe_done(out);
}

void RunMachine::maybe_done(Actions& out) {
  const auto heard = [&](const auto& member) {
    const SiloId& silo = member.facts.silo;
    const auto answer = record_.answers.find(silo);
    const bool involved = answer != record_.answers.end() && !answer->second;
    return !involved || seen_end_.contains(silo);
  };
  if (!std::all_of(job_->cohort.begin(), job_->cohort.end(), heard)) return;
  phase_ = Phase::Done;
  deadline_.reset();
  out.push_back(Goodbye{});
}

}  // namespace undertone::coordinator
