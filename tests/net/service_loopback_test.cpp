#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/base/files.hpp"
#include "shared/net/http_client.hpp"
#include "tests/support/long_advance.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using certificates::Role;
using std::chrono::milliseconds;
using tests::LoopbackCoordinator;
using tests::LoopbackSilo;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

/// Asks again, off the coordinator's thread, until it is so.
bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    if (holds()) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

class ServiceLoopbackTest : public ::testing::Test {
 protected:
  ServiceLoopbackTest() : consortium_("lakeside") {
    write_file_atomically(folder_.path() / "token", std::string(kToken) + "\n").value();
  }
  void http(coordinator::CoordinatorConfig& config, bool tls) {
    config.http.emplace();
    config.http->host = "127.0.0.1";
    config.http->tls = tls;
    config.http->token_file = folder_.path() / "token";
    config.http->timeout = milliseconds(700);
    config.http->connections_max = 8;
  }
  std::vector<std::unique_ptr<LoopbackSilo>> silos(std::uint16_t port, const LoopbackSilo::Change& change = nullptr) {
    std::vector<std::unique_ptr<LoopbackSilo>> out;
    for (const simulation::SimulatedSilo& spec : federation_.cohort())
      out.push_back(std::make_unique<LoopbackSilo>(spec, port, 7, consortium_.silo(spec.id.name()), change));
    return out;
  }
  static net::HttpEndpoint endpoint(bool tls, std::uint16_t port) { return {tls, "127.0.0.1", std::to_string(port)}; }
  net::Credentials operator_credentials(Role role = Role::Operator, const std::string& name = "alice") {
    return net::Credentials::load(consortium_.party(role, name), net::Side::Client, {"lakeside", role, name}).value();
  }

  tests::Certificates consortium_;
  tests::TemporaryFolder folder_;
  tests::SmallFederation federation_;
};

TEST_F(ServiceLoopbackTest, AnOperatorIsLetInByCertificateOrTokenAndNobodyElse) {
  LoopbackCoordinator hub(consortium_, [&](auto& config) { http(config, true); });
  const auto status = [&](net::Credentials& credentials, const std::string& token) {
    const net::HttpClient client(endpoint(true, hub.ports().http), &credentials, "lakeside", token, milliseconds(3000));
    const auto answer = client.request("GET", "/api/v1/runs", "");
    return answer ? answer->status : 0;
  };
  net::Credentials alice = operator_credentials();
  net::Credentials clinic = operator_credentials(Role::Silo, "silo-0");
  EXPECT_EQ(status(alice, ""), 200);
  EXPECT_EQ(status(clinic, ""), 401);  // of the consortium, but no operator
  EXPECT_EQ(status(clinic, kToken), 200);
  EXPECT_EQ(status(clinic, std::string(kToken) + "0"), 401);
  ASSERT_TRUE(consortium_.authority().revoke(Role::Operator, "alice", std::time(nullptr)));
  EXPECT_TRUE(eventually([&] { return status(alice, "") != 200; }));
}

TEST_F(ServiceLoopbackTest, TwoJobsAtOnceGiveWhatEachGivesAlone) {
  const std::string first = federation_.job();
  tests::SmallFederation other = federation_;
  other.step_size = 0.25;
  const std::string second = other.job();
  std::vector<algorithms::Outcome> alone;
  for (const std::string& job : {first, second}) {
    LoopbackCoordinator hub(consortium_);
    const RunId run = hub.submit(job);
    const auto agents = silos(hub.ports().silos);
    alone.push_back(hub.outcome(run).value());
  }
  LoopbackCoordinator hub(consortium_);
  const RunId run_first = hub.submit(first);
  const RunId run_second = hub.submit(second);
  const auto agents = silos(hub.ports().silos);
  EXPECT_EQ(hub.outcome(run_first).value().vectors.at("weights"), alone[0].vectors.at("weights"));
  EXPECT_EQ(hub.outcome(run_second).value().vectors.at("weights"), alone[1].vectors.at("weights"));
  EXPECT_TRUE(std::filesystem::exists(hub.config().results / run_first.hex() / "model.json"));
  EXPECT_TRUE(std::filesystem::exists(hub.config().results / run_second.hex() / "result.json"));
}

