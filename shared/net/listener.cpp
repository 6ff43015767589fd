#include "shared/net/listener.hpp"

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <spdlog/spdlog.h>
#include <utility>

#include "shared/base/plain_text.hpp"
#include "shared/net/await.hpp"

namespace undertone::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

}  // namespace

Listener::Slot::Slot(Listener& listener, std::function<void()> close)
    : places_(listener.places_),
      close_(std::move(close)),
      since_(std::chrono::steady_clock::now()),
      place_(places_->strangers.insert(places_->strangers.end(), this)) {
  ++places_->taken;
}

Listener::Slot::~Slot() {
  introduced();
  --places_->taken;
}

void Listener::Slot::introduced() {
  if (std::exchange(stranger_, false)) places_->strangers.erase(place_);
}

bool Listener::make_room() {
  if (places_->strangers.empty()) return false;
  Slot& longest = *places_->strangers.front();
  if (std::chrono::steady_clock::now() - longest.since_ < kGrace) return false;
  longest.introduced();  // whatever becomes of it, it is asked no more
  longest.close_();
  return true;
}

Result<std::uint16_t> Listener::listen(const std::string& host, std::uint16_t port) {
  boost::system::error_code error;
  // An IPv6 address may stand in brackets, as it does in a URL.
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const asio::ip::address address = asio::ip::make_address(bracketed ? host.substr(1, host.size() - 2) : host, error);
  if (error) return Error{ErrorCode::InvalidConfig, fmt::format("listen host \"{}\": expected an IP address", host)};
  error = listen(tcp::endpoint(address, port));
  if (error)
    return Error{ErrorCode::Unreachable, fmt::format("cannot listen on {}:{}: {}", host, port, error.message())};
  return this->port();
}

boost::system::error_code Listener::listen(const tcp::endpoint& endpoint) {
  boost::system::error_code error;
  if (!acceptor_.open(endpoint.protocol(), error)) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  return error;
}

asio::awaitable<std::optional<tcp::socket>> Listener::accept() {
  while (acceptor_.is_open()) {
    tcp::socket socket(acceptor_.get_executor());
    const auto [error] = co_await acceptor_.async_accept(socket, kAwait);
    if (error) {
      if (!acceptor_.is_open()) break;
      spdlog::warn("accept_failed reason={}", quoted_text(error.message()));
      asio::steady_timer pause(acceptor_.get_executor(), std::chrono::milliseconds(100));  // let some close
      (void)co_await pause.async_wait(kAwait);
      continue;
    }
    if (places_->taken < connections_max_ || make_room()) co_return std::move(socket);
  }
  co_return std::nullopt;
}

void Listener::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
}

}  // namespace undertone::net
