#include "coordinator/runs/run_machine.hpp"

#include <cmath>
#include <deque>
#include <functional>
#include <gtest/gtest.h>

#include "shared/sealed/additive_shares.hpp"
#include "shared/sealed/round_layout.hpp"
#include "tests/support/long_advance.hpp"
#include "tests/support/run_at_hand.hpp"
#include "tests/support/shuffled_job.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::coordinator {
namespace {

using std::chrono::milliseconds;
using tests::decoded;
using tests::names;
using tests::plain_job;
using tests::RunAtHand;
using tests::silo;
using tests::text_of;

const TimePoint kStart{};
constexpr milliseconds kResend{300};
constexpr milliseconds kJoinDeadline{8000};
constexpr milliseconds kRoundDeadline{4000};

TEST(RunMachineTest, OffersTheJobAndOpensTheFirstRoundOnceEverybodyHasAnswered) {
  RunAtHand run(plain_job());
  EXPECT_EQ(run.boot(), "run_started");
  EXPECT_EQ(run.timer, kStart + kResend);
  EXPECT_EQ(run.connect(0), "silo-0<job_offer");
  EXPECT_EQ(run.connect(1), "silo-1<job_offer");
  EXPECT_EQ(run.accept(0), "job_answered");
  EXPECT_EQ(run.connect(0), "");  // it has answered
  EXPECT_EQ(run.accept(1), "job_answered");
  EXPECT_EQ(run.machine().phase(), RunMachine::Phase::Joining);
  EXPECT_EQ(run.connect(2), "silo-2<job_offer");
  EXPECT_EQ(run.accept(2), "job_answered | silo-0<query | silo-1<query | silo-2<query");
  EXPECT_EQ(run.machine().phase(), RunMachine::Phase::Round);
  EXPECT_EQ(run.state(), RunState::Running);
}

TEST(RunMachineTest, TheFirstQueryIsInTheStoreBeforeAnybodyHearsOfIt) {
  RunAtHand run(plain_job());
  run.begin();
  const Checkpoint first = *run.store().find(run.id()).value()->checkpoint;
  EXPECT_EQ(first.round.value, 0U);
  EXPECT_EQ(first.query, queries::query_digest(run.id(), run.query));
}

TEST(RunMachineTest, WithEverybodysAnswersItRunsToItsEndAndSaysSoUntilAllHaveHeard) {
  RunAtHand run(plain_job());
  run.begin();
  EXPECT_EQ(run.answer(1), "accepted");
  EXPECT_EQ(run.answer(0), "accepted");
  EXPECT_EQ(run.answer(2), "accepted | closed 0 with 3 | silo-0<query | silo-1<query | silo-2<query");
  EXPECT_EQ(run.query.round.value, 1U);
  for (int i = 0; i < 3; ++i) (void)run.answer(i);
  ASSERT_TRUE(run.is_evaluation());
  (void)run.answer(0);
  (void)run.answer(1);
  EXPECT_EQ(run.answer(2),
            "accepted | closed 2 with 3 | succeeded | silo-0<job_ended | silo-1<job_ended | silo-2<job_ended");
  EXPECT_EQ(run.state(), RunState::Succeeded);
  EXPECT_EQ(run.say(0, wire::JobEndedSeen{run.id()}), "");
  EXPECT_EQ(run.wait(kResend), "silo-1<job_ended | silo-2<job_ended");
  EXPECT_EQ(run.say(2, wire::JobEndedSeen{run.id()}), "");
  EXPECT_EQ(run.say(1, wire::JobEndedSeen{run.id()}), "goodbye");
  EXPECT_EQ(run.machine().phase(), RunMachine::Phase::Done);
}

TEST(RunMachineTest, TheWeightsAreWhatTheAlgorithmMakesOfTheWeightedMeans) {
  RunAtHand run(plain_job());
  run.begin();
  const std::unique_ptr<algorithms::FederatedAlgorithm> algorithm = jobs::make_algorithm(run.job());
  for (int round = 0; round < 3; ++round) {
    const algorithms::Step step = algorithm->start();
    const auto& query = std::get<queries::Query>(step);
    const jobs::RoundSpec spec =
        jobs::round_spec(run.job(), *planning::ask_of(jobs::schedule_of(run.job()), query.round));
    folds::RoundFold fold = spec.fold();
    for (int i = 0; i < 3; ++i)
      fold.add(queries::values_of(run.reply(i).reply.answer), spec.weight(*run.job().member(silo(i))));
    ASSERT_TRUE(algorithm->advance({query.round, fold.replies(), fold.value()}));
    for (int i = 0; i < 3; ++i) (void)run.answer(i);
  }
  for (const RunMachine::Action& action : run.actions) {
    const auto* ended = std::get_if<RunMachine::Ended>(&action);
    if (ended == nullptr) continue;
    EXPECT_EQ(ended->outcome->vectors.at("weights"),
              std::get<algorithms::Finished>(algorithm->start()).outcome.vectors.at("weights"));
    return;
  }
  FAIL() << "the run has not ended";
}

TEST(RunMachineTest, BeginsAtTheJoinDeadlineWithAQuorumAndLaterSilosJoinTheOpenRound) {
  RunAtHand run(plain_job());
  (void)run.boot();
  for (int i = 0; i < 3; ++i) (void)run.connect(i);
  (void)run.accept(0);
  (void)run.accept(1);
  EXPECT_EQ(run.wait(kJoinDeadline - milliseconds(1)), "silo-2<job_offer");
  EXPECT_EQ(run.wait(milliseconds(1)), "silo-0<query | silo-1<query");
  EXPECT_EQ(run.accept(2), "job_answered | silo-2<query");
  (void)run.answer(0);
  EXPECT_EQ(run.answer(1), "accepted");  // the third is waited for
  EXPECT_EQ(run.answer(2), "accepted | closed 0 with 3 | silo-0<query | silo-1<query | silo-2<query");
}

TEST(RunMachineTest, WithoutAQuorumAtTheJoinDeadlineTheRunFailsAndSaysWhoDidNotAccept) {
  RunAtHand run(plain_job());
  (void)run.boot();
  for (int i = 0; i < 2; ++i) (void)run.connect(i);
  (void)run.accept(0);
  EXPECT_EQ(run.say(1, wire::JobAnswer{run.id(), wire::Refusal::Budget}), "job_answered");
  const std::string why = "1 silos accepted the job, quorum is 2; not: silo-1 (budget), silo-2 (no answer)";
  EXPECT_EQ(run.wait(kJoinDeadline), "ended: " + why +
                                         " | silo-0<job_ended | silo-1<job_ended | silo-0<job_ended | "
                                         "silo-1<job_ended");
  EXPECT_EQ(run.state(), RunState::Failed);
  EXPECT_EQ(run.failure(), why);
}

TEST(RunMachineTest, AQuorumAtTheDeadlineClosesTheRoundAndNotBefore) {
  RunAtHand run(plain_job());
  run.begin();
  (void)run.answer(0);
  EXPECT_EQ(run.answer(2), "accepted");
  EXPECT_EQ(run.wait(kRoundDeadline - milliseconds(1)), "silo-1<query");  // sent again, since it is time to
  EXPECT_EQ(run.wait(milliseconds(1)), "closed 0 with 2 without silo-1 | silo-0<query | silo-1<query | silo-2<query");
  const std::vector<RoundRecord> rounds = run.store().rounds(run.id()).value();
  ASSERT_EQ(rounds.size(), 1U);
  EXPECT_EQ(rounds[0].missing, std::vector<SiloId>{silo(1)});
  EXPECT_EQ(rounds[0].elapsed, kRoundDeadline);
}

TEST(RunMachineTest, BelowTheQuorumItAsksOnceMoreThenFailsWithWhoWasMissing) {
  RunAtHand run(plain_job());
  run.begin();
  (void)run.answer(1);
  const std::string resent = "silo-0<query | silo-2<query";
  EXPECT_EQ(run.wait(kRoundDeadline), resent + " | " + resent);  // at the deadline, and since it is time to
  EXPECT_EQ(run.wait(kRoundDeadline - milliseconds(1)), resent);
  const std::string why = "round 0: 1 replies at the deadline, quorum is 2; missing: silo-0, silo-2";
  EXPECT_EQ(run.wait(milliseconds(1)), "ended: " + why + " | silo-0<job_ended | silo-1<job_ended | silo-2<job_ended");
  EXPECT_EQ(run.failure(), why);
  EXPECT_EQ(run.answer(0), "");
}

TEST(RunMachineTest, LateDuplicateAndForeignRepliesAreCountedAndMoveNothing) {
  RunAtHand run(plain_job());
  run.begin();
  const wire::ReplyMessage early = run.reply(0);
  (void)run.say(0, early);
  EXPECT_EQ(run.say(0, early), "duplicate");
  wire::ReplyMessage other = run.reply(1);
  other.run.nonce = {9};
  EXPECT_EQ(run.say(1, other), "foreign | reply_ignored");
  wire::ReplyMessage ahead = run.reply(1);
  ahead.reply.round = RoundIndex{1};
  EXPECT_EQ(run.say(1, ahead), "foreign | reply_ignored");
  wire::ReplyMessage shorter = run.reply(1);
  shorter.reply.answer = queries::NoisedSums{{1, 2}};
  EXPECT_EQ(run.say(1, shorter), "misshapen | reply_ignored");
  EXPECT_EQ(run.said(run.machine().on_message(SiloId::create("stranger").value(), early, run.now)), "");
  EXPECT_TRUE(run.actions.empty());
  for (int i = 1; i < 3; ++i) (void)run.answer(i);
  EXPECT_EQ(run.say(0, early), "late");
  EXPECT_EQ(run.store().rounds(run.id()).value().size(), 1U);
  EXPECT_EQ(run.machine().progress()->answered.size(), 0U);
}

TEST(RunMachineTest, AReplyBeforeTheFirstRoundAndAfterTheEndIsNotCountedAtAll) {
  RunAtHand run(plain_job());
  (void)run.boot();
  (void)run.connect(0);
  EXPECT_EQ(run.answer(0), "");
  const wire::VectorHeader header{wire::Kind::Reply, run.id(), RoundIndex{0}, 5, 8, 40};
  EXPECT_EQ(run.machine().refuses(silo(0), header), Round::Reception::Foreign);
  (void)run.cancel();
  EXPECT_EQ(run.answer(0), "");
  EXPECT_EQ(run.machine().refuses(silo(0), header), Round::Reception::Late);
}

TEST(RunMachineTest, ASiloThatSaysWhatNoHonestOneSaysIsLeftOutOfTheRun) {
  RunAtHand run(plain_job());
  run.begin();
  wire::ReplyMessage wild = run.reply(2);
  wild.reply.answer = queries::NoisedSums{{std::int64_t{1000} << 40U, 0, 0, 0, 0}};
  EXPECT_EQ(run.say(2, wild), "implausible | reply_refused");
  EXPECT_EQ(run.machine().why_missing(silo(2)).substr(0, 24), "its answer has norm 1000");
  EXPECT_EQ(run.answer(2), "");  // nothing of it is taken any more
  (void)run.answer(0);
  EXPECT_EQ(run.answer(1), "accepted | closed 0 with 2 without silo-2 | silo-0<query | silo-1<query");
}

TEST(RunMachineTest, WhoRefusesAQueryIsNotWaitedForAndNotAskedAgain) {
  RunAtHand run(plain_job());
  run.begin();
  EXPECT_EQ(run.say(1, wire::QueryRefused{run.id(), RoundIndex{7}, wire::Refusal::Budget}), "");  // of another round
  EXPECT_EQ(run.say(1, wire::QueryRefused{run.id(), RoundIndex{0}, wire::Refusal::Paused}), "");
  EXPECT_EQ(run.machine().why_missing(silo(1)), "paused by its owner");
  EXPECT_EQ(run.say(1, wire::QueryRefused{run.id(), RoundIndex{0}, wire::Refusal::Budget}), "query_refused");
  EXPECT_EQ(run.machine().why_missing(silo(1)), "refused: budget");
  EXPECT_EQ(run.connect(1), "");
  (void)run.answer(0);
  EXPECT_EQ(run.answer(2), "accepted | closed 0 with 2 without silo-1 | silo-0<query | silo-2<query");
  EXPECT_EQ(run.say(2, wire::QueryRefused{run.id(), RoundIndex{1}, wire::Refusal::Unplanned}),
            "query_refused | ended: round 1: 1 silos can still answer, quorum is 2; will not answer: silo-2 | "
            "silo-0<job_ended | silo-1<job_ended | silo-2<job_ended");
}

TEST(RunMachineTest, TheOperatorCanEndARunInEveryPhaseUntilItHasEnded) {
  RunAtHand joining(plain_job());
  (void)joining.boot();
  (void)joining.connect(0);
  EXPECT_EQ(joining.cancel(), "ended: enough | silo-0<job_ended | goodbye");  // nobody had accepted
  EXPECT_EQ(joining.state(), RunState::Cancelled);

  for (const int closed : {0, 1}) {
    SCOPED_TRACE(closed);
    RunAtHand running(plain_job());
    running.begin();
    for (int i = 0; i < 3 * closed; ++i) (void)running.answer(i);
    (void)running.answer(0);
    EXPECT_EQ(running.cancel(), "ended: enough | silo-0<job_ended | silo-1<job_ended | silo-2<job_ended");
    EXPECT_TRUE(running.machine().ended());
    EXPECT_EQ(running.failure(), "enough");
    EXPECT_EQ(running.answer(1), "");
    EXPECT_EQ(running.store().rounds(running.id()).value().size(), static_cast<std::size_t>(closed));
    EXPECT_EQ(running.wait(kRoundDeadline), "goodbye");
  }
}

TEST(RunMachineTest, WhoeverComesBackAfterTheEndHearsOfIt) {
  RunAtHand run(plain_job());
  run.begin();
  (void)run.said(run.machine().on_disconnected(silo(1), run.now));
  EXPECT_EQ(run.cancel(), "ended: enough | silo-0<job_ended | silo-2<job_ended");
  EXPECT_EQ(run.boot(), "run_started | ended: enough");
  EXPECT_EQ(run.connect(1), "silo-1<job_ended");
  EXPECT_EQ(run.accept(1), "silo-1<job_ended");
  EXPECT_EQ(run.accept(1), "");  // once on its connection
}

/// The same with a grace of a second for silos that are gone.
std::string job_with_grace() {
  std::string job = plain_job();
  const std::string key = "\"resend_ms\":300";
  job.insert(job.find(key) + key.size(), ",\"grace_ms\":1000");
  return job;
}

TEST(RunMachineTest, ASiloThatIsGoneForTheGraceIsNotWaitedForUntilTheDeadline) {
  RunAtHand run(job_with_grace());
  run.begin();
  (void)run.said(run.machine().on_disconnected(silo(2), run.now));
  (void)run.answer(0);
  (void)run.answer(1);
  EXPECT_EQ(run.wait(milliseconds(999)), "");
  EXPECT_EQ(run.wait(milliseconds(1)), "closed 0 with 2 without silo-2 | silo-0<query | silo-1<query");
  // Nor in the next round, from its beginning: the quorum's second answer closes it.
  (void)run.answer(0);
  EXPECT_EQ(run.answer(1), "accepted");
  EXPECT_EQ(run.wait(milliseconds(0)), "closed 1 with 2 without silo-2 | silo-0<query | silo-1<query");
  // Back again it counts in the round that is open.
  EXPECT_EQ(run.connect(2), "silo-2<query");
  (void)run.answer(0);
  (void)run.answer(1);
  EXPECT_EQ(run.wait(milliseconds(200)), "");
  EXPECT_NE(run.answer(2).find("closed 2 with 3"), std::string::npos);
}

TEST(RunMachineTest, ASiloThatIsBackWithinTheGraceStillCounts) {
  RunAtHand run(job_with_grace());
  run.begin();
  (void)run.said(run.machine().on_disconnected(silo(2), run.now));
  (void)run.answer(0);
  (void)run.answer(1);
  (void)run.wait(milliseconds(900));
  EXPECT_EQ(run.connect(2), "silo-2<query");
  EXPECT_EQ(run.wait(milliseconds(1500)).find("closed"), std::string::npos);
  EXPECT_NE(run.answer(2).find("closed 0 with 3"), std::string::npos);
}

TEST(RunMachineTest, ARestartedCoordinatorGivesEverybodyTheGraceAnew) {
  RunAtHand run(job_with_grace());
  run.begin();
  (void)run.answer(0);
  run.now += milliseconds(500);
  (void)run.boot();
  for (int i = 0; i < 2; ++i) (void)run.connect(i);
  for (int i = 0; i < 2; ++i) (void)run.answer(i);
  EXPECT_EQ(run.wait(milliseconds(999)).find("closed"), std::string::npos);
  EXPECT_NE(run.wait(milliseconds(1)).find("closed 0 with 2 without silo-2"), std::string::npos);
}

TEST(RunMachineTest, WithoutAGraceASiloThatIsGoneIsWaitedForUntilTheDeadline) {
  RunAtHand run(plain_job());
  run.begin();
  (void)run.said(run.machine().on_disconnected(silo(2), run.now));
  (void)run.answer(0);
  (void)run.answer(1);
  EXPECT_EQ(run.wait(kRoundDeadline - milliseconds(1)).find("closed"), std::string::npos);
  EXPECT_NE(run.wait(milliseconds(1)).find("closed 0 with 2 without silo-2"), std::string::npos);
}

TEST(RunMachineTest, AnAlgorithmThatDivergesEndsItsOwnRunWithoutAnError) {
  tests::SmallFederation federation;
  federation.silos = 3;
  federation.evaluation_every = 0;
  // Each step multiplies the weights by eta * lambda = 1e12, and the fourth leaves what 32 bits hold.
  federation.points = "f32";
  federation.step_size = 1e9;
  federation.domain = R"({"kind":"whole_space"})";
  federation.regulariser = R"({"kind":"l2","strength":1000})";
  RunAtHand run(federation.job());
  run.begin();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) (void)run.answer(i);
  }
  ASSERT_EQ(run.query.round.value, 3U);
  for (int i = 0; i < 2; ++i) (void)run.answer(i);
  EXPECT_EQ(run.answer(2),
            "accepted | ended: minibatch SGD diverged in round 3: a smaller step is needed | "
            "silo-0<job_ended | silo-1<job_ended | silo-2<job_ended");
  EXPECT_EQ(run.state(), RunState::Failed);
  EXPECT_EQ(run.store().rounds(run.id()).value().size(), 3U);  // the fourth was not closed
}