TEST_F(ServiceLoopbackTest, OldAndNewProtocolsWorkTogetherInOneRun) {
  const std::string job = federation_.job();
  std::optional<Eigen::VectorXd> newest;
  for (const auto& [hub_protocol, silo_protocol] : {std::pair(2U, 2U), std::pair(1U, 2U), std::pair(2U, 1U)}) {
    SCOPED_TRACE(fmt::format("coordinator {}, silos {}", hub_protocol, silo_protocol));
    LoopbackCoordinator hub(consortium_, [&, p = hub_protocol](auto& config) { config.session.protocol_max = p; });
    const RunId run = hub.submit(job);
    const auto agents =
        silos(hub.ports().silos, [p = silo_protocol](auto& config) { config.session.protocol_max = p; });
    const Eigen::VectorXd weights = hub.outcome(run).value().vectors.at("weights");
    if (!newest) newest = weights;
    EXPECT_EQ(weights, *newest);
  }
}

TEST_F(ServiceLoopbackTest, ARevokedSiloIsDroppedWhileItIsConnectedAndNotLetInAgain) {
  LoopbackCoordinator hub(consortium_);
  const auto agents = silos(hub.ports().silos);
  ASSERT_TRUE(hub.wait_until([](auto& host) { return host.service().connected().size() == 5; }));
  ASSERT_TRUE(consortium_.authority().revoke(Role::Silo, "silo-2", std::time(nullptr)));
  const SiloId revoked = SiloId::create("silo-2").value();
  EXPECT_TRUE(hub.wait_until([&](auto& host) {
    return host.service().connected().size() == 4 && !host.service().connected().contains(revoked);
  }));
}

TEST_F(ServiceLoopbackTest, SilosLeaveACoordinatorThatIsRevokedWhileTheyAreConnected) {
  LoopbackCoordinator hub(consortium_);
  const auto agents = silos(hub.ports().silos);
  ASSERT_TRUE(hub.wait_until([](auto& host) { return host.service().connected().size() == 5; }));
  ASSERT_TRUE(consortium_.authority().revoke(Role::Coordinator, "hub", std::time(nullptr)));
  EXPECT_TRUE(hub.wait_until([](auto& host) { return host.service().connected().empty(); }));
}

TEST_F(ServiceLoopbackTest, ExpiredEarlyAndRevokedCertificatesAreRefusedByName) {
  LoopbackCoordinator hub(consortium_, [](auto& config) { config.session.handshake = milliseconds(500); });
  const auto refusal = [&](const net::TlsFiles& files) -> std::string {
    // As a stranger would: whatever the files hold, without a look at them first.
    asio::io_context context(1);
    asio::ssl::context tls(asio::ssl::context::tls_client);
    tls.use_certificate_chain_file(files.certificate.string());
    tls.use_private_key_file(files.key.string(), asio::ssl::context::pem);
    tls.load_verify_file(files.authority.string());
    tcp::socket socket(context);
    socket.connect({asio::ip::make_address("127.0.0.1"), hub.ports().silos});
    asio::ssl::stream<tcp::socket> stream(std::move(socket), tls);
    boost::system::error_code error;
    stream.handshake(asio::ssl::stream_base::client, error);
    std::array<char, 64> buffer{};
    if (!error) stream.read_some(asio::buffer(buffer), error);
    return net::describe_tls_failure(stream.native_handle(), error);
  };
  EXPECT_EQ(refusal(consortium_.party(Role::Silo, "late", -3, -1)),
            "the peer says that this party's certificate has expired");
  EXPECT_NE(refusal(consortium_.party(Role::Silo, "early", 1, 9)).find("not valid yet"), std::string::npos);
  const net::TlsFiles gone = consortium_.silo("gone");
  ASSERT_TRUE(consortium_.authority().revoke(Role::Silo, "gone", std::time(nullptr)));
  std::string said;
  EXPECT_TRUE(eventually([&] {
    said = refusal(gone);
    return said.find("revoked") != std::string::npos;
  })) << said;
}

