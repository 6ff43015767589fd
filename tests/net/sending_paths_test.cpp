#include <gtest/gtest.h>

#include "shared/sealed/sealing_key.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/member.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone {
namespace {

using certificates::Role;
using std::chrono::milliseconds;
using tests::HeldHead;
using tests::Member;
using TimePoint = std::chrono::steady_clock::time_point;

constexpr milliseconds kInterval{300};
constexpr std::chrono::seconds kPatience{60};

TimePoint now() { return std::chrono::steady_clock::now(); }

/// An agent whose policy has an interval, between a coordinator and a shuffler that the test plays. Its commits can be
/// held: the agent then computes for as long as the test wants. Whatever arrives is held against the clock from below
/// alone, so that a slow machine makes no test fail.
class SendingPathsTest : public ::testing::Test {
 protected:
  SendingPathsTest() {
    federation_.equal = true;
    federation_.silos = 3;
    federation_.rounds = 3;
    federation_.evaluation_every = 0;
    plain_ = federation_.job();
    federation_.name = "shuffled";
    federation_.shuffle =
        fmt::format(R"({{"form":"reports","shufflers":[{{"name":"mixer"}}],"coordinator_key":"{}","honest_min":2}})",
                    to_hex(sealing_.public_key().fingerprint()));
    shuffled_ = federation_.job();
    simulation::SimulatedSilo spec = federation_.cohort().front();
    spec.policy.shuffle = silo::ShuffleTrust{{{"mixer", std::nullopt}}, {"reports"}, 3};
    agent_ = std::make_unique<tests::LoopbackSilo>(
        spec, hub_port_.number(), 7, consortium_.silo(spec.id.name()), [this](silo::SiloConfig& config) {
          config.policy.release_interval = kInterval;
          config.shufflers = {{"mixer", "127.0.0.1", mixer_port_.number()}};
          config.session.heartbeat = milliseconds(40);
          config.session.silence = std::chrono::minutes(5);  // the test's peers send no heartbeats
        });
    hub_ = welcome(hub_credentials_, hub_port_);
    mixer_ = welcome(mixer_credentials_, mixer_port_);
    for (const std::string* job : {&plain_, &shuffled_}) {
      hub_->say(wire::JobOffer{run(*job), *job});
      const auto answer = expect<wire::JobAnswer>(*hub_).what;
      EXPECT_EQ(answer.refusal, std::nullopt) << answer.explanation;
      (void)expect<wire::ReceiptMessage>(*hub_);
    }
  }

  template <class What>
  struct Said {
    What what;
    TimePoint when;
  };