TEST(RunMachineTest, WhatTakesLongIsHandedOutAndItsRoundCommittedWithWhatFollows) {
  RunAtHand run(plain_job(), tests::taking_long());
  run.begin();
  for (int i = 0; i < 2; ++i) (void)run.answer(i);
  EXPECT_EQ(run.answer(2), "accepted | advance_began | advance");
  EXPECT_TRUE(run.store().rounds(run.id()).value().empty());
  EXPECT_EQ(run.store().find(run.id()).value()->checkpoint->round.value, 0U);
  EXPECT_EQ(run.machine().rounds_closed(), 0U);
  EXPECT_EQ(run.machine().why_missing(silo(0)), "");
  EXPECT_EQ(run.wait(milliseconds(250)), "");
  EXPECT_EQ(run.finish_advance(), "closed 0 with 3 | silo-0<query | silo-1<query | silo-2<query");
  EXPECT_EQ(run.store().find(run.id()).value()->checkpoint->query, queries::query_digest(run.id(), run.query));
  EXPECT_EQ(run.machine().rounds_closed(), 1U);
  EXPECT_EQ(run.store().rounds(run.id()).value().at(0).elapsed, milliseconds(0));  // silos were not waited for
}

TEST(RunMachineTest, WhileItAdvancesNothingReopensTheRoundThatIsClosed) {
  RunAtHand run(plain_job(), tests::taking_long());
  (void)run.boot();
  for (int i = 0; i < 3; ++i) (void)run.connect(i);
  for (int i = 0; i < 2; ++i) (void)run.accept(i);
  (void)run.wait(kJoinDeadline);
  (void)run.answer(0);
  EXPECT_EQ(run.answer(1), "accepted | advance_began | advance");
  EXPECT_EQ(run.answer(0), "late");
  EXPECT_EQ(run.machine().refuses(silo(1), {wire::Kind::Reply, run.id(), RoundIndex{0}, 5, 8, 40}),
            Round::Reception::Late);
  EXPECT_EQ(run.say(1, wire::QueryRefused{run.id(), RoundIndex{0}, wire::Refusal::UnknownRun}), "");
  EXPECT_EQ(run.say(1, wire::QueryRefused{run.id(), RoundIndex{0}, wire::Refusal::Budget}), "");
  (void)run.said(run.machine().on_disconnected(silo(1), run.now));
  EXPECT_EQ(run.connect(1), "");
  EXPECT_EQ(run.wait(kRoundDeadline), "silo-2<job_offer");  // the deadline is over, and is nobody's
  EXPECT_EQ(run.accept(2), "job_answered");                 // it is asked in the next round
  EXPECT_EQ(run.say(0, wire::JobAnswer{run.id(), wire::Refusal::Budget}), "job_answered");
  EXPECT_EQ(run.wait(kRoundDeadline), "");
  EXPECT_EQ(run.finish_advance(), "closed 0 with 2 | silo-1<query | silo-2<query");
  EXPECT_EQ(run.timer, run.now + kResend);
}