TEST_F(ServiceLoopbackTest, ManualApprovalPauseAndWithdrawalWorkOverTcp) {
  federation_.quorum = 3;
  LoopbackCoordinator hub(consortium_);
  const RunId run = hub.submit(federation_.job());
  auto agents = silos(hub.ports().silos, [](auto& config) { config.policy.approval = silo::Approval::Manual; });
  const SiloId first = SiloId::create("silo-0").value();
  ASSERT_TRUE(hub.wait_until(
      [&](auto& host) { return host.service().machine(run)->why_missing(first) == "waits for its owner"; }));
  // The owners decide; the coordinator offers the job again by itself.
  ASSERT_TRUE(hub.wait_until([&](auto&) {
    bool all = true;
    for (auto& agent : agents) all = agent->desk().decide(run, silo::Decision::Approved).value() && all;
    return all;
  }));
  EXPECT_TRUE(hub.outcome(run));
}

TEST_F(ServiceLoopbackTest, RepliesAreHeldToTheIntervalOfThePolicy) {
  federation_.rounds = 3;
  LoopbackCoordinator hub(consortium_);
  const auto begun = std::chrono::steady_clock::now();
  const RunId run = hub.submit(federation_.job());
  const auto agents =
      silos(hub.ports().silos, [](auto& config) { config.policy.release_interval = milliseconds(150); });
  EXPECT_TRUE(hub.outcome(run));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, milliseconds(3 * 150));
}

