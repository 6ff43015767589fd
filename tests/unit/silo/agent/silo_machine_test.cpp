#include "silo/agent/silo_machine.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "silo/agent/job_summary.hpp"
#include "silo/agent/privacy_statement.hpp"
#include "silo/oracles/secure_randomness.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/support/memory_head.hpp"
#include "tests/support/one_of_each.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::silo {
namespace {

/// One silo's agent without sockets: messages in, decoded messages out.
class Agent {
 public:
  explicit Agent(const tests::SmallFederation& federation, Policy policy = tests::generous_policy(),
                 bool secure = false, jobs::Planner plans = jobs::plan_of)
      : job(federation.job()),
        parsed(jobs::parse_job(job, "job").value()),
        run{sha256(job), {7}},
        planner(std::move(plans)),
        silo_(federation.cohort().front()),
        key_(SigningKey::from_seed(std::string(32, 's')).value()),
        database_(store::Database::in_memory().value()),
        policy_(std::move(policy)) {
    if (secure) {
      randomness_ = std::make_unique<SecureRandomness>();
    } else {
      randomness_ = std::make_unique<TestRandomness>(1, silo_.id);
    }
    boot();
  }

  /// The process dies and comes back: only the ledger's database and its head remain.
  void boot() {
    machine_.reset();
    ledger_.reset();
    const Digest holdout = silo_.facts.holdout_public ? sha256("holdout") : Digest{};
    ledger_ = std::make_unique<Ledger>(
        Ledger::open(database_, head_, key_, {"data", {}, holdout}, policy_.total, randomness_->kind(), clock).value());
    desk_.emplace(Desk::open(desk_database_).value());
    machine_ = std::make_unique<SiloMachine>(SiloMachine::Setup{silo_.id,
                                                                policy_,
                                                                silo_.facts,
                                                                silo_.dataset,
                                                                *ledger_,
                                                                *randomness_,
                                                                wire::Limits{},
                                                                {},
                                                                *desk_,
                                                                "data",
                                                                [this] { return time; },
                                                                {},
                                                                planner,
                                                                nullptr,
                                                                permit});
    (void)machine_->on_message(wire::Welcome{protocol, "coordinator", {}});
  }

  struct Heard {
    template <class Sent>
    [[nodiscard]] bool has() const {
      return std::any_of(messages.begin(), messages.end(),
                         [](const wire::Message& sent) { return std::holds_alternative<Sent>(sent); });
    }
    std::vector<wire::Message> messages;
    std::vector<std::string> replies;  // the exact bytes
    std::vector<std::string> told;
    bool halted = false;
    int ended = 0;  // runs
  };
  Heard say(const wire::Message& message) {
    Heard heard;
    for (const Action& action : machine_->on_message(message)) {
      if (const auto* send = std::get_if<Send>(&action)) {
        wire::Decoder decoder{wire::Limits{}};
        for (wire::Message& sent : decoder.feed(send->bytes).value()) {
          if (std::holds_alternative<wire::ReplyMessage>(sent)) heard.replies.push_back(send->bytes);
          heard.messages.push_back(std::move(sent));
        }
      } else if (const auto* tell = std::get_if<Tell>(&action)) {
        heard.told.push_back(tell->event);
      } else if (std::holds_alternative<Halt>(action)) {
        heard.halted = true;
      } else if (std::holds_alternative<RunEnded>(action)) {
        ++heard.ended;
      }
    }
    return heard;
  }
  std::optional<wire::Refusal> offer() {
    return std::get<wire::JobAnswer>(say(wire::JobOffer{run, job}).messages.at(0)).refusal;
  }
  wire::QueryMessage gradient(std::uint64_t round, double at = 0.1) const {
    return {run,
            queries::PointType::F64,
            {{round}, queries::GradientQuestion{Eigen::VectorXd::Constant(parsed.model->dimension(), at)}}};
  }
  std::optional<wire::Refusal> refusal_of(const wire::Message& message) {
    const Heard heard = say(message);
    for (const wire::Message& sent : heard.messages) {
      if (const auto* refused = std::get_if<wire::QueryRefused>(&sent)) return refused->refusal;
    }
    return std::nullopt;
  }
  static std::int64_t clock() { return 1'763'716'143; }  // 2025-11-21
  bool may_release() { return machine_->may_release(run); }
  std::int64_t time = clock();
  std::optional<Permit> permit = {};                               // from the next boot on
  void set_policy(Policy policy) { policy_ = std::move(policy); }  // from the next boot on
  Desk& desk() { return *desk_; }
  Ledger& ledger() { return *ledger_; }
  tests::MemoryHead& head() { return head_; }
  SiloMachine& machine() { return *machine_; }

  std::string job;
  jobs::Job parsed;
  RunId run;
  std::uint32_t protocol = wire::kProtocolMax;
  jobs::Planner planner;  // from the next boot on

 private:
  simulation::SimulatedSilo silo_;
  SigningKey key_;
  store::Database database_;
  tests::MemoryHead head_;
  Policy policy_;
  std::unique_ptr<ReleaseRandomness> randomness_;
  std::unique_ptr<Ledger> ledger_;
  store::Database desk_database_ = store::Database::in_memory().value();
  std::optional<Desk> desk_;
  std::unique_ptr<SiloMachine> machine_;
};

std::vector<std::int64_t> values(const Agent::Heard& heard) {
  return queries::values_of(std::get<wire::ReplyMessage>(heard.messages.at(0)).reply.answer);
}

/// A permit ends in the middle of a run, and again before an offer: nothing leaves from then on, whatever was accepted
/// or is stored.
TEST(SiloMachineTest, NothingIsAnsweredAfterItsPermitHasEnded) {
  constexpr std::int64_t kDay = 86'400;
  Agent agent{tests::SmallFederation{}};
  agent.permit = Permit{"DE-17", "research", "2025-11-22"};
  agent.boot();
  ASSERT_EQ(agent.offer(), std::nullopt);
  const Agent::Heard first = agent.say(agent.gradient(0));
  ASSERT_EQ(first.replies.size(), 1U);
  agent.time += 2 * kDay;
  EXPECT_EQ(agent.refusal_of(agent.gradient(1)), wire::Refusal::Policy);
  EXPECT_EQ(agent.refusal_of(agent.gradient(0)), wire::Refusal::Policy);  // a stored answer is one, too
  EXPECT_FALSE(agent.may_release());
  agent.boot();
  EXPECT_EQ(agent.refusal_of(agent.gradient(1)), wire::Refusal::Policy);
  agent.time -= 2 * kDay;
  EXPECT_TRUE(agent.may_release());
  EXPECT_EQ(agent.say(agent.gradient(0)).replies, first.replies);
  EXPECT_EQ(agent.say(agent.gradient(1)).replies.size(), 1U);

  Agent late{tests::SmallFederation{}};
  late.permit = Permit{"DE-17", "research", "2025-11-20"};
  late.boot();
  EXPECT_EQ(late.offer(), wire::Refusal::Policy);
}

TEST(SiloMachineTest, AnswersAPlannedQueryAndChargesIt) {
  Agent agent{{}};
  ASSERT_EQ(agent.offer(), std::nullopt);
  const Agent::Heard heard = agent.say(agent.gradient(0));
  ASSERT_EQ(heard.replies.size(), 1U);
  EXPECT_EQ(agent.ledger().account(agent.run)->releases, 1U);
  EXPECT_TRUE(std::holds_alternative<wire::ReceiptMessage>(heard.messages.back()));
}

TEST(SiloMachineTest, SlowNoiseIsWorkThatIsNotDoneBesideHeartbeats) {
  // Of generalised Gaussian noise every number counts beside the pass over the records.
  Agent plain{{}};
  ASSERT_EQ(plain.offer(), std::nullopt);
  const double pass = plain.machine().answer_products(plain.run, {0});
  EXPECT_LT(pass, 1e5);
  EXPECT_TRUE(std::isinf(plain.machine().answer_products(plain.run, {1000})));
  EXPECT_TRUE(std::isinf(plain.machine().answer_products({sha256("another"), {}}, {0})));
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    if (name != "noisy_mirror_descent") continue;
    Agent slow{federation};
    ASSERT_EQ(slow.offer(), std::nullopt);
    EXPECT_GT(slow.machine().answer_products(slow.run, {0}), 1e5 * static_cast<double>(slow.parsed.model->dimension()));
    return;
  }
  FAIL() << "no federation of the method";
}

// A question of 65,536 numbers over 19,800 records was once answered between two heartbeats, in 66 s.
TEST(SiloMachineTest, EveryNumberOfAnAnswerCountsAsWork) {
  tests::SmallFederation federation;
  federation.statistics = R"({"noise":"gaussian","questions":[
    {"kind":"loss","columns":["x0","x1"],"response":"y","parameter_bound":1.0,"intercept":false,"degree":40,"order":2}]})";
  Agent agent{federation};
  ASSERT_EQ(agent.offer(), std::nullopt);
  const planning::Plan plan = jobs::plan_of(agent.parsed, agent.parsed.cohort.front()).value();
  const planning::Release& release = *plan.release({0});
  ASSERT_EQ(release.ask.dimension, 41 * 41);
  EXPECT_GE(agent.machine().answer_products(agent.run, {0}),
            static_cast<double>(release.ask.dimension * release.records_drawn) *
                static_cast<double>(data::encoded_width(agent.parsed.schema)));
}

