#include "shared/net/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <optional>
#include <thread>

#include "shared/net/http_client.hpp"
#include "shared/net/tunnel.hpp"
#include "tests/support/certificates.hpp"

/// Bounds of a connection that the loopback tests of whole hosts do not reach.
namespace undertone::net {
namespace {

using asio::ip::tcp;
using certificates::Role;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::minutes kNever{2};
constexpr std::chrono::seconds kSilence{3};  // longer than a busy machine stands still

/// Connections between a silo and a coordinator, both in this thread.
class SessionTest : public ::testing::Test {
 protected:
  struct Pair {
    std::shared_ptr<Session> server;
    std::shared_ptr<Session> client;
  };
  /// @param served the server's limits; the client has patience @param heartbeat the client's
  Pair connect(const SessionLimits& served, const std::shared_ptr<AssemblyGate>& gate = nullptr,
               milliseconds heartbeat = kNever) {
    tcp::socket near(context_);
    near.connect(acceptor_.local_endpoint());
    tcp::socket far = acceptor_.accept();
    SessionLimits patient;
    patient.handshake = patient.silence = kNever;
    patient.heartbeat = heartbeat;
    return {std::make_shared<Session>(Session::Stream(std::move(far), server_.context()), served, gate),
            std::make_shared<Session>(Session::Stream(std::move(near), client_.context()), patient)};
  }
  /// Both ends greet, then each does what it has to.
  using Part = std::function<asio::awaitable<void>(const std::shared_ptr<Session>&)>;
  void start(const Pair& pair, Part server, Part client) {
    start_one(pair.server, Side::Server, std::move(server));
    start_one(pair.client, Side::Client, std::move(client));
  }
  void run() {
    // A test that hangs is stopped, and fails on what it then has not seen.
    context_.run_for(kNever);
  }
  static SessionLimits impatient() {
    SessionLimits limits;
    limits.heartbeat = milliseconds(50);
    limits.silence = kSilence;
    return limits;
  }

  asio::io_context context_{1};

 private:
  void start_one(std::shared_ptr<Session> session, Side side, Part part) {
    asio::co_spawn(context_, converse(std::move(session), side, std::move(part)),
                   [](const std::exception_ptr& failure) {
                     if (failure) std::rethrow_exception(failure);
                   });
  }
  static asio::awaitable<void> converse(std::shared_ptr<Session> session, Side side, Part part) {
    const Result<certificates::CertificateFacts> peer = co_await session->handshake(side);
    EXPECT_TRUE(peer);
    if (!peer) co_return;
    session->established();
    co_await part(session);
    session->close();
  }

