#include "shared/net/dial.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <utility>

#include "shared/base/files.hpp"
#include "shared/net/await.hpp"
#include "shared/net/tunnel.hpp"

namespace undertone::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr std::size_t kCredentialsBytesMax = 4096;

/// Shared with the handler of its deadline, which may be queued already when the attempt is over.
struct Attempt {
  explicit Attempt(const asio::any_io_executor& executor) : socket(executor) {}
  tcp::socket socket;
  bool late = false;
};

asio::awaitable<Status> connect(Attempt& attempt, const std::string& host, std::uint16_t port) {
  tcp::socket& socket = attempt.socket;
  tcp::resolver resolver(socket.get_executor());
  const auto [unresolved, endpoints] = co_await resolver.async_resolve(host, std::to_string(port), kAwait);
  if (unresolved) co_return Error{ErrorCode::Unreachable, fmt::format("{}: {}", host, unresolved.message())};
  // Connecting opens the socket again, which the deadline has closed for good.
  if (attempt.late) co_return Error{ErrorCode::Unreachable, fmt::format("{}: found too late", host)};
  const auto [refused, endpoint] = co_await asio::async_connect(socket, endpoints, kAwait);
  if (refused) co_return Error{ErrorCode::Unreachable, fmt::format("{}:{}: {}", host, port, refused.message())};
  co_return Status();
}

asio::awaitable<Status> open_path(Attempt& attempt, const Destination& to) {
  if (!to.proxy) co_return co_await connect(attempt, to.host, to.port);
  const Status connected = co_await connect(attempt, to.proxy->host, to.proxy->port);
  if (!connected) co_return Error{connected.error().code, fmt::format("the proxy {}", connected.error().message)};
  Result<std::string> credentials = std::string();
  if (!to.proxy->credentials.empty()) credentials = read_file(to.proxy->credentials, kCredentialsBytesMax);
  if (!credentials)
    co_return Error{credentials.error().code, fmt::format("the proxy's credentials: {}", credentials.error().message)};
  const Tunnel tunnel{to.host, to.port, *credentials};
  co_return co_await open_tunnel(attempt.socket, tunnel);
}

}  // namespace

asio::awaitable<Result<tcp::socket>> dial(Destination to, std::chrono::milliseconds within) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto attempt = std::make_shared<Attempt>(executor);
  asio::steady_timer deadline(executor, within);
  deadline.async_wait([attempt](const boost::system::error_code& error) {
    if (error) return;
    attempt->late = true;
    boost::system::error_code ignored;
    attempt->socket.close(ignored);
  });
  const Status opened = co_await open_path(*attempt, to);
  deadline.cancel();
  if (attempt->late) {
    co_return Error{ErrorCode::Unreachable,
                    fmt::format("{}:{}: no connection{} within {} ms", to.host, to.port,
                                to.proxy ? fmt::format(" through the proxy {}:{}", to.proxy->host, to.proxy->port) : "",
                                within.count())};
  }
  if (!opened) co_return opened.error();
  co_return std::move(attempt->socket);
}

}  // namespace undertone::net
