#include "tests/support/loopback.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/shuffler_peer.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;

/// One authority for every test of this file, and a stranger's.
tests::Certificates& good() {
  static tests::Certificates certificates("lakeside");
  return certificates;
}
tests::Certificates& other() {
  static tests::Certificates certificates("elsewhere");
  return certificates;
}
net::TlsFiles tls(const std::string& name) { return good().silo(name); }
using Coordinator = tests::LoopbackCoordinator;
using Silo = tests::LoopbackSilo;

std::vector<std::unique_ptr<Silo>> all_silos(const tests::SmallFederation& federation, const Coordinator& coordinator,
                                             std::uint64_t seed) {
  std::vector<std::unique_ptr<Silo>> silos;
  for (const simulation::SimulatedSilo& spec : federation.cohort())
    silos.push_back(std::make_unique<Silo>(spec, coordinator.ports().silos, seed, tls(spec.id.name())));
  return silos;
}

/// Speaks to the coordinator as anybody might. @return the first message it gets back, or why there was none
Result<wire::Message> first_answer(std::uint16_t port, const net::TlsFiles& files,
                                   const std::function<void(net::Session&)>& talk) {
  asio::io_context context(1);
  // As a stranger would: whatever the files hold, without a look at them first.
  asio::ssl::context tls_context(asio::ssl::context::tls_client);
  tls_context.use_certificate_chain_file(files.certificate.string());
  tls_context.use_private_key_file(files.key.string(), asio::ssl::context::pem);
  tls_context.load_verify_file(files.authority.string());
  tls_context.set_verify_mode(asio::ssl::verify_peer);
  tcp::socket socket(context);
  socket.connect({asio::ip::make_address("127.0.0.1"), port});
  auto session =
      std::make_shared<net::Session>(net::Session::Stream(std::move(socket), tls_context), net::SessionLimits{});
  std::optional<Result<wire::Message>> answer;
  const auto conversation = [&]() -> asio::awaitable<void> {
    const Result<certificates::CertificateFacts> peer = co_await session->handshake(net::Side::Client);
    if (!peer) {
      answer.emplace(peer.error());
      co_return;
    }
    session->established();  // from here on it has patience
    talk(*session);
    answer.emplace(co_await session->receive());
    session->close();
  };
  asio::co_spawn(context, conversation(), asio::detached);
  context.run();
  return *answer;
}

TEST(LoopbackTest, TcpAndSimulatorGiveTheSameModelToTheBitAndEncodeABroadcastOnce) {
  const tests::SmallFederation federation;
  const std::string job = federation.job();
  constexpr std::uint64_t kSeed = 11;
  simulation::SimulatedFederation world(
      {.jobs = {{job, "job", Nonce{9}}}, .silos = federation.cohort(), .seed = kSeed});
  world.run();
  const algorithms::Outcome simulated = world.outcome().value();

  Coordinator coordinator(good());
  const RunId run = coordinator.submit(job);
  const auto silos = all_silos(federation, coordinator, kSeed);
  const Result<algorithms::Outcome> outcome = coordinator.outcome(run);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->vectors.at("weights"), simulated.vectors.at("weights"));
  ASSERT_EQ(outcome->metrics.size(), simulated.metrics.size());
  for (std::size_t i = 0; i < simulated.metrics.size(); ++i)
    EXPECT_EQ(outcome->metrics[i].values, simulated.metrics[i].values);
  // Five silos, 8 rounds: one offer, eight queries, one end. Not five of each.
  EXPECT_EQ(coordinator.messages_encoded(), 10U);
}

TEST(LoopbackTest, EveryAlgorithmGivesTheSimulatorsModelToTheBit) {
  constexpr std::uint64_t kSeed = 12;
  for (auto& [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    // Nobody is waited for in full, and secret parts take long to plan where a sanitizer watches.
    federation.join_deadline_ms = 120'000;
    federation.round_deadline_ms = 60'000;
    const std::string job = federation.job();
    simulation::SimulatedFederation world(
        {.jobs = {{job, "job", Nonce{9}}}, .silos = federation.cohort(), .seed = kSeed});
    world.run();
    Coordinator coordinator(good());
    const RunId run = coordinator.submit(job);
    const auto silos = all_silos(federation, coordinator, kSeed);
    const Result<algorithms::Outcome> outcome = coordinator.outcome(run);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->vectors, world.outcome().value().vectors);
  }
}

