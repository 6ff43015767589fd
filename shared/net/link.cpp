#include "shared/net/link.hpp"

#include <random>
#include <spdlog/spdlog.h>
#include <utility>

#include "shared/base/plain_text.hpp"
#include "shared/net/await.hpp"
#include "shared/net/credentials_watch.hpp"

namespace undertone::net {
using asio::ip::tcp;

Link::Link(asio::io_context& context, Setup setup, Credentials& credentials, Handlers handlers)
    : context_(&context),
      setup_(std::move(setup)),
      credentials_(&credentials),
      handlers_(std::move(handlers)),
      backoff_(setup_.reconnect_first, setup_.reconnect_most, std::random_device()()),
      pause_(context) {}

void Link::start() { spawn_essential(context_->get_executor(), dial(), "link"); }

void Link::stop() {
  stopped_ = true;
  pause_.cancel();
  if (session_) session_->finish();
}

void Link::look_at_peer() {
  if (session_) close_if_outdated(*session_, *credentials_);
}

void Link::send(const wire::Message& message) {
  if (connected_) session_->send(message);
}

void Link::send(Session::Bytes bytes) {
  if (connected_) session_->send(std::move(bytes));
}

asio::awaitable<void> Link::dial() {
  while (!stopped_) {
    const Status ended = co_await connect_once();
    if (std::exchange(connected_, false)) handlers_.lost();
    if (stopped_) break;
    why_not_ = ended ? "the connection was closed" : ended.error().message;
    const std::chrono::milliseconds wait = backoff_.next();
    spdlog::warn("{}_lost name={} reason={} retry_ms={}", to_string(setup_.role), setup_.name,
                 quoted_text(ended ? "closed" : ended.error().message), wait.count());
    pause_.expires_after(wait);
    (void)co_await pause_.async_wait(kAwait);
  }
}

asio::awaitable<Status> Link::connect_once() {
  Result<tcp::socket> socket = co_await net::dial(setup_.service, setup_.session.handshake);
  if (!socket) co_return socket.error();
  session_ = std::make_shared<Session>(Session::Stream(*std::move(socket), credentials_->context()), setup_.session);
  const Status ended = co_await converse(session_);
  session_->close();
  session_.reset();
  co_return ended;
}

asio::awaitable<Status> Link::converse(std::shared_ptr<Session> session) {
  const Result<certificates::CertificateFacts> peer = co_await session->handshake(Side::Client);
  if (!peer) co_return peer.error();
  const certificates::Party expected{setup_.consortium, setup_.role,
                                     setup_.name.empty() ? peer->party.name : setup_.name};
  if (peer->party != expected) {
    co_return Error{ErrorCode::Unauthorized, fmt::format("expected the {}, the certificate is of the {}",
                                                         describe(expected), describe(peer->party))};
  }
  session->accept_only(setup_.accepted);
  const wire::Message hello = wire::Hello{setup_.protocol_min, setup_.session.protocol_max, setup_.build};
  session->send(hello);
  while (!stopped_) {
    Result<wire::Message> message = co_await session->receive();
    if (!message) co_return message.error();
    if (const auto* fault = std::get_if<wire::Fault>(&*message))
      co_return Error{fault->code, fmt::format("the {} says: {}", describe(peer->party), fault->sentence)};
    if (!connected_) {
      const Status welcome = welcomed(*message, peer->party);
      if (!welcome) co_return welcome.error();
      connected_ = true;
      session->established();
      backoff_.reset();
    }
    asio::awaitable<void> handled = handlers_.message(*std::move(message));
    co_await std::move(handled);
  }
  co_return Status();
}

Status Link::welcomed(const wire::Message& message, const certificates::Party& peer) {
  const auto* welcome = std::get_if<wire::Welcome>(&message);
  if (welcome == nullptr)
    return Error{ErrorCode::Malformed, fmt::format("expected welcome, got {}", wire::name_of(message))};
  if (welcome->protocol < setup_.protocol_min || welcome->protocol > setup_.session.protocol_max) {
    return Error{ErrorCode::ProtocolMismatch,
                 fmt::format("the {} ({}) chose protocol {}, this program speaks {} to {} with it", describe(peer),
                             welcome->build, welcome->protocol, setup_.protocol_min, setup_.session.protocol_max)};
  }
  spdlog::info("{}_connected name={} build={} protocol={}", to_string(setup_.role), peer.name,
               quoted_text(welcome->build), welcome->protocol);
  return {};
}

}  // namespace undertone::net