  tests::Certificates authority_{"lakeside"};
  Credentials server_ =
      Credentials::load(authority_.hub(), Side::Server, {"lakeside", Role::Coordinator, "hub"}).value();
  Credentials client_ =
      Credentials::load(authority_.silo("silo-0"), Side::Client, {"lakeside", Role::Silo, "silo-0"}).value();
  tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
};

asio::awaitable<void> wait(asio::io_context& context, milliseconds time) {
  asio::steady_timer timer(context, time);
  (void)co_await timer.async_wait(asio::use_awaitable);
}

/// Two ends of TLS in this thread, which are driven by hand.
class TlsStreamTest : public ::testing::Test {
 protected:
  TlsStreamTest() {
    tcp::socket near(context_);
    near.connect(acceptor_.local_endpoint());
    tcp::socket far = acceptor_.accept();
    server.emplace(std::move(far), server_.context());
    client.emplace(std::move(near), client_.context());
    for (bool over = false; !over;) {
      const TlsStream::Step ours = client->handshake(Side::Client);
      const TlsStream::Step theirs = server->handshake(Side::Server);
      over = ours.need == TlsStream::Need::Nothing && theirs.need == TlsStream::Need::Nothing;
      EXPECT_FALSE(ours.error || theirs.error);
    }
  }
  void change_keys(int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(SSL_key_update(client->native_handle(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
      ASSERT_EQ(SSL_do_handshake(client->native_handle()), 1);
    }
  }
  /// What the server reads once something has come.
  TlsStream::Step read() {
    TlsStream::Step step;
    do {
      step = server->read(asio::buffer(buffer));
    } while (!step.error && step.need == TlsStream::Need::ToRead);
    return step;
  }

  asio::io_context context_{1};
  tests::Certificates authority_{"lakeside"};
  Credentials server_ =
      Credentials::load(authority_.hub(), Side::Server, {"lakeside", Role::Coordinator, "hub"}).value();
  Credentials client_ =
      Credentials::load(authority_.silo("silo-0"), Side::Client, {"lakeside", Role::Silo, "silo-0"}).value();
  tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  std::array<char, 65536> buffer{};
  std::optional<TlsStream> server;
  std::optional<TlsStream> client;
};

TEST_F(TlsStreamTest, WhatWasWrittenIsReadAndAnEndIsAnEnd) {
  EXPECT_EQ(server->read(asio::buffer(buffer)).need, TlsStream::Need::ToRead);
  EXPECT_EQ(client->write(asio::buffer("hello", 5)).size, 5U);
  const TlsStream::Step step = read();
  EXPECT_EQ(std::string_view(buffer.data(), step.size), "hello");
  client->next_layer().close();
  EXPECT_TRUE(read().error);
}

TEST_F(TlsStreamTest, AConnectionThatIsClosedReadsAndWritesNothingElse) {
  server->next_layer().close();
  // The next descriptor has the number that was the connection's: nothing of it is read, and nothing comes to it.
  tcp::socket other(context_);
  other.connect(acceptor_.local_endpoint());
  EXPECT_TRUE(server->read(asio::buffer(buffer)).error);
  EXPECT_TRUE(server->write(asio::buffer("x", 1)).error);
  tcp::socket end = acceptor_.accept();
  EXPECT_EQ(end.available(), 0U);
}

TEST_F(TlsStreamTest, APeerThatDoesNothingButChangeItsKeysIsNotHeardAnyMore) {
  change_keys(TlsStream::kHandshakeMessagesMax);
  ASSERT_EQ(client->write(asio::buffer("x", 1)).size, 1U);
  EXPECT_EQ(read().size, 1U);
  change_keys(1);
  // What OpenSSL had read already is still decrypted; nothing more is read of the socket.
  TlsStream::Step step;
  for (int i = 0; i < 3 && !step.error; ++i) {
    ASSERT_EQ(client->write(asio::buffer("y", 1)).size, 1U);
    step = read();
  }
  EXPECT_TRUE(step.error);
}

TEST_F(TlsStreamTest, AServerThatDoesNothingButGiveTicketsIsNotHeardAnyMore) {
  for (int i = 0; i <= TlsStream::kHandshakeMessagesMax; ++i) {
    ASSERT_EQ(SSL_new_session_ticket(server->native_handle()), 1);
    ASSERT_EQ(SSL_do_handshake(server->native_handle()), 1);
  }
  TlsStream::Step step;
  for (int i = 0; i < 3 && !step.error; ++i) {
    ASSERT_EQ(server->write(asio::buffer("y", 1)).size, 1U);
    do {
      step = client->read(asio::buffer(buffer));
    } while (!step.error && step.need == TlsStream::Need::ToRead);
  }
  EXPECT_TRUE(step.error);
}

TEST_F(TlsStreamTest, AGreetingInRecordsOfAByteTakesTurnsWithOthers) {
  tcp::socket stranger(context_);
  stranger.connect(acceptor_.local_endpoint());
  TlsStream greeted(acceptor_.accept(), server_.context());
  const std::string hello = std::string("\x01\x01\x86\xa0", 4) + std::string(30'000, 'x');  // of 100,000 bytes
  std::string records;
  for (const char byte : hello) records += std::string("\x16\x03\x01\x00\x01", 5) + byte;
  ASSERT_GT(records.size(), 2 * TlsStream::kStepBytes);
  stranger.non_blocking(true);
  std::size_t sent = 0;
  bool took_turns = false;
  for (int i = 0; i < 100'000 && !took_turns; ++i) {
    boost::system::error_code full;
    sent += stranger.write_some(asio::buffer(records.data() + sent, records.size() - sent), full);
    const TlsStream::Step step = greeted.handshake(Side::Server);
    ASSERT_FALSE(step.error) << step.error.message();
    took_turns = step.need == TlsStream::Need::ATurn;
  }
  EXPECT_TRUE(took_turns);
}

/// A vector of somewhat more than the size that needs no turn.
std::shared_ptr<const std::string> large_vector() {
  constexpr std::size_t kElements = AssemblyGate::kSmallBytes / sizeof(std::int64_t) + 1000;
  queries::Reply reply{{0}, -40, crypto::NoiseKind::Test, queries::NoisedSums{std::vector<std::int64_t>(kElements, 7)}};
  wire::Encoder encoder{wire::Limits{}};
  return std::make_shared<const std::string>(
      encoder.encode(wire::Message(wire::ReplyMessage{{}, {}, queries::ReplyType::I64, std::move(reply)})));
}

TEST_F(SessionTest, APeerThatDoesNotReadLosesTheConnectionBeforeMoreIsQueued) {
  SessionLimits limits;
  limits.outbox_bytes = (64 << 10U) + 2 * Session::kMessageBytes;
  const Pair pair = connect(limits);
  std::optional<Result<wire::Message>> end;
  bool read = false;
  const auto server = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    const auto bytes = std::make_shared<const std::string>(std::size_t{32} << 10U, 'x');
    for (int i = 0; i < 3; ++i) session->send(bytes);
    end.emplace(co_await session->receive());
  };
  const auto client = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    while (!end) co_await wait(context_, milliseconds(5));
    const Result<wire::Message> message = co_await session->receive();
    read = message.has_value();
  };
  start(pair, server, client);
  run();
  ASSERT_TRUE(end);
  ASSERT_FALSE(*end);
  EXPECT_EQ(end->error().message, "the peer does not read: 66560 bytes are waiting for it");
  EXPECT_FALSE(read);
}

TEST_F(SessionTest, SmallMessagesAreChargedWhatQueueingThemCosts) {
  SessionLimits limits;
  limits.outbox_bytes = 64 << 10U;
  const Pair pair = connect(limits);
  std::optional<Result<wire::Message>> end;
  const auto server = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    for (int i = 0; i < 200; ++i) session->send(std::make_shared<const std::string>(1, 'x'));
    end.emplace(co_await session->receive());
  };
  const auto client = [&](const std::shared_ptr<Session>& /*session*/) -> asio::awaitable<void> {
    while (!end) co_await wait(context_, milliseconds(5));
  };
  start(pair, server, client);
  run();
  ASSERT_TRUE(end);
  ASSERT_FALSE(*end);
  // 127 times 1 + 512 of 65536; one more would be too many.
  EXPECT_EQ(end->error().message, "the peer does not read: 65151 bytes are waiting for it");
}

TEST_F(SessionTest, APeerThatTakesNothingOfWhatIsQueuedIsClosedAfterAWhile) {
  SessionLimits limits;
  limits.stall = milliseconds(500);
  limits.silence = kNever;
  limits.outbox_bytes = std::size_t{128} << 20U;
  const Pair pair = connect(limits);
  std::optional<Result<wire::Message>> end;
  const auto began = steady_clock::now();
  const auto server = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    session->send(std::make_shared<const std::string>(std::size_t{64} << 20U, 'x'));  // more than sockets hold
    end.emplace(co_await session->receive());
  };
  const auto client = [&](const std::shared_ptr<Session>& /*session*/) -> asio::awaitable<void> {
    while (!end) co_await wait(context_, milliseconds(5));
  };
  start(pair, server, client);
  run();
  ASSERT_TRUE(end);
  ASSERT_FALSE(*end);
  EXPECT_EQ(end->error().message, "the peer took nothing for 500 ms: 67109376 bytes are waiting for it");
  EXPECT_LT(steady_clock::now() - began, kNever / 2);
}

TEST_F(SessionTest, OneLargeMessageMayWaitForAPeerThatIsBusy) {
  SessionLimits limits;
  limits.stall = milliseconds(100);
  limits.silence = kNever;
  const Pair pair = connect(limits);
  std::optional<Result<wire::Message>> end;
  bool waited = false;
  const auto server = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    const auto bytes = std::make_shared<const std::string>(std::size_t{64} << 20U, 'x');  // more than sockets hold
    session->send(bytes);
    session->send(std::make_shared<const std::string>(1, 'x'));
    session->send(bytes);
    EXPECT_TRUE(session->waits_last(bytes));
    EXPECT_FALSE(session->waits_last(std::make_shared<const std::string>(*bytes)));
    end.emplace(co_await session->receive());
  };
  const auto client = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    co_await wait(context_, 5 * milliseconds(100));
    EXPECT_FALSE(end);  // twelve hundredths of what may wait
    waited = true;
    session->close();
  };
  start(pair, server, client);
  run();
  EXPECT_TRUE(waited);
}