TEST(RunMachineTest, ASiloWhoseDiskIsFullIsAskedAgainUntilTheRoundsDeadlineAndNotLost) {
  RunAtHand run(plain_job());
  run.begin();
  EXPECT_EQ(run.say(2, wire::QueryRefused{run.id(), RoundIndex{0}, wire::Refusal::Unavailable}), "");
  EXPECT_EQ(run.machine().why_missing(silo(2)), "it cannot write its ledger: its disk has no room, or has failed");
  for (int i = 0; i < 2; ++i) (void)run.answer(i);
  EXPECT_EQ(run.wait(kResend), "silo-2<query");
  EXPECT_NE(run.answer(2).find("closed 0 with 3"), std::string::npos);  // its owner has made room
  EXPECT_EQ(run.say(2, wire::QueryRefused{run.id(), RoundIndex{1}, wire::Refusal::Unavailable}), "");
  for (int i = 0; i < 2; ++i) (void)run.answer(i);
  EXPECT_NE(run.wait(kRoundDeadline).find("closed 1 with 2 without silo-2"), std::string::npos);
}

TEST(RunMachineTest, ARunThatIsEndedWhileItAdvancesWaitsForNoResultAndTakesNone) {
  bool given_up = false;
  RunAtHand run(plain_job(), tests::taking_long([&given_up](const std::stop_token& nobody_waits) {
                  given_up = nobody_waits.stop_requested();
                  return true;
                }));
  run.begin();
  for (int i = 0; i < 3; ++i) (void)run.answer(i);
  EXPECT_EQ(run.cancel(), "ended: enough | silo-0<job_ended | silo-1<job_ended | silo-2<job_ended");
  EXPECT_EQ(run.finish_advance(), "");
  EXPECT_TRUE(given_up);
  EXPECT_TRUE(run.actions.empty());
  EXPECT_EQ(run.state(), RunState::Cancelled);
  EXPECT_TRUE(run.store().rounds(run.id()).value().empty());
  EXPECT_EQ(run.wait(kRoundDeadline), "goodbye");
}

