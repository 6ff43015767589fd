#include <algorithm>
#include <gtest/gtest.h>

#include "shared/sealed/adder_mac_key.hpp"
#include "shared/sealed/sealed_reply.hpp"
#include "tests/support/loopback_shuffler.hpp"
#include "tests/support/one_of_each.hpp"
#include "tests/support/shuffled_job.hpp"
#include "tests/support/shuffler_peer.hpp"

namespace undertone {
namespace {

using certificates::Role;
using std::chrono::milliseconds;
using tests::LoopbackShuffler;
using tests::ShuffledJob;

/// One authority for every test of this file, and a stranger's.
tests::Certificates& good() {
  static tests::Certificates certificates("lakeside");
  return certificates;
}
tests::Certificates& other() {
  static tests::Certificates certificates("elsewhere");
  return certificates;
}

/// A peer of the good consortium, unless it brings other files.
class Peer : public tests::ShufflerPeer {
 public:
  using tests::ShufflerPeer::ShufflerPeer;
  explicit Peer(tests::ShufflerPeer peer) : tests::ShufflerPeer(std::move(peer)) {}
  static Peer silo(std::uint16_t port, int number) { return welcomed(port, fmt::format("silo-{}", number)); }
  /// A silo that was let in.
  static Peer welcomed(std::uint16_t port, const std::string& name) {
    return Peer(tests::ShufflerPeer::welcomed(port, good().silo(name)));
  }
  static Peer hub(std::uint16_t port) { return Peer(tests::ShufflerPeer::welcomed(port, good().hub())); }
};

constexpr std::size_t kUnitBytes = 8;
constexpr std::size_t kUnits = 4;  // of a silo

/// A shuffler and one run of a job that three silos send to it.
class ShufflerLoopbackTest : public ::testing::Test {
 protected:
  explicit ShufflerLoopbackTest(const ShuffledJob& job = {}) : job_(job.json()) {}

  [[nodiscard]] RunId run() const { return {sha256(job_), Nonce{5}}; }
  /// A batch to mix, with what differs set by the caller.
  [[nodiscard]] wire::BatchOpen batch(std::uint64_t round = 0) const {
    wire::BatchOpen open;
    open.run = run();
    open.round = RoundIndex{round};
    for (int i = 0; i < 3; ++i) open.expected.push_back(SiloId::create(fmt::format("silo-{}", i)).value());
    open.replies_min = 2;
    open.message_bytes = kUnits * kUnitBytes;
    open.unit_bytes = kUnitBytes;
    open.deadline = std::chrono::minutes(1);
    return open;
  }
  /// The coordinator's session, with the job offered and the batch opened.
  Peer opened(const wire::BatchOpen& open) {
    Peer hub = Peer::hub(shuffler_.port());
    hub.send(wire::JobOffer{run(), job_});
    hub.send(open);
    const auto answer = hub.expect<wire::BatchOpened>();
    EXPECT_EQ(answer.run, open.run);
    EXPECT_EQ(answer.round, open.round);
    EXPECT_EQ(answer.attempt, open.attempt);
    return hub;
  }
  [[nodiscard]] static std::vector<std::string> units_of(int silo) {
    std::vector<std::string> out;
    for (std::size_t u = 0; u < kUnits; ++u) out.push_back(fmt::format("s{}u{}....", silo, u).substr(0, kUnitBytes));
    return out;
  }
  [[nodiscard]] wire::SealedReply reply(int silo, std::uint64_t round = 0) const {
    wire::SealedReply out{run(), RoundIndex{round}, sha256("terms"), kUnitBytes, 0, {}};
    for (const std::string& unit : units_of(silo)) out.units += unit;
    return out;
  }
  /// All three silos hand over their replies and are told so.
  void hand_over(std::uint64_t round = 0) {
    for (int i = 0; i < 3; ++i) {
      Peer silo = Peer::silo(shuffler_.port(), i);
      silo.send(reply(i, round));
      EXPECT_EQ(silo.expect<wire::SealedReplyTaken>().round, RoundIndex{round});
    }
  }
  [[nodiscard]] static std::vector<std::string> split(const std::string& units) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < units.size(); at += kUnitBytes) out.push_back(units.substr(at, kUnitBytes));
    return out;
  }
  [[nodiscard]] static std::vector<std::string> sorted(std::vector<std::string> units) {
    std::sort(units.begin(), units.end());
    return units;
  }
  [[nodiscard]] static std::vector<std::string> all_units() {
    std::vector<std::string> out;
    for (int i = 0; i < 3; ++i) {
      for (std::string& unit : units_of(i)) out.push_back(std::move(unit));
    }
    return out;
  }