TEST_F(SessionTest, APeerThatReadsSlowlyButReadsKeepsItsConnection) {
  SessionLimits limits;
  limits.stall = kSilence;
  limits.silence = kNever;
  const std::shared_ptr<const std::string> vector = large_vector();
  limits.outbox_bytes = 30 * (vector->size() + Session::kMessageBytes);
  const Pair pair = connect(limits);
  std::size_t heard = 0;
  const auto server = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    for (int i = 0; i < 24; ++i) session->send(vector);
    while (heard < 24) co_await wait(context_, milliseconds(5));
  };
  const auto client = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    for (; heard < 24; ++heard) {
      co_await wait(context_, kSilence / 12);  // twice the stall's time, all in all
      const Result<wire::Message> message = co_await session->receive();
      EXPECT_TRUE(message);
      if (!message) break;
    }
    heard = 24;
  };
  start(pair, server, client);
  run();
  EXPECT_EQ(heard, 24U);
}

TEST_F(SessionTest, WhatIsQueuedMayBeReadForTheHandshakesTimeAndNotLonger) {
  SessionLimits limits;
  limits.handshake = std::chrono::seconds(2);
  const Pair pair = connect(limits);
  bool closed = false;
  steady_clock::duration took{};
  const auto server = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    const auto began = steady_clock::now();
    session->send(std::make_shared<const std::string>(std::size_t{64} << 20U, 'x'));  // more than sockets hold
    session->finish();
    const Result<wire::Message> message = co_await session->receive();
    EXPECT_FALSE(message);
    took = steady_clock::now() - began;
    closed = true;
  };
  const auto client = [&](const std::shared_ptr<Session>& /*session*/) -> asio::awaitable<void> {
    while (!closed) co_await wait(context_, milliseconds(5));
  };
  start(pair, server, client);
  run();
  EXPECT_TRUE(closed);
  EXPECT_GE(took, std::chrono::seconds(2));
  EXPECT_LT(took, kNever / 2);
}