/// As a version would that clips otherwise: at the same cost, since the noise grows with the clip.
Result<planning::Plan> plan_with_a_longer_clip(const jobs::Job& job, const jobs::CohortMember& member) {
  Result<planning::Plan> plan = jobs::plan_of(job, member);
  if (!plan) return plan;
  planning::Schedule schedule;
  for (const planning::Plan::Segment& segment : plan->segments()) {
    schedule.push_back({segment.release.ask, segment.rounds});
    schedule.back().ask.bound =
        releases::L2Bound{releases::ClipNorm::create(2.0 * segment.release.ask.clip().value()).value()};
  }
  return planning::make_plan(schedule, member.facts);
}

TEST(SiloMachineTest, AfterARestartItAnswersByThePlanThatWasReservedAndByNoOther) {
  for (const bool offered_first : {false, true}) {
    SCOPED_TRACE(offered_first);
    Agent agent{{}};
    ASSERT_EQ(agent.offer(), std::nullopt);
    ASSERT_EQ(agent.say(agent.gradient(0)).replies.size(), 1U);
    agent.planner = plan_with_a_longer_clip;
    agent.boot();
    if (offered_first) {
      EXPECT_NE(agent.offer(), std::nullopt);
    }
    EXPECT_TRUE(agent.say(agent.gradient(1)).replies.empty());
    EXPECT_NE(agent.offer(), std::nullopt);
    EXPECT_TRUE(agent.say(agent.gradient(1)).replies.empty());
    EXPECT_FALSE(agent.machine().recorded(agent.run));  // and no statement speaks of it
    EXPECT_EQ(agent.ledger().account(agent.run)->releases, 1U);
    agent.planner = jobs::plan_of;
    agent.boot();
    EXPECT_EQ(agent.say(agent.gradient(1)).replies.size(), 1U);
    EXPECT_TRUE(agent.machine().recorded(agent.run));
  }
}

TEST(SiloMachineTest, AskedAgainItSendsTheSameBytesAndChargesNothing) {
  Agent agent{{}, tests::generous_policy(), false};
  ASSERT_EQ(agent.offer(), std::nullopt);
  const Agent::Heard first = agent.say(agent.gradient(0));
  EXPECT_EQ(agent.say(agent.gradient(0)).replies, first.replies);
  agent.boot();
  EXPECT_EQ(agent.say(agent.gradient(0)).replies, first.replies);  // also after a restart, without a new offer
  EXPECT_EQ(agent.ledger().account(agent.run)->releases, 1U);
}

TEST(SiloMachineTest, SecureRepliesAreStoredNotRedrawn) {
  tests::SmallFederation federation;
  federation.noise = "secure";
  Agent agent{federation, tests::generous_policy(), true};
  ASSERT_EQ(agent.offer(), std::nullopt);
  const Agent::Heard first = agent.say(agent.gradient(0));
  ASSERT_EQ(first.replies.size(), 1U);
  agent.boot();
  EXPECT_EQ(agent.say(agent.gradient(0)).replies, first.replies);
}

TEST(SiloMachineTest, TheSameRoundWithAnotherPointIsRefused) {
  Agent agent{{}};
  ASSERT_EQ(agent.offer(), std::nullopt);
  (void)agent.say(agent.gradient(0, 0.1));
  EXPECT_EQ(agent.refusal_of(agent.gradient(0, 0.2)), wire::Refusal::Unplanned);
}

TEST(SiloMachineTest, NothingAPeerSaysChangesThePlan) {
  Agent agent{{}};
  EXPECT_EQ(agent.refusal_of(agent.gradient(0)), wire::Refusal::UnknownRun);  // no job, no answer
  ASSERT_EQ(agent.offer(), std::nullopt);
  const Eigen::Index d = agent.parsed.model->dimension();
  const auto metrics = [&](std::uint64_t round) {
    return wire::QueryMessage{
        agent.run, queries::PointType::F64, {{round}, queries::MetricsQuestion{Eigen::VectorXd::Zero(d)}}};
  };
  EXPECT_EQ(agent.refusal_of(metrics(0)), wire::Refusal::Unplanned);         // another kind
  EXPECT_EQ(agent.refusal_of(agent.gradient(3)), wire::Refusal::Unplanned);  // round 3 is the evaluation
  EXPECT_EQ(agent.refusal_of(agent.gradient(8)), wire::Refusal::Unplanned);  // beyond the plan
  EXPECT_EQ(agent.refusal_of(agent.gradient(UINT64_MAX)), wire::Refusal::Unplanned);
  wire::QueryMessage wrong = agent.gradient(0);
  std::get<queries::GradientQuestion>(wrong.query.question).point.resize(d + 1);
  std::get<queries::GradientQuestion>(wrong.query.question).point.setZero();
  EXPECT_EQ(agent.refusal_of(wrong), wire::Refusal::Unplanned);  // another dimension
  wrong = agent.gradient(0);
  wrong.type = queries::PointType::F32;
  EXPECT_EQ(agent.refusal_of(wrong), wire::Refusal::Unplanned);  // another type
  wrong = agent.gradient(0, std::nan(""));
  EXPECT_EQ(agent.refusal_of(wrong), wire::Refusal::Unplanned);
  EXPECT_EQ(agent.ledger().account(agent.run)->releases, 0U);
  (void)agent.say(agent.gradient(2));
  EXPECT_EQ(agent.refusal_of(agent.gradient(1)), wire::Refusal::Unplanned);  // rounds are never reordered
}

TEST(SiloMachineTest, AHugePointOnlyMovesTheReplyWithinTheClip) {
  Agent calm{{}};
  Agent wild{{}};
  ASSERT_EQ(calm.offer(), std::nullopt);
  ASSERT_EQ(wild.offer(), std::nullopt);
  const std::vector<std::int64_t> a = values(calm.say(calm.gradient(0, 0.0)));
  const std::vector<std::int64_t> b = values(wild.say(wild.gradient(0, 1e300)));
  double moved = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) moved += std::pow(static_cast<double>(a[j] - b[j]), 2.0);
  // The same seeded noise in both: means of clipped gradients are within the clip norm 1 of zero each.
  EXPECT_LE(std::sqrt(moved) * std::ldexp(1.0, calm.parsed.reply_lattice.step_log2), 2.0 + 1e-9);
}

TEST(SiloMachineTest, RefusesAJobThePolicyDoesNotAllow) {
  const auto refused = [](const std::function<void(Policy&)>& change) {
    Policy policy = tests::generous_policy();
    change(policy);
    Agent agent{{}, policy};
    const std::optional<wire::Refusal> answer = agent.offer();
    EXPECT_EQ(agent.ledger().account(agent.run), nullptr);
    return answer;
  };
  EXPECT_EQ(refused([](Policy& p) { p.models = {"least_squares"}; }), wire::Refusal::Policy);
  EXPECT_EQ(refused([](Policy& p) { p.models.clear(); }), wire::Refusal::Policy);
  EXPECT_EQ(refused([](Policy& p) { p.algorithms.clear(); }), wire::Refusal::Policy);
  EXPECT_EQ(refused([](Policy& p) { p.units.clear(); }), wire::Refusal::Policy);
  EXPECT_EQ(refused([](Policy& p) { p.records_min = 1000; }), wire::Refusal::Policy);
  EXPECT_EQ(refused([](Policy& p) { p.epsilon_max = *releases::Epsilon::create(3.9); }), wire::Refusal::Policy);
  EXPECT_EQ(refused([](Policy& p) { p.delta_max = *releases::Delta::create(1e-6); }), wire::Refusal::Policy);
  EXPECT_EQ(refused([](Policy& p) { p.total.epsilon = *releases::EpsilonAmount::rounded_down(3.0); }),
            wire::Refusal::Budget);
}