  std::string job_;
  LoopbackShuffler shuffler_{good()};
};

TEST_F(ShufflerLoopbackTest, ForwardsAllUnitsOfARoundInAnOrderThatIsNotTheirs) {
  Peer hub = opened(batch());
  hand_over();
  const auto forward = hub.expect<wire::BatchForward>();
  EXPECT_EQ(forward.run, run());
  EXPECT_EQ(forward.replies, 3U);
  EXPECT_EQ(sorted(split(forward.units)), sorted(all_units()));
  EXPECT_NE(split(forward.units), all_units());  // by chance once in 12! runs
}

TEST_F(ShufflerLoopbackTest, ADeliveredRoundIsPastAndTheNextOneIsOpened) {
  Peer hub = opened(batch(0));
  hand_over(0);
  (void)hub.expect<wire::BatchForward>();
  hub.send(wire::BatchDelivered{run(), RoundIndex{0}});
  hub.send(batch(0));
  EXPECT_EQ(hub.expect<wire::BatchRefused>().refusal, wire::BatchRefusal::Past);
  hub.send(batch(1));
  EXPECT_EQ(hub.expect<wire::BatchOpened>().round, RoundIndex{1});
  hand_over(1);
  EXPECT_EQ(hub.expect<wire::BatchForward>().round, RoundIndex{1});
}

TEST_F(ShufflerLoopbackTest, ACoordinatorThatComesBackGetsTheSameForwardAgain) {
  std::string first;
  {
    Peer hub = opened(batch());
    hand_over();
    first = hub.expect<wire::BatchForward>().units;
  }
  Peer hub = Peer::hub(shuffler_.port());
  hub.send(wire::JobOffer{run(), job_});
  hub.send(batch());
  EXPECT_EQ(hub.expect<wire::BatchForward>().units, first);
}

TEST_F(ShufflerLoopbackTest, WhatClosedWhileTheCoordinatorWasAwayIsForwardedWhenItOpensItsBatchAgain) {
  { Peer hub = opened(batch()); }
  hand_over();
  Peer hub = Peer::hub(shuffler_.port());
  hub.send(wire::JobOffer{run(), job_});
  hub.send(batch());
  EXPECT_EQ(sorted(split(hub.expect<wire::BatchForward>().units)), sorted(all_units()));
}

TEST_F(ShufflerLoopbackTest, AShufflerThatWasRestartedForwardsTheSameAndOnlyThat) {
  std::string first;
  {
    Peer hub = opened(batch());
    hand_over();
    first = hub.expect<wire::BatchForward>().units;
  }
  shuffler_.restart();
  Peer silo = Peer::silo(shuffler_.port(), 0);
  silo.send(reply(0));
  EXPECT_EQ(silo.expect<wire::SealedReplyRefused>().refusal, wire::ReplyRefusal::Closed);
  Peer hub = Peer::hub(shuffler_.port());
  hub.send(wire::JobOffer{run(), job_});
  hub.send(batch());
  EXPECT_EQ(hub.expect<wire::BatchForward>().units, first);
}

TEST_F(ShufflerLoopbackTest, AReplyThatWasTakenOutlivesARestart) {
  { Peer hub = opened(batch()); }
  {
    Peer silo = Peer::silo(shuffler_.port(), 1);
    silo.send(reply(1));
    (void)silo.expect<wire::SealedReplyTaken>();
  }
  shuffler_.restart();
  Peer hub = opened(batch());  // the same batch goes on
  for (const int i : {0, 2}) {
    Peer silo = Peer::silo(shuffler_.port(), i);
    silo.send(reply(i));
    (void)silo.expect<wire::SealedReplyTaken>();
  }
  EXPECT_EQ(sorted(split(hub.expect<wire::BatchForward>().units)), sorted(all_units()));
}