TEST(RunMachineTest, ACheckpointThatIsNotTheAlgorithmsEndsTheRunWithoutAnError) {
  RunAtHand run(plain_job());
  ASSERT_TRUE(run.store().start_rounds(run.id(), {RoundIndex{0}, "no state of any algorithm", Digest{}}));
  EXPECT_EQ(run.boot().substr(0, 6), "ended:");
  EXPECT_EQ(run.state(), RunState::Failed);
}

TEST(RunMachineTest, AQueryThatIsNotTheCommittedOneIsNeverSent) {
  RunAtHand run(plain_job());
  run.begin();
  Checkpoint other = *run.store().find(run.id()).value()->checkpoint;
  other.query = sha256("another query");
  ASSERT_TRUE(run.store().start_rounds(run.id(), other));
  EXPECT_EQ(run.boot(), "run_started | ended: the store's checkpoint does not continue this job: its query is another");
  EXPECT_EQ(run.state(), RunState::Failed);
  EXPECT_EQ(run.connect(0), "silo-0<job_ended");
}

/// What becomes of a whole run, whatever is killed on the way: its milestones, rounds and weights.
struct Course {
  std::vector<std::string> milestones;  // closed rounds and ends, in order
  std::map<RoundIndex, std::map<SiloId, Digest>> accepted;
  Eigen::VectorXd weights;
};