TEST(SiloMachineTest, RefusesAJobWithOtherFactsThanItsData) {
  tests::SmallFederation federation;
  Agent agent{federation};
  const auto offer_changed = [&](const std::string& from, const std::string& to) {
    std::string job = agent.job;
    job.replace(job.find(from), from.size(), to);
    const Agent::Heard heard = agent.say(wire::JobOffer{{sha256(job), {1}}, job});
    return std::get<wire::JobAnswer>(heard.messages.at(0)).refusal;
  };
  EXPECT_EQ(offer_changed("\"records\":40", "\"records\":39"), wire::Refusal::Policy);
  EXPECT_EQ(offer_changed("\"holdout_public\":true", "\"holdout_public\":false"), wire::Refusal::Policy);
  EXPECT_EQ(offer_changed("\"column\":\"x0\",\"min\":-1", "\"column\":\"x0\",\"min\":-2"), wire::Refusal::Policy);
  EXPECT_EQ(offer_changed("\"silo\":\"silo-0\"", "\"silo\":\"silo-9\""), wire::Refusal::Policy);
  EXPECT_EQ(offer_changed("\"noise\":\"test\"", "\"noise\":\"secure\""), wire::Refusal::Policy);
  EXPECT_EQ(offer_changed("\"rounds\":6", "\"rounds\":-6"), wire::Refusal::InvalidJob);
  const Agent::Heard heard = agent.say(wire::JobOffer{{sha256("other"), {1}}, agent.job});
  EXPECT_EQ(std::get<wire::JobAnswer>(heard.messages.at(0)).refusal, wire::Refusal::InvalidJob);
}

TEST(SiloMachineTest, AProductionAgentRefusesTestNoise) {
  Agent agent{{}, tests::generous_policy(), true};  // the job says noise "test"
  EXPECT_EQ(agent.offer(), wire::Refusal::Policy);
}

TEST(SiloMachineTest, ARefusalTellsTheOwnerWhyAndTheCoordinatorACode) {
  Policy policy = tests::generous_policy();
  policy.epsilon_max = *releases::Epsilon::create(1.0);
  Agent agent{{}, policy};
  const Agent::Heard heard = agent.say(wire::JobOffer{agent.run, agent.job});
  ASSERT_EQ(heard.told.size(), 1U);
  EXPECT_NE(heard.told[0].find("the job asks for epsilon 4, the policy allows 1"), std::string::npos) << heard.told[0];
}

TEST(SiloMachineTest, AMapOfTheFeaturesIsThePolicysToAllow) {
  tests::SmallFederation federation;
  federation.projection = R"({"origin":[0,0,0,0],"directions":[{"weights":[1,0,0,0]}]})";
  Policy policy = tests::generous_policy();
  policy.projections = false;
  Agent refusing{federation, policy};
  const Agent::Heard heard = refusing.say(wire::JobOffer{refusing.run, refusing.job});
  ASSERT_EQ(heard.told.size(), 1U);
  EXPECT_NE(heard.told[0].find("policy.projections"), std::string::npos) << heard.told[0];
  Agent willing{federation};
  EXPECT_EQ(willing.offer(), std::nullopt);
  EXPECT_EQ(willing.say(willing.gradient(0)).replies.size(), 1U);
  EXPECT_TRUE(willing.machine().makes_records(willing.run));
}

/// A federation whose records draw bins.
tests::SmallFederation binned() {
  tests::SmallFederation federation;
  federation.algorithm =
      R"({"kind":"accelerated_sgd","reads":"one_pass","parts":"bins","proximity":0,"strong_convexity":0,
          "draw_fraction":1,"stages":[{"rounds":6,"upsilon":4}]})";
  federation.regulariser = R"({"kind":"none"})";
  federation.evaluation_every = 0;
  return federation;
}

TEST(SiloMachineTest, WhetherNoiseMayCountOnSecretPartsIsThePolicysToSay) {
  Policy policy = tests::generous_policy();
  policy.allocation_accounting = false;
  Agent refusing{binned(), policy};
  const Agent::Heard heard = refusing.say(wire::JobOffer{refusing.run, refusing.job});
  ASSERT_EQ(heard.told.size(), 1U);
  EXPECT_NE(heard.told[0].find("policy.allocation_accounting"), std::string::npos) << heard.told[0];
  policy.allocation_accounting = true;
  policy.release_interval = std::chrono::milliseconds(0);  // how long an answer takes may tell how full a bin is
  Agent hasty{binned(), policy};
  const Agent::Heard said = hasty.say(wire::JobOffer{hasty.run, hasty.job});
  ASSERT_EQ(said.told.size(), 1U);
  EXPECT_NE(said.told[0].find("policy.release_interval_ms above 0"), std::string::npos) << said.told[0];
  Agent willing{binned()};
  EXPECT_EQ(willing.offer(), std::nullopt);
  EXPECT_EQ(willing.say(willing.gradient(0)).replies.size(), 1U);
}

TEST(SiloMachineTest, APermutationThatNoiseCountsOnIsThePolicysToAllowToo) {
  tests::SmallFederation federation = binned();
  federation.algorithm = R"({"kind":"proximal_sgd","parts":"secret_permutation","rounds":6,"step_size":0.5})";
  Policy policy = tests::generous_policy();
  policy.allocation_accounting = false;
  Agent refusing{federation, policy};
  const Agent::Heard heard = refusing.say(wire::JobOffer{refusing.run, refusing.job});
  ASSERT_EQ(heard.told.size(), 1U);
  EXPECT_NE(heard.told[0].find("policy.allocation_accounting"), std::string::npos) << heard.told[0];
  policy.allocation_accounting = true;
  policy.release_interval = std::chrono::milliseconds(0);  // a record whose gradient is 0 takes less time
  Agent hasty{federation, policy};
  const Agent::Heard said = hasty.say(wire::JobOffer{hasty.run, hasty.job});
  ASSERT_EQ(said.told.size(), 1U);
  EXPECT_NE(said.told[0].find("policy.release_interval_ms above 0"), std::string::npos) << said.told[0];
  Agent willing{federation};
  EXPECT_EQ(willing.offer(), std::nullopt);
  EXPECT_EQ(willing.say(willing.gradient(0)).replies.size(), 1U);
}

TEST(SiloMachineTest, AfterACrashEveryRecordIsInTheBinThatItDrew) {
  Agent steady{binned()};
  Agent crashing{binned()};
  for (Agent* agent : {&steady, &crashing}) ASSERT_EQ(agent->offer(), std::nullopt);
  for (std::uint64_t round = 0; round < 6; ++round) {
    crashing.boot();
    ASSERT_EQ(crashing.offer(), std::nullopt);
    const Agent::Heard expected = steady.say(steady.gradient(round));
    ASSERT_EQ(expected.replies.size(), 1U);
    // Answered by places that are drawn once, and by the same ones drawn again for every round.
    EXPECT_EQ(crashing.say(crashing.gradient(round)).replies, expected.replies) << round;
  }
  EXPECT_EQ(crashing.refusal_of(crashing.gradient(3, 0.7)), wire::Refusal::Unplanned);  // no bin is read twice
}

/// A full disk under the head. What was committed is not told, nor that anything was accepted or ended, before the head
/// says so, too; and the agent goes on by itself.
TEST(SiloMachineTest, NothingIsAcceptedOrEndedAheadOfTheHead) {
  Agent agent{{}};
  agent.head().fails = true;
  for (int again = 0; again < 2; ++again) {
    const Agent::Heard offered = agent.say(wire::JobOffer{agent.run, agent.job});
    EXPECT_NE(std::get<wire::JobAnswer>(offered.messages.at(0)).refusal, std::nullopt) << again;
    EXPECT_FALSE(offered.has<wire::ReceiptMessage>());
  }
  agent.head().fails = false;
  ASSERT_EQ(agent.offer(), std::nullopt);
  ASSERT_EQ(agent.say(agent.gradient(0)).replies.size(), 1U);
  agent.head().fails = true;
  EXPECT_TRUE(agent.say(agent.gradient(1)).replies.empty());
  const Agent::Heard offered = agent.say(wire::JobOffer{agent.run, agent.job});
  EXPECT_NE(std::get<wire::JobAnswer>(offered.messages.at(0)).refusal, std::nullopt);
  EXPECT_FALSE(offered.has<wire::ReceiptMessage>());
  for (int again = 0; again < 2; ++again) {
    const Agent::Heard heard = agent.say(wire::JobEnded{agent.run, true});
    EXPECT_FALSE(heard.halted);
    EXPECT_TRUE(heard.messages.empty());
    EXPECT_EQ(heard.ended, 0);
    EXPECT_EQ(heard.told.size(), again == 0 ? 1U : 0U);  // however often it is said
  }
  agent.head().fails = false;
  const Agent::Heard heard = agent.say(wire::JobEnded{agent.run, true});
  EXPECT_TRUE(heard.has<wire::JobEndedSeen>() && heard.has<wire::ReceiptMessage>());
  EXPECT_EQ(heard.ended, 1);
  EXPECT_EQ(agent.ledger().account(agent.run)->releases, 2U);
  EXPECT_EQ(agent.say(wire::JobEnded{agent.run, true}).ended, 0);
}

