#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include "coordinator/host/coordinator_host.hpp"
#include "silo/host/silo_host.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "tests/support/memory_head.hpp"
#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;

/// One set of certificates for every test of this file.
const std::filesystem::path& certificates() {
  static const tests::TemporaryFolder folder;
  static const bool made = [] {
    const std::string script = std::string(UNDERTONE_SOURCE_DIR) + "/scripts/make-certificates ";
    const std::string parties =
        " coordinator:hub coordinator:false-hub silo:silo-0 silo:silo-1 silo:silo-2 silo:silo-3 silo:silo-4 "
        "silo:stranger";
    return std::system((script + folder.path().string() + "/good lakeside" + parties).c_str()) == 0 &&
           std::system((script + folder.path().string() + "/other elsewhere silo:silo-0 coordinator:hub").c_str()) == 0;
  }();
  EXPECT_TRUE(made);
  return folder.path();
}

net::TlsFiles tls(const std::string& name, const std::string& consortium = "good") {
  const std::filesystem::path folder = certificates() / consortium;
  return {folder / "authority.crt", folder / (name + ".crt"), folder / (name + ".key")};
}

/// A coordinator with a thread of its own.
class Coordinator {
 public:
  explicit Coordinator(const std::string& job,
                       const std::function<void(coordinator::CoordinatorConfig&)>& change = nullptr)
      : database_(store::Database::in_memory().value()), store_(coordinator::RunStore::open(database_).value()) {
    config_.consortium = "lakeside";
    config_.host = "127.0.0.1";
    config_.tls = tls("hub");
    config_.connections_max = 64;
    if (change) change(config_);
    machine_.emplace(coordinator::RunMachine::create(store_, job, "job", {9}, true, config_.session.wire).value());
    host_.emplace(context_, config_, store_, *machine_, nullptr);
    port_ = host_->start().value();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Coordinator() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// Waits for the end of the run.
  Result<algorithms::Outcome> outcome() {
    thread_.join();
    if (!host_->outcome()) return Error{ErrorCode::Internal, "no outcome"};
    return *host_->outcome();
  }
  std::uint16_t port() const { return port_; }
  std::uint64_t messages_encoded() const { return machine_->messages_encoded(); }

 private:
  coordinator::CoordinatorConfig config_;
  store::Database database_;
  coordinator::RunStore store_;
  std::optional<coordinator::RunMachine> machine_;
  asio::io_context context_{1};
  std::optional<coordinator::CoordinatorHost> host_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

/// A silo with a thread of its own.
class Silo {
 public:
  Silo(const lab::SimulatedSilo& spec, std::uint16_t port, std::uint64_t seed, const net::TlsFiles& files)
      : spec_(spec),
        key_(SigningKey::from_seed(std::string(32, 'l')).value()),
        database_(store::Database::in_memory().value()),
        randomness_(seed, spec.id) {
    ledger_.emplace(
        silo::Ledger::open(database_, head_, key_, {"data", {}, {}}, spec_.policy.total, randomness_.kind()).value());
    machine_.emplace(silo::SiloMachine::Setup{
        spec_.id, spec_.policy, spec_.facts, spec_.dataset, *ledger_, randomness_, wire::Limits{}, {}});
    config_.emplace(silo::SiloConfig{.id = spec_.id,
                                     .consortium = "lakeside",
                                     .host = "127.0.0.1",
                                     .port = port,
                                     .tls = files,
                                     .dataset_name = "data",
                                     .csv = {},
                                     .schema = spec_.facts.schema,
                                     .split = {},
                                     .holdout_public = true,
                                     .policy = spec_.policy,
                                     .ledger = {},
                                     .ledger_head = {},
                                     .ledger_key = {},
                                     .replaced_ledgers = {},
                                     .statements = statements_.path(),
                                     .reconnect_first = milliseconds(20),
                                     .reconnect_most = milliseconds(200),
                                     .session = {}});
    host_.emplace(context_, *config_, *ledger_, *machine_, randomness_.kind());
    EXPECT_TRUE(host_->start());
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Silo() {
    asio::post(context_, [this] { host_->stop(); });
    thread_.join();
  }
  Silo(const Silo&) = delete;
  Silo& operator=(const Silo&) = delete;

 private:
  lab::SimulatedSilo spec_;
  tests::TemporaryFolder statements_;
  SigningKey key_;
  store::Database database_;
  tests::MemoryHead head_;
  silo::TestRandomness randomness_;
  std::optional<silo::Ledger> ledger_;
  std::optional<silo::SiloMachine> machine_;
  std::optional<silo::SiloConfig> config_;
  asio::io_context context_{1};
  std::optional<silo::SiloHost> host_;
  std::thread thread_;
};

/// Speaks to the coordinator as anybody might. @return the first message it gets back, or why there was none
Result<wire::Message> first_answer(std::uint16_t port, const net::TlsFiles& files,
                                   const std::function<void(net::Session&)>& talk) {
  asio::io_context context(1);
  const std::unique_ptr<asio::ssl::context> tls_context = net::make_tls_context(files, net::Side::Client).value();
  tcp::socket socket(context);
  socket.connect({asio::ip::make_address("127.0.0.1"), port});
  auto session =
      std::make_shared<net::Session>(net::Session::Stream(std::move(socket), *tls_context), net::SessionLimits{});
  std::optional<Result<wire::Message>> answer;
  const auto conversation = [&]() -> asio::awaitable<void> {
    const Result<net::PeerIdentity> peer = co_await session->handshake(net::Side::Client);
    if (!peer) {
      answer.emplace(peer.error());
      co_return;
    }
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
  lab::SimulatedFederation world({job, "job", federation.cohort(), kSeed, Nonce{9}, lab::SimulatedNoise::Seeded, {}});
  const algorithms::Outcome simulated = world.run().value();

  Coordinator coordinator(job);
  std::vector<std::unique_ptr<Silo>> silos;
  for (const lab::SimulatedSilo& spec : federation.cohort())
    silos.push_back(std::make_unique<Silo>(spec, coordinator.port(), kSeed, tls(spec.id.name())));
  const Result<algorithms::Outcome> outcome = coordinator.outcome();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->vectors.at("weights"), simulated.vectors.at("weights"));
  ASSERT_EQ(outcome->metrics.size(), simulated.metrics.size());
  for (std::size_t i = 0; i < simulated.metrics.size(); ++i)
    EXPECT_EQ(outcome->metrics[i].values, simulated.metrics[i].values);
  // Five silos, 8 rounds: one offer, eight queries, one end. Not five of each.
  EXPECT_EQ(coordinator.messages_encoded(), 10U);
}

TEST(LoopbackTest, TheRunGoesOnWithoutASiloThatIsNotThere) {
  tests::SmallFederation federation;
  federation.join_deadline_ms = 300;
  Coordinator coordinator(federation.job());
  std::vector<std::unique_ptr<Silo>> silos;
  for (const lab::SimulatedSilo& spec : federation.cohort()) {
    if (spec.id.name() != "silo-3")
      silos.push_back(std::make_unique<Silo>(spec, coordinator.port(), 1, tls(spec.id.name())));
  }
  EXPECT_TRUE(coordinator.outcome());
}

TEST(LoopbackTest, BelowQuorumTheRunFailsWithWhoWasMissing) {
  tests::SmallFederation federation;
  federation.join_deadline_ms = 100;
  Coordinator coordinator(federation.job());
  const Result<algorithms::Outcome> outcome = coordinator.outcome();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::QuorumMissed);
  EXPECT_NE(outcome.error().message.find("silo-2 (no answer)"), std::string::npos) << outcome.error().message;
}

class StrangerTest : public ::testing::Test {
 protected:
  StrangerTest()
      : coordinator_(tests::SmallFederation{}.job(), [](coordinator::CoordinatorConfig& config) {
          config.session.handshake = milliseconds(1500);
          config.session.heartbeat = milliseconds(100);
          config.session.silence = milliseconds(1000);
          config.session.wire.frame_bytes_max = 64U << 10U;
        }) {}
  static void hello(net::Session& session) { session.send(wire::Message(wire::Hello{1, 1, "stranger"})); }
  Coordinator coordinator_;
};

TEST_F(StrangerTest, AMemberIsWelcomed) {
  const auto answer = first_answer(coordinator_.port(), tls("silo-0"), hello);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(std::holds_alternative<wire::Welcome>(*answer));
}

TEST_F(StrangerTest, AnotherConsortiumsCertificateIsRefusedByTls) {
  net::TlsFiles files = tls("silo-0", "other");
  files.authority = tls("silo-0").authority;  // it would accept the coordinator; the coordinator does not accept it
  EXPECT_FALSE(first_answer(coordinator_.port(), files, hello));
}

TEST_F(StrangerTest, AWrongRoleIsRefusedByName) {
  const auto answer = first_answer(coordinator_.port(), tls("false-hub"), hello);
  ASSERT_TRUE(answer) << answer.error().message;
  const auto* fault = std::get_if<wire::Fault>(&*answer);
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fault->code, ErrorCode::Unauthorized);
  EXPECT_EQ(fault->sentence,
            "expected a silo of the consortium \"lakeside\", the certificate is of a coordinator of \"lakeside\"");
}

TEST_F(StrangerTest, AVersionMismatchGivesBothSidesASentenceThatNamesBoth) {
  const auto answer = first_answer(coordinator_.port(), tls("silo-0"), [](net::Session& session) {
    session.send(wire::Message(wire::Hello{7, 9, "newer"}));
  });
  ASSERT_TRUE(answer);
  const auto* fault = std::get_if<wire::Fault>(&*answer);
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fault->code, ErrorCode::ProtocolMismatch);
  EXPECT_EQ(fault->sentence, "the silo (newer) speaks protocol 7 to 9, this coordinator 1 to 1");
}