TEST(LoopbackTest, ReportsOfSingleRecordsAddUpToTheSimulatorsToTheBit) {
  constexpr std::uint64_t kSeed = 13;
  const tests::SmallFederation federation = tests::federation_of_reports();
  const std::string job = federation.job();
  simulation::SimulatedFederation world(
      {.jobs = {{job, "job", Nonce{9}}}, .silos = federation.cohort(), .seed = kSeed});
  world.run();
  ASSERT_TRUE(world.violations().empty()) << world.violations().front();
  const std::vector<algorithms::Estimate> simulated = world.outcome().value().statistics;
  Coordinator coordinator(good());
  const RunId run = coordinator.submit(job);
  const auto silos = all_silos(federation, coordinator, kSeed);
  const Result<algorithms::Outcome> outcome = coordinator.outcome(run);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->statistics, simulated);
  ASSERT_EQ(simulated.size(), 4U);
  EXPECT_EQ(simulated[2].answers.begin()->second.size(), 3U);
  for (const auto& [silo, ones] : simulated[0].answers) {
    EXPECT_GT(ones.at(0), 0) << silo.name();
    EXPECT_LT(ones.at(0), 60) << silo.name();
  }
}

TEST(LoopbackTest, FunctionsChoicesAndVectorsAreTheSimulatorsToTheBit) {
  constexpr std::uint64_t kSeed = 14;
  std::vector<tests::SmallFederation> federations = tests::federations_of_vectors();
  federations.push_back(tests::federation_of_functions());
  federations.push_back(tests::federation_of_choices());
  for (const tests::SmallFederation& federation : federations) {
    SCOPED_TRACE(federation.statistics);
    const std::string job = federation.job();
    simulation::SimulatedFederation world(
        {.jobs = {{job, "job", Nonce{9}}}, .silos = federation.cohort(), .seed = kSeed});
    world.run();
    ASSERT_TRUE(world.violations().empty()) << world.violations().front();
    Coordinator coordinator(good());
    const RunId run = coordinator.submit(job);
    const auto silos = all_silos(federation, coordinator, kSeed);
    const Result<algorithms::Outcome> outcome = coordinator.outcome(run);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->statistics, world.outcome().value().statistics);
    for (const algorithms::Estimate& estimate : outcome->statistics) EXPECT_FALSE(estimate.answers.empty());
  }
}

TEST(LoopbackTest, TheRunGoesOnWithoutASiloThatIsNotThere) {
  tests::SmallFederation federation;
  federation.join_deadline_ms = 3000;  // waited for in full: time enough for two of four on a busy machine
  Coordinator coordinator(good());
  std::vector<std::unique_ptr<Silo>> silos;
  for (const simulation::SimulatedSilo& spec : federation.cohort()) {
    if (spec.id.name() != "silo-3")
      silos.push_back(std::make_unique<Silo>(spec, coordinator.ports().silos, 1, tls(spec.id.name())));
  }
  const RunId run = coordinator.submit(federation.job());
  EXPECT_TRUE(coordinator.outcome(run));
}

TEST(LoopbackTest, BelowQuorumTheRunFailsWithWhoWasMissing) {
  tests::SmallFederation federation;
  federation.join_deadline_ms = 100;
  Coordinator coordinator(good());
  const RunId run = coordinator.submit(federation.job());
  const Result<algorithms::Outcome> outcome = coordinator.outcome(run);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::QuorumMissed);
  EXPECT_NE(outcome.error().message.find("silo-2 (no answer)"), std::string::npos) << outcome.error().message;
}

class StrangerTest : public ::testing::Test {
 protected:
  StrangerTest()
      : coordinator_(good(), [](coordinator::CoordinatorConfig& config) {
          config.session.handshake = milliseconds(1500);
          config.session.heartbeat = milliseconds(100);
          config.session.silence = milliseconds(1000);
          config.session.wire.frame_bytes_max = 64U << 10U;
        }) {
    (void)coordinator_.submit(tests::SmallFederation{}.job());
  }
  /// A member's connection, before TLS.
  std::shared_ptr<net::Session> dial(asio::io_context& context, const net::SessionLimits& limits) {
    tcp::socket socket(context);
    socket.connect({asio::ip::make_address("127.0.0.1"), coordinator_.ports().silos});
    return std::make_shared<net::Session>(net::Session::Stream(std::move(socket), credentials_.context()), limits);
  }
  static void hello(net::Session& session) { session.send(wire::Message(wire::Hello{1, 1, "stranger"})); }
  Coordinator coordinator_;
  net::Credentials credentials_ =
      net::Credentials::load(tls("silo-0"), net::Side::Client, {"lakeside", certificates::Role::Silo, "silo-0"})
          .value();
};

