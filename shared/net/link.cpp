#include "shared/net/link.hpp"

#include <random>
#include <spdlog/spdlog.h>
#include <utility>

#include "shared/base/plain_text.hpp"
#include "shared/net/await.hpp"
#include "shared/net/credentials_watch.hpp"
#include "shared/net/dial.hpp"

namespace undertone::net {
namespace {

using asio::ip::tcp;
constexpr std::uint32_t kProtocolMin = 3;  // the first that shufflers are spoken to in

}  // namespace

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
    const std::chrono::milliseconds wait = backoff_.next();
    spdlog::warn("link_lost name={} reason={} retry_ms={}", name(),
                 quoted_text(ended ? "closed" : ended.error().message), wait.count());
    pause_.expires_after(wait);
    (void)co_await pause_.async_wait(kAwait);
  }
}

asio::awaitable<Status> Link::connect_once() {
  const Destination service{setup_.address.host, setup_.address.port, std::nullopt};
  Result<tcp::socket> socket = co_await net::dial(service, setup_.session.handshake);
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
  const certificates::Party expected{setup_.consortium, setup_.role, name()};
  if (peer->party != expected) {
    co_return Error{ErrorCode::Unauthorized, fmt::format("expected the {}, the certificate is of the {}",
                                                         describe(expected), describe(peer->party))};
  }
  session->accept_only(setup_.accepted);
  const wire::Message hello = wire::Hello{kProtocolMin, setup_.session.protocol_max, setup_.build};
  session->send(hello);
  while (!stopped_) {
    Result<wire::Message> message = co_await session->receive();
    if (!message) co_return message.error();
    if (const auto* fault = std::get_if<wire::Fault>(&*message))
      co_return Error{fault->code, name() + " says: " + fault->sentence};
    if (connected_) {
      handlers_.message(*std::move(message));
      continue;
    }
    const auto* welcome = std::get_if<wire::Welcome>(&*message);
    if (welcome == nullptr)
      co_return Error{ErrorCode::Malformed, fmt::format("expected welcome, got {}", wire::name_of(*message))};
    if (welcome->protocol < kProtocolMin || welcome->protocol > setup_.session.protocol_max) {
      co_return Error{ErrorCode::ProtocolMismatch,
                      fmt::format("{} ({}) chose protocol {}, this program speaks {} to {} with it", name(),
                                  welcome->build, welcome->protocol, kProtocolMin, setup_.session.protocol_max)};
    }
    connected_ = true;
    session->established();
    backoff_.reset();
    spdlog::info("link_connected name={} build={} protocol={}", name(), quoted_text(welcome->build), welcome->protocol);
    handlers_.connected();
  }
  co_return Status();
}

}  // namespace undertone::net