TEST_F(ShufflerLoopbackTest, AtTheDeadlineTheMinimumIsEnough) {
  Peer first = Peer::silo(shuffler_.port(), 0);
  Peer second = Peer::silo(shuffler_.port(), 2);
  wire::BatchOpen open = batch();
  open.deadline = milliseconds(1500);
  Peer hub = opened(open);
  first.send(reply(0));
  (void)first.expect<wire::SealedReplyTaken>();
  second.send(reply(2));
  (void)second.expect<wire::SealedReplyTaken>();
  const auto forward = hub.expect<wire::BatchForward>();
  EXPECT_EQ(forward.replies, 2U);
  EXPECT_EQ(forward.units.size(), 2 * kUnits * kUnitBytes);
}

TEST_F(ShufflerLoopbackTest, BelowTheMinimumNothingIsForwardedAndTheRoundMayBeAskedAgain) {
  wire::BatchOpen open = batch();
  open.deadline = milliseconds(1);
  Peer hub = opened(open);
  const auto failed = hub.expect<wire::BatchFailed>();
  EXPECT_EQ(failed.replies, 0U);
  open.attempt = 1;
  open.deadline = std::chrono::minutes(1);
  hub.send(open);
  EXPECT_EQ(hub.expect<wire::BatchOpened>().attempt, 1U);
  hand_over();
  EXPECT_EQ(hub.expect<wire::BatchForward>().replies, 3U);
}

TEST_F(ShufflerLoopbackTest, ARoundThatIsGivenUpFails) {
  Peer hub = opened(batch());
  hub.send(wire::BatchAbandon{run(), RoundIndex{0}});
  EXPECT_EQ(hub.expect<wire::BatchFailed>().replies, 0U);
  Peer silo = Peer::silo(shuffler_.port(), 0);
  silo.send(reply(0));
  EXPECT_EQ(silo.expect<wire::SealedReplyRefused>().refusal, wire::ReplyRefusal::Closed);
}

TEST_F(ShufflerLoopbackTest, ABatchOfAJobThatWasNotOfferedIsRefused) {
  Peer hub = Peer::hub(shuffler_.port());
  hub.send(batch());
  const auto refused = hub.expect<wire::BatchRefused>();
  EXPECT_EQ(refused.refusal, wire::BatchRefusal::UnknownJob);
  EXPECT_EQ(refused.run, run());
}

TEST_F(ShufflerLoopbackTest, ABatchThatIsNotWhatTheJobSaysIsRefused) {
  Peer hub = Peer::hub(shuffler_.port());
  hub.send(wire::JobOffer{run(), job_});
  wire::BatchOpen open = batch();
  open.replies_min = 1;
  hub.send(open);
  EXPECT_EQ(hub.expect<wire::BatchRefused>().refusal, wire::BatchRefusal::NotOfJob);
  open = batch();
  open.unit_bytes = 5;  // 32 bytes are not a whole number of these
  hub.send(open);
  EXPECT_EQ(hub.expect<wire::BatchRefused>().refusal, wire::BatchRefusal::InvalidSpec);
}

TEST_F(ShufflerLoopbackTest, ASiloThatIsNotExpectedIsRefused) {
  Peer hub = opened(batch());
  Peer stranger = Peer::welcomed(shuffler_.port(), "silo-9");
  stranger.send(reply(0));
  EXPECT_EQ(stranger.expect<wire::SealedReplyRefused>().refusal, wire::ReplyRefusal::NotExpected);
}

TEST_F(ShufflerLoopbackTest, AReplyOfAnotherLengthIsRefusedAndTheRightOneIsTaken) {
  Peer hub = opened(batch());
  Peer silo = Peer::silo(shuffler_.port(), 0);
  wire::SealedReply longer = reply(0);
  longer.units += "longer..";
  silo.send(longer);
  EXPECT_EQ(silo.expect<wire::SealedReplyRefused>().refusal, wire::ReplyRefusal::WrongLength);
  silo.send(reply(0));
  (void)silo.expect<wire::SealedReplyTaken>();
}

TEST_F(ShufflerLoopbackTest, AReplyOfOtherTermsIsLeftOutAndTheOthersAreForwarded) {
  Peer hub = opened(batch());
  Peer first = Peer::silo(shuffler_.port(), 0);
  wire::SealedReply singled_out = reply(0);
  singled_out.terms = sha256("terms for one silo");
  first.send(singled_out);
  (void)first.expect<wire::SealedReplyTaken>();
  for (int i = 1; i < 3; ++i) {
    Peer silo = Peer::silo(shuffler_.port(), i);
    silo.send(reply(i));
    (void)silo.expect<wire::SealedReplyTaken>();
  }
  const auto forward = hub.expect<wire::BatchForward>();
  EXPECT_EQ(forward.replies, 2U);
  std::vector<std::string> expected = units_of(1);
  for (std::string& unit : units_of(2)) expected.push_back(std::move(unit));
  EXPECT_EQ(sorted(split(forward.units)), sorted(expected));
}

