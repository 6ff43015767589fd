#include "coordinator/jobs/job_service.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/http/api.hpp"
#include "shared/base/files.hpp"
#include "shared/http/changes.hpp"
#include "shared/preview/job_preview.hpp"
#include "shared/sealed/hand_over_receipt.hpp"
#include "shared/sealed/seal_reply.hpp"
#include "tests/support/described_json.hpp"
#include "tests/support/long_advance.hpp"
#include "tests/support/one_of_each.hpp"
#include "tests/support/shuffled_job.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::coordinator {
namespace {

using std::chrono::milliseconds;

/// A service on a store in memory, which survives the service.
class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() : database_(store::Database::in_memory().value()), store_(RunStore::open(database_).value()) { boot(); }
  void boot() {
    service_.emplace(
        store_, wire::Limits{}, limits_, [this] { return clock_; }, std::set<std::string>{}, jobs::plan_of,
        make_algorithm_);
    actions_ = service_->start(now_).value();
  }
  static std::string job(int number) {
    tests::SmallFederation federation;
    std::string text = federation.job();
    text.replace(text.find("\"small\""), 7, fmt::format("\"job-{}\"", number));
    return text;
  }
  Result<JobService::Submitted> submit_text(const std::string& text, const Nonce& nonce, bool again) {
    const Result<PlannedJob> planned = PlannedJob::plan(text, "job");
    if (!planned) return planned.error();
    return service_->submit(*planned, nonce, again, now_);
  }
  RunId submit(int number, std::uint8_t nonce = 1, bool again = false) {
    JobService::Submitted submitted = submit_text(job(number), Nonce{nonce}, again).value();
    actions_ = std::move(submitted.actions);
    return submitted.run;
  }
  RunState state(const RunId& run) { return store_.find(run).value()->state; }
  std::size_t offers() const {
    std::size_t count = 0;
    for (const JobService::Action& action : actions_) count += std::holds_alternative<RunMachine::Send>(action) ? 1 : 0;
    return count;
  }
  static SiloId silo(int number) { return SiloId::create(fmt::format("silo-{}", number)).value(); }
  void say(int number, const wire::Message& message) {
    actions_ = service_->on_message(silo(number), message, now_).value();
  }

  /// Every silo takes the run and answers its first query.
  void answer_all(const RunId& run) {
    for (int i = 0; i < 5; ++i) say(i, wire::JobAnswer{run, std::nullopt});
    wire::Decoder decoder{wire::Limits{}};
    const auto sent = std::find_if(actions_.begin(), actions_.end(), [](const JobService::Action& action) {
      return std::holds_alternative<RunMachine::Send>(action);
    });
    const auto heard = decoder.feed(*std::get<RunMachine::Send>(*sent).bytes).value();
    const queries::Query& query = std::get<wire::QueryMessage>(heard.at(0)).query;
    const queries::Reply reply{query.round, -40, crypto::NoiseKind::Test,
                               queries::NoisedSums{std::vector<std::int64_t>(5, 0)}};
    for (int i = 0; i < 5; ++i)
      say(i, wire::ReplyMessage{run, queries::query_digest(run, query), queries::ReplyType::I64, reply});
  }

  jobs::AlgorithmMaker make_algorithm_ = jobs::make_algorithm;
  ServiceLimits limits_;
  std::int64_t clock_ = 1'700'000'000;
  TimePoint now_{};
  store::Database database_;
  RunStore store_;
  std::optional<JobService> service_;
  JobService::Actions actions_;
};

TEST_F(ServiceTest, JobsBeyondTheLimitWaitTheirTurnInOrder) {
  limits_.runs_at_once = 2;
  boot();
  const RunId first = submit(1);
  const RunId second = submit(2);
  const RunId third = submit(3);
  EXPECT_EQ(state(first), RunState::Joining);
  EXPECT_EQ(state(second), RunState::Joining);
  EXPECT_EQ(state(third), RunState::Queued);
  (void)service_->cancel(first, "enough", now_).value();
  // Nobody accepted, so nobody needs to hear of the end: the third begins at once.
  EXPECT_EQ(state(first), RunState::Cancelled);
  EXPECT_EQ(state(third), RunState::Joining);
}

TEST_F(ServiceTest, SubmittingTheSameBytesTwiceIsOneRunUntilItIsToldAgain) {
  const RunId first = submit(1);
  const JobService::Submitted same = submit_text(job(1), Nonce{2}, true).value();
  EXPECT_FALSE(same.created);  // it has not ended
  EXPECT_EQ(same.run, first);
  (void)service_->cancel(first, "enough", now_).value();
  EXPECT_FALSE(submit_text(job(1), Nonce{2}, false).value().created);
  EXPECT_TRUE(submit_text(job(1), Nonce{2}, true).value().created);
}

TEST_F(ServiceTest, ARestartGoesOnWithWhatRanAndWithWhatWaited) {
  limits_.runs_at_once = 1;
  boot();
  const RunId first = submit(1);
  const RunId second = submit(2);
  (void)service_->on_connected(silo(0), now_).value();
  boot();
  EXPECT_NE(service_->machine(first), nullptr);
  EXPECT_EQ(service_->machine(second), nullptr);
  EXPECT_EQ(state(second), RunState::Queued);
  actions_ = service_->on_connected(silo(0), now_).value();
  EXPECT_EQ(offers(), 1U);
}

TEST_F(ServiceTest, TheOutcomeOfARunThatHasEndedIsTakenUpWithoutAPlan) {
  const RunId run = submit(1);
  (void)service_->cancel(run, "enough", now_).value();
  std::size_t planned = 0;
  const jobs::Planner planner = [&planned](const jobs::Job& job, const jobs::CohortMember& member) {
    ++planned;
    return jobs::plan_of(job, member);
  };
  RunMachine machine = RunMachine::open(store_, *store_.find(run).value(), wire::Limits{}, planner).value();
  const std::vector<RunMachine::Action> actions = machine.start(now_).value();
  EXPECT_TRUE(std::any_of(actions.begin(), actions.end(),
                          [](const auto& action) { return std::holds_alternative<RunMachine::Ended>(action); }));
  EXPECT_EQ(planned, 0U);  // a start that writes missing results before it listens does this for each
}

TEST_F(ServiceTest, ARunWhoseCheckpointCannotBeReadEndsAloneAtARestart) {
  const RunId broken = submit(1);
  const RunId whole = submit(2);
  ASSERT_TRUE(store_.start_rounds(broken, {RoundIndex{0}, "no state of any algorithm", Digest{}}));
  boot();
  EXPECT_EQ(state(broken), RunState::Failed);
  EXPECT_EQ(state(whole), RunState::Joining);
  EXPECT_NE(service_->machine(whole), nullptr);
}

