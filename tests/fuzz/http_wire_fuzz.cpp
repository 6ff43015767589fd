#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/write.hpp>
#include <fstream>
#include <spdlog/spdlog.h>

#include "shared/http/server.hpp"
#include "shared/jobs/job.hpp"
#include "shared/net/await.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::fuzz {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using net::kAwait;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

/// The coordinator's HTTP server with an operator's token, and one connection after the other to it. Behind it is
/// nothing: what a request asks for is the target `http`.
class Connections {
 public:
  Connections() {
    spdlog::set_level(spdlog::level::off);
    http::ServerConfig config;
    config.host = "127.0.0.1";
    config.token_file = folder_.path() / "token";
    std::ofstream(config.token_file) << kToken << "\n";
    server_.emplace(context_, config, "consortium",
                    [this](http::Request request) -> asio::awaitable<http::Reply> { co_return answer(request); });
    port_ = server_->start(nullptr).value();
  }

  /// Sends the bytes, so many at a time, and then nothing more. @return what comes back until the server closes
  std::string say(std::string_view bytes, std::size_t at_a_time) {
    bytes_ = bytes;
    bool done = false;
    std::string answers;
    asio::co_spawn(context_, converse(bytes, at_a_time, answers), [&done](const std::exception_ptr& failure) {
      UNDERTONE_CHECK(!failure);
      done = true;
    });
    while (!done) context_.run_one();
    return answers;
  }

 private:
  http::Reply answer(const http::Request& request) const {
    UNDERTONE_CHECK(request.rights == http::Rights::None || bytes_.find(kToken) != std::string_view::npos);
    UNDERTONE_CHECK((request.rights != http::Rights::None) || request.body.empty());  // nothing of a stranger's is kept
    UNDERTONE_CHECK(request.method != "HEAD");                                        // the server's own to answer
    UNDERTONE_CHECK(request.body.size() <= jobs::kJobBytesMax && request.target.size() <= bytes_.size());
    return {(request.rights != http::Rights::None) ? 200 : 401, "text/plain",
            (request.rights != http::Rights::None) ? request.body : "no\n"};
  }

  asio::awaitable<void> converse(std::string_view bytes, std::size_t at_a_time, std::string& answers) {
    tcp::socket socket(context_);
    const auto [refused] =
        co_await socket.async_connect(tcp::endpoint(asio::ip::address_v4::loopback(), port_), kAwait);
    UNDERTONE_CHECK(!refused);
    boost::system::error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    while (!bytes.empty()) {
      const std::string_view now = bytes.substr(0, at_a_time);
      bytes.remove_prefix(now.size());
      const auto [gone, sent] = co_await asio::async_write(socket, asio::buffer(now), kAwait);
      if (gone) break;
    }
    socket.shutdown(tcp::socket::shutdown_send, ignored);
    std::array<char, 4096> buffer{};
    while (true) {
      const auto [ended, size] = co_await socket.async_read_some(asio::buffer(buffer), kAwait);
      answers.append(buffer.data(), size);
      if (ended) break;
    }
  }

  tests::TemporaryFolder folder_;
  asio::io_context context_{1};
  std::optional<http::Server> server_;
  std::uint16_t port_ = 0;
  std::string_view bytes_;  // of the connection that is under way
};

/// What stands on one connection: first in how many pieces, then the bytes.
void http_wire(std::string_view bytes) {
  static Connections connections;
  Input input(bytes);
  const std::size_t pieces = 1 + input.below(32);
  const std::string answers = connections.say(input.rest(), input.rest().size() / pieces + 1);
  UNDERTONE_CHECK(answers.empty() || answers.starts_with("HTTP/1.1 "));
  const bool welcome = answers.starts_with("HTTP/1.1 200 ");
  UNDERTONE_CHECK(!welcome || bytes.find(kToken) != std::string_view::npos);
}

const Target kTarget("http_wire", http_wire);

}  // namespace
}  // namespace undertone::fuzz