TEST_F(ShufflerLoopbackTest, AReplyBeforeItsBatchIsRefusedAndMayComeAgain) {
  Peer silo = Peer::silo(shuffler_.port(), 0);
  silo.send(reply(0));
  EXPECT_EQ(silo.expect<wire::SealedReplyRefused>().refusal, wire::ReplyRefusal::UnknownBatch);
  Peer hub = opened(batch());
  silo.send(reply(0));
  (void)silo.expect<wire::SealedReplyTaken>();
}

TEST_F(ShufflerLoopbackTest, ASiloThatComesBackIsHeardOnItsNewConnection) {
  Peer hub = opened(batch());
  Peer before = Peer::silo(shuffler_.port(), 0);
  Peer silo = Peer::silo(shuffler_.port(), 0);
  EXPECT_FALSE(before.receive());
  silo.send(reply(0));
  (void)silo.expect<wire::SealedReplyTaken>();
}

TEST_F(ShufflerLoopbackTest, ASiloCannotSpeakAsTheCoordinator) {
  Peer hub = opened(batch());
  Peer silo = Peer::silo(shuffler_.port(), 0);
  silo.send(wire::BatchAbandon{run(), RoundIndex{0}});
  const auto fault = silo.expect<wire::Fault>();
  EXPECT_EQ(fault.sentence, "this peer does not send batch_abandon");
  EXPECT_FALSE(silo.receive());
  hand_over();  // the batch goes on
  EXPECT_EQ(hub.expect<wire::BatchForward>().replies, 3U);
}

TEST_F(ShufflerLoopbackTest, ACoordinatorCannotSpeakAsASilo) {
  Peer hub = opened(batch());
  hub.send(reply(0));
  EXPECT_EQ(hub.expect<wire::Fault>().sentence, "this peer does not send sealed_reply");
  EXPECT_FALSE(hub.receive());
}

TEST_F(ShufflerLoopbackTest, OfEveryKindOfMessageOnlyASilosOwnIsTakenFromASilo) {
  Peer hub = opened(batch());
  for (const wire::Message& message : tests::one_of_each(run())) {
    if (std::holds_alternative<wire::SealedReply>(message) || std::holds_alternative<wire::Heartbeat>(message))
      continue;
    SCOPED_TRACE(wire::name_of(message));
    Peer silo = Peer::silo(shuffler_.port(), 0);
    silo.send(message);
    (void)silo.expect<wire::Fault>();
    EXPECT_FALSE(silo.receive());
  }
  hand_over();  // the batch goes on
  EXPECT_EQ(hub.expect<wire::BatchForward>().replies, 3U);
}

TEST_F(ShufflerLoopbackTest, OfEveryKindOfMessageOnlyACoordinatorsOwnAreTakenFromACoordinator) {
  std::optional<Peer> hub = opened(batch());
  for (const wire::Message& message : tests::one_of_each(run())) {
    if (std::holds_alternative<wire::JobOffer>(message) || std::holds_alternative<wire::BatchOpen>(message) ||
        std::holds_alternative<wire::BatchClose>(message) || std::holds_alternative<wire::BatchDelivered>(message) ||
        std::holds_alternative<wire::BatchAbandon>(message) || std::holds_alternative<wire::Heartbeat>(message)) {
      continue;
    }
    SCOPED_TRACE(wire::name_of(message));
    hub->send(message);
    (void)hub->expect<wire::Fault>();
    EXPECT_FALSE(hub->receive());
    hub.emplace(opened(batch()));
  }
  hand_over();
  EXPECT_EQ(hub->expect<wire::BatchForward>().replies, 3U);
}

TEST_F(ShufflerLoopbackTest, AWrongRoleIsRefusedByName) {
  Peer operator_(shuffler_.port(), good().party(Role::Operator, "anna"));
  const auto fault = operator_.expect<wire::Fault>();
  EXPECT_EQ(fault.code, ErrorCode::Unauthorized);
  EXPECT_EQ(fault.sentence,
            "expected a silo or the coordinator of lakeside, the certificate is of the operator anna of lakeside");
}