/// An HTTP proxy that tunnels one connection, if it is asked as it wants to be.
class Proxy {
 public:
  explicit Proxy(std::string expected)
      : expected_(std::move(expected)), acceptor_(context_, {asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::thread([this] { serve(); });
  }
  ~Proxy() {
    boost::system::error_code ignored;
    context_.stop();
    acceptor_.close(ignored);
    near_.close(ignored);
    far_.close(ignored);
    thread_.join();
  }
  std::uint16_t port() const { return port_; }
  std::string asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void pump(tcp::socket& from, tcp::socket& to, std::array<char, 16384>& buffer) {
    from.async_read_some(asio::buffer(buffer), [this, &from, &to, &buffer](const auto& error, std::size_t size) {
      if (error) return;
      boost::system::error_code failed;
      asio::write(to, asio::buffer(buffer.data(), size), failed);
      if (!failed) pump(from, to, buffer);
    });
  }
  void serve() {
    acceptor_.async_accept(near_, [this](const auto& error) {
      if (error) return;
      asio::streambuf request;
      boost::system::error_code failed;
      const std::size_t size = asio::read_until(near_, request, "\r\n\r\n", failed);
      const std::string text(asio::buffers_begin(request.data()),
                             asio::buffers_begin(request.data()) + static_cast<std::ptrdiff_t>(size));
      {
        const std::lock_guard lock(mutex_);
        asked_ = text;
      }
      const std::string target = text.substr(8, text.find(' ', 8) - 8);
      far_.connect({asio::ip::address_v4::loopback(),
                    static_cast<std::uint16_t>(std::stoi(target.substr(target.find(':') + 1)))},
                   failed);
      const bool good = text.find(expected_) != std::string::npos && !failed;
      asio::write(
          near_,
          asio::buffer(std::string(good ? "HTTP/1.1 200 Connection established\r\n\r\n"
                                        : "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")),
          failed);
      if (!good) return;
      pump(near_, far_, up_);
      pump(far_, near_, down_);
    });
    context_.run();
  }
  std::string expected_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  std::uint16_t port_ = acceptor_.local_endpoint().port();
  tcp::socket near_{context_};
  tcp::socket far_{context_};
  std::array<char, 16384> up_{};
  std::array<char, 16384> down_{};
  std::mutex mutex_;
  std::string asked_;
  std::thread thread_;
};

TEST_F(ServiceLoopbackTest, ASiloGoesThroughAnHttpProxy) {
  write_file_atomically(folder_.path() / "proxy-credentials", "clinic:secret\n").value();
  LoopbackCoordinator hub(consortium_);
  Proxy proxy("Proxy-Authorization: Basic Y2xpbmljOnNlY3JldA==");
  const simulation::SimulatedSilo spec = federation_.cohort().front();
  const LoopbackSilo agent(spec, hub.ports().silos, 1, consortium_.silo(spec.id.name()), [&](auto& config) {
    config.proxy = net::Proxy{"127.0.0.1", proxy.port(), folder_.path() / "proxy-credentials"};
  });
  EXPECT_TRUE(hub.wait_until([](auto& host) { return host.service().connected().size() == 1; })) << proxy.asked();
}

/// Sends bytes to the HTTP port. @return what comes back until the other side closes
std::string talk(std::uint16_t port, const std::string& bytes, bool one_at_a_time = false) {
  asio::io_context context(1);
  tcp::socket socket(context);
  socket.connect({asio::ip::address_v4::loopback(), port});
  boost::system::error_code error;
  for (std::size_t i = 0; one_at_a_time && i < bytes.size() && !error; ++i)
    asio::write(socket, asio::buffer(bytes.data() + i, 1), error);
  if (!one_at_a_time) asio::write(socket, asio::buffer(bytes), error);
  std::string answer;
  std::array<char, 4096> buffer{};
  error.clear();
  while (!error) answer.append(buffer.data(), socket.read_some(asio::buffer(buffer), error));
  return answer;
}

/// What a browser with a certificate hears.
std::string talk_as(const net::TlsFiles& files, std::uint16_t port, const std::string& text) {
  asio::io_context context(1);
  asio::ssl::context tls(asio::ssl::context::tls_client);
  tls.use_certificate_chain_file(files.certificate.string());
  tls.use_private_key_file(files.key.string(), asio::ssl::context::pem);
  asio::ssl::stream<asio::ip::tcp::socket> stream(context, tls);
  stream.next_layer().connect({asio::ip::make_address("127.0.0.1"), port});
  stream.handshake(asio::ssl::stream_base::client);
  asio::write(stream, asio::buffer(text));
  std::string answer;
  std::array<char, 4096> buffer{};
  boost::system::error_code error;
  while (!error) answer.append(buffer.data(), stream.read_some(asio::buffer(buffer), error));
  return answer;
}

TEST_F(ServiceLoopbackTest, APageOfAnotherSiteChangesNothingWithAnOperatorsCertificate) {
  LoopbackCoordinator hub(consortium_, [&](auto& config) { http(config, true); });
  const net::TlsFiles alice = consortium_.party(Role::Operator, "alice");
  const auto status = [&](const std::string& method, const std::string& headers) {
    const std::string answer =
        talk_as(alice, hub.ports().http,
                method + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n" + headers + "\r\n");
    return answer.substr(0, answer.find("\r\n"));
  };
  EXPECT_NE(status("POST /api/v1/sealing-keys", "").find(" 201"), std::string::npos)
      << status("POST /api/v1/sealing-keys", "");
  for (const char* headers : {"Origin: https://elsewhere.example\r\n", "Sec-Fetch-Site: cross-site\r\n",
                              "Sec-Fetch-Site: same-site\r\n", "Origin: null\r\n"})
    EXPECT_NE(status("POST /api/v1/sealing-keys", headers).find(" 401"), std::string::npos) << headers;
  EXPECT_NE(status("GET /api/v1/runs", "Sec-Fetch-Site: cross-site\r\n").find(" 200"), std::string::npos);
}

TEST_F(ServiceLoopbackTest, StrangersAtTheHttpPortGetAnAnswerOrAreClosedAndNothingHangs) {
  LoopbackCoordinator hub(consortium_, [&](auto& config) { http(config, false); });
  const std::uint16_t port = hub.ports().http;
  EXPECT_NE(talk(port, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("200 OK"),
            std::string::npos);
  EXPECT_NE(talk(port, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", true).find("200 OK"),
            std::string::npos);
  EXPECT_NE(talk(port, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("401"), std::string::npos);
  EXPECT_NE(talk(port, "nonsense\r\n\r\n").find("400"), std::string::npos);
  EXPECT_NE(talk(port, "GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x')).find("431"), std::string::npos);
  EXPECT_NE(talk(port, "POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 4294967296\r\n\r\n").find("413"),
            std::string::npos);
  // Of a body that a stranger announces nothing is waited for, and of one that it sends nothing is kept.
  const std::string upload = "POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
  EXPECT_NE(talk(port, upload).find("401"), std::string::npos);
  EXPECT_NE(talk(port, upload + std::string(1'000'000, 'x')).find("401"), std::string::npos);
  EXPECT_EQ(talk(port, ""), "");                             // silence: closed at the deadline
  EXPECT_EQ(talk(port, "GET /healthz HTTP/1.1\r\nHo"), "");  // half a request: closed at the deadline
  EXPECT_EQ(talk(port, std::string("\x16\x03\x01\x02\x00", 5) + std::string(512, 'x')).find("200"), std::string::npos);
}

TEST_F(ServiceLoopbackTest, WhatAProxyMayReadOtherwiseIsRefusedAndTheConnectionClosed) {
  LoopbackCoordinator hub(consortium_, [&](auto& config) { http(config, false); });
  const std::uint16_t port = hub.ports().http;
  const auto request = [](const std::string& line, const std::string& headers) {
    return fmt::format("{} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n{}\r\n", line, kToken, headers);
  };
  const auto refused = [&](const std::string& bytes, const std::string& status, bool one_at_a_time = false) {
    const std::string answer = talk(port, bytes, one_at_a_time);
    EXPECT_EQ(answer.find("HTTP/1.1 " + status), 0U) << bytes << "\n" << answer;
    EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << answer;  // what follows is no request
  };
  const std::string next = request("GET /api/v1/runs", "");
  refused(request("POST /api/v1/jobs", "Transfer-Encoding: gzip\r\n") + next, "501");
  refused(request("POST /api/v1/jobs", "Transfer-Encoding: gzip, chunked\r\n") + next, "501");
  refused(request("POST /api/v1/jobs", "Transfer-Encoding: identity\r\n") + next, "501");
  refused(request("POST /api/v1/jobs", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n") + next, "400");
  refused(request("POST /api/v1/jobs", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n") + next, "400");
  refused(request("POST /api/v1/jobs", "Transfer-Encoding: gzip\r\nContent-Length: 3\r\n") + next, "400");
  refused(request("GET /api/v1/runs", "X: a\r\n b\r\n") + next, "400");
  refused(request("GET /api/v1/runs", "X: a\r\n\tTransfer-Encoding: chunked\r\n") + next, "400");
  refused(request("GET /api/v1/runs", "X: a\r\n b\r\n"), "400", true);
  // A body may look like a folded line.
  const std::string body = request("POST /api/v1/jobs", "Connection: close\r\nContent-Length: 4\r\n") + "\r\n b";
  const std::string taken = talk(port, body);
  EXPECT_EQ(taken.find("HTTP/1.1 400"), 0U) << taken;  // it is no job
  EXPECT_EQ(taken.find("folded"), std::string::npos) << taken;
}

TEST_F(ServiceLoopbackTest, AHeadIsAnsweredAsAGetWithoutItsBody) {
  LoopbackCoordinator hub(consortium_, [&](auto& config) { http(config, false); });
  const std::uint16_t port = hub.ports().http;
  const auto request = [](const std::string& line, const std::string& headers) {
    return fmt::format("{} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n{}\r\n", line, kToken, headers);
  };
  const std::string close = "Connection: close\r\n";
  const std::string ok = talk(port, request("HEAD /healthz", close));
  EXPECT_EQ(ok.find("HTTP/1.1 200"), 0U) << ok;
  EXPECT_NE(ok.find("Content-Length: 3\r\n"), std::string::npos) << ok;
  EXPECT_EQ(ok.find("\r\n\r\n") + 4, ok.size()) << ok;
  for (const char* line : {"HEAD /nothing", "HEAD /api/v1/jobs", "HEAD //"}) {
    const std::string answer = talk(port, request(line, close));
    EXPECT_EQ(answer.find("HTTP/1.1 4"), 0U) << answer;
    EXPECT_EQ(answer.find("\r\n\r\n") + 4, answer.size()) << answer;
  }
  const std::string unwell = talk(port, "HEAD /healthz HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n");
  EXPECT_EQ(unwell.find("HTTP/1.1 501"), 0U) << unwell;
  EXPECT_EQ(unwell.find("\r\n\r\n") + 4, unwell.size()) << unwell;
  // The answer that follows begins where the first one's header ends.
  const std::string two = talk(port, request("HEAD /healthz", "") + request("GET /healthz", close));
  const std::size_t second = two.find("\r\n\r\n");
  ASSERT_NE(second, std::string::npos) << two;
  EXPECT_EQ(two.substr(second + 4, 12), "HTTP/1.1 200") << two;
}

TEST_F(ServiceLoopbackTest, AnotherMethodIsAnsweredWithWhatIsAllowed) {
  LoopbackCoordinator hub(consortium_, [&](auto& config) { http(config, false); });
  for (const char* method : {"TRACE", "BREW"}) {
    const std::string answer =
        talk(hub.ports().http, fmt::format("{} /api/v1/runs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                           "Authorization: Bearer {}\r\n\r\n",
                                           method, kToken));
    EXPECT_EQ(answer.find("HTTP/1.1 405"), 0U) << answer;
    EXPECT_NE(answer.find("Allow: GET, HEAD\r\n"), std::string::npos) << answer;
  }
}

TEST_F(ServiceLoopbackTest, AConnectionServesAThousandRequestsAndNoMore) {
  const LoopbackCoordinator hub(consortium_, [&](auto& config) {
    http(config, false);
    config.http->timeout = std::chrono::seconds(60);
  });
  const std::string one = fmt::format("GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", kToken);
  std::string all;
  for (int i = 0; i < 1001; ++i) all += one;
  const std::string answers = talk(hub.ports().http, all);
  std::size_t served = 0;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.1 200", at)) != std::string::npos; ++at) ++served;
  EXPECT_EQ(served, 1000U);
}

TEST_F(ServiceLoopbackTest, WhileAJobIsPlannedEverybodyElseIsServed) {
  LoopbackCoordinator hub(consortium_, [&](auto& config) { http(config, false); });
  // Sixty silos that draw half of their records, no two alike: seconds of planning.
  nlohmann::json job = nlohmann::json::parse(federation_.job());
  job["algorithm"]["draw_fraction"] = 0.5;
  nlohmann::json silo = job["cohort"][0];
  job["cohort"] = nlohmann::json::array();
  for (int i = 0; i < 60; ++i) {
    silo["silo"] = fmt::format("silo-{}", i);
    silo["records"] = 100 + i;
    job["cohort"].push_back(silo);
  }
  const std::string body = job.dump();
  asio::io_context context(1);
  tcp::socket submitting(context);
  submitting.connect({asio::ip::address_v4::loopback(), hub.ports().http});
  asio::write(submitting,
              asio::buffer(fmt::format("POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n"
                                       "Connection: close\r\nContent-Length: {}\r\n\r\n{}",
                                       kToken, body.size(), body)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(talk(hub.ports().http, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("200 OK"),
              std::string::npos);
  }
  EXPECT_EQ(submitting.available(), 0U);  // it is not answered yet
  std::array<char, 64> answer{};
  const std::size_t size = submitting.read_some(asio::buffer(answer));
  // Created; or accepted, where planning takes longer than whoever submits is kept waiting.
  const std::string status(answer.data(), std::min<std::size_t>(size, 12));
  EXPECT_TRUE(status == "HTTP/1.1 201" || status == "HTTP/1.1 202") << status;
}

/// The first advance of the job "slow" is begun, and lasts until it is allowed to end or nobody waits for it.
class SlowStart {
 public:
  jobs::AlgorithmMaker maker() {
    return [this](const jobs::Job& job) {
      if (job.name != "slow") return jobs::make_algorithm(job);
      return tests::taking_long([this](const std::stop_token& nobody_waits) { return work(nobody_waits); })(job);
    };
  }
  void allow_end() {
    const std::lock_guard lock(mutex_);
    allowed_ = true;
    changed_.notify_all();
  }
  /// Waits for it. @return whether it has begun
  bool begun() { return becomes(begun_); }
  /// Waits for it. @return whether it has ended
  bool ended() { return becomes(ended_); }

 private:
  bool work(const std::stop_token& nobody_waits) {
    std::unique_lock lock(mutex_);
    begun_ = true;
    changed_.notify_all();
    const bool done = changed_.wait(lock, nobody_waits, [this] { return allowed_; });
    ended_ = true;
    changed_.notify_all();
    return done;
  }
  bool becomes(const bool& flag) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&flag] { return flag; });
  }
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool begun_ = false;
  bool allowed_ = false;
  bool ended_ = false;
};

TEST_F(ServiceLoopbackTest, WhileAnAlgorithmTakesLongEverybodyElseIsServed) {
  tests::SmallFederation slow = federation_;
  slow.name = "slow";
  const auto trained_alone = [&] {
    LoopbackCoordinator hub(consortium_);
    const RunId run = hub.submit(slow.job());
    const auto agents = silos(hub.ports().silos);
    return hub.outcome(run).value();
  };
  const algorithms::Outcome alone = trained_alone();
  SlowStart start;
  LoopbackCoordinator hub(
      consortium_, [&](auto& config) { http(config, false); }, start.maker());
  const RunId waiting = hub.submit(slow.job());
  const auto agents = silos(hub.ports().silos);
  ASSERT_TRUE(start.begun());
  // The advance lasts while another run comes and goes, and what is asked is answered.
  EXPECT_TRUE(hub.outcome(hub.submit(federation_.job())));
  EXPECT_NE(talk(hub.ports().http, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").find("200 OK"),
            std::string::npos);
  hub.on_thread([&](auto& host) {
    EXPECT_EQ(host.service().connected().size(), 5U);
    EXPECT_EQ(host.service().machine(waiting)->rounds_closed(), 0U);
  });
  start.allow_end();
  EXPECT_EQ(hub.outcome(waiting).value().vectors.at("weights"), alone.vectors.at("weights"));
}

TEST_F(ServiceLoopbackTest, NoAdvanceKeepsARunThatIsCancelledOrAProcessThatIsToEnd) {
  federation_.name = "slow";
  for (const bool cancelled : {true, false}) {
    SCOPED_TRACE(cancelled);
    SlowStart start;  // and nobody allows it to end
    LoopbackCoordinator hub(
        consortium_, [&](auto& config) { http(config, false); }, start.maker());
    const RunId run = hub.submit(federation_.job());
    const auto agents = silos(hub.ports().silos);
    ASSERT_TRUE(start.begun());
    if (!cancelled) continue;
    const net::HttpClient client(endpoint(false, hub.ports().http), nullptr, "lakeside", kToken, milliseconds(3000));
    EXPECT_EQ(client.request("POST", "/api/v1/runs/" + run.hex() + "/cancel", "")->status, 200);
    EXPECT_EQ(hub.outcome(run).error().code, ErrorCode::Cancelled);
    EXPECT_TRUE(start.ended());
  }
}

TEST_F(ServiceLoopbackTest, StrangersWhoHoldEveryConnectionKeepNoSiloOut) {
  asio::io_context context(1);
  std::vector<tcp::socket> strangers;  // some stand when the coordinator goes
  LoopbackCoordinator hub(consortium_, [](auto& config) {
    config.connections_max = 6;
    config.session.handshake = std::chrono::minutes(10);  // nobody is closed for its slowness
  });
  for (int i = 0; i < 6; ++i) {
    strangers.emplace_back(context).connect({asio::ip::address_v4::loopback(), hub.ports().silos});
    strangers.back().non_blocking(true);
  }
  const auto standing = [&] {
    return std::count_if(strangers.begin(), strangers.end(), [](tcp::socket& stranger) {
      char byte = 0;
      boost::system::error_code error;
      (void)stranger.read_some(asio::buffer(&byte, 1), error);
      return error == asio::error::would_block;
    });
  };
  const auto agents = silos(hub.ports().silos);
  EXPECT_TRUE(hub.wait_until([](auto& host) { return host.service().connected().size() == 5; }));
  EXPECT_EQ(standing(), 1);  // those who waited longest made room, and no more than were needed
  // Five are known and one is not: of those who come now each takes the last one's place, and no silo's.
  for (int i = 0; i < 3; ++i)
    strangers.emplace_back(context).connect({asio::ip::address_v4::loopback(), hub.ports().silos});
  hub.on_thread([](auto& host) { EXPECT_EQ(host.service().connected().size(), 5U); });
}

TEST_F(ServiceLoopbackTest, PlainHttpOnTheTlsPortIsClosed) {
  LoopbackCoordinator hub(consortium_, [&](auto& config) { http(config, true); });
  EXPECT_EQ(talk(hub.ports().http, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").find("200"), std::string::npos);
  EXPECT_LT(talk(hub.ports().silos, "GET / HTTP/1.1\r\n\r\n").size(), 64U);
}

TEST_F(ServiceLoopbackTest, WithoutTlsTheServiceListensOnLoopbackAlone) {
  store::Database database = store::Database::in_memory().value();
  coordinator::RunStore store = coordinator::RunStore::open(database).value();
  coordinator::CoordinatorConfig config;
  config.consortium = "lakeside";
  config.host = "127.0.0.1";
  config.tls = consortium_.hub();
  http(config, false);
  config.http->host = "0.0.0.0";
  asio::io_context context(1);
  coordinator::CoordinatorHost host(context, config, store, nullptr);
  const auto started = host.start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message.find("loopback"), std::string::npos);
}

}  // namespace
}  // namespace undertone