/// The same where only the entry of the end itself meets the full disk: its statement is written all the same.
TEST(SiloMachineTest, AnEndWhoseHeadFailedIsToldOnceTheHeadIsWritten) {
  for (const bool withdrawn : {false, true}) {
    Agent agent{{}};
    ASSERT_EQ(agent.offer(), std::nullopt);
    ASSERT_EQ(agent.say(agent.gradient(0)).replies.size(), 1U);
    if (withdrawn) {
      ASSERT_TRUE(agent.desk().decide(agent.run, Decision::Withdrawn).value());
    }
    const auto end = [&] {
      return withdrawn ? agent.say(agent.gradient(1)) : agent.say(wire::JobEnded{agent.run, true});
    };
    agent.head().fails = true;
    EXPECT_EQ(end().ended, 0);
    EXPECT_TRUE(agent.ledger().account(agent.run)->ended);
    agent.head().fails = false;
    EXPECT_EQ(end().ended, 1);
    EXPECT_EQ(end().ended, 0);
  }
}

TEST(SiloMachineTest, AGenuineReceiptOfALaterHeadHaltsAForgedOneDoesNot) {
  Agent ahead{{}};
  ASSERT_EQ(ahead.offer(), std::nullopt);
  const wire::Receipt later = ahead.ledger().head();
  Agent behind{{}};  // the same key and first entry, an older ledger
  ASSERT_EQ(behind.ledger().id(), later.ledger);
  EXPECT_TRUE(behind.say(wire::Welcome{1, "c", {later}}).halted);
  Agent calm{{}};
  wire::Receipt forged = later;
  forged.signature[0] = static_cast<char>(forged.signature[0] ^ 1);
  EXPECT_FALSE(calm.say(wire::Welcome{1, "c", {forged}}).halted);
  // What the coordinator was given, under another sequence: the signature covers the sequence.
  for (const std::uint64_t sequence : {std::uint64_t{1}, later.sequence + 1, std::uint64_t{1} << 62}) {
    forged = later;
    forged.sequence = sequence;
    EXPECT_FALSE(ahead.say(wire::Welcome{1, "c", {forged}}).halted);
  }
}

TEST(SiloMachineTest, ANewLedgerThatIsToldOfAnOlderOneAnswersNothing) {
  wire::Receipt other;
  other.ledger = sha256("lost");
  other.sequence = 40;
  other.signature = std::string(64, 's');
  Agent fresh{{}};
  EXPECT_TRUE(fresh.say(wire::Welcome{1, "c", {other}}).halted);
  Agent used{{}};
  ASSERT_EQ(used.offer(), std::nullopt);
  EXPECT_FALSE(used.say(wire::Welcome{1, "c", {other}}).halted);
}

TEST(SiloMachineTest, OffersThatEndAtOnceLeaveNothingBehindButEntries) {
  Agent agent{{}};
  for (std::uint8_t i = 0; i < 20; ++i) {
    agent.run.nonce[1] = i;
    ASSERT_EQ(agent.offer(), std::nullopt);
    (void)agent.say(wire::JobEnded{agent.run, false});
    EXPECT_EQ(agent.ledger().job_of(agent.run).value(), std::nullopt);
  }
  EXPECT_TRUE(agent.ledger().epsilon_reserved().units() == 0);
  agent.boot();
  EXPECT_EQ(agent.refusal_of(agent.gradient(0)), wire::Refusal::Unplanned);  // an ended run, not a damaged ledger
}

Policy manual_policy() {
  Policy policy = tests::generous_policy();
  policy.approval = Approval::Manual;
  return policy;
}

bool pending(const Agent::Heard& heard) {
  return heard.messages.size() == 1 && std::holds_alternative<wire::JobPending>(heard.messages.front());
}

TEST(SiloMachineTest, WithoutItsOwnersWordAManualSiloReservesAndAnswersNothing) {
  Agent agent{{}, manual_policy()};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pending(agent.say(wire::JobOffer{agent.run, agent.job})));
  EXPECT_EQ(agent.refusal_of(agent.gradient(0)), wire::Refusal::UnknownRun);
  agent.boot();
  EXPECT_TRUE(pending(agent.say(wire::JobOffer{agent.run, agent.job})));
  EXPECT_TRUE(agent.ledger().accounts().empty());
  ASSERT_TRUE(agent.desk().decide(agent.run, Decision::Approved).value());
  EXPECT_EQ(agent.offer(), std::nullopt);
  EXPECT_EQ(agent.say(agent.gradient(0)).replies.size(), 1U);
}

TEST(SiloMachineTest, AnApprovalIsForOneRunAlone) {
  Agent agent{{}, manual_policy()};
  (void)agent.say(wire::JobOffer{agent.run, agent.job});
  ASSERT_TRUE(agent.desk().decide(agent.run, Decision::Approved).value());
  agent.run.nonce[5] = 77;  // the same job again
  EXPECT_TRUE(pending(agent.say(wire::JobOffer{agent.run, agent.job})));
}

TEST(DeskTest, AnApprovalIsForTheDataSetThatWasShown) {
  store::Database database = store::Database::in_memory().value();
  Desk desk = Desk::open(database).value();
  const RunId run{sha256("job"), {1}};
  ASSERT_TRUE(desk.offered(run, "first", "job", 1).value());
  ASSERT_TRUE(desk.decide(run, Decision::Approved).value());
  EXPECT_EQ(desk.offered(run, "first", "job", 2).value(), Decision::Approved);
  EXPECT_EQ(desk.offered(run, "second", "job", 3).value(), Decision::Waiting);
  EXPECT_EQ(desk.offered(run, "first", "job", 4).value(), Decision::Waiting);
}

TEST(SiloMachineTest, AReplyThatIsReadyStaysHereOnceTheOwnerSaysSo) {
  Agent agent{{}};
  ASSERT_EQ(agent.offer(), std::nullopt);
  EXPECT_TRUE(agent.machine().may_release(agent.run));
  ASSERT_TRUE(agent.desk().set_paused(true));
  EXPECT_FALSE(agent.machine().may_release(agent.run));
  ASSERT_TRUE(agent.desk().set_paused(false));
  ASSERT_TRUE(agent.desk().decide(agent.run, Decision::Withdrawn).value());
  EXPECT_FALSE(agent.machine().may_release(agent.run));
}

TEST(SiloMachineTest, AnOwnersNoIsFinalForTheRun) {
  Agent agent{{}, manual_policy()};
  (void)agent.say(wire::JobOffer{agent.run, agent.job});
  ASSERT_TRUE(agent.desk().decide(agent.run, Decision::Refused).value());
  EXPECT_EQ(agent.offer(), wire::Refusal::Owner);
  EXPECT_TRUE(agent.ledger().accounts().empty());
}

TEST(SiloMachineTest, AWithdrawnRunGetsNothingMoreNotEvenWhatWasSent) {
  Agent agent{{}};
  ASSERT_EQ(agent.offer(), std::nullopt);
  ASSERT_EQ(agent.say(agent.gradient(0)).replies.size(), 1U);
  ASSERT_TRUE(agent.desk().decide(agent.run, Decision::Withdrawn).value());
  EXPECT_EQ(agent.refusal_of(agent.gradient(0)), wire::Refusal::Withdrawn);
  EXPECT_EQ(agent.refusal_of(agent.gradient(1)), wire::Refusal::Withdrawn);
  EXPECT_TRUE(agent.ledger().account(agent.run)->ended);
  EXPECT_FALSE(agent.ledger().account(agent.run)->returned);  // what was sent stays charged
  EXPECT_FALSE(agent.desk().decide(agent.run, Decision::Approved).value());
  EXPECT_EQ(agent.offer(), wire::Refusal::Withdrawn);
}