TEST_F(ShufflerLoopbackTest, AnotherConsortiumsCertificateIsRefusedByTls) {
  net::TlsFiles files = other().silo("silo-0");
  files.authority = good().silo("silo-0").authority;  // it would accept the shuffler; the shuffler does not accept it
  EXPECT_FALSE(Peer(shuffler_.port(), files).receive());
}

TEST_F(ShufflerLoopbackTest, ASiloWhoseCertificateIsRevokedLosesItsConnection) {
  Peer silo = Peer::welcomed(shuffler_.port(), "silo-8");
  ASSERT_EQ(good().authority().revoke(Role::Silo, "silo-8", tests::Certificates::now()).value(), 1U);
  EXPECT_FALSE(silo.receive());
}

TEST_F(ShufflerLoopbackTest, APeerOfAnOlderProtocolIsRefusedWithASentence) {
  Peer old(shuffler_.port(), good().silo("silo-0"), wire::Hello{1, 2, "undertone-silo 0.1.0"});
  const auto fault = old.expect<wire::Fault>();
  EXPECT_EQ(fault.code, ErrorCode::ProtocolMismatch);
  EXPECT_EQ(fault.sentence,
            "the silo silo-0 of lakeside (undertone-silo 0.1.0) speaks protocol 1 to 2, this shuffler 3 to 3");
}

TEST_F(ShufflerLoopbackTest, AnythingElseThanHelloIsAnsweredWithAFault) {
  Peer rude(shuffler_.port(), good().silo("silo-0"), wire::JobEnded{{}, true});
  EXPECT_EQ(rude.expect<wire::Fault>().sentence, "this peer does not send job_ended");
  Peer hasty(shuffler_.port(), good().silo("silo-0"), reply(0));
  EXPECT_EQ(hasty.expect<wire::Fault>().code, ErrorCode::LimitExceeded);
}

TEST_F(ShufflerLoopbackTest, WhenItsStoreFailsItTakesNothingAndStops) {
  Peer hub = opened(batch());
  Peer silo = Peer::silo(shuffler_.port(), 0);
  shuffler_.on_thread([&](shuffler::ShufflerHost& host) {
    ASSERT_TRUE(shuffler_.database().execute("DROP TABLE runs"));
    ASSERT_FALSE(host.failure());
  });
  silo.send(reply(0));
  EXPECT_FALSE(silo.receive());  // no acknowledgement: the connection ends
  EXPECT_FALSE(hub.receive());
  shuffler_.on_thread([](shuffler::ShufflerHost& host) { EXPECT_TRUE(host.failure()); });
}

/// The same with shares, which the shuffler opens.
class AddingLoopbackTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kDimension = 3;
  static constexpr std::uint32_t kWordBytes = 2;

  AddingLoopbackTest() : job_(ShuffledJob::counts("mixer", to_hex(shuffler_.public_key().bytes())).json()) {}
  [[nodiscard]] RunId run() const { return {sha256(job_), Nonce{5}}; }
  [[nodiscard]] sealed::RoundTerms terms() const {
    return {run(), RoundIndex{0}, sha256("query"), sealed::ReplyLength::create(kDimension * kWordBytes).value()};
  }
  [[nodiscard]] wire::BatchOpen batch() const {
    wire::BatchOpen open;
    open.run = run();
    for (int i = 0; i < 3; ++i) open.expected.push_back(SiloId::create(fmt::format("silo-{}", i)).value());
    open.replies_min = 2;
    open.message_bytes = open.unit_bytes = terms().length.sealed_bytes();
    open.word_bytes = kWordBytes;
    open.query = terms().query;
    open.deadline = std::chrono::minutes(1);
    return open;
  }
  Peer opened() {
    Peer hub = Peer::hub(shuffler_.port());
    hub.send(wire::JobOffer{run(), job_});
    hub.send(batch());
    EXPECT_EQ(hub.expect<wire::BatchOpened>().run, run());
    return hub;
  }
  /// Seals words and has the silo hand them over.
  void hand_over(int silo, const std::array<std::uint16_t, kDimension>& words) {
    const sealed::ReplyMacKey mac = sealed::adder_mac_key(run());
    wire::SealedReply reply{run(),
                            RoundIndex{0},
                            sealed::terms_digest(shuffler_.public_key(), mac, terms()),
                            terms().length.sealed_bytes(),
                            kWordBytes,
                            {}};
    reply.units = sealed::seal(shuffler_.public_key(), mac, terms(), sealed::Ticket::draw(), bytes_of(words)).value();
    send(silo, reply);
  }
  void send(int silo, const wire::SealedReply& reply) {
    Peer peer = Peer::silo(shuffler_.port(), silo);
    peer.send(reply);
    (void)peer.expect<wire::SealedReplyTaken>();
  }
  static std::string bytes_of(const std::array<std::uint16_t, kDimension>& words) {
    std::string out;
    for (const std::uint16_t word : words) {
      out += static_cast<char>(word & 0xffU);
      out += static_cast<char>(word >> 8U);
    }
    return out;
  }
  static std::vector<SiloId> silos(std::initializer_list<int> numbers) {
    std::vector<SiloId> out;
    for (const int number : numbers) out.push_back(SiloId::create(fmt::format("silo-{}", number)).value());
    return out;
  }

  LoopbackShuffler shuffler_{good()};
  std::string job_;
};