TEST_F(SessionTest, ALargeVectorThatTricklesLosesItsTurnAndItsConnectionAndTheNextIsHeard) {
  const auto gate = std::make_shared<AssemblyGate>(context_.get_executor());
  const Pair slow = connect(impatient(), gate);
  const Pair quick = connect(impatient(), gate, milliseconds(50));
  const std::shared_ptr<const std::string> vector = large_vector();
  std::vector<std::string> events;
  bool holds = false;  // the slow one has its turn
  const auto began = steady_clock::now();
  steady_clock::duration slow_took{};

  const auto trickle = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    // Half of it, and then a byte now and again: never silent, never done.
    const std::size_t half = vector->size() / 2;
    session->send(std::make_shared<const std::string>(vector->substr(0, half)));
    for (std::size_t i = half; events.empty(); ++i) {
      co_await wait(context_, milliseconds(40));
      session->send(std::make_shared<const std::string>(1, (*vector)[i]));
    }
  };
  const auto hear_slow = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    const Result<wire::Message> message = co_await session->receive();
    slow_took = steady_clock::now() - began;
    events.push_back(message ? "the slow vector" : message.error().message);
  };
  const auto send_quickly = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    while (!holds) co_await wait(context_, milliseconds(5));
    session->send(vector);
    while (events.size() < 2) co_await wait(context_, milliseconds(5));
  };
  const auto hear_quick = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    const Result<wire::Message> message = co_await session->receive();
    events.push_back(message ? "the quick vector" : message.error().message);
  };
  const auto see_turn = [&]() -> asio::awaitable<void> {
    while (!gate->open_for(slow.server.get()) && events.empty()) co_await wait(context_, milliseconds(5));
    holds = true;
  };
  start(slow, hear_slow, trickle);
  start(quick, hear_quick, send_quickly);
  asio::co_spawn(context_, see_turn(), asio::detached);
  run();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0], "a vector came too slowly");
  EXPECT_EQ(events[1], "the quick vector");                  // it waited for its turn
  EXPECT_GE(slow_took, kSilence + std::chrono::seconds(1));  // a mebibyte's, and what anybody is granted
}