/// An honest shuffler that adds, on a disk that survives the coordinator: nobody's words but what it is asked.
class AddingShuffler {
 public:
  explicit AddingShuffler(const jobs::Job& job) : job_(&job) { plan_ = jobs::plan_of(job, job.cohort.front()).value(); }
  std::vector<wire::Message> hear(const wire::Message& message) {
    if (const auto* open = std::get_if<wire::BatchOpen>(&message)) return on(*open);
    if (const auto* close = std::get_if<wire::BatchClose>(&message)) {
      forward_ = forward(*close);
      return {*forward_};
    }
    return {};
  }
  std::vector<wire::Message> take(const SiloId& from) {
    taken_.insert(from);
    if (taken_.size() < spec_.expected.size()) return {};
    return {wire::BatchCollected{spec_.run, spec_.round, spec_.attempt, {taken_.begin(), taken_.end()}}};
  }
  [[nodiscard]] RoundIndex round() const { return spec_.round; }

 private:
  std::vector<wire::Message> on(const wire::BatchOpen& open) {
    const bool same = opened_ && open.round == spec_.round;
    opened_ = true;
    spec_ = open;
    if (!same) {
      taken_.clear();
      forward_.reset();
    }
    if (forward_) return {*forward_};
    if (taken_.size() == spec_.expected.size())
      return {wire::BatchCollected{spec_.run, spec_.round, spec_.attempt, {taken_.begin(), taken_.end()}}};
    return {wire::BatchOpened{spec_.run, spec_.round, spec_.attempt}};
  }
  /// A total in the middle of what the silos' counts can add up to, and another for each round.
  [[nodiscard]] wire::BatchForward forward(const wire::BatchClose& close) const {
    const auto layout = sealed::RoundLayout::create(*job_->shuffle, *plan_->release(close.round), job_->reply_lattice,
                                                    job_->cohort.size())
                            .value();
    const auto most = static_cast<std::uint64_t>(layout.bits_of_coordinate()) * close.silos.size();
    const std::vector<std::uint64_t> total(static_cast<std::size_t>(layout.dimension()),
                                           most / 2 + close.round.value + 1);
    const std::vector<std::uint8_t> packed = sealed::pack_share(total, layout.modulus());
    return {close.run, close.round, close.silos.size(), {packed.begin(), packed.end()}};
  }
  const jobs::Job* job_;
  std::optional<planning::Plan> plan_;
  bool opened_ = false;
  wire::BatchOpen spec_;
  std::set<SiloId> taken_;
  std::optional<wire::BatchForward> forward_;
};