TEST_F(AddingLoopbackTest, AddsTheSharesThatTheCoordinatorChooses) {
  Peer hub = opened();
  hand_over(0, {1, 65'535, 500});
  hand_over(1, {7, 7, 7});
  hand_over(2, {10, 2, 600});
  EXPECT_EQ(hub.expect<wire::BatchCollected>().silos, silos({0, 1, 2}));
  hub.send(wire::BatchClose{run(), RoundIndex{0}, 0, silos({0, 2})});
  const auto forward = hub.expect<wire::BatchForward>();
  EXPECT_EQ(forward.replies, 2U);
  EXPECT_EQ(forward.units, bytes_of({11, 1, 1100}));  // 65535 + 2 = 1 modulo 2^16
}

TEST_F(AddingLoopbackTest, ATotalIsFinalThroughReconnectionsAndRestarts) {
  std::string total;
  {
    Peer hub = opened();
    hand_over(0, {1, 2, 3});
    hand_over(1, {4, 5, 6});
    hand_over(2, {7, 8, 9});
    (void)hub.expect<wire::BatchCollected>();
    hub.send(wire::BatchClose{run(), RoundIndex{0}, 0, silos({0, 1})});
    total = hub.expect<wire::BatchForward>().units;
    EXPECT_EQ(total, bytes_of({5, 7, 9}));
  }
  shuffler_.restart();
  Peer hub = Peer::hub(shuffler_.port());
  hub.send(wire::JobOffer{run(), job_});
  hub.send(batch());
  EXPECT_EQ(hub.expect<wire::BatchForward>().units, total);
  hub.send(wire::BatchClose{run(), RoundIndex{0}, 0, silos({0, 1})});
  EXPECT_EQ(hub.expect<wire::BatchForward>().units, total);
  hub.send(wire::BatchClose{run(), RoundIndex{0}, 0, silos({0, 1, 2})});  // the difference would be silo-2's share
  EXPECT_EQ(hub.expect<wire::BatchRefused>().refusal, wire::BatchRefusal::Different);
}

TEST_F(AddingLoopbackTest, ACoordinatorThatComesBackIsToldAgainWhoseSharesThereAre) {
  { Peer hub = opened(); }
  for (int i = 0; i < 3; ++i) hand_over(i, {1, 1, 1});
  Peer hub = Peer::hub(shuffler_.port());
  hub.send(wire::JobOffer{run(), job_});
  hub.send(batch());
  EXPECT_EQ(hub.expect<wire::BatchCollected>().silos, silos({0, 1, 2}));
}

TEST_F(AddingLoopbackTest, AShareThatDoesNotOpenFailsTheBatchAndNothingIsForwarded) {
  Peer hub = opened();
  hand_over(0, {1, 2, 3});
  hand_over(1, {4, 5, 6});
  const sealed::ReplyMacKey mac = sealed::adder_mac_key(run());
  wire::SealedReply garbage{run(),
                            RoundIndex{0},
                            sealed::terms_digest(shuffler_.public_key(), mac, terms()),
                            terms().length.sealed_bytes(),
                            kWordBytes,
                            {}};
  garbage.units.assign(terms().length.sealed_bytes(), 'g');
  send(2, garbage);
  (void)hub.expect<wire::BatchCollected>();
  hub.send(wire::BatchClose{run(), RoundIndex{0}, 0, silos({0, 1, 2})});
  EXPECT_EQ(hub.expect<wire::BatchFailed>().run, run());
}

}  // namespace
}  // namespace undertone