TEST_F(StrangerTest, WhoeverDoesNotGreetIsClosedAtTheDeadline) {
  EXPECT_FALSE(first_answer(coordinator_.port(), tls("silo-0"), [](net::Session&) {}));
}

TEST_F(StrangerTest, AnythingElseThanHelloIsAnsweredWithAFault) {
  const auto answer = first_answer(coordinator_.port(), tls("silo-0"), [](net::Session& session) {
    session.send(wire::Message(wire::JobEnded{{}, true}));
  });
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<wire::Fault>(*answer));
}

TEST_F(StrangerTest, AnOversizedFrameIsAnsweredWithAFaultBeforeItIsStored) {
  const auto answer = first_answer(coordinator_.port(), tls("silo-0"), [](net::Session& session) {
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
  socket.connect({asio::ip::make_address("127.0.0.1"), coordinator_.port()});
  asio::write(socket, asio::buffer(std::string("GET / HTTP/1.1\r\n\r\n")));
  std::array<char, 64> buffer{};
  boost::system::error_code error;
  std::size_t size = 0;
  while (!error) size += socket.read_some(asio::buffer(buffer), error);
  EXPECT_LT(size, 64U);  // at most a TLS alert
}

TEST_F(StrangerTest, AMemberThatFallsSilentIsClosed) {
  asio::io_context context(1);
  const std::unique_ptr<asio::ssl::context> tls_context =
      net::make_tls_context(tls("silo-0"), net::Side::Client).value();
  tcp::socket socket(context);
  socket.connect({asio::ip::make_address("127.0.0.1"), coordinator_.port()});
  net::SessionLimits mute;
  mute.heartbeat = std::chrono::minutes(1);  // the coordinator's patience is a second
  mute.silence = std::chrono::minutes(2);
  auto session = std::make_shared<net::Session>(net::Session::Stream(std::move(socket), *tls_context), mute);
  std::size_t heard = 0;
  std::optional<Error> end;
  const auto conversation = [&]() -> asio::awaitable<void> {
    const Result<net::PeerIdentity> peer = co_await session->handshake(net::Side::Client);
    if (!peer) co_return;
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
  context.run();
  ASSERT_TRUE(end);
  EXPECT_GE(heard, 1U);  // the welcome; then offers, while it says nothing
}

TEST_F(StrangerTest, AMemberOutsideTheCohortLearnsNothing) {
  const auto answer = first_answer(coordinator_.port(), tls("stranger"), hello);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<wire::Welcome>(*answer));  // of the consortium, but no job is offered
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