/// A run with honest silos, which answer what they are sent, and with the shuffler of its job, if it has one. One
/// message is delivered at a time; between any two the coordinator can be killed.
class World {
 public:
  explicit World(const std::string& job, const jobs::AlgorithmMaker& make_algorithm = jobs::make_algorithm)
      : run_(job, make_algorithm) {
    if (run_.job().shuffle) shuffler_.emplace(run_.job());
  }

  /// @param kill the coordinator is killed after so many messages @return how many messages there were
  int finish(std::optional<int> kill) {
    boot();
    int delivered = 0;
    while (true) {
      if (delivered == kill) {
        under_way_.clear();  // nothing reaches a coordinator that is gone
        kill.reset();
        boot();
      }
      if (under_way_.empty()) break;
      const std::function<std::string()> deliver = std::move(under_way_.front());
      under_way_.pop_front();
      take(deliver());
      ++delivered;
    }
    for (const RoundRecord& round : run_.store().rounds(run_.id()).value())
      course_.accepted.emplace(round.round, round.accepted);
    return delivered;
  }
  [[nodiscard]] const Course& course() const { return course_; }
  [[nodiscard]] RunState state() { return run_.state(); }

 private:
  void boot() {
    if (run_.state() == RunState::Succeeded) course_.milestones.erase(course_.milestones.end() - 1);  // said once more
    take(run_.boot());
    for (int i = 0; i < 3; ++i) take(run_.connect(i));
    if (shuffler_) take(shuffler_comes_back());
  }
  void take(const std::string&) {
    if (const auto advance = std::exchange(run_.advance, nullptr)) work_on(advance);
    for (const RunMachine::Action& action : run_.actions) {
      if (const auto* send = std::get_if<RunMachine::Send>(&action)) {
        answer(send->silo, decoded(send->bytes));
      } else if (const auto* to = std::get_if<RunMachine::SendToShuffler>(&action)) {
        from_shuffler(shuffler_->hear(decoded(to->bytes)));
      } else if (const auto* closed = std::get_if<RunMachine::RoundClosed>(&action)) {
        course_.milestones.push_back(text_of(*closed));
      } else if (const auto* ended = std::get_if<RunMachine::Ended>(&action)) {
        course_.milestones.push_back(text_of(action));
        if (ended->outcome) course_.weights = ended->outcome->vectors.at("weights");
      }
    }
  }
  /// What takes long takes so long that a silo says again what it said, another comes back, and time goes by.
  void work_on(const std::shared_ptr<Advance>& advance) {
    if (!shuffler_) send(1, run_.reply(1));
    under_way_.emplace_back([this] {
      (void)run_.said(run_.machine().on_disconnected(silo(2), run_.now));
      return run_.connect(2);
    });
    if (shuffler_) under_way_.emplace_back([this] { return shuffler_comes_back(); });
    under_way_.emplace_back([this] { return run_.wait(kResend); });
    under_way_.emplace_back(
        [this, advance] { return run_.said(run_.machine().on_advanced(std::move(*advance).perform(), run_.now)); });
  }
  std::string shuffler_comes_back() { return run_.said(run_.machine().on_shuffler_connected("mixer", run_.now)); }
  void answer(const SiloId& from, const wire::Message& message) {
    const int number = from.name().back() - '0';
    if (std::holds_alternative<wire::JobOffer>(message)) {
      send(number, wire::JobAnswer{run_.id(), std::nullopt});
    } else if (std::holds_alternative<wire::JobEnded>(message)) {
      send(number, wire::JobEndedSeen{run_.id()});
    } else if (std::holds_alternative<wire::QueryMessage>(message) && shuffler_ && !run_.is_evaluation()) {
      from_shuffler(shuffler_->take(from));
      send(number, wire::ReplyHandedOver{run_.id(), shuffler_->round()});
    } else if (std::holds_alternative<wire::QueryMessage>(message)) {
      send(number, run_.reply(number));
    }
  }
  void send(int number, const wire::Message& message) {
    under_way_.emplace_back([this, number, message] { return run_.say(number, message); });
  }
  void from_shuffler(const std::vector<wire::Message>& messages) {
    for (const wire::Message& message : messages) {
      under_way_.emplace_back(
          [this, message] { return run_.said(run_.machine().on_shuffler_message("mixer", message, run_.now)); });
    }
  }