TEST_F(SessionTest, ALargeVectorThatNobodyExpectsTakesNoTurnAndNoMemory) {
  const auto gate = std::make_shared<AssemblyGate>(context_.get_executor());
  const Pair slow = connect(impatient(), gate);
  const Pair quick = connect(impatient(), gate, milliseconds(50));
  const std::shared_ptr<const std::string> vector = large_vector();
  std::vector<std::string> events;
  std::vector<std::uint64_t> asked;
  bool turned = false;  // the stranger was at the gate

  const auto trickle = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    const std::size_t half = vector->size() / 2;
    session->send(std::make_shared<const std::string>(vector->substr(0, half)));
    while (events.empty()) co_await wait(context_, milliseconds(5));
    // What follows the whole of it is heard.
    session->send(std::make_shared<const std::string>(vector->substr(half)));
    const wire::Message last = wire::JobEndedSeen{};
    session->send(last);
    while (events.size() < 2) co_await wait(context_, milliseconds(5));
  };
  const auto hear_slow = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    session->expect_large([&](const wire::VectorHeader& header) {
      asked.push_back(header.dimension);
      return false;
    });
    const Result<wire::Message> message = co_await session->receive();
    turned = turned || gate->open_for(session.get());
    events.emplace_back(message ? wire::name_of(*message) : message.error().message);
  };
  const auto send_quickly = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    while (asked.empty()) co_await wait(context_, milliseconds(5));
    turned = gate->open_for(slow.server.get());
    session->send(vector);
    while (events.size() < 2) co_await wait(context_, milliseconds(5));
  };
  const auto hear_quick = [&](const std::shared_ptr<Session>& session) -> asio::awaitable<void> {
    const Result<wire::Message> message = co_await session->receive();
    events.emplace_back(message ? wire::name_of(*message) : message.error().message);
  };
  start(slow, hear_slow, trickle);
  start(quick, hear_quick, send_quickly);
  run();
  EXPECT_EQ(events, (std::vector<std::string>{"reply", "job_ended_seen"}));  // the honest one did not wait
  EXPECT_EQ(asked, std::vector<std::uint64_t>{AssemblyGate::kSmallBytes / sizeof(std::int64_t) + 1000});
  EXPECT_FALSE(turned);
}

TEST_F(SessionTest, TurnsAreTakenInTheOrderOfComingAndGivenBackByWhoeverLeaves) {
  AssemblyGate gate(context_.get_executor());
  const int first = 0;
  const int second = 0;
  const int third = 0;
  for (const int* who : {&first, &second, &third}) gate.enter(who);
  EXPECT_TRUE(gate.open_for(&first));
  EXPECT_FALSE(gate.open_for(&second));
  gate.leave(&second);  // while it waits
  EXPECT_TRUE(gate.open_for(&first));
  gate.leave(&first);
  EXPECT_TRUE(gate.open_for(&third));
  gate.leave(&third);
  EXPECT_FALSE(gate.open_for(&third));
}

/// Answers the first caller with these bytes, and then with as many of `more` as it takes.
class Answering {
 public:
  explicit Answering(std::string answer, char more = 0)
      : thread_([this, answer = std::move(answer), more] {
          tcp::socket socket = acceptor_.accept();
          boost::system::error_code error;
          std::array<char, 4096> request{};
          (void)socket.read_some(asio::buffer(request), error);
          sent_ += asio::write(socket, asio::buffer(answer), error);
          const std::string block(65536, more);
          while (more != 0 && !error) sent_ += asio::write(socket, asio::buffer(block), error);
          while (!error) (void)socket.read_some(asio::buffer(request), error);
        }) {}
  ~Answering() { thread_.join(); }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
  [[nodiscard]] tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }
  /// Bytes that the caller's end took, once it is gone.
  std::size_t sent() {
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([] {});
    return sent_;
  }

 private:
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  std::size_t sent_ = 0;
  std::thread thread_;
};

/// What a proxy that answers so leads to.
Status tunnel_through(const tcp::endpoint& proxy) {
  asio::io_context context(1);
  tcp::socket socket(context);
  socket.connect(proxy);
  std::optional<Status> opened;
  const auto open = [&]() -> asio::awaitable<void> {
    const Tunnel tunnel{"hub", 7443, ""};
    opened = co_await open_tunnel(socket, tunnel);
    socket.close();
  };
  asio::co_spawn(context, open(), asio::detached);
  context.run();
  return *opened;
}

TEST(TunnelTest, AProxysHeaderIsBoundedAndItsBodyIsNotRead) {
  {
    Answering endless("HTTP/1.1 200 OK\r\nX: ", 'x');
    const Status opened = tunnel_through(endless.endpoint());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::Unreachable) << opened.error().message;
  }
  {
    const Answering body("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody");
    const Status opened = tunnel_through(body.endpoint());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::Malformed) << opened.error().message;
  }
  const Answering sound("HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_TRUE(tunnel_through(sound.endpoint()));
}

TEST(HttpClientTest, AnAnswerThatIsAnnouncedTooLargeIsNotRead) {
  Answering large("HTTP/1.1 200 OK\r\nContent-Length: 600000000\r\n\r\n", 'x');
  const HttpClient client({false, "127.0.0.1", std::to_string(large.endpoint().port())}, nullptr, "lakeside", "",
                          std::chrono::minutes(1));
  const Result<HttpAnswer> answer = client.request("GET", "/api/v1/runs", "");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("body limit"), std::string::npos) << answer.error().message;
  EXPECT_LT(large.sent(), std::size_t{100} << 20U);  // what sockets hold, not what was announced
}

}  // namespace
}  // namespace undertone::net
