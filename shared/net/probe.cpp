#include "shared/net/probe.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <utility>

namespace undertone::net {
namespace {

/// A server looks at a client's certificate after the client's part of the handshake is over, so that its refusal comes
/// as the first thing that is read.
constexpr std::chrono::milliseconds kRefusalComes{700};

using Outcome = std::optional<Result<certificates::Party>>;

asio::awaitable<void> try_once(Destination to, Credentials& credentials, SessionLimits limits, Outcome& out) {
  Result<asio::ip::tcp::socket> socket = co_await dial(std::move(to), limits.handshake);
  if (!socket) {
    out.emplace(socket.error());
    co_return;
  }
  const auto session = std::make_shared<Session>(Session::Stream(*std::move(socket), credentials.context()), limits);
  const Result<certificates::CertificateFacts> peer = co_await session->handshake(Side::Client);
  if (!peer) {
    out.emplace(peer.error());
    co_return;
  }
  const auto quiet = std::make_shared<bool>(false);
  asio::steady_timer patience(co_await asio::this_coro::executor, kRefusalComes);
  patience.async_wait([session, quiet](const boost::system::error_code& stopped) {
    if (stopped) return;
    *quiet = true;
    session->close();
  });
  const Result<wire::Message> said = co_await session->receive();
  patience.cancel();
  session->close();
  if (!said && !*quiet) {
    out.emplace(said.error());
  } else {
    out.emplace(peer->party);
  }
}

}  // namespace

Result<certificates::Party> probe(const Destination& to, Credentials& credentials, const SessionLimits& limits) {
  asio::io_context context(1);
  Outcome out;
  asio::awaitable<void> attempt = try_once(to, credentials, limits, out);
  asio::co_spawn(context, std::move(attempt), [](const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
  });
  context.run();
  UNDERTONE_CHECK(out.has_value());
  return *std::move(out);
}

}  // namespace undertone::net
