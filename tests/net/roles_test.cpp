#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

#include "shared/net/http_client.hpp"
#include "shared/net/link.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/loopback_shuffler.hpp"
#include "tests/support/shuffler_peer.hpp"
#include "tests/support/small_federation.hpp"

/// Every role at every port, every role behind every address that is dialled, and whoever dials and says nothing.
namespace undertone {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using certificates::Role;
using std::chrono::milliseconds;
using tests::ShufflerPeer;

tests::Certificates& consortium() {
  static tests::Certificates certificates("lakeside");
  return certificates;
}

tcp::endpoint loopback(std::uint16_t port) { return {asio::ip::address_v4::loopback(), port}; }

/// A coordinator with HTTPS and a shuffler.
class PortsTest : public ::testing::Test {
 protected:
  explicit PortsTest(milliseconds patience = std::chrono::seconds(30)) : patience_(patience) {}
  milliseconds patience_;
  tests::LoopbackCoordinator coordinator_{consortium(), [this](coordinator::CoordinatorConfig& config) {
                                            config.session.handshake = patience_;
                                            config.http.emplace();
                                            config.http->host = "127.0.0.1";
                                            config.http->tls = true;
                                            config.http->timeout = patience_;
                                          }};
  tests::LoopbackShuffler shuffler_{consortium(), "mixer",
                                    [this](shuffler::ShufflerConfig& config) { config.session.handshake = patience_; }};
};

class ImpatientPortsTest : public PortsTest {
 protected:
  ImpatientPortsTest() : PortsTest(milliseconds(500)) {}
};

TEST_F(PortsTest, EachLetsItsOwnRolesInAndNoOther) {
  const auto welcomed = [](std::uint16_t port, Role role) {
    ShufflerPeer peer(port, consortium().party(role, "somebody"));
    const Result<wire::Message> answer = peer.receive();
    if (!answer) return false;
    if (std::holds_alternative<wire::Welcome>(*answer)) return true;
    EXPECT_EQ(std::get<wire::Fault>(*answer).code, ErrorCode::Unauthorized);
    EXPECT_FALSE(peer.receive());  // and it is closed
    return false;
  };
  const auto status = [&](Role role) {
    net::Credentials credentials =
        net::Credentials::load(consortium().party(role, "somebody"), net::Side::Client, {"lakeside", role, "somebody"})
            .value();
    const net::HttpClient client({true, "127.0.0.1", std::to_string(coordinator_.ports().http)}, &credentials,
                                 "lakeside", "", std::chrono::seconds(10));
    const Result<net::HttpAnswer> answer = client.request("GET", "/api/v1/runs", "");
    return answer ? answer->status : 0;
  };
  for (const Role role : certificates::kRoles) {
    SCOPED_TRACE(to_string(role));
    EXPECT_EQ(welcomed(coordinator_.ports().silos, role), role == Role::Silo);
    EXPECT_EQ(welcomed(shuffler_.port(), role), role == Role::Silo || role == Role::Coordinator);
    EXPECT_EQ(status(role), role == Role::Operator || role == Role::Viewer ? 200 : 401);
  }
}

TEST_F(ImpatientPortsTest, CloseWhoeverConnectsAndDoesNotEvenBeginTls) {
  asio::io_context context(1);
  for (const std::uint16_t port : {coordinator_.ports().silos, coordinator_.ports().http, shuffler_.port()}) {
    for (const std::string& said : {std::string(), std::string("\x16", 1), std::string("\x16\x03\x01\x20", 4)}) {
      tcp::socket socket(context);
      socket.connect(loopback(port));
      if (!said.empty()) asio::write(socket, asio::buffer(said));
      const timeval patience{20, 0};  // forty times theirs
      ASSERT_EQ(::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
      char byte = 0;
      ssize_t got = 1;
      while (got > 0) got = ::recv(socket.native_handle(), &byte, 1, 0);  // an alert may come first
      EXPECT_TRUE(got == 0 || errno == ECONNRESET) << "port " << port << " after " << said.size() << " bytes";
    }
  }
}

TEST(PlacesTest, BeyondAsManyAsMayStandOneIsClosedAtEveryPort) {
  constexpr std::size_t kPlaces = 3;
  const tests::LoopbackCoordinator coordinator(consortium(), [](coordinator::CoordinatorConfig& config) {
    config.connections_max = kPlaces;
    config.session.handshake = std::chrono::minutes(10);
    config.http.emplace();
    config.http->host = "127.0.0.1";
    config.http->timeout = std::chrono::minutes(10);
    config.http->connections_max = kPlaces;
  });
  const tests::LoopbackShuffler shuffler(consortium(), "mixer", [](shuffler::ShufflerConfig& config) {
    config.connections_max = kPlaces;
    config.session.handshake = std::chrono::minutes(10);
  });
  asio::io_context context(1);
  for (const std::uint16_t port : {coordinator.ports().silos, coordinator.ports().http, shuffler.port()}) {
    std::vector<tcp::socket> sockets;
    std::vector<pollfd> watched;
    for (std::size_t i = 0; i <= kPlaces; ++i) {
      sockets.emplace_back(context).connect(loopback(port));
      watched.push_back({sockets.back().native_handle(), POLLIN, 0});
    }
    ASSERT_EQ(::poll(watched.data(), watched.size(), 30'000), 1) << port;  // the last, or who has waited for a second
    char byte = 0;
    std::size_t standing = 0;
    for (tcp::socket& socket : sockets) {
      const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) ++standing;
    }
    EXPECT_EQ(standing, kPlaces) << port;
  }
}

TEST_F(PortsTest, AStrangersSecondRequestIsNotRead) {
  const tests::LoopbackCoordinator plain(consortium(), [](coordinator::CoordinatorConfig& config) {
    config.http.emplace();
    config.http->host = "127.0.0.1";
    config.http->timeout = std::chrono::seconds(30);
  });
  asio::io_context context(1);
  tcp::socket socket(context);
  socket.connect(loopback(plain.ports().http));
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  asio::write(socket, asio::buffer(request + request));
  std::string answer;
  std::array<char, 4096> buffer{};
  boost::system::error_code end;
  while (!end) answer.append(buffer.data(), socket.read_some(asio::buffer(buffer), end));
  EXPECT_EQ(answer.rfind("HTTP/1.1 200"), 0U) << answer;  // the first, and no other after it
}

/// Listens with whatever certificate, and hears the first who dials out.
class FalseServer {
 public:
  FalseServer(Role role, const std::string& name)
      : credentials_(net::Credentials::load(consortium().party(role, name), net::Side::Server, {"lakeside", role, name})
                         .value()) {}
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  /// Whether the first caller says anything, in whatever language, before it closes.
  bool heard() {
    bool spoken = false;
    bool came = false;
    const auto serve = [&]() -> asio::awaitable<void> {
      auto session = std::make_shared<net::Session>(
          net::Session::Stream(co_await acceptor_.async_accept(asio::use_awaitable), credentials_.context()),
          net::SessionLimits{});
      came = true;
      const Result<certificates::CertificateFacts> peer = co_await session->handshake(net::Side::Server);
      if (peer) {
        session->established();
        const Result<wire::Message> message = co_await session->receive();
        spoken = message || message.error().code != ErrorCode::Unreachable;
      }
      session->close();
    };
    asio::co_spawn(context_, serve(), [](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
    });
    context_.run();
    EXPECT_TRUE(came);
    return spoken;
  }

 private:
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_, loopback(0)};
  net::Credentials credentials_;
};

TEST(DialledTest, ASiloSaysNothingToWhoeverIsNoCoordinator) {
  const simulation::SimulatedSilo spec = tests::SmallFederation{}.cohort().front();
  for (const Role role : certificates::kRoles) {
    FalseServer server(role, "hub");
    const tests::LoopbackSilo silo(spec, server.port(), 1, consortium().silo(spec.id.name()));
    EXPECT_EQ(server.heard(), role == Role::Coordinator) << to_string(role);
  }
}

TEST(DialledTest, AShufflersLinkSaysNothingToAnotherRoleNorToAnotherShuffler) {
  const auto said = [](Role role, const std::string& name) {
    FalseServer server(role, name);
    net::Credentials credentials =
        net::Credentials::load(consortium().hub(), net::Side::Client, {"lakeside", Role::Coordinator, "hub"}).value();
    asio::io_context context(1);
    net::Link::Setup setup;
    setup.consortium = "lakeside";
    setup.name = "mixer";
    setup.service = {"127.0.0.1", server.port(), std::nullopt};
    setup.build = "test";
    net::Link link(context, setup, credentials,
                   {[](const wire::Message&) -> asio::awaitable<void> { co_return; }, [] {}});
    link.start();
    std::thread dialling([&] { context.run(); });
    const bool spoken = server.heard();
    asio::post(context, [&] { link.stop(); });
    dialling.join();
    return spoken;
  };
  EXPECT_TRUE(said(Role::Shuffler, "mixer"));
  EXPECT_FALSE(said(Role::Shuffler, "another"));
  EXPECT_FALSE(said(Role::Coordinator, "mixer"));
  EXPECT_FALSE(said(Role::Silo, "mixer"));
}

TEST(DialledTest, AnOperatorsTokenIsForTheCoordinatorAlone) {
  for (const Role role : certificates::kRoles) {
    FalseServer server(role, "hub");
    net::Credentials credentials = net::Credentials::load(consortium().party(Role::Operator, "alice"),
                                                          net::Side::Client, {"lakeside", Role::Operator, "alice"})
                                       .value();
    bool spoken = false;
    std::thread serving([&] { spoken = server.heard(); });
    const net::HttpClient client({true, "127.0.0.1", std::to_string(server.port())}, &credentials, "lakeside",
                                 "0123456789abcdef0123456789abcdef", std::chrono::seconds(10));
    const Result<net::HttpAnswer> answer = client.request("GET", "/api/v1/runs", "");
    serving.join();
    ASSERT_FALSE(answer);
    EXPECT_EQ(spoken, role == Role::Coordinator) << to_string(role) << ": " << answer.error().message;
  }
}

}  // namespace
}  // namespace undertone