  RunAtHand run_;
  std::optional<AddingShuffler> shuffler_;
  std::deque<std::function<std::string()>> under_way_;
  Course course_;
};

/// Three silos and one shuffler: two steps that it mixes, and an evaluation, which silos answer themselves.
std::string shuffled_job(const tests::ShuffledJob& shuffled = tests::ShuffledJob::counts("mixer",
                                                                                         std::string(64, 'a'))) {
  std::string job = shuffled.json();
  const std::string rounds = "\"rounds\":4";
  job.replace(job.find(rounds), rounds.size(), "\"rounds\":2");
  const std::string none = "\"holdout_records\":0";
  for (std::size_t at; (at = job.find(none)) != std::string::npos;)
    job.replace(at, none.size(), "\"holdout_records\":8");
  return job;
}

/// Also as if nothing took long.
void expect_the_same_whenever_it_is_killed(const std::string& job, int events_min,
                                           const jobs::AlgorithmMaker& make_algorithm = jobs::make_algorithm) {
  World undisturbed(job);
  (void)undisturbed.finish(std::nullopt);
  const int events = World(job, make_algorithm).finish(std::nullopt);
  ASSERT_GE(events, events_min);
  ASSERT_EQ(undisturbed.state(), RunState::Succeeded);
  const Course& expected = undisturbed.course();
  ASSERT_EQ(expected.milestones,
            (std::vector<std::string>{"closed 0 with 3", "closed 1 with 3", "closed 2 with 3", "succeeded"}));
  for (int kill = 0; kill <= events; ++kill) {
    SCOPED_TRACE(kill);
    World world(job, make_algorithm);
    (void)world.finish(kill);
    EXPECT_EQ(world.state(), RunState::Succeeded);
    EXPECT_EQ(world.course().milestones, expected.milestones);
    EXPECT_EQ(world.course().weights, expected.weights);
    ASSERT_EQ(world.course().accepted.size(), expected.accepted.size());
  }
}

TEST(RunMachineTest, KilledBetweenAnyTwoEventsItGoesOnAsIfNothingHadBeen) {
  // Three acceptances, three replies in each of three rounds, three that have seen the end.
  expect_the_same_whenever_it_is_killed(plain_job(), 15);
}

TEST(RunMachineTest, AShuffledRunKilledBetweenAnyTwoEventsFoldsEachBatchOnce) {
  // As above, with hand-overs in two rounds and what the shuffler opened, collected and forwarded in each.
  expect_the_same_whenever_it_is_killed(shuffled_job(), 21);
}

TEST(RunMachineTest, KilledWhileItAdvancesItAsksTheClosedRoundAgainAndGetsTheSame) {
  // Three acceptances, three replies in each of three rounds, four events while each is advanced, three ends seen.
  expect_the_same_whenever_it_is_killed(plain_job(), 27, tests::taking_long());
  expect_the_same_whenever_it_is_killed(shuffled_job(), 33, tests::taking_long());
}

TEST(RunMachineTest, AShuffledRoundAsksOnceItsBatchIsOpenAndClosesWithWhatIsForwarded) {
  RunAtHand run(shuffled_job());
  AddingShuffler shuffler(run.job());
  run.begin();
  EXPECT_EQ(run.said(run.machine().on_shuffler_connected("elsewhere", run.now)), "");
  EXPECT_EQ(run.said(run.machine().on_shuffler_connected("mixer", run.now)), "mixer<job_offer | mixer<batch_open");
  const auto from_shuffler = [&](const wire::Message& message) {
    return run.said(run.machine().on_shuffler_message("mixer", message, run.now));
  };
  wire::BatchOpen open;
  for (const RunMachine::Action& action : run.actions) {
    const auto* sent = std::get_if<RunMachine::SendToShuffler>(&action);
    if (sent == nullptr) continue;
    const wire::Message message = decoded(sent->bytes);
    if (const auto* found = std::get_if<wire::BatchOpen>(&message)) open = *found;
  }
  ASSERT_EQ(open.expected, (std::vector<SiloId>{silo(0), silo(1), silo(2)}));
  EXPECT_EQ(from_shuffler(shuffler.hear(open).at(0)), "silo-0<query | silo-1<query | silo-2<query");
  EXPECT_EQ(run.answer(0), "");  // in its own name nobody is heard
  EXPECT_EQ(run.machine().refuses(silo(0), {wire::Kind::Reply, run.id(), RoundIndex{0}, 2, 8, 16}),
            Round::Reception::Foreign);
  EXPECT_EQ(run.say(0, wire::ReplyHandedOver{run.id(), RoundIndex{0}}), "");
  EXPECT_EQ(run.connect(0), "");  // it has handed over
  EXPECT_EQ(run.connect(1), "silo-1<query");
  for (int i = 0; i < 2; ++i) (void)shuffler.take(silo(i));
  EXPECT_EQ(from_shuffler(shuffler.take(silo(2)).at(0)), "mixer<batch_close");
  const wire::Message forward = shuffler.hear(wire::BatchClose{run.id(), {0}, 0, open.expected}).at(0);
  EXPECT_EQ(from_shuffler(forward), "closed 0 with 3 | mixer<batch_delivered | mixer<batch_open");
  EXPECT_EQ(from_shuffler(forward), "mixer<batch_delivered");  // it had not heard
}