  [[nodiscard]] net::Credentials credentials(Role role, const std::string& name) {
    return net::Credentials::load(consortium_.party(role, name), net::Side::Server, {"lakeside", role, name}).value();
  }
  /// The next connection of the agent, let in.
  [[nodiscard]] static std::unique_ptr<Member> welcome(net::Credentials& credentials, const tests::MembersPort& port) {
    auto member = std::make_unique<Member>(credentials, port);
    EXPECT_TRUE(std::holds_alternative<wire::Hello>(member->hear()));
    member->say(wire::Welcome{wire::kProtocolMax, "test", {}});
    return member;
  }
  [[nodiscard]] static RunId run(const std::string& job) { return {sha256(job), Nonce{3}}; }
  /// Asks, from now on. @return when
  TimePoint ask(const std::string& job, std::uint64_t round) {
    const TimePoint asked = now();
    wire::QueryMessage query{run(job),
                             queries::PointType::F64,
                             {{round}, queries::GradientQuestion{Eigen::VectorXd::Zero(federation_.features + 1)}},
                             {}};
    if (job == shuffled_) {
      query.sealing.emplace();
      const std::string_view key = sealing_.public_key().bytes();
      std::copy(key.begin(), key.end(), query.sealing->public_key.begin());
    }
    hub_->say(query);
    return asked;
  }
  /// Asks and waits until the agent computes, which it does until it is let go.
  TimePoint ask_and_hold(const std::string& job, std::uint64_t round) {
    agent_->head().hold();
    const TimePoint asked = ask(job, round);
    agent_->head().wait_for_commit();
    return asked;
  }
  /// What the agent says to somebody next but heartbeats. @pre nothing else is said before it
  template <class What>
  [[nodiscard]] static Said<What> expect(Member& member) {
    while (std::optional<wire::Message> message = member.next(now() + kPatience)) {
      if (std::holds_alternative<wire::Heartbeat>(*message)) continue;
      const auto* what = std::get_if<What>(&*message);
      EXPECT_NE(what, nullptr) << wire::name_of(*message);
      if (what != nullptr) return {*what, now()};
    }
    ADD_FAILURE() << (member.closed() ? "the agent closed" : "the agent says nothing");
    return {};
  }
  /// The agent's next heartbeat to somebody, before which it says nothing else.
  static void expect_heartbeat(Member& member) {
    const std::optional<wire::Message> message = member.next(now() + kPatience);
    ASSERT_TRUE(message);
    EXPECT_TRUE(std::holds_alternative<wire::Heartbeat>(*message)) << wire::name_of(*message);
  }
  /// Listens until then: the agent says nothing but heartbeats.
  void expect_silence(TimePoint until) {
    while (now() < until) {
      for (Member* member : {hub_.get(), mixer_.get()}) {
        const std::optional<wire::Message> message = member->next(std::min(until, now() + milliseconds(5)));
        EXPECT_FALSE(member->closed());
        EXPECT_TRUE(!message || std::holds_alternative<wire::Heartbeat>(*message)) << wire::name_of(*message);
      }
    }
  }
  /// A round of the shuffled job that the shuffler has and says nothing about.
  void hand_to_mixer() {
    (void)ask(shuffled_, 0);
    (void)expect<wire::SealedReply>(*mixer_);
    (void)expect<wire::ReceiptMessage>(*hub_);
  }