TEST_F(StrangerTest, AMemberIsWelcomed) {
  const auto answer = first_answer(coordinator_.ports().silos, tls("silo-0"), hello);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(std::holds_alternative<wire::Welcome>(*answer));
}

TEST_F(StrangerTest, AnotherConsortiumsCertificateIsRefusedByTls) {
  net::TlsFiles files = other().silo("silo-0");
  files.authority = tls("silo-0").authority;  // it would accept the coordinator; the coordinator does not accept it
  EXPECT_FALSE(first_answer(coordinator_.ports().silos, files, hello));
}

TEST_F(StrangerTest, AWrongRoleIsRefusedByName) {
  const auto answer =
      first_answer(coordinator_.ports().silos, good().party(certificates::Role::Coordinator, "false-hub"), hello);
  ASSERT_TRUE(answer) << answer.error().message;
  const auto* fault = std::get_if<wire::Fault>(&*answer);
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fault->code, ErrorCode::Unauthorized);
  EXPECT_EQ(fault->sentence,
            "expected a silo of lakeside, the certificate is of the coordinator false-hub of lakeside");
}

TEST_F(StrangerTest, AVersionMismatchGivesBothSidesASentenceThatNamesBoth) {
  const auto answer = first_answer(coordinator_.ports().silos, tls("silo-0"), [](net::Session& session) {
    session.send(wire::Message(wire::Hello{7, 9, "newer"}));
  });
  ASSERT_TRUE(answer);
  const auto* fault = std::get_if<wire::Fault>(&*answer);
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fault->code, ErrorCode::ProtocolMismatch);
  EXPECT_EQ(fault->sentence, "the silo (newer) speaks protocol 7 to 9, this coordinator 1 to 3");
}

TEST_F(StrangerTest, WhoeverDoesNotGreetIsClosedAtTheDeadline) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(first_answer(coordinator_.ports().silos, tls("silo-0"), [](net::Session&) {}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, net::SessionLimits{}.silence);  // it was not this side
}

TEST_F(StrangerTest, AnythingElseThanHelloIsAnsweredWithAFault) {
  const auto answer = first_answer(coordinator_.ports().silos, tls("silo-0"), [](net::Session& session) {
    session.send(wire::Message(wire::JobEnded{{}, true}));
  });
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<wire::Fault>(*answer));
}

TEST_F(StrangerTest, AnOversizedFrameIsAnsweredWithAFaultBeforeItIsStored) {
  const auto answer = first_answer(coordinator_.ports().silos, tls("silo-0"), [](net::Session& session) {
    session.send(std::make_shared<const std::string>("UTNE\1\0\1\0\xff\xff\xff\x7f", 12));
  });
  ASSERT_TRUE(answer);
  const auto* fault = std::get_if<wire::Fault>(&*answer);
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fault->code, ErrorCode::LimitExceeded);
}

TEST_F(StrangerTest, PlainTcpGetsNothingAndIsClosed) {
  asio::io_context context(1);
  tcp::socket socket(context);
  socket.connect({asio::ip::make_address("127.0.0.1"), coordinator_.ports().silos});
  asio::write(socket, asio::buffer(std::string("GET / HTTP/1.1\r\n\r\n")));
  std::array<char, 64> buffer{};
  boost::system::error_code error;
  std::size_t size = 0;
  while (!error) size += socket.read_some(asio::buffer(buffer), error);
  EXPECT_LT(size, 64U);  // at most a TLS alert
}

TEST_F(StrangerTest, AMemberThatFallsSilentIsClosed) {
  asio::io_context context(1);
  net::SessionLimits mute;
  mute.heartbeat = std::chrono::minutes(1);  // the coordinator's patience is a second
  mute.silence = std::chrono::minutes(2);
  const std::shared_ptr<net::Session> session = dial(context, mute);
  std::size_t heard = 0;
  std::optional<Error> end;
  const auto conversation = [&]() -> asio::awaitable<void> {
    const Result<certificates::CertificateFacts> peer = co_await session->handshake(net::Side::Client);
    if (!peer) co_return;
    session->established();
    hello(*session);
    while (!end) {
      const Result<wire::Message> message = co_await session->receive();
      if (message) {
        ++heard;
      } else {
        end = message.error();
      }
    }
  };
  asio::co_spawn(context, conversation(), asio::detached);
  const auto start = std::chrono::steady_clock::now();
  context.run();
  ASSERT_TRUE(end);
  EXPECT_GE(heard, 1U);                                               // the welcome; then offers, while it says nothing
  EXPECT_LT(std::chrono::steady_clock::now() - start, mute.silence);  // it was the coordinator
}