TEST_F(ServiceTest, ACancelledRunIsToldToWhoAcceptedIt) {
  const RunId run = submit(1);
  (void)service_->on_connected(silo(0), now_).value();
  (void)service_->on_connected(silo(1), now_).value();
  say(0, wire::JobAnswer{run, std::nullopt});
  actions_ = service_->cancel(run, "enough", now_).value();
  EXPECT_EQ(offers(), 2U);  // the end, to both that are connected
  EXPECT_EQ(service_->cancel(run, "again", now_).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(service_->cancel(RunId{}, "none", now_).error().code, ErrorCode::UnknownRun);
  say(0, wire::JobEndedSeen{run});
  EXPECT_EQ(service_->machine(run), nullptr);  // whoever was involved has heard
  EXPECT_TRUE(store_.ends_unseen(silo(0)).value().empty());
}

TEST_F(ServiceTest, WhatIsAdvancedForARunThatIsGoneIsDroppedAndOtherRunsGoOn) {
  make_algorithm_ = tests::taking_long();
  boot();
  for (int i = 0; i < 5; ++i) (void)service_->on_connected(silo(i), now_).value();
  const RunId gone = submit(1);
  const RunId other = submit(2);
  std::map<RunId, Advance> handed_out;
  for (const RunId& run : {gone, other}) {
    answer_all(run);
    for (JobService::Action& action : actions_) {
      if (auto* advance = std::get_if<Advance>(&action)) handed_out.emplace(advance->run(), std::move(*advance));
    }
  }
  ASSERT_EQ(handed_out.size(), 2U);
  (void)service_->cancel(gone, "enough", now_).value();
  for (int i = 0; i < 5; ++i) say(i, wire::JobEndedSeen{gone});
  ASSERT_EQ(service_->machine(gone), nullptr);
  EXPECT_TRUE(service_->on_advanced(std::move(handed_out.at(gone)).perform(), now_).value().empty());
  EXPECT_EQ(state(gone), RunState::Cancelled);
  EXPECT_TRUE(store_.rounds(gone).value().empty());
  actions_ = service_->on_advanced(std::move(handed_out.at(other)).perform(), now_).value();
  EXPECT_EQ(offers(), 5U);  // the next query
  EXPECT_EQ(store_.rounds(other).value().size(), 1U);
}

TEST_F(ServiceTest, ASiloThatMissedAnEndHearsOfItWhenItComesBackEvenAfterARestart) {
  const RunId run = submit(1);
  (void)service_->on_connected(silo(0), now_).value();
  say(0, wire::JobAnswer{run, std::nullopt});
  (void)service_->on_disconnected(silo(0), now_).value();
  (void)service_->cancel(run, "enough", now_).value();
  boot();
  actions_ = service_->on_connected(silo(0), now_).value();
  ASSERT_EQ(offers(), 1U);
  wire::Decoder decoder{wire::Limits{}};
  const auto heard = decoder.feed(*std::get<RunMachine::Send>(actions_.front()).bytes).value();
  EXPECT_EQ(std::get<wire::JobEnded>(heard.at(0)).run, run);
  say(0, wire::JobEndedSeen{run});
  EXPECT_TRUE(store_.ends_unseen(silo(0)).value().empty());
}

TEST_F(ServiceTest, ASiloWhoseAcceptanceWasLostHearsOfTheEndAllTheSame) {
  const RunId run = submit(1);
  (void)service_->cancel(run, "enough", now_).value();  // nobody's answer has come
  actions_ = service_->on_connected(silo(0), now_).value();
  EXPECT_EQ(offers(), 1U);
  say(0, wire::JobEndedSeen{run});
  say(0, wire::JobAnswer{run, std::nullopt});  // it comes at last
  EXPECT_EQ(offers(), 1U);
  EXPECT_TRUE(service_->on_connected(SiloId::create("stranger").value(), now_).value().empty());
}

TEST_F(ServiceTest, AcceptancesOfUnknownRunsAreAnsweredOnceAndABoundedNumberOfThem) {
  (void)service_->on_connected(silo(0), now_).value();
  const auto answered = [this](std::size_t number) {
    RunId invented;
    invented.job = sha256(std::to_string(number));
    say(0, wire::JobAnswer{invented, std::nullopt});
    return offers() == 1;
  };
  EXPECT_TRUE(answered(0));
  EXPECT_FALSE(answered(0));
  for (std::size_t i = 1; i < JobService::kUnknownRunsMax; ++i) EXPECT_TRUE(answered(i)) << i;
  EXPECT_FALSE(answered(JobService::kUnknownRunsMax));
  (void)service_->on_disconnected(silo(0), now_).value();  // it may not have heard
  (void)service_->on_connected(silo(0), now_).value();
  EXPECT_TRUE(answered(0));
}

TEST_F(ServiceTest, WhoeverAcceptsARunThatIsEndingIsToldOnceOnItsConnection) {
  const RunId run = submit(1);
  for (int i = 0; i < 2; ++i) (void)service_->on_connected(silo(i), now_).value();
  say(0, wire::JobAnswer{run, std::nullopt});
  (void)service_->cancel(run, "enough", now_).value();
  ASSERT_NE(service_->machine(run), nullptr);  // until silo 0 has heard
  say(1, wire::JobAnswer{run, std::nullopt});
  EXPECT_EQ(offers(), 1U);
  say(1, wire::JobAnswer{run, std::nullopt});
  EXPECT_EQ(offers(), 0U);
}

TEST_F(ServiceTest, AJobThatNoRoundBeganForChargesNobody) {
  const RunId run = submit(1);
  (void)service_->on_connected(silo(0), now_).value();
  say(0, wire::JobAnswer{run, std::nullopt});
  EXPECT_EQ(store_.charges().value().at(silo(0)).epsilon, 4.0);
  (void)service_->cancel(run, "enough", now_).value();
  EXPECT_FALSE(store_.charges().value().contains(silo(0)));
}

TEST_F(ServiceTest, AFullQueueRefusesAndABadJobIsNotQueued) {
  limits_.runs_at_once = 1;
  limits_.runs_queued_max = 1;
  boot();
  (void)submit(1);
  (void)submit(2);
  EXPECT_EQ(submit_text(job(3), Nonce{3}, false).error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(submit_text("{}", Nonce{4}, false).error().code, ErrorCode::InvalidConfig);
}

TEST_F(ServiceTest, OldRunsAreForgottenWithEverythingOfTheirsButTheCharges) {
  limits_.runs_kept_max = 2;
  boot();
  std::vector<RunId> runs;
  for (int i = 0; i < 4; ++i) {
    runs.push_back(submit(i));
    (void)service_->cancel(runs.back(), "enough", now_).value();
  }
  EXPECT_FALSE(store_.find(runs[0]).value());
  EXPECT_FALSE(store_.find(runs[1]).value());
  EXPECT_TRUE(store_.find(runs[3]).value());
  clock_ += 366LL * 24 * 3600;
  now_ += std::chrono::hours(366 * 24);
  (void)service_->cancel(submit(9), "enough", now_).value();
  EXPECT_FALSE(store_.find(runs[3]).value());  // a year has passed
}

TEST_F(ServiceTest, AClockThatIsSetAYearAheadForgetsNothing) {
  const RunId run = submit(1);
  (void)service_->cancel(run, "enough", now_).value();
  clock_ += 400LL * 24 * 3600;
  (void)service_->cancel(submit(2), "enough", now_).value();
  EXPECT_TRUE(store_.find(run).value());
  clock_ -= 400LL * 24 * 3600;  // set right again
  clock_ += 366LL * 24 * 3600;
  now_ += std::chrono::hours(366 * 24);
  (void)service_->cancel(submit(3), "enough", now_).value();
  EXPECT_FALSE(store_.find(run).value());
}

TEST_F(ServiceTest, AClockThatIsSetAYearBackForgetsNothingOnceItIsRight) {
  clock_ -= 400LL * 24 * 3600;
  const RunId run = submit(1);
  (void)service_->cancel(run, "enough", now_).value();
  clock_ += 400LL * 24 * 3600;  // set right again
  (void)service_->cancel(submit(2), "enough", now_).value();
  EXPECT_TRUE(store_.find(run).value());
}

TEST_F(ServiceTest, WhyAnAnswerIsMissingCanBeAsked) {
  const RunId run = submit(1);
  const RunMachine& machine = *service_->machine(run);
  EXPECT_EQ(machine.why_missing(silo(0)), "not connected");
  (void)service_->on_connected(silo(0), now_).value();
  EXPECT_EQ(machine.why_missing(silo(0)), "has not answered the offer");
  say(0, wire::JobPending{run});
  EXPECT_EQ(machine.why_missing(silo(0)), "waits for its owner");
  say(0, wire::JobAnswer{run, wire::Refusal::Budget});
  EXPECT_EQ(machine.why_missing(silo(0)), "refused the job: budget");
}

TEST_F(ServiceTest, ASiloChangesItsMindAboutAJobSixteenTimesAndNoMore) {
  const RunId run = submit(1);
  (void)service_->on_connected(silo(0), now_).value();
  for (int i = 1; i <= 40; ++i) {
    const auto refusal = i % 2 == 0 ? std::optional(wire::Refusal::Budget) : std::nullopt;
    say(0, wire::JobAnswer{run, refusal});
    const std::optional<wire::Refusal> known = store_.find(run).value()->answers.at(silo(0));
    EXPECT_EQ(known, i <= 16 ? refusal : std::optional(wire::Refusal::Budget)) << i;
  }
}

/// A run in its first round, whose five silos say what they like.
class ImplausibleReplyTest : public ServiceTest {
 protected:
  ImplausibleReplyTest() : run_(submit(1)) {
    accept();
    for (int i = 0; i < 5; ++i) say(i, wire::JobAnswer{run_, std::nullopt});
    wire::Decoder decoder{wire::Limits{}};
    for (const JobService::Action& action : actions_) {
      const auto* sent = std::get_if<JobService::SessionSend>(&action);
      if (sent == nullptr) continue;
      const std::vector<wire::Message> messages = decoder.feed(*sent->bytes).value();
      if (const auto* query = std::get_if<wire::QueryMessage>(&messages.at(0))) query_ = query->query;
    }
  }
  void accept() {
    for (int i = 0; i < 5; ++i) (void)service_->on_connected(silo(i), now_).value();
  }
  /// What becomes of a reply with a first coordinate so large.
  std::optional<Round::Reception> reply(int number, double value) {
    const auto units = static_cast<std::int64_t>(std::ldexp(value, 40));
    say(number,
        wire::ReplyMessage{run_,
                           queries::query_digest(run_, query_),
                           queries::ReplyType::I64,
                           {query_.round, -40, crypto::NoiseKind::Test, queries::NoisedSums{{units, 0, 0, 0, 0}}}});
    for (const JobService::Action& action : actions_) {
      const auto* said = std::get_if<JobService::OfRun>(&action);
      if (said == nullptr) continue;
      if (const auto* counted = std::get_if<RunMachine::ReplyCounted>(&said->what)) return counted->reception;
    }
    return std::nullopt;
  }
  RunId run_;
  queries::Query query_;
};

TEST_F(ImplausibleReplyTest, IsNotFoldedAndItsSiloIsAskedNoMore) {
  EXPECT_EQ(reply(0, 0.5), Round::Reception::Accepted);
  EXPECT_EQ(reply(1, 1000.0), Round::Reception::Implausible);
  const std::string why = service_->machine(run_)->why_missing(silo(1));
  EXPECT_EQ(why.substr(0, 61), "its answer has norm 1000, its clip and noise explain at most ") << why;
  for (const int honest : {2, 3}) EXPECT_EQ(reply(honest, 0.5), Round::Reception::Accepted);
  EXPECT_EQ(store_.rounds(run_).value().size(), 0U);
  EXPECT_EQ(reply(4, 0.5), Round::Reception::Accepted);
  const std::vector<RoundRecord> closed = store_.rounds(run_).value();
  ASSERT_EQ(closed.size(), 1U);  // nobody waited for silo 1
  EXPECT_EQ(closed[0].missing, std::vector<SiloId>{silo(1)});
  EXPECT_EQ(closed[0].accepted.size(), 4U);
}

using RunningServiceTest = ImplausibleReplyTest;

TEST_F(RunningServiceTest, OnlyAVectorThatARunWaitsForIsWorthReceiving) {
  using Reception = Round::Reception;
  wire::VectorHeader header{wire::Kind::Reply, run_, query_.round, 5, 8, 40};
  EXPECT_EQ(service_->refuses(silo(0), header), std::nullopt);
  EXPECT_EQ(service_->refuses(SiloId::create("stranger").value(), header), Reception::Foreign);
  header.dimension = 6;
  EXPECT_EQ(service_->refuses(silo(0), header), Reception::Misshapen);
  header.dimension = 5;
  EXPECT_EQ(reply(0, 0.5), Reception::Accepted);
  EXPECT_EQ(service_->refuses(silo(0), header), Reception::Duplicate);
  EXPECT_EQ(reply(1, 1000.0), Reception::Implausible);
  EXPECT_EQ(service_->refuses(silo(1), header), Reception::Foreign);  // of it nothing is taken any more
  header.run = RunId{sha256("invented"), {}};
  EXPECT_EQ(service_->refuses(silo(2), header), Reception::Foreign);
  header.run = submit(2, 2);  // nobody was asked anything yet
  EXPECT_EQ(service_->refuses(silo(2), header), Reception::Foreign);
  header.run = run_;
  (void)service_->cancel(run_, "enough", now_).value();
  EXPECT_EQ(service_->refuses(silo(2), header), Reception::Late);
}

TEST_F(RunningServiceTest, ASiloThatDoesNotKnowTheRunIsOfferedItThreeTimesARound) {
  const auto offered = [&] {
    say(0, wire::QueryRefused{run_, query_.round, wire::Refusal::UnknownRun});
    return std::any_of(actions_.begin(), actions_.end(), [](const JobService::Action& action) {
      const auto* sent = std::get_if<JobService::SessionSend>(&action);
      if (sent == nullptr) return false;
      wire::Decoder decoder{wire::Limits{}};
      return std::holds_alternative<wire::JobOffer>(decoder.feed(*sent->bytes).value().at(0));
    });
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(offered()) << i;
  EXPECT_FALSE(offered());
  EXPECT_EQ(service_->machine(run_)->why_missing(silo(0)), "refused: unknown_run");
  EXPECT_FALSE(offered());
}

TEST_F(ImplausibleReplyTest, IsFoundAfterARestartAndInARunThatAnOlderVersionBegan) {
  boot();
  accept();
  EXPECT_EQ(reply(1, 1000.0), Round::Reception::Implausible);
  ASSERT_TRUE(database_.execute("UPDATE runs SET plausible = x''"));
  boot();
  accept();
  EXPECT_EQ(reply(1, 1000.0), Round::Reception::Implausible);
  EXPECT_EQ(reply(2, 0.5), Round::Reception::Accepted);
  ASSERT_TRUE(database_.execute("UPDATE runs SET plausible = x'0001'"));
  boot();
  accept();
  EXPECT_EQ(reply(1, 1000.0), Round::Reception::Implausible);  // found again from the job: nothing is folded unchecked
}

/// A run in its first round, and everything of it that a message could change.
class WrongSenderTest : public ImplausibleReplyTest {
 protected:
  std::string seen() {
    std::string out =
        fmt::format("state {}, {} rounds;", static_cast<int>(state(run_)), store_.rounds(run_).value().size());
    for (int i = 0; i < 5; ++i) {
      out += fmt::format(" {}, {} ends;", service_->machine(run_)->why_missing(silo(i)),
                         store_.ends_unseen(silo(i)).value().size());
    }
    for (const auto& [silo, charge] : store_.charges().value())
      out += fmt::format(" {} {}", silo.name(), charge.epsilon);
    const std::optional<RunRecord> record = store_.find(run_).value();
    for (const auto& [silo, answer] : record->answers) out += " " + silo.name();
    return out;
  }
  /// Nobody is sent anything, and no reply counted.
  void expect_silence(const wire::Message& message) {
    for (const JobService::Action& action : actions_) {
      EXPECT_FALSE(std::holds_alternative<JobService::SessionSend>(action)) << wire::name_of(message);
      EXPECT_FALSE(std::holds_alternative<JobService::SendToShuffler>(action)) << wire::name_of(message);
      const auto* said = std::get_if<JobService::OfRun>(&action);
      EXPECT_TRUE(said == nullptr || std::holds_alternative<RunMachine::LogEvent>(said->what))
          << wire::name_of(message);
    }
  }
};

TEST_F(WrongSenderTest, WhatOnlyACoordinatorOrAShufflerSaysChangesNothingFromASilo) {
  const std::string before = seen();
  int kinds = 0;
  for (const wire::Message& message : tests::one_of_each(run_)) {
    if (std::holds_alternative<wire::JobAnswer>(message) || std::holds_alternative<wire::ReplyMessage>(message) ||
        std::holds_alternative<wire::QueryRefused>(message) || std::holds_alternative<wire::ReceiptMessage>(message) ||
        std::holds_alternative<wire::JobEndedSeen>(message) || std::holds_alternative<wire::JobPending>(message)) {
      continue;  // a silo's own
    }
    say(0, message);
    expect_silence(message);
    EXPECT_EQ(seen(), before) << wire::name_of(message);
    ++kinds;
  }
  EXPECT_GE(kinds, 20);
}

TEST_F(WrongSenderTest, WhoIsNotOfTheCohortChangesNothing) {
  const std::string before = seen();
  const SiloId stranger = SiloId::create("stranger").value();
  actions_ = service_->on_connected(stranger, now_).value();
  expect_silence(wire::Heartbeat{});
  for (const wire::Message& message : tests::one_of_each(run_)) {
    actions_ = service_->on_message(stranger, message, now_).value();
    expect_silence(message);
    EXPECT_EQ(seen(), before) << wire::name_of(message);
  }
}

TEST_F(WrongSenderTest, AShufflerIsNotHeardInARunThatNamesNone) {
  const std::string before = seen();
  for (const wire::Message& message : tests::one_of_each(run_)) {
    actions_ = service_->on_shuffler_message("mixer", message, now_).value();
    expect_silence(message);
    EXPECT_EQ(seen(), before) << wire::name_of(message);
  }
}

/// A service that dials one shuffler, which adds.
class ShuffledServiceTest : public ServiceTest {
 protected:
  ShuffledServiceTest() { boot_with_mixer(); }
  void boot_with_mixer() {
    service_.emplace(
        store_, wire::Limits{}, limits_, [this] { return clock_; }, std::set<std::string>{"mixer"});
    actions_ = service_->start(now_).value();
  }
  /// What was sent to the shuffler, by name.
  [[nodiscard]] std::string told() const {
    std::string out;
    wire::Decoder decoder{wire::Limits{}};
    for (const JobService::Action& action : actions_) {
      const auto* sent = std::get_if<JobService::SendToShuffler>(&action);
      if (sent == nullptr) continue;
      for (const wire::Message& message : decoder.feed(*sent->bytes).value())
        out += (out.empty() ? "" : " ") + std::string(wire::name_of(message));
    }
    return out;
  }
  /// The silos that were sent a query.
  [[nodiscard]] std::string asked() const {
    std::string out;
    wire::Decoder decoder{wire::Limits{}};
    for (const JobService::Action& action : actions_) {
      const auto* sent = std::get_if<JobService::SessionSend>(&action);
      if (sent == nullptr) continue;
      const std::vector<wire::Message> messages = decoder.feed(*sent->bytes).value();
      if (std::holds_alternative<wire::QueryMessage>(messages.at(0)))
        out += (out.empty() ? "" : " ") + sent->silo.name();
    }
    return out;
  }
  static std::string shuffled_job() {
    std::string job = tests::ShuffledJob::counts("mixer", std::string(64, 'a')).json();
    const std::string none = "\"holdout_records\":0";
    for (std::size_t at; (at = job.find(none)) != std::string::npos;)
      job.replace(at, none.size(), "\"holdout_records\":8");
    return job;
  }
  [[nodiscard]] bool closed_a_round() const {
    return std::any_of(actions_.begin(), actions_.end(), [](const JobService::Action& action) {
      const auto* of_run = std::get_if<JobService::OfRun>(&action);
      return of_run != nullptr && std::holds_alternative<RunMachine::RoundClosed>(of_run->what);
    });
  }
};

TEST_F(ShuffledServiceTest, AfterARestartWhoRefusedIsNotAskedAgain) {
  // The batch was opened for three silos, of which one has changed its mind since.
  const RunId run = submit_text(shuffled_job(), Nonce{1}, false).value().run;
  for (int i = 0; i < 3; ++i) {
    (void)service_->on_connected(silo(i), now_).value();
    say(i, wire::JobAnswer{run, std::nullopt});
  }
  say(2, wire::JobAnswer{run, wire::Refusal::Withdrawn});
  boot_with_mixer();
  for (int i = 0; i < 3; ++i) (void)service_->on_connected(silo(i), now_).value();
  (void)service_->on_shuffler_connected("mixer", now_).value();
  actions_ = service_->on_shuffler_message("mixer", wire::BatchOpened{run, {0}, 0}, now_).value();
  EXPECT_EQ(asked(), "silo-0 silo-1");
}

TEST_F(ShuffledServiceTest, ARestartInTheMiddlePlansNothing) {
  const RunId run = submit_text(shuffled_job(), Nonce{1}, false).value().run;
  for (int i = 0; i < 3; ++i) {
    (void)service_->on_connected(silo(i), now_).value();
    say(i, wire::JobAnswer{run, std::nullopt});
  }
  ASSERT_EQ(state(run), RunState::Running);
  std::size_t planned = 0;
  const jobs::Planner planner = [&planned](const jobs::Job& job, const jobs::CohortMember& member) {
    ++planned;
    return jobs::plan_of(job, member);
  };
  RunMachine machine = RunMachine::open(store_, *store_.find(run).value(), wire::Limits{}, planner).value();
  (void)machine.start(now_).value();
  EXPECT_EQ(state(run), RunState::Running);
  EXPECT_EQ(machine.phase(), RunMachine::Phase::Round);
  EXPECT_EQ(planned, 0U);
}

TEST_F(ShuffledServiceTest, WhoSaysThatItDoesNotKnowTheRunIsNotAskedBeforeItAccepts) {
  const RunId run = submit(1);
  for (int i = 0; i < 3; ++i) (void)service_->on_connected(silo(i), now_).value();
  for (int i = 0; i < 2; ++i) say(i, wire::JobAnswer{run, std::nullopt});
  actions_ = service_->on_timer(now_ + milliseconds(8000)).value();
  ASSERT_EQ(asked().substr(0, 13), "silo-0 silo-1");
  ASSERT_EQ(asked().find("silo-2"), std::string::npos);
  say(2, wire::QueryRefused{run, {0}, wire::Refusal::UnknownRun});
  EXPECT_EQ(offers(), 1U);
  EXPECT_EQ(asked(), "");
}

TEST_F(ShuffledServiceTest, AtTheDeadlineWhoHasRefusedTheJobIsNotAskedAgain) {
  const RunId run = submit(1);
  for (int i = 0; i < 5; ++i) {
    (void)service_->on_connected(silo(i), now_).value();
    say(i, wire::JobAnswer{run, std::nullopt});
  }
  say(4, wire::JobAnswer{run, wire::Refusal::Withdrawn});
  actions_ = service_->on_timer(now_ + milliseconds(4000)).value();
  EXPECT_EQ(asked().substr(0, 27), "silo-0 silo-1 silo-2 silo-3");
  EXPECT_EQ(asked().find("silo-4"), std::string::npos);
}

TEST_F(ShuffledServiceTest, ACancelledRunGivesItsBatchUpAndTakesNoneAfterwards) {
  const RunId run = submit_text(shuffled_job(), Nonce{1}, false).value().run;
  for (int i = 0; i < 3; ++i) {
    (void)service_->on_connected(silo(i), now_).value();
    say(i, wire::JobAnswer{run, std::nullopt});
  }
  actions_ = service_->on_shuffler_connected("mixer", now_).value();
  ASSERT_EQ(told(), "job_offer batch_open");
  (void)service_->on_shuffler_message("mixer", wire::BatchOpened{run, {0}, 0}, now_).value();
  actions_ = service_->cancel(run, "enough", now_).value();
  EXPECT_EQ(told(), "batch_abandon");
  actions_ = service_->on_shuffler_message("mixer", wire::BatchForward{run, {0}, 3, std::string(2, 'x')}, now_).value();
  EXPECT_FALSE(closed_a_round());
  EXPECT_EQ(state(run), RunState::Cancelled);
  actions_ = service_->on_timer(now_ + std::chrono::hours(1)).value();
  EXPECT_EQ(told(), "");
}

TEST_F(ShuffledServiceTest, AShufflersReceiptOfAReplyItDoesNotHaveEndsTheRunASilosWordDoesNot) {
  const std::string text = shuffled_job();
  const jobs::Job parsed = jobs::parse_job(text, "job").value();
  const planning::Plan plan = jobs::plan_of(parsed, parsed.cohort.front()).value();
  const auto layout = sealed::RoundLayout::create(*parsed.shuffle, *plan.release({0}), parsed.reply_lattice, 3).value();
  for (const bool shown : {true, false}) {
    SCOPED_TRACE(shown);
    const RunId run = submit_text(text, Nonce{shown ? std::uint8_t{1} : std::uint8_t{2}}, true).value().run;
    for (int i = 0; i < 3; ++i) {
      (void)service_->on_connected(silo(i), now_).value();
      say(i, wire::JobAnswer{run, std::nullopt});
    }
    std::optional<wire::BatchOpen> open;
    actions_ = service_->on_shuffler_connected("mixer", now_).value();
    for (const JobService::Action& action : actions_) {
      const auto* sent = std::get_if<JobService::SendToShuffler>(&action);
      if (sent == nullptr) continue;
      const std::vector<wire::Message> messages = wire::Decoder{wire::Limits{}}.feed(*sent->bytes).value();
      const auto* batch = std::get_if<wire::BatchOpen>(&messages.at(0));
      if (batch != nullptr && batch->run == run) open = *batch;
    }
    ASSERT_TRUE(open && open->receipt_key);
    (void)service_->on_shuffler_message("mixer", wire::BatchOpened{run, {0}, 0}, now_).value();
    // As the shuffler gives it for a reply that an honest silo makes.
    const sealed::Recipients to = sealed::adders_of(*parsed.shuffle, run).value();
    const Digest terms = sealed::terms_digest(to.keys[0], to.mac_key, layout.terms(run, {0}, open->query));
    const Digest receipt = sealed::receipt_of(*open->receipt_key, {run, {0}, 0, silo(2), terms});
    say(2, wire::ReplyHandedOver{run, {0}, {{"mixer", shown ? receipt : Digest{}}}});
    actions_ =
        service_->on_shuffler_message("mixer", wire::BatchCollected{run, {0}, 0, {silo(0), silo(1)}}, now_).value();
    EXPECT_EQ(told(), shown ? "batch_abandon" : "batch_close");
    EXPECT_EQ(state(run), shown ? RunState::Failed : RunState::Running);
    if (shown) {
      EXPECT_EQ(store_.find(run).value()->failure, "round 0: shuffler mixer dropped the replies of 1 silos: silo-2");
    }
  }
}

class ApiTest : public ServiceTest {
 protected:
  ApiTest() {
    ApiHooks hooks;
    hooks.cancel = [this](const RunId& run, const std::string& /*who*/) -> Status {
      const auto actions = service_->cancel(run, "cancelled", now_);
      return actions ? Status() : Status(actions.error());
    };
    hooks.make_sealing_key = [] { return Result<Digest>(Digest{}); };
    hooks.sessions = [] { return std::vector<SiloSession>{{silo(0), "build", 2, 1'700'000'000}}; };
    hooks.gauges = [this] {
      Metrics::Gauges gauges;
      gauges.runs = store_.count_by_state().value();
      return gauges;
    };
    hooks.ready = [] { return true; };
    hooks.changes = &changes_;
    hooks.now = [this] { return now_; };
    hooks.why_away = [](const SiloId& which) {
      return which == silo(1) ? "its certificate was revoked" : std::string();
    };
    api_.emplace(*service_, folder_.path(), metrics_, hooks);
  }
  http::Reply ask(const std::string& method, const std::string& target, const std::string& body = "",
                  bool authorised = true) {
    http::Request request{method, target, body, authorised ? http::Rights::Change : http::Rights::None};
    const std::optional<Api::PlanningAsked> asked = api_->planning_of(request);
    if (asked && asked->purpose == PlanningPurpose::Show) return Api::shown_plan(preview::plan_of_job(body, "job"));
    if (asked && asked->what == Api::PlanningAsked::What::Enter)
      return api_->submitted(body, planned(body, asked->purpose == PlanningPurpose::SubmitAgain));
    http::Reply reply = api_->handle(request);
    return reply.work ? reply.work() : reply;
  }
  Result<ApiHooks::Submitted> planned(const std::string& body, bool again) {
    UNDERTONE_TRY(const PlannedJob planned, PlannedJob::plan(body, "job"));
    UNDERTONE_TRY(const JobService::Submitted submitted, service_->submit(planned, Nonce{nonce_++}, again, now_));
    return ApiHooks::Submitted{submitted.run, submitted.created};
  }
  nlohmann::json json(const std::string& method, const std::string& target, const std::string& body = "") {
    return nlohmann::json::parse(ask(method, target, body).body);
  }
  /// What the document says of the API. Sessions are the server's, and not the API's.
  static nlohmann::json described() {
    std::ifstream file(UNDERTONE_SOURCE_DIR "/docs/openapi.json");
    nlohmann::json out = nlohmann::json::parse(file);
    out["paths"].erase("/api/v1/session");
    return out;
  }
  tests::TemporaryFolder folder_;
  Metrics metrics_;
  http::Changes changes_;
  std::uint8_t nonce_ = 10;
  std::optional<Api> api_;
};

TEST_F(ApiTest, WithoutAuthorityOnlyHealthIsTold) {
  const RunId run = submit(1);
  const std::string of_run = "/api/v1/runs/" + run.hex();
  // Every route of docs/openapi.json, of a run that exists.
  const nlohmann::json paths = described()["paths"];
  int routes = 0;
  for (const auto& [path, methods] : paths.items()) {
    std::string target = path;
    if (const std::size_t at = target.find("{run}"); at != std::string::npos) target.replace(at, 5, run.hex());
    if (const std::size_t at = target.find("{planning}"); at != std::string::npos) target.replace(at, 10, "abc");
    for (const auto& [method, about] : methods.items()) {
      if (method == "parameters") continue;
      std::string upper = method;
      std::transform(upper.begin(), upper.end(), upper.begin(),
                     [](char c) { return static_cast<char>(std::toupper(c)); });
      const bool health = path == "/healthz" || path == "/readyz";
      EXPECT_EQ(ask(upper, target, upper == "POST" ? job(2) : "", false).status, health ? 200 : 401) << upper << path;
      if (!health && upper == "GET") {
        EXPECT_NE(ask(upper, target, "").status, 401) << path;
      }
      ++routes;
    }
  }
  EXPECT_GE(routes, 13);
  EXPECT_EQ(ask("GET", "/elsewhere", "", false).status, 401);
  EXPECT_EQ(json("GET", "/api/v1/runs")["runs"].size(), 1U);  // nothing was queued
  EXPECT_EQ(state(run), RunState::Joining);                   // nor cancelled
}

TEST_F(ApiTest, AViewerLooksAtEverythingAndChangesNothing) {
  const std::string run = submit(1).hex();
  const nlohmann::json paths = described()["paths"];
  ASSERT_GT(paths.size(), 15U);
  for (const auto& [path, methods] : paths.items()) {
    std::string target = path;
    if (const std::size_t at = target.find("{run}"); at != std::string::npos) target.replace(at, 5, run);
    if (const std::size_t at = target.find("{planning}"); at != std::string::npos) target.replace(at, 10, "abc");
    const http::Request looks{"GET", target, "", http::Rights::Look};
    const http::Request changes{"POST", target, job(2), http::Rights::Look};
    if (methods.contains("get")) {
      EXPECT_NE(api_->handle(looks).status, 403) << target;
    }
    if (methods.contains("post")) {
      EXPECT_FALSE(api_->planning_of(changes)) << target;
      EXPECT_EQ(api_->handle(changes).status, 403) << target;
    }
  }
  EXPECT_EQ(json("GET", "/api/v1/runs")["runs"].size(), 1U);
  EXPECT_EQ(json("GET", "/api/v1/runs/" + run)["state"], "joining");
}

TEST_F(ApiTest, TheConsolesFilesAreForWhoeverComesAndNothingElseIs) {
  for (const char* path :
       {"/", "/console/main.js", "/pages/page.css", "/pages/chart.js", "/pages/dom.js", "/console/job-schema.json"}) {
    const http::Reply reply = ask("GET", path, "", false);
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_GT(reply.body.size(), 500U) << path;
    EXPECT_EQ(ask("POST", path, "", false).status, 405) << path;
  }
  for (const char* path :
       {"/console", "/console/", "/console/../api/v1/runs", "/index.html", "/pages/", "/console/console_files.cpp"})
    EXPECT_EQ(ask("GET", path, "", false).status, 401) << path;
}

TEST_F(ApiTest, RunsAreFoundByAPartOfTheirNameAndByTheirState) {
  for (int i = 1; i <= 12; ++i) (void)submit(i);
  EXPECT_EQ(ask("POST", "/api/v1/runs/job-2/cancel").status, 200);
  const auto names = [&](const std::string& query) {
    std::string out;
    const nlohmann::json found = json("GET", "/api/v1/runs?" + query);
    for (const nlohmann::json& run : found.at("runs")) out += run["name"].get<std::string>() + " ";
    return out;
  };
  EXPECT_EQ(names("name=OB-1"), "job-12 job-11 job-10 job-1 ");
  EXPECT_EQ(names("name=ob%2d1&limit=2"), "job-12 job-11 ");
  EXPECT_EQ(names("name=ob-1&before=11"), "job-10 job-1 ");
  EXPECT_EQ(names("state=cancelled"), "job-2 ");
  EXPECT_EQ(names("name=%25"), "");
  EXPECT_EQ(names("name=%"), "");
  EXPECT_EQ(ask("GET", "/api/v1/runs?state=done").status, 400);
}

TEST_F(ApiTest, AResultIsReadOffTheSessionsThreadAndATableIsForASpreadsheet) {
  const RunId run = submit(1);
  std::filesystem::create_directories(folder_.path() / run.hex());
  write_file_atomically(
      folder_.path() / run.hex() / "result.json",
      R"({"metrics": [{"after_steps": 5, "loss": 0.5, "noise_stddev": {"loss": 0.25}}, {"after_steps": 9}],
                            "statistics": [{"estimates": [{"name": "=a", "value": 1}]}]})")
      .value();
  const std::string path = "/api/v1/runs/" + run.hex();
  EXPECT_TRUE(api_->handle({"GET", path + "/result", "", http::Rights::Look}).work);
  EXPECT_EQ(ask("GET", path + "/table").body, "after_steps,loss,loss noise_stddev\r\n5,0.5,0.25\r\n9,,\r\n");
  EXPECT_NE(ask("GET", path + "/table?statistic=0").body.find("'=a,1"), std::string::npos);
  EXPECT_EQ(ask("GET", path + "/table?statistic=1").status, 404);
  EXPECT_EQ(ask("GET", path + "/table?statistic=x").status, 400);
  EXPECT_EQ(ask("GET", path + "/table").file_name, "evaluations-" + run.hex().substr(64, 12) + ".csv");
}

TEST_F(ApiTest, AJobIsSubmittedListedInspectedAndCancelled) {
  const http::Reply created = ask("POST", "/api/v1/jobs", job(1));
  EXPECT_EQ(created.status, 201);
  const std::string run = nlohmann::json::parse(created.body)["run"];
  EXPECT_EQ(ask("POST", "/api/v1/jobs", job(1)).status, 200);
  EXPECT_EQ(json("GET", "/api/v1/runs")["runs"][0]["name"], "job-1");
  const nlohmann::json one = json("GET", "/api/v1/runs/" + run);
  EXPECT_EQ(one["state"], "joining");
  EXPECT_EQ(one["silos"].size(), 5U);
  EXPECT_EQ(one["silos"][0]["why_missing"], "never connected: no certificate of this name was ever seen");
  EXPECT_EQ(ask("GET", "/api/v1/runs/" + run + "/job").body, job(1));
  EXPECT_TRUE(json("GET", "/api/v1/runs/" + run + "/rounds?from=0")["rounds"].empty());
  EXPECT_EQ(ask("GET", "/api/v1/runs/" + run + "/result").status, 404);
  EXPECT_EQ(ask("POST", "/api/v1/runs/" + run + "/cancel").status, 200);
  EXPECT_EQ(ask("POST", "/api/v1/runs/" + run + "/cancel").status, 409);
  EXPECT_EQ(json("GET", "/api/v1/runs/" + run)["state"], "cancelled");
  EXPECT_EQ(json("GET", "/api/v1/silos")["silos"][0]["silo"], "silo-0");
}

TEST_F(ApiTest, SaysHowLongOwnersAreAwaitedStill) {
  const std::string run = json("POST", "/api/v1/jobs", job(1))["run"];
  const std::int64_t whole = service_->machine(RunId::from_hex(run).value())->job().participation.join_deadline.count();
  EXPECT_EQ(json("GET", "/api/v1/runs/" + run)["join_left_ms"], whole);
  now_ += std::chrono::milliseconds(7);
  EXPECT_EQ(json("GET", "/api/v1/runs/" + run)["join_left_ms"], whole - 7);
  EXPECT_EQ(ask("POST", "/api/v1/runs/" + run + "/cancel").status, 200);
  EXPECT_FALSE(json("GET", "/api/v1/runs/" + run).contains("join_left_ms"));
}

TEST_F(ApiTest, ASiloThatNeverWasHereIsNamedAndOneThatWasIsNot) {
  for (int i = 0; i < 4; ++i) {
    (void)service_->on_connected(silo(i), now_).value();
    (void)service_->on_disconnected(silo(i), now_).value();
  }
  const nlohmann::json submitted = json("POST", "/api/v1/jobs", job(1));
  EXPECT_EQ(submitted["never_seen"], nlohmann::json({"silo-4"}));
  const nlohmann::json silos = json("GET", "/api/v1/runs/job-1")["silos"];
  EXPECT_EQ(silos[3]["why_missing"], "not connected");
  EXPECT_EQ(silos[1]["why_missing"], "not connected: its certificate was revoked");
  EXPECT_EQ(json("GET", "/api/v1/silos")["silos"][1]["why_away"], "its certificate was revoked");
  EXPECT_EQ(silos[4]["why_missing"], "never connected: no certificate of this name was ever seen");
  EXPECT_EQ(json("GET", "/api/v1/silos")["silos"].size(), 4U);
  (void)service_->on_connected(silo(4), now_).value();
  EXPECT_FALSE(json("POST", "/api/v1/jobs", job(1)).contains("never_seen"));
  EXPECT_FALSE(json("POST", "/api/v1/jobs", "{}").contains("never_seen"));
}

TEST_F(ApiTest, AnAnswerNamesAHundredSilosThatNeverWereHereAtMost) {
  nlohmann::json many = nlohmann::json::parse(job(1));
  many["cohort"] = nlohmann::json::array({many["cohort"][0]});
  many["cohort"][0]["silo"] = "clinic-{001}";
  many["cohort"][0]["count"] = 101;
  EXPECT_EQ(json("POST", "/api/v1/jobs", many.dump())["never_seen"].size(), 100U);
}

TEST_F(ApiTest, WhatIsWrongIsAnsweredWithAStatusAndASentence) {
  EXPECT_EQ(ask("POST", "/api/v1/jobs", "{}").status, 400);
  EXPECT_NE(ask("POST", "/api/v1/jobs", "{}").body.find("/cohort"), std::string::npos);
  EXPECT_EQ(ask("GET", "/api/v1/runs/xyz").status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/runs/" + std::string(96, 'a')).status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/runs?limit=-1").status, 400);
  EXPECT_EQ(ask("GET", "/api/v1/runs?limit=99999999999999999999").status, 400);
  EXPECT_EQ(ask("DELETE", "/api/v1/runs").status, 405);
  EXPECT_EQ(ask("GET", "/api/v2/runs").status, 404);
}

TEST_F(ApiTest, APathThatAProxyMayReadOtherwiseIsRefused) {
  for (const char* target :
       {"", "*", "api/v1/runs", "http://hub/api/v1/runs", "//api//v1/runs", "//", "/api//v1/runs", "/api/v1/runs/",
        "/api/v1/./runs", "/api/v1/../v1/runs", "/api/v1/../../etc/passwd", "/api/v1/%72uns", "/api/v1/runs%2f",
        "/api/v1/runs;a", "/api/v1\\runs", "/healthz/", "//healthz"}) {
    EXPECT_EQ(ask("GET", target).status, 400) << target;
    EXPECT_EQ(ask("GET", target, "", false).status, 401) << target;
  }
  EXPECT_EQ(ask("POST", "//api/v1/jobs", job(1)).status, 400);
  EXPECT_EQ(json("GET", "/api/v1/runs")["runs"].size(), 0U);
  EXPECT_EQ(ask("GET", "/api").status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/runs?limit=1&path=//%2e").status, 200);  // a query is nobody's path
}

TEST_F(ApiTest, AnotherMethodIsAnsweredWithThoseThatTheResourceHas) {
  const std::string of_run = "/api/v1/runs/" + submit(1).hex();
  for (const char* method : {"TRACE", "DELETE", "BREW", "get"}) {
    for (const std::string& target :
         {std::string("/healthz"), std::string("/readyz"), std::string("/metrics"), std::string("/api/v1/runs"),
          std::string("/api/v1/silos"), of_run, of_run + "/job", of_run + "/result"}) {
      const http::Reply reply = ask(method, target);
      EXPECT_EQ(reply.status, 405) << method << target;
      EXPECT_EQ(reply.allow, "GET, HEAD") << method << target;
    }
    for (const std::string& target :
         {std::string("/api/v1/jobs"), std::string("/api/v1/sealing-keys"), of_run + "/cancel"}) {
      const http::Reply reply = ask(method, target);
      EXPECT_EQ(reply.status, 405) << method << target;
      EXPECT_EQ(reply.allow, "POST") << method << target;
    }
  }
  EXPECT_EQ(ask("GET", of_run + "/cancel").status, 405);
  EXPECT_EQ(ask("TRACE", "/nothing").status, 404);
}

TEST_F(ApiTest, MethodsAreThoseOfTheRouteWhetherOrNotThereIsSuchARun) {
  const nlohmann::json paths = described()["paths"];
  for (const std::string& word : {std::string("nowhere"), std::string(96, 'a')}) {
    for (const auto& [path, methods] : paths.items()) {
      std::string target = path;
      for (const std::string& place : {std::string("{run}"), std::string("{planning}")})
        if (const std::size_t at = target.find(place); at != std::string::npos) target.replace(at, place.size(), word);
      const http::Reply reply = ask("TRACE", target);
      EXPECT_EQ(reply.status, 405) << target;
      EXPECT_EQ(reply.allow, methods.contains("post") ? "POST" : "GET, HEAD") << target;
    }
  }
}

TEST_F(ApiTest, ARunIsFoundByItsNameAndByTheBeginningOfItsId) {
  const RunId first = submit(1, 0xa1);
  const RunId second = submit(2, 0xa2);
  for (const std::string& word : {std::string("job-1"), first.hex().substr(64, 12), first.hex().substr(64, 4)})
    EXPECT_EQ(json("GET", "/api/v1/runs/" + word)["run"], first.hex()) << word;
  EXPECT_EQ(ask("GET", "/api/v1/runs/job-1/job").body, job(1));
  EXPECT_EQ(ask("GET", "/api/v1/runs/a10").status, 404);  // too short to be the beginning of an id
  EXPECT_EQ(ask("POST", "/api/v1/runs/job-2/cancel").status, 200);
  EXPECT_EQ(state(second), RunState::Cancelled);
  EXPECT_EQ(state(first), RunState::Joining);
}

TEST_F(ApiTest, AWordThatMayMeanSeveralRunsIsRefusedWithTenOfThemAtMost) {
  for (int i = 0; i < 12; ++i) {
    const RunId run = submit(1, static_cast<std::uint8_t>(i + 1), true);
    (void)service_->cancel(run, "enough", now_).value();
  }
  const http::Reply reply = ask("POST", "/api/v1/runs/job-1/cancel");
  EXPECT_EQ(reply.status, 409);
  const nlohmann::json error = nlohmann::json::parse(reply.body)["error"];
  EXPECT_EQ(error["code"], "ambiguous");
  ASSERT_EQ(error["candidates"].size(), 10U);
  EXPECT_EQ(error["candidates"][0]["id"], "0c0000000000");  // newest first
}

TEST_F(ApiTest, ARunShowsItsNewestEvaluationAndHowFarItIs) {
  const RunId run = submit(1, 0xa1);
  EXPECT_FALSE(json("GET", "/api/v1/runs/job-1").contains("last_metrics"));
  for (std::uint64_t round = 0; round < 3; ++round) {
    RoundRecord closed{RoundIndex{round}, {}, {}, milliseconds(1), std::nullopt};
    const double loss = 0.5 - 0.125 * static_cast<double>(round);
    if (round < 2) closed.metrics = algorithms::MetricsRow{round * 10, 3, {loss, 0.875, 0.25}, 0.25};
    ASSERT_TRUE(store_.close_round(run, closed, {RoundIndex{round + 1}, "", Digest{}}, false));
  }
  const nlohmann::json one = json("GET", "/api/v1/runs/job-1");
  EXPECT_EQ(one["last_metrics"]["round"], 1);
  EXPECT_EQ(one["last_metrics"]["after_steps"], 10);
  EXPECT_EQ(one["last_metrics"]["loss"], 0.375);
  EXPECT_EQ(one["last_metrics"]["majority_class_accuracy"], 0.75);
  EXPECT_EQ(one["last_metrics"]["noise_stddev"]["loss"], 1.0);  // of a loss that is counted up to 4
  EXPECT_EQ(one["last_metrics"]["verdicts"][0],
            "accuracy 0.875 (± 0.49): cannot be told from always saying the largest class, 0.75: noise hides "
            "differences below 0.69; with more held out, or a larger epsilon, smaller ones would show");
  const std::string text = ask("GET", "/metrics").body;
  for (const char* line : {"undertone_run_last_metric{run=\"a10000000000\",name=\"job-1\",metric=\"loss\"} 0.375",
                           "undertone_run_rounds_closed{run=\"a10000000000\",name=\"job-1\"} 0"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST_F(ApiTest, TheDocumentAsksForWhatTheServiceMissesInAnEmptyJob) {
  const nlohmann::json document = described();
  const std::string schema = document["components"]["schemas"]["Job"]["$ref"];
  std::ifstream file(UNDERTONE_SOURCE_DIR "/docs/" + schema);
  const nlohmann::json required = nlohmann::json::parse(file)["required"];
  const std::string refusal = json("POST", "/api/v1/jobs", "{}")["error"]["message"];
  EXPECT_FALSE(required.empty());
  for (const nlohmann::json& key : required) {
    EXPECT_NE(refusal.find("/" + key.get<std::string>() + ":"), std::string::npos) << key << "\n" << refusal;
  }
}

/// A service with runs in every state, and what may be asked of it.
class DescribedApiTest : public ApiTest {
 protected:
  DescribedApiTest() {
    run_ = submit(1, 0xa1);
    say(1, wire::JobAnswer{run_, std::nullopt});
    say(2, wire::JobAnswer{run_, wire::Refusal::Budget, "budget"});
    const RoundRecord closed{RoundIndex{0},
                             {{silo(1), Digest{}}},
                             {silo(2)},
                             milliseconds(1),
                             algorithms::MetricsRow{0, 3, {0.5, 0.75, 0.25}}};
    store_.close_round(run_, closed, {RoundIndex{1}, "", Digest{}}, false).value();
    const RunId over = submit(2, 0xb2);
    (void)service_->cancel(over, "enough", now_).value();
    std::filesystem::create_directories(folder_.path() / over.hex());
    for (const char* name : {"result.json", "model.json"})
      write_file_atomically(folder_.path() / over.hex() / name, "{}").value();
    for (const std::uint8_t nonce : {std::uint8_t{1}, std::uint8_t{2}})
      (void)service_->cancel(submit(3, nonce, true), "enough", now_).value();
  }
  /// As a path names a run: by its name, its id, several at once, none, one that nobody submitted.
  [[nodiscard]] std::vector<std::string> words() const {
    return {run_.hex(), run_.hex().substr(64, 12), "job-1", "job-2", "job-3", "nobody",
            "a1",       std::string(96, 'f'),      "~"};
  }
  RunId run_;
};

TEST_F(DescribedApiTest, EveryAnswerIsOneThatTheDocumentDescribes) {
  const nlohmann::json document = described();
  std::map<int, int> statuses;
  const auto look = [&](const std::string& method, const std::string& target, const std::string& body,
                        const nlohmann::json& operation, bool authorised) {
    SCOPED_TRACE(method + " " + target + " " + body.substr(0, 60));
    const http::Reply reply = ask(method, target, body, authorised);
    ++statuses[reply.status];
    EXPECT_NE(reply.status, 500) << reply.body;
    ASSERT_TRUE(operation["responses"].contains(std::to_string(reply.status))) << reply.status << reply.body;
    nlohmann::json response = operation["responses"][std::to_string(reply.status)];
    if (response.contains("$ref"))
      response = document.at(nlohmann::json::json_pointer(response["$ref"].get<std::string>().substr(1)));
    const std::string kind = reply.content_type.substr(0, reply.content_type.find(';'));
    ASSERT_TRUE(response["content"].contains(kind)) << reply.content_type;
    if (kind != "application/json") return;
    const std::vector<std::string> wrong =
        tests::against_schema(nlohmann::json::parse(reply.body), response["content"][kind]["schema"], document);
    EXPECT_TRUE(wrong.empty()) << wrong.front() << "\n" << reply.body;
  };
  nlohmann::json less = nlohmann::json::parse(job(4));
  less.erase("cohort");
  const std::vector<std::string> bodies = {"", "{}", "[]", "null", "{", less.dump(), job(4), job(4), job(1)};
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [name, operation] : methods.items()) {
      if (name == "parameters") continue;
      const std::string method = name == "get" ? "GET" : "POST";
      ASSERT_TRUE(name == "get" || name == "post") << name;
      std::vector<std::string> queries = {""};
      for (const nlohmann::json& parameter : operation.value("parameters", nlohmann::json::array())) {
        for (const char* value : {"", "0", "1", "2", "201", "-1", "x", "1.5", "99999999999999999999"})
          queries.push_back(fmt::format("?{}={}", parameter["name"].get<std::string>(), value));
      }
      std::vector<std::string> targets = {path};
      if (const std::size_t at = path.find("{run}"); at != std::string::npos) {
        targets.clear();
        for (const std::string& word : words()) targets.push_back(std::string(path).replace(at, 5, word));
      }
      if (const std::size_t at = path.find("{planning}"); at != std::string::npos)
        targets = {std::string(path).replace(at, 10, "abc")};
      for (const std::string& target : targets) {
        look(method, target, "", operation, false);
        for (const std::string& query : queries)
          for (const std::string& body : operation.contains("requestBody") ? bodies : std::vector<std::string>{""})
            look(method, target + query, body, operation, true);
      }
    }
  }
  for (const int status : {200, 201, 400, 401, 404, 409}) EXPECT_GT(statuses[status], 0) << status;
}

TEST(DescribedJsonTest, NoticesWhatASchemaForbids) {
  const nlohmann::json document = nlohmann::json::parse(
      R"({"name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}, "when": {"type": ["string", "null"]}})");
  const nlohmann::json schema = nlohmann::json::parse(
      R"({"type": "object", "required": ["name"], "properties": {"name": {"$ref": "#/name"}, "when": {"$ref": "#/when"},
          "all": {"type": "array", "maxItems": 2, "items": {"type": "integer", "minimum": 0}},
          "state": {"enum": ["on", "off"]}}})");
  const auto wrong = [&](const char* text) {
    return tests::against_schema(nlohmann::json::parse(text), schema, document).size();
  };
  EXPECT_EQ(wrong(R"({"name": "abc", "when": null, "all": [0, 1], "state": "on", "more": 1})"), 0U);
  EXPECT_EQ(wrong("[]"), 1U);
  EXPECT_EQ(wrong("{}"), 1U);
  EXPECT_EQ(wrong(R"({"name": "ABCD"})"), 2U);
  EXPECT_EQ(wrong(R"({"name": "abc", "when": 1, "all": [0, -1, 1.5], "state": "of"})"), 5U);
  EXPECT_THROW((void)tests::against_schema(1, {{"multipleOf", 2}}, document), std::invalid_argument);
}

TEST_F(ApiTest, ListsAreCutIntoPages) {
  for (int i = 0; i < 5; ++i) (void)submit(i, static_cast<std::uint8_t>(i + 1));
  const nlohmann::json first = json("GET", "/api/v1/runs?limit=2");
  EXPECT_EQ(first["runs"][0]["name"], "job-4");
  const nlohmann::json second =
      json("GET", fmt::format("/api/v1/runs?limit=2&before={}", first["next_before"].get<int>()));
  EXPECT_EQ(second["runs"][0]["name"], "job-2");
}

TEST_F(ApiTest, APageHasNoMoreThanTwoHundredRunsWhateverIsAsked) {
  for (int i = 0; i < 201; ++i) (void)submit(i);
  EXPECT_EQ(json("GET", "/api/v1/runs?limit=100000")["runs"].size(), 200U);
}

TEST_F(ApiTest, AResultThatIsTooLargeIsNotRead) {
  const RunId run = submit(1);
  const std::filesystem::path folder = folder_.path() / run.hex();
  std::filesystem::create_directories(folder);
  write_file_atomically(folder / "result.json", "{}").value();
  EXPECT_EQ(ask("GET", "/api/v1/runs/" + run.hex() + "/result").status, 200);
  std::filesystem::resize_file(folder / "result.json", (std::uintmax_t{256} << 20U) + 1);
  const http::Reply reply = ask("GET", "/api/v1/runs/" + run.hex() + "/result");
  EXPECT_NE(reply.status, 200);
  EXPECT_LT(reply.body.size(), 1000U);
}

TEST_F(ApiTest, MetricsAreInPrometheusForm) {
  (void)submit(1);
  metrics_.round_closed(milliseconds(7), 1);
  metrics_.reply(Round::Reception::Late);
  const std::string text = ask("GET", "/metrics").body;
  for (const char* line :
       {"undertone_runs{state=\"joining\"} 1", "undertone_round_seconds_bucket{le=\"0.01\"} 1",
        "undertone_round_seconds_bucket{le=\"0.005\"} 0", "undertone_replies_total{reception=\"late\"} 1",
        "undertone_replies_lost_total 1", "# TYPE undertone_round_seconds histogram"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

}  // namespace
}  // namespace undertone::coordinator