TEST(SiloMachineTest, APausedSiloAnswersNothingAndGoesOnWhereItStood) {
  Agent agent{{}};
  ASSERT_EQ(agent.offer(), std::nullopt);
  ASSERT_TRUE(agent.desk().set_paused(true));
  EXPECT_EQ(agent.refusal_of(agent.gradient(0)), wire::Refusal::Paused);
  EXPECT_TRUE(pending(agent.say(wire::JobOffer{agent.run, agent.job})));
  EXPECT_EQ(agent.ledger().account(agent.run)->releases, 0U);
  ASSERT_TRUE(agent.desk().set_paused(false));
  EXPECT_EQ(agent.say(agent.gradient(0)).replies.size(), 1U);
}

TEST(SiloMachineTest, ACoordinatorOfProtocol1IsToldNothingItDoesNotKnow) {
  Agent agent{{}, manual_policy()};
  agent.protocol = 1;
  agent.boot();
  EXPECT_TRUE(agent.say(wire::JobOffer{agent.run, agent.job}).messages.empty());
  ASSERT_TRUE(agent.desk().decide(agent.run, Decision::Refused).value());
  EXPECT_EQ(agent.offer(), wire::Refusal::Policy);
  ASSERT_TRUE(agent.desk().set_paused(true));
  EXPECT_TRUE(agent.say(agent.gradient(0)).messages.empty());
}

TEST(SiloMachineTest, AStrangerCannotFillTheDesk) {
  Agent agent{{}, manual_policy()};
  for (int i = 0; i < 100; ++i) {
    agent.run.nonce[3] = static_cast<std::uint8_t>(i);
    EXPECT_TRUE(pending(agent.say(wire::JobOffer{agent.run, agent.job})));
  }
  EXPECT_EQ(agent.desk().offers().value().size(), Desk::kWaitingMax);
}

TEST(SiloMachineTest, ARunThatEndsNoLongerWaitsAndAWithdrawnOneIsClosedWithoutTheCoordinatorsHelp) {
  Agent agent{{}, manual_policy()};
  (void)agent.say(wire::JobOffer{agent.run, agent.job});
  (void)agent.say(wire::JobEnded{agent.run, false});
  EXPECT_TRUE(agent.desk().offers().value().empty());
  Agent busy{{}};
  ASSERT_EQ(busy.offer(), std::nullopt);
  (void)busy.say(busy.gradient(0));
  ASSERT_TRUE(busy.desk().decide(busy.run, Decision::Withdrawn).value());
  busy.boot();  // which greets
  EXPECT_TRUE(busy.ledger().account(busy.run)->ended);
}

/// What the first message says to the coordinator of a refusal.
wire::JobAnswer answer_of(const Agent::Heard& heard) { return std::get<wire::JobAnswer>(heard.messages.at(0)); }

/// A policy with two things against the job: its cohort of five, and its epsilon.
Policy strict_policy(ExplainRefusals explain) {
  Policy policy = tests::generous_policy();
  policy.cohort_min = 6;
  policy.epsilon_max = *releases::Epsilon::create(1e-3);
  policy.explain_refusals = explain;
  return policy;
}

TEST(SiloMachineTest, ARefusalKeepsEveryReasonForItsOwnerAndSendsOneWord) {
  Agent agent{{}, strict_policy(ExplainRefusals::Kind)};
  const wire::JobAnswer answer = answer_of(agent.say(wire::JobOffer{agent.run, agent.job}));
  EXPECT_EQ(answer.refusal, wire::Refusal::Policy);
  EXPECT_EQ(answer.explanation, "policy");
  const std::vector<PastOffer> past = agent.desk().past().all().value();
  ASSERT_EQ(past.size(), 1U);
  EXPECT_EQ(past[0].kind, "policy");
  EXPECT_EQ(past[0].dataset, "data");
  EXPECT_EQ(past[0].name, "small");
  EXPECT_EQ(past[0].at, Agent::clock());
  EXPECT_NE(past[0].reason.find("5 silos, the policy asks for at least 6"), std::string::npos) << past[0].reason;
  EXPECT_NE(past[0].reason.find("the policy allows 0.001 a job"), std::string::npos) << past[0].reason;
}

TEST(SiloMachineTest, ItsOwnerChoosesWhetherTheSentenceOrNothingLeaves) {
  Agent full{{}, strict_policy(ExplainRefusals::Full)};
  const wire::JobAnswer whole = answer_of(full.say(wire::JobOffer{full.run, full.job}));
  EXPECT_EQ(whole.explanation, full.desk().past().all().value().at(0).reason);
  Policy spent = tests::generous_policy();
  spent.total = {};
  spent.explain_refusals = ExplainRefusals::None;
  Agent none{{}, spent};
  const wire::JobAnswer answer = answer_of(none.say(wire::JobOffer{none.run, none.job}));
  EXPECT_EQ(answer.refusal, wire::Refusal::Policy);  // not that it is the budget
  EXPECT_EQ(answer.explanation, "");
  EXPECT_EQ(none.desk().past().all().value().at(0).kind, "budget");
}

TEST(SiloMachineTest, PeersOfOlderProtocolsGetNoExplanation) {
  for (const std::uint32_t protocol : {1U, 2U}) {
    Agent agent{{}, strict_policy(ExplainRefusals::Full)};
    agent.protocol = protocol;
    agent.boot();
    EXPECT_EQ(answer_of(agent.say(wire::JobOffer{agent.run, agent.job})).explanation, "");
  }
}

TEST(SiloMachineTest, WhatIsAcceptedAfterAllIsNoPastRefusal) {
  Policy spent = tests::generous_policy();
  spent.total = {};
  Agent agent{{}, spent};
  EXPECT_EQ(agent.offer(), wire::Refusal::Budget);
  EXPECT_EQ(agent.desk().past().all().value().size(), 1U);
  agent.set_policy(tests::generous_policy());
  agent.boot();
  ASSERT_EQ(agent.offer(), std::nullopt);
  EXPECT_TRUE(agent.desk().past().all().value().empty());
}

TEST(SiloMachineTest, ARunThatEndsBeforeItsOwnerDecidedIsKeptAsEnded) {
  Agent agent{{}, manual_policy()};
  (void)agent.say(wire::JobOffer{agent.run, agent.job});
  (void)agent.say(wire::JobEnded{agent.run, false});
  const std::vector<PastOffer> past = agent.desk().past().all().value();
  ASSERT_EQ(past.size(), 1U);
  EXPECT_EQ(past[0].outcome, PastOffer::Outcome::Ended);
  EXPECT_EQ(past[0].reason, "its run failed before you decided");
  EXPECT_EQ(past[0].name, "small");
}