TEST_F(StrangerTest, WhoeverSaysAnythingButHelloIsClosedAtTheDeadlineToo) {
  // Heartbeats keep a session alive once it is greeted, and not before.
  asio::io_context context(1);
  net::SessionLimits patient;
  patient.handshake = patient.silence = std::chrono::minutes(2);  // the coordinator's is a second and a half
  const std::shared_ptr<net::Session> session = dial(context, patient);
  std::optional<Error> end;
  const auto babble = [&]() -> asio::awaitable<void> {
    asio::steady_timer pause(context);
    const wire::Message heartbeat = wire::Heartbeat{};
    while (!end) {
      session->send(heartbeat);
      pause.expires_after(milliseconds(50));
      co_await pause.async_wait(asio::use_awaitable);
    }
  };
  const auto conversation = [&]() -> asio::awaitable<void> {
    const Result<certificates::CertificateFacts> peer = co_await session->handshake(net::Side::Client);
    if (!peer) co_return;
    session->established();
    asio::co_spawn(context, babble(), asio::detached);
    const Result<wire::Message> message = co_await session->receive();
    end = message ? Error{ErrorCode::Internal, "an answer"} : message.error();
    session->close();
  };
  asio::co_spawn(context, conversation(), asio::detached);
  const auto start = std::chrono::steady_clock::now();
  context.run();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, ErrorCode::Unreachable) << end->message;
  EXPECT_LT(std::chrono::steady_clock::now() - start, patient.silence);  // it was the coordinator
}

TEST_F(StrangerTest, BeforeHelloNoVectorIsTaken) {
  const auto answer = first_answer(coordinator_.ports().silos, tls("silo-0"), [](net::Session& session) {
    queries::Reply reply{RoundIndex{0}, -40, crypto::NoiseKind::Test, queries::NoisedSums{{1, 2, 3}}};
    session.send(wire::Message(wire::ReplyMessage{{}, {}, queries::ReplyType::I64, std::move(reply)}));
  });
  ASSERT_TRUE(answer);
  const auto* fault = std::get_if<wire::Fault>(&*answer);
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fault->code, ErrorCode::LimitExceeded) << fault->sentence;
}

TEST(LoopbackTest, AMemberThatSaysWhatNoSiloSaysIsClosedWithASentence) {
  const Coordinator coordinator(good());
  for (const wire::Message& message :
       {wire::Message(wire::Welcome{}), wire::Message(wire::JobOffer{{}, "{}"}), wire::Message(wire::BatchAbandon{})}) {
    tests::ShufflerPeer member = tests::ShufflerPeer::welcomed(coordinator.ports().silos, tls("silo-0"));
    member.send(message);
    const auto fault = member.expect<wire::Fault>();
    EXPECT_EQ(fault.code, ErrorCode::Malformed);
    EXPECT_EQ(fault.sentence, fmt::format("this peer does not send {}", wire::name_of(message)));
    EXPECT_FALSE(member.receive());
  }
}

TEST(LoopbackTest, AMemberOutsideTheCohortLearnsNothing) {
  std::optional<Coordinator> coordinator(std::in_place, good());
  (void)coordinator->submit(tests::SmallFederation{}.job());
  const std::uint16_t port = coordinator->ports().silos;
  tests::ShufflerPeer stranger = tests::ShufflerPeer::welcomed(port, tls("stranger"));
  tests::ShufflerPeer member = tests::ShufflerPeer::welcomed(port, tls("silo-0"));
  for (int i = 0; i < 2; ++i) (void)member.expect<wire::JobOffer>();  // and again, since it does not answer
  coordinator.reset();
  const auto heard = stranger.receive();
  EXPECT_FALSE(heard) << wire::name_of(*heard);
}

TEST(BackoffTest, DoublesToAMaximumWithJitterAndStartsAgain) {
  net::Backoff backoff(milliseconds(100), milliseconds(1000), 7);
  double most = 100.0;
  for (int i = 0; i < 10; ++i) {
    const auto wait = static_cast<double>(backoff.next().count());
    EXPECT_LE(wait, most);
    EXPECT_GE(wait, std::floor(most / 2.0));
    most = std::min(1000.0, 2.0 * most);
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), milliseconds(100));
  EXPECT_NE(net::Backoff(milliseconds(100000), milliseconds(100000), 1).next(),
            net::Backoff(milliseconds(100000), milliseconds(100000), 2).next());
}

}  // namespace
}  // namespace undertone