  sealed::SealingKey sealing_ = sealed::SealingKey::generate();
  tests::Certificates consortium_{"lakeside"};
  tests::SmallFederation federation_;
  std::string plain_;
  std::string shuffled_;
  net::Credentials hub_credentials_ = credentials(Role::Coordinator, "hub");
  net::Credentials mixer_credentials_ = credentials(Role::Shuffler, "mixer");
  tests::MembersPort hub_port_;
  tests::MembersPort mixer_port_;
  std::unique_ptr<tests::LoopbackSilo> agent_;
  std::unique_ptr<Member> hub_;
  std::unique_ptr<Member> mixer_;
};

TEST_F(SendingPathsTest, AnAnswerLeavesAtTheIntervalHoweverSoonItIsThere) {
  const TimePoint asked = ask_and_hold(plain_, 0);
  expect_heartbeat(*hub_);  // they go on while the agent computes
  expect_heartbeat(*mixer_);
  agent_->head().let_go();
  EXPECT_GE(expect<wire::ReplyMessage>(*hub_).when, asked + kInterval);
  (void)expect<wire::ReceiptMessage>(*hub_);
}

TEST_F(SendingPathsTest, AnAnswerThatOverranWaitsForTheNextMultiple) {
  const TimePoint asked = ask_and_hold(plain_, 0);
  expect_silence(asked + kInterval + kInterval / 4);
  agent_->head().let_go();
  EXPECT_GE(expect<wire::ReplyMessage>(*hub_).when, asked + 2 * kInterval);
}

TEST_F(SendingPathsTest, ASealedReplyLeavesAtTheIntervalAndSoDoesItsReceipt) {
  const TimePoint asked = ask_and_hold(shuffled_, 0);
  agent_->head().let_go();
  EXPECT_GE(expect<wire::SealedReply>(*mixer_).when, asked + kInterval);
  EXPECT_GE(expect<wire::ReceiptMessage>(*hub_).when, asked + kInterval);
}

TEST_F(SendingPathsTest, AnAnswerThatIsAskedForAgainLeavesAtTheInterval) {
  (void)ask(plain_, 0);
  const wire::ReplyMessage first = expect<wire::ReplyMessage>(*hub_).what;
  (void)expect<wire::ReceiptMessage>(*hub_);
  const TimePoint again = ask(plain_, 0);  // the ledger has it: nothing is computed
  const Said<wire::ReplyMessage> second = expect<wire::ReplyMessage>(*hub_);
  EXPECT_GE(second.when, again + kInterval);
  EXPECT_EQ(std::get<queries::NoisedSums>(second.what.reply.answer).values,
            std::get<queries::NoisedSums>(first.reply.answer).values);
}

TEST_F(SendingPathsTest, ARefusalLeavesAtTheInterval) {
  const TimePoint asked = ask(plain_, 99);
  EXPECT_GE(expect<wire::QueryRefused>(*hub_).when, asked + kInterval);
}

TEST_F(SendingPathsTest, AnAnswerThatCouldNotBeKeptIsRefusedAtTheInterval) {
  const TimePoint asked = ask_and_hold(plain_, 0);
  agent_->head().let_go(HeldHead::Then::Fails);
  EXPECT_GE(expect<wire::QueryRefused>(*hub_).when, asked + kInterval);
}

TEST_F(SendingPathsTest, WhatAnOwnerPausesMeanwhileDoesNotLeaveAndItsReceiptLeavesAtTheInterval) {
  const TimePoint asked = ask_and_hold(plain_, 0);
  agent_->desk().set_paused(true).value();
  agent_->head().let_go();
  EXPECT_GE(expect<wire::ReceiptMessage>(*hub_).when, asked + kInterval);  // and no reply before it
}

// A shuffler that acknowledges nothing and comes again while another job's answer is computed would learn when it is
// done, if it were served then.
TEST_F(SendingPathsTest, AShufflerThatComesAgainIsServedAtTheInterval) {
  hand_to_mixer();
  const TimePoint asked = ask_and_hold(plain_, 0);
  mixer_->hang_up();
  mixer_ = welcome(mixer_credentials_, mixer_port_);
  expect_heartbeat(*mixer_);  // it has been let in
  agent_->head().let_go();
  EXPECT_GE(expect<wire::SealedReply>(*mixer_).when, asked + kInterval);
  EXPECT_GE(expect<wire::ReplyMessage>(*hub_).when, asked + kInterval);
}

TEST_F(SendingPathsTest, AShufflerThatComesAgainAfterAnOverrunIsServedAtAMultiple) {
  hand_to_mixer();
  const TimePoint asked = ask_and_hold(plain_, 0);
  mixer_->hang_up();
  mixer_ = welcome(mixer_credentials_, mixer_port_);
  expect_silence(asked + kInterval + kInterval / 4);
  agent_->head().let_go();
  EXPECT_GE(expect<wire::SealedReply>(*mixer_).when, asked + 2 * kInterval);
}

// What follows from a shuffler's word alone tells of no computation, and waits for none.
TEST_F(SendingPathsTest, AHandOverIsToldWhileAnAnswerIsComputed) {
  hand_to_mixer();
  (void)ask_and_hold(plain_, 0);
  mixer_->say(wire::SealedReplyTaken{run(shuffled_), {0}, Digest{}});
  EXPECT_EQ(expect<wire::ReplyHandedOver>(*hub_).what.run, run(shuffled_));
  agent_->head().let_go();
  (void)expect<wire::ReplyMessage>(*hub_);
}

TEST_F(SendingPathsTest, AnAgentThatIsStoppedClosesWhileItComputes) {
  (void)ask_and_hold(plain_, 0);
  HeldHead& head = agent_->head();
  std::thread stopping([this] { agent_.reset(); });
  for (Member* member : {hub_.get(), mixer_.get()}) {
    while (member->next(now() + kPatience)) {
    }
    EXPECT_TRUE(member->closed());
  }
  head.let_go();
  stopping.join();
}

TEST_F(SendingPathsTest, AnAgentThatBreaksWhileItComputesEndsAtTheInterval) {
  const TimePoint asked = ask_and_hold(plain_, 0);
  agent_->head().let_go(HeldHead::Then::Throws);
  EXPECT_EQ(agent_->ended_by(), "this head breaks");
  EXPECT_GE(now(), asked + kInterval);
}

}  // namespace
}  // namespace undertone