TEST(DeskTest, WhatIsNotOfferedAgainForADayMakesRoom) {
  store::Database database = store::Database::in_memory().value();
  Desk desk = Desk::open(database).value();
  const auto run = [](int number) { return RunId{sha256("job"), {static_cast<std::uint8_t>(number)}}; };
  const std::int64_t now = 1'700'000'000;
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(desk.offered(run(i), "data", "job", now).value());
  EXPECT_FALSE(desk.offered(run(64), "data", "job", now + 10).value());
  EXPECT_EQ(desk.offered(run(3), "data", "job", now + 80'000).value(), Decision::Waiting);  // it is still asked about
  EXPECT_TRUE(desk.offered(run(64), "data", "job", now + Desk::kStaleSeconds + 1).value());
  EXPECT_EQ(desk.offers().value().size(), 2U);
}

TEST(SiloMachineTest, ASmallCohortIsRefused) {
  Policy policy = tests::generous_policy();
  policy.cohort_min = 6;
  Agent agent{{}, policy};
  EXPECT_EQ(agent.offer(), wire::Refusal::Policy);
}

TEST(SiloMachineTest, OpenJobsAreBounded) {
  tests::SmallFederation cheap;
  Policy policy = tests::generous_policy();
  policy.total = {*releases::EpsilonAmount::rounded_down(1e5), *releases::DeltaAmount::rounded_down(1.0)};
  Agent agent{cheap, policy};
  std::size_t accepted = 0;
  for (std::uint8_t i = 0; i < 100; ++i) {
    agent.run.nonce[2] = i;
    if (agent.offer() == std::nullopt) ++accepted;
  }
  EXPECT_EQ(accepted, 64U);
}

TEST(SiloMachineTest, AJobLargerThanItsLimitIsRefusedUnparsed) {
  Agent agent{{}};
  const std::string padded = agent.job + std::string(jobs::kJobBytesMax, ' ');
  const Agent::Heard heard = agent.say(wire::JobOffer{{sha256(padded), {1}}, padded});
  EXPECT_EQ(std::get<wire::JobAnswer>(heard.messages.at(0)).refusal, wire::Refusal::InvalidJob);
}

TEST(SiloMachineTest, AnOfferThatIsOvertakenByTheEndReservesNothing) {
  Agent agent{{}};
  (void)agent.say(wire::JobEnded{agent.run, false});
  EXPECT_TRUE(agent.say(wire::JobOffer{agent.run, agent.job}).messages.empty());
  EXPECT_TRUE(agent.ledger().accounts().empty());
  agent.run.nonce[1] ^= 1;  // another run of the same job
  EXPECT_EQ(agent.offer(), std::nullopt);
}

TEST(SiloMachineTest, AfterTheEndNothingNewIsAnswered) {
  Agent agent{{}};
  ASSERT_EQ(agent.offer(), std::nullopt);
  (void)agent.say(agent.gradient(0));
  (void)agent.say(wire::JobEnded{agent.run, true});
  EXPECT_EQ(agent.refusal_of(agent.gradient(1)), wire::Refusal::Unplanned);
  EXPECT_EQ(agent.say(agent.gradient(0)).replies.size(), 1U);  // what left may be sent again
}

TEST(SiloMachineTest, WhatNoCoordinatorSendsChangesNothing) {
  Agent agent{{}};
  ASSERT_EQ(agent.offer(), std::nullopt);
  const wire::Receipt before = agent.ledger().head();
  for (const wire::Message& message : tests::one_of_each(agent.run)) {
    if (std::holds_alternative<wire::Welcome>(message) || std::holds_alternative<wire::JobOffer>(message) ||
        std::holds_alternative<wire::QueryMessage>(message) || std::holds_alternative<wire::JobEnded>(message)) {
      continue;
    }
    const Agent::Heard heard = agent.say(message);
    EXPECT_TRUE(heard.messages.empty()) << wire::name_of(message);
    EXPECT_FALSE(heard.halted) << wire::name_of(message);
    EXPECT_EQ(agent.ledger().head().sequence, before.sequence) << wire::name_of(message);
  }
  EXPECT_EQ(agent.say(agent.gradient(0)).replies.size(), 1U);  // the run goes on
}

/// Two choices among the vertices of the l1 ball by the gradients of the job's linear model.
releases::Ask selection_of(const jobs::Job& job) {
  const Eigen::Index dimension = job.model->dimension();
  return {releases::GradientMap{},
          {},
          releases::MaxBound{releases::CoordinateBound::create(0.5).value()},
          dimension,
          releases::SelectionForm{geometry::Vertices::of_l1_ball(dimension, 2.0).value()}};
}
Result<planning::Plan> plan_of_selections(const jobs::Job& job, const jobs::CohortMember& member) {
  return planning::make_plan({{selection_of(job), 2}}, member.facts);
}

releases::Ask statistic_of(std::vector<std::size_t> coordinates, bool indicators) {
  const auto dimension = static_cast<Eigen::Index>(coordinates.size());
  return {releases::StatisticMap{std::move(coordinates), indicators},
          {},
          releases::RangeBound{indicators ? 0.0 : -1.0, 1.0},
          dimension};
}
/// Of a pure target: the means of two columns, then a count of a label.
Result<planning::Plan> plan_of_statistics(const jobs::Job& /*job*/, const jobs::CohortMember& member) {
  releases::SiloFacts facts = member.facts;
  facts.target = releases::PureDp{facts.epsilon()};
  return planning::make_plan({{statistic_of({0, 2}, false), 1}, {statistic_of({4}, true), 1}}, facts);
}

releases::Ask reports_of(std::vector<std::size_t> coordinates, bool indicators, releases::Randomiser randomiser) {
  releases::Ask ask = statistic_of(std::move(coordinates), indicators);
  ask.form = releases::ReportsForm{randomiser};
  return ask;
}
/// A report of every record on one of two columns, then one on a label.
planning::Schedule schedule_of_reports() {
  return {{reports_of({0, 2}, false, releases::Randomiser::Laplace), 1},
          {reports_of({4}, true, releases::Randomiser::Bit), 1}};
}
Result<planning::Plan> plan_of_reports(const jobs::Job& /*job*/, const jobs::CohortMember& member) {
  releases::SiloFacts facts = member.facts;
  facts.target = releases::PureDp{facts.epsilon()};
  return planning::make_plan(schedule_of_reports(), facts);
}

wire::QueryMessage statistic_query(const Agent& agent, std::uint64_t round) {
  return {agent.run, queries::PointType::F64, {{round}, queries::StatisticQuestion{}}};
}

/// An agent that plans every job so.
Agent agent_that_plans(const jobs::Planner& planner, Policy policy = tests::generous_policy()) {
  return Agent{{}, std::move(policy), false, planner};
}

TEST(SiloMachineTest, ASelectionIsAnsweredWithTheNumberOfOneVertexAndNothingElse) {
  Agent agent = agent_that_plans(plan_of_selections);
  EXPECT_EQ(agent.refusal_of(agent.gradient(0)), wire::Refusal::UnknownRun);  // no reservation, no answer
  ASSERT_EQ(agent.offer(), std::nullopt);
  const Agent::Heard first = agent.say(agent.gradient(0));
  ASSERT_EQ(first.replies.size(), 1U);
  const auto& reply = std::get<wire::ReplyMessage>(first.messages.at(0));
  const auto* selected = std::get_if<queries::Selected>(&reply.reply.answer);
  ASSERT_NE(selected, nullptr);
  ASSERT_EQ(selected->values.size(), 1U);
  EXPECT_GE(selected->values[0], 0);
  EXPECT_LT(selected->values[0], 2 * agent.parsed.model->dimension());
  EXPECT_EQ(reply.type, queries::ReplyType::I64);
  EXPECT_EQ(reply.reply.step_log2, 0);
  EXPECT_EQ(agent.ledger().account(agent.run)->releases, 1U);

  EXPECT_EQ(agent.say(agent.gradient(0)).replies, first.replies);
  agent.boot();
  EXPECT_EQ(agent.say(agent.gradient(0)).replies, first.replies);
  EXPECT_EQ(agent.ledger().account(agent.run)->releases, 1U);
  EXPECT_EQ(agent.refusal_of(agent.gradient(0, 0.2)), wire::Refusal::Unplanned);  // another point
  EXPECT_EQ(agent.refusal_of(statistic_query(agent, 1)), wire::Refusal::Unplanned);
  EXPECT_EQ(agent.refusal_of(agent.gradient(2)), wire::Refusal::Unplanned);
  EXPECT_EQ(agent.say(agent.gradient(1)).replies.size(), 1U);
}

TEST(SiloMachineTest, AStatisticIsAnsweredAtNoPointInUnitsOfItsOwnLattice) {
  Agent agent = agent_that_plans(plan_of_statistics);
  EXPECT_EQ(agent.refusal_of(statistic_query(agent, 0)), wire::Refusal::UnknownRun);
  ASSERT_EQ(agent.offer(), std::nullopt);
  EXPECT_EQ(agent.refusal_of(agent.gradient(0)), wire::Refusal::Unplanned);
  const Agent::Heard first = agent.say(statistic_query(agent, 0));
  ASSERT_EQ(first.replies.size(), 1U);
  const auto& means = std::get<wire::ReplyMessage>(first.messages.at(0)).reply;
  EXPECT_EQ(std::get<queries::NoisedSums>(means.answer).values.size(), 2U);
  EXPECT_EQ(means.step_log2, mechanisms::kValueStepLog2);
  agent.boot();
  EXPECT_EQ(agent.say(statistic_query(agent, 0)).replies, first.replies);
  const Agent::Heard second = agent.say(statistic_query(agent, 1));
  ASSERT_EQ(second.replies.size(), 1U);
  const auto& count = std::get<wire::ReplyMessage>(second.messages.at(0)).reply;
  EXPECT_EQ(std::get<queries::NoisedSums>(count.answer).values.size(), 1U);
  EXPECT_EQ(count.step_log2, 0);
  EXPECT_EQ(agent.ledger().account(agent.run)->releases, 2U);
}

TEST(SiloMachineTest, ReportsAreOneOfEveryRecordAndLeaveLikeAnyReply) {
  Agent agent = agent_that_plans(plan_of_reports);
  EXPECT_EQ(agent.refusal_of(statistic_query(agent, 0)), wire::Refusal::UnknownRun);
  ASSERT_EQ(agent.offer(), std::nullopt);
  const auto records = static_cast<std::size_t>(agent.parsed.cohort.front().facts.records);
  // The job's own schedule says how the job's rounds cross the wire; here the plan is another, so only sizes are seen.
  const Agent::Heard first = agent.say(statistic_query(agent, 0));
  ASSERT_EQ(first.replies.size(), 1U);
  const auto& numbers = std::get<wire::ReplyMessage>(first.messages.at(0));
  EXPECT_EQ(std::get<queries::Reports>(numbers.reply.answer).values.size(), records);
  EXPECT_EQ(numbers.type, queries::ReplyType::I64);
  EXPECT_EQ(numbers.reply.step_log2, mechanisms::kValueStepLog2);
  agent.boot();
  EXPECT_EQ(agent.say(statistic_query(agent, 0)).replies, first.replies);
  const Agent::Heard second = agent.say(statistic_query(agent, 1));
  ASSERT_EQ(second.replies.size(), 1U);
  const auto& bits = std::get<wire::ReplyMessage>(second.messages.at(0));
  EXPECT_EQ(std::get<queries::Reports>(bits.reply.answer).values.size(), records);
  EXPECT_EQ(bits.type, queries::ReplyType::I32);
  // Each release costs a record its epsilon once, however many records report.
  const planning::Plan& plan = agent.machine().accepted(agent.run).value()->plan;
  const releases::EpsilonAmount each = plan.release({0})->cost().pure;
  EXPECT_EQ(agent.ledger().account(agent.run)->training_spent.pure, each.times(2).value());
  EXPECT_LE(each.times(2).value().value_rounded_up(), agent.parsed.cohort.front().facts.epsilon().value());
  EXPECT_GT(each.times(2).value().value_rounded_up(), 0.999 * agent.parsed.cohort.front().facts.epsilon().value());
}

TEST(SiloMachineTest, APolicyThatAllowsStatisticsAllowsNoReportsUnlessItSaysSo) {
  Policy policy = tests::generous_policy();
  policy.local_reports = false;
  Agent refusing{tests::federation_of_reports(), policy};
  const Agent::Heard heard = refusing.say(wire::JobOffer{refusing.run, refusing.job});
  ASSERT_EQ(heard.told.size(), 1U);
  EXPECT_NE(heard.told[0].find("policy.local_reports does not allow that"), std::string::npos) << heard.told[0];
  EXPECT_EQ(refusing.ledger().account(refusing.run), nullptr);
  tests::SmallFederation totals = tests::federation_of_reports();
  totals.statistics = R"({"questions":[{"kind":"count","column":"y","value":"yes"}]})";
  Agent counting{totals, policy};
  EXPECT_EQ(counting.offer(), std::nullopt);
  Agent willing{tests::federation_of_reports()};
  EXPECT_EQ(willing.offer(), std::nullopt);
  EXPECT_EQ(willing.say(statistic_query(willing, 0)).replies.size(), 1U);
}

TEST(PrivacyStatementTest, SaysThatReportsAreOfSingleRecords) {
  Agent agent{tests::federation_of_reports()};
  ASSERT_EQ(agent.offer(), std::nullopt);
  const SiloMachine::Accepted* accepted = agent.machine().accepted(agent.run).value();
  const releases::SiloFacts& facts = agent.parsed.cohort.front().facts;
  const std::string text =
      make_statement(facts.silo, "data", agent.run, accepted->job, accepted->plan, facts,
                     *agent.ledger().account(agent.run), std::chrono::milliseconds(0), crypto::NoiseKind::Secure)
          .text;
  EXPECT_NE(text.find("a report of each record by itself, in a secret order: a bit whose chances"), std::string::npos)
      << text;
  EXPECT_NE(text.find("the record's number with discrete Laplace noise of its own"), std::string::npos);
  EXPECT_NE(text.find("of Laplace noise, reports and selections exact"), std::string::npos);
  const SiloMachine::Accepted considered = agent.machine().considered(agent.run, agent.job).value();
  const std::string summary =
      describe_job(agent.run, considered, facts.silo, "data", {}, tests::generous_policy().total, nullptr);
  EXPECT_NE(summary.find("a report of each of 40 training records by itself, in a secret order: one randomised bit"),
            std::string::npos)
      << summary;
  EXPECT_NE(summary.find("about one alone, drawn in secret, of x0"), std::string::npos) << summary;
}

TEST(SiloMachineTest, SelectionsAndStatisticsNeedPolicyAndBudgetLikeAnyRelease) {
  for (const auto& planner : {plan_of_selections, plan_of_statistics}) {
    Policy other = tests::generous_policy();
    other.algorithms = {"private_frank_wolfe"};
    EXPECT_EQ(agent_that_plans(planner, other).offer(), wire::Refusal::Policy);
    Policy poor = tests::generous_policy();
    poor.total.epsilon = releases::EpsilonAmount::from_units(1);
    Agent agent = agent_that_plans(planner, poor);
    EXPECT_EQ(agent.offer(), wire::Refusal::Budget);
    EXPECT_EQ(agent.ledger().account(agent.run), nullptr);
  }
}

TEST(SiloMachineTest, WhatNoOracleAnswersIsRefusedWhenItIsOffered) {
  const auto refusal = [](const tests::SmallFederation& federation, const releases::Ask& ask) {
    const jobs::Planner planner = [&ask](const jobs::Job& /*job*/, const jobs::CohortMember& member) {
      releases::SiloFacts facts = member.facts;
      facts.target = releases::PureDp{facts.epsilon()};
      return planning::make_plan({{ask, 1}}, facts);
    };
    return Agent{federation, tests::generous_policy(), false, planner}.offer();
  };
  tests::SmallFederation classes;
  classes.model = R"({"kind":"softmax"})";
  tests::SmallFederation numbers;
  numbers.loss = models::Loss::LeastSquares;
  EXPECT_EQ(refusal({}, statistic_of({3}, false)), std::nullopt);
  EXPECT_EQ(refusal({}, statistic_of({5}, false)), wire::Refusal::InvalidJob);       // beyond the label
  EXPECT_EQ(refusal({}, statistic_of({0}, true)), wire::Refusal::InvalidJob);        // a number is no list's value
  EXPECT_EQ(refusal({}, statistic_of({4}, false)), wire::Refusal::InvalidJob);       // nor a label of two a number
  EXPECT_EQ(refusal(numbers, statistic_of({4}, false)), std::nullopt);               // this label is one
  EXPECT_EQ(refusal(classes, statistic_of({4}, false)), wire::Refusal::InvalidJob);  // a class label is not
  EXPECT_EQ(refusal(classes, statistic_of({4}, true)), wire::Refusal::InvalidJob);
  EXPECT_EQ(refusal({}, reports_of({3}, false, releases::Randomiser::Bit)), std::nullopt);
  EXPECT_EQ(refusal({}, reports_of({0}, true, releases::Randomiser::Bit)), wire::Refusal::InvalidJob);
  EXPECT_EQ(refusal({}, reports_of({5}, false, releases::Randomiser::Bit)), wire::Refusal::InvalidJob);
  releases::Ask gradients = reports_of({3}, false, releases::Randomiser::Bit);
  gradients.map = releases::GradientMap{};
  EXPECT_EQ(refusal({}, gradients), wire::Refusal::InvalidJob);  // of no model
  releases::Ask drawn = reports_of({3}, false, releases::Randomiser::Bit);
  drawn.records.draw_fraction = 0.5;
  EXPECT_EQ(refusal({}, drawn), wire::Refusal::InvalidJob);  // every record reports
  const jobs::Job softmax = jobs::parse_job(classes.job(), "job").value();
  EXPECT_EQ(refusal(classes, selection_of(softmax)), wire::Refusal::InvalidJob);  // a network's gradients
}

PrivacyStatement statement_by(Agent& agent, std::chrono::milliseconds interval) {
  const SiloMachine::Accepted* accepted = agent.machine().accepted(agent.run).value();
  const releases::SiloFacts& facts = agent.parsed.cohort.front().facts;
  return make_statement(facts.silo, "data", agent.run, accepted->job, accepted->plan, facts,
                        *agent.ledger().account(agent.run), interval, crypto::NoiseKind::Secure);
}

TEST(PrivacyStatementTest, SaysByWhatASelectionAndAStatisticArePrivate) {
  Agent selecting = agent_that_plans(plan_of_selections);
  ASSERT_EQ(selecting.offer(), std::nullopt);
  const std::string selection = statement_by(selecting, std::chrono::milliseconds(0)).text;
  EXPECT_NE(selection.find("the exponential mechanism on integer scores, of gradients clamped to 0.5"),
            std::string::npos);
  EXPECT_EQ(selection.find("Gaussian"), std::string::npos);
  EXPECT_NE(selection.find("how long drawing a reply's noise or choice takes"), std::string::npos);  // not covered

  Agent counting = agent_that_plans(plan_of_statistics);
  ASSERT_EQ(counting.offer(), std::nullopt);
  const PrivacyStatement statistic = statement_by(counting, std::chrono::milliseconds(100));
  EXPECT_NE(statistic.text.find("discrete Laplace noise on integer totals of encoded numbers clamped to [-1, 1]; "
                                "discrete Laplace noise on counts"),
            std::string::npos)
      << statistic.text;
  EXPECT_NE(statistic.text.find("delta 0, for everything"), std::string::npos);
  EXPECT_NE(statistic.text.find("replies are held to multiples of 100 ms"), std::string::npos);
  EXPECT_EQ(statistic.text.find("how long drawing a reply's noise"), std::string::npos);
  EXPECT_NE(statistic.json.find("\"delta\": 0.0"), std::string::npos);
  // Of somebody with several records, their epsilons add up.
  const releases::SiloFacts& facts = counting.parsed.cohort.front().facts;
  const nlohmann::json said = nlohmann::json::parse(statistic.json);
  for (const nlohmann::json& group : said.at("persons")) {
    const double all = group.at("records").get<double>() * facts.epsilon().value();
    EXPECT_EQ(group.at("epsilon").is_null(), all > 30.0) << group;
    if (all <= 30.0) {
      EXPECT_NEAR(group.at("epsilon").get<double>(), all, 1e-6 * all);
    }
  }
}

TEST(JobSummaryTest, NamesWhatASelectionAndAStatisticRelease) {
  const auto summary = [](Agent& agent) {
    const SiloMachine::Accepted considered = agent.machine().considered(agent.run, agent.job).value();
    return describe_job(agent.run, considered, agent.parsed.cohort.front().facts.silo, "data", {},
                        tests::generous_policy().total, nullptr);
  };
  Agent selecting = agent_that_plans(plan_of_selections);
  const std::string selection = summary(selecting);
  EXPECT_NE(selection.find(fmt::format("2 times which of {} vertices", 2 * selecting.parsed.model->dimension())),
            std::string::npos)
      << selection;
  EXPECT_NE(selection.find("cut to at most 0.5"), std::string::npos);
  EXPECT_NE(selection.find("epsilon "), std::string::npos);

  Agent counting = agent_that_plans(plan_of_statistics);
  const std::string statistic = summary(counting);
  EXPECT_NE(statistic.find("1 times the mean of x0 (+- "), std::string::npos) << statistic;
  EXPECT_NE(statistic.find("the mean of x2 (+- "), std::string::npos);
  EXPECT_NE(statistic.find("each value cut to -1 .. 1)"), std::string::npos);
  EXPECT_NE(statistic.find("1 times the count of y=yes (+- "), std::string::npos);
  EXPECT_EQ(statistic.find("clipped"), std::string::npos);
}

TEST(PrivacyStatementTest, SaysWhatScoresAreCutTo) {
  // The job bounds every coordinate of a gradient; what leaves is bounded in l2, root(5) times the vertices' reach.
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    if (name != "private_frank_wolfe, by scores of vertices away from 0") continue;
    Agent agent{federation};
    ASSERT_EQ(agent.offer(), std::nullopt);
    const std::string text = statement_by(agent, std::chrono::milliseconds(0)).text;
    EXPECT_NE(text.find("on sums of records' scores of vertices, together clipped to norm"), std::string::npos) << text;
    EXPECT_EQ(text.find("in every coordinate"), std::string::npos) << text;
    return;
  }
  FAIL() << "no federation of the choice";
}

TEST(PrivacyStatementTest, SaysEverythingItMustAndIsVoidForTestNoise) {
  Agent agent{{}};
  ASSERT_EQ(agent.offer(), std::nullopt);
  (void)agent.say(agent.gradient(0));
  const SiloMachine::Accepted* accepted = agent.machine().accepted(agent.run).value();
  const releases::SiloFacts& facts = agent.parsed.cohort.front().facts;
  const auto statement = [&](crypto::NoiseKind noise) {
    return make_statement(facts.silo, "data", agent.run, accepted->job, accepted->plan, facts,
                          *agent.ledger().account(agent.run), std::chrono::milliseconds(0), noise);
  };
  const PrivacyStatement good = statement(crypto::NoiseKind::Secure);
  for (const char* part : {"unit", "adversary", "adjacency", "mechanism", "accountant", "guaranteed", "odometer",
                           "persons", "not covered"}) {
    EXPECT_NE(good.text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(good.text.find("VOID"), std::string::npos);
  const PrivacyStatement seeded = statement(crypto::NoiseKind::Test);
  EXPECT_EQ(seeded.text.rfind("VOID", 0), 0U);
  EXPECT_NE(seeded.json.find("\"valid\": false"), std::string::npos);
}

/// The statement of a run of four releases, some of which were made before draws were put in a secret order.
PrivacyStatement statement_of(bool network, double draw_fraction, std::uint64_t in_secret_order) {
  jobs::Job job = Agent{{}}.parsed;
  if (network) job.model = models::Network::create({{1, 1, job.model->features()}, {}, 2}).value();
  releases::SiloFacts facts = job.cohort.front().facts;
  facts.records = 100;
  job.draw_fraction = draw_fraction;
  const releases::Ask ask{
      releases::GradientMap{}, {releases::Block::Training, draw_fraction}, job.bound, job.model->dimension()};
  const planning::Plan plan = planning::make_plan({{ask, 4}}, facts, std::nullopt).value();
  RunAccount account;
  account.epsilon = plan.epsilon();
  account.releases = 4;
  account.releases_in_secret_order = in_secret_order;
  return make_statement(facts.silo, "data", RunId{}, job, plan, facts, account, std::chrono::milliseconds(0),
                        crypto::NoiseKind::Secure);
}

TEST(PrivacyStatementTest, SaysOfOlderRunsWhoseDrawsShowedWhatTheyReallyKept) {
  const PrivacyStatement affected = statement_of(true, 0.25, 3);
  EXPECT_EQ(affected.text.rfind("ADVISORY: UA-2026-1: 1 of the 4 releases", 0), 0U) << affected.text;
  EXPECT_NE(affected.json.find("\"valid\": false"), std::string::npos);
  EXPECT_NE(affected.json.find("\"epsilon_odometer\": null"), std::string::npos);
  const auto claimed = statement_of(true, 0.25, 4);
  for (const PrivacyStatement& sound : {claimed, statement_of(false, 0.25, 0), statement_of(true, 1.0, 0)}) {
    EXPECT_EQ(sound.text.find("ADVISORY"), std::string::npos);
    EXPECT_NE(sound.json.find("\"valid\": true"), std::string::npos);
  }
}

TEST(PrivacyStatementTest, OfAnOlderRunWhosePlanCannotBeMadeAgainNothingIsGuaranteed) {
  RunAccount account;
  account.releases = 4;
  const PrivacyStatement statement =
      make_unplanned_statement(SiloId::create("one").value(), "data", RunId{}, account, "another plan was reserved");
  EXPECT_EQ(statement.text.rfind("ADVISORY: UA-2026-1 concerns this run: in 4 of its 4 releases", 0), 0U);
  EXPECT_NE(statement.text.find("(another plan was reserved)"), std::string::npos);
  EXPECT_NE(statement.json.find("\"valid\": false"), std::string::npos);
  EXPECT_NE(statement.json.find("\"advisories\": ["), std::string::npos);
  EXPECT_EQ(statement.json.find("\"epsilon\""), std::string::npos);
}

}  // namespace
}  // namespace undertone::silo