TEST(RunMachineTest, AShuffledRunWhoseSealingKeyIsNotHereFailsAndSaysWhich) {
  RunAtHand run(shuffled_job({.form = "reports"}));
  (void)run.boot();
  for (int i = 0; i < 3; ++i) (void)run.connect(i);
  for (int i = 0; i < 2; ++i) (void)run.accept(i);
  const std::string why = "this coordinator has no sealing key of fingerprint " + std::string(64, 'a');
  EXPECT_EQ(run.accept(2),
            "job_answered | ended: " + why + " | silo-0<job_ended | silo-1<job_ended | silo-2<job_ended");
  EXPECT_EQ(run.failure(), why);
  EXPECT_FALSE(run.machine().progress());
}

// What only shufflers that add have stands in the store of a run whose shuffler mixes: the run ends, the process lives.
TEST(RunMachineTest, AStoreThatSaysWhatARoundCannotHaveEndsTheRun) {
  RunAtHand run(shuffled_job({.form = "reports"}));
  (void)run.boot();
  Round::Commit committed;
  committed.expected = {silo(0), silo(1), silo(2)};
  committed.closing = committed.expected;
  ASSERT_TRUE(run.store().set_shuffled_state(run.id(), {Digest{}, RoundIndex{0}, committed}));
  for (int i = 0; i < 3; ++i) (void)run.connect(i);
  for (int i = 0; i < 3; ++i) (void)run.accept(i);
  EXPECT_EQ(run.state(), RunState::Failed);
  EXPECT_NE(run.failure().find("the store is damaged"), std::string::npos) << run.failure();
}

TEST(RunMachineTest, AShuffledRunThatIsEndedGivesItsBatchUp) {
  RunAtHand run(shuffled_job());
  run.begin();
  (void)run.said(run.machine().on_shuffler_connected("mixer", run.now));
  EXPECT_EQ(run.cancel(),
            "ended: enough | mixer<batch_abandon | silo-0<job_ended | silo-1<job_ended | "
            "silo-2<job_ended");
}

TEST(RunMachineTest, WhatAShufflerForwardedIsDeliveredOnceItsRoundIsInTheStore) {
  for (const bool cancelled : {false, true}) {
    SCOPED_TRACE(cancelled);
    RunAtHand run(shuffled_job(), tests::taking_long());
    AddingShuffler shuffler(run.job());
    run.begin();
    const auto shuffler_connects = [&] { return run.said(run.machine().on_shuffler_connected("mixer", run.now)); };
    const auto from_shuffler = [&](const wire::Message& message) {
      return run.said(run.machine().on_shuffler_message("mixer", message, run.now));
    };
    (void)shuffler_connects();
    wire::BatchOpen open;
    for (const RunMachine::Action& action : run.actions) {
      const auto* sent = std::get_if<RunMachine::SendToShuffler>(&action);
      if (sent == nullptr) continue;
      const wire::Message message = decoded(sent->bytes);
      if (const auto* found = std::get_if<wire::BatchOpen>(&message)) open = *found;
    }
    (void)from_shuffler(shuffler.hear(open).at(0));
    for (int i = 0; i < 2; ++i) (void)shuffler.take(silo(i));
    (void)from_shuffler(shuffler.take(silo(2)).at(0));
    const wire::Message forward = shuffler.hear(wire::BatchClose{run.id(), {0}, 0, open.expected}).at(0);
    EXPECT_EQ(from_shuffler(forward), "advance_began | advance");
    EXPECT_EQ(from_shuffler(forward), "");
    EXPECT_EQ(shuffler_connects(), "mixer<job_offer");
    EXPECT_EQ(run.say(0, wire::ReplyHandedOver{run.id(), RoundIndex{0}}), "");
    if (cancelled) {
      EXPECT_EQ(run.cancel(),
                "ended: enough | mixer<batch_delivered | silo-0<job_ended | silo-1<job_ended | silo-2<job_ended");
      EXPECT_EQ(run.finish_advance(), "");
    } else {
      EXPECT_EQ(run.finish_advance(), "closed 0 with 3 | mixer<batch_delivered | mixer<batch_open");
    }
    EXPECT_EQ(from_shuffler(forward), "mixer<batch_delivered");
  }
}

TEST(RunMachineTest, ASiloThatAcceptsWhileABatchIsOpenWaitsForTheNextRound) {
  RunAtHand run(shuffled_job());
  (void)run.boot();
  for (int i = 0; i < 3; ++i) (void)run.connect(i);
  for (int i = 0; i < 2; ++i) (void)run.accept(i);
  (void)run.wait(milliseconds(1000));
  ASSERT_EQ(run.machine().phase(), RunMachine::Phase::Round);
  EXPECT_EQ(run.accept(2), "job_answered");
  EXPECT_EQ(run.connect(2), "");
  EXPECT_EQ(run.machine().why_missing(silo(2)), "computing");
}

}  // namespace
}  // namespace undertone::coordinator
