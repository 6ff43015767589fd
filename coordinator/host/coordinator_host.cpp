#include "coordinator/host/coordinator_host.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

namespace undertone::coordinator {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr const char* kBuild = "undertone-coordinator 0.1.0";

}  // namespace

CoordinatorHost::CoordinatorHost(asio::io_context& context, const CoordinatorConfig& config, RunStore& store,
                                 RunMachine& machine, Watch watch)
    : context_(&context),
      config_(config),
      store_(&store),
      machine_(&machine),
      watch_(std::move(watch)),
      acceptor_(context),
      timer_(context) {}

Result<std::uint16_t> CoordinatorHost::start() {
  Result<std::unique_ptr<asio::ssl::context>> tls = net::make_tls_context(config_.tls, net::Side::Server);
  if (!tls) return tls.error();
  tls_ = *std::move(tls);
  boost::system::error_code error;
  const asio::ip::address address = asio::ip::make_address(config_.host, error);
  if (error)
    return Error{ErrorCode::InvalidConfig, fmt::format("listen host \"{}\": expected an IP address", config_.host)};
  const tcp::endpoint endpoint(address, config_.port);
  if (!acceptor_.open(endpoint.protocol(), error)) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return Error{ErrorCode::Unreachable,
                 fmt::format("cannot listen on {}:{}: {}", config_.host, config_.port, error.message())};
  const std::uint16_t port = acceptor_.local_endpoint().port();
  net::spawn_essential(context_->get_executor(), accept(), "accept");
  handle(machine_->start(std::chrono::steady_clock::now()));
  return port;
}

asio::awaitable<void> CoordinatorHost::accept() {
  while (acceptor_.is_open()) {
    tcp::socket socket(*context_);
    const auto [error] = co_await acceptor_.async_accept(socket, kAwait);
    if (error) {
      if (!acceptor_.is_open()) co_return;
      spdlog::warn("accept_failed reason=\"{}\"", error.message());
      asio::steady_timer pause(*context_, std::chrono::milliseconds(100));  // out of descriptors: let some close
      (void)co_await pause.async_wait(kAwait);
      continue;
    }
    if (connections_ >= config_.connections_max) continue;  // closes it
    ++connections_;
    auto session = std::make_shared<net::Session>(net::Session::Stream(std::move(socket), *tls_), config_.session);
    net::spawn_logged(context_->get_executor(), serve(std::move(session)), "session");
  }
}

asio::awaitable<Result<SiloId>> CoordinatorHost::greet(SessionPtr session) {
  const Result<net::PeerIdentity> peer = co_await session->handshake(net::Side::Server);
  if (!peer) co_return peer.error();
  const auto refuse = [&session](Error error) {
    session->send(wire::Fault{error.code, error.message});
    session->finish();
    return error;
  };
  if (peer->consortium != config_.consortium || peer->role != "silo") {
    co_return refuse({ErrorCode::Unauthorized,
                      fmt::format("expected a silo of the consortium \"{}\", the certificate is of a {} of \"{}\"",
                                  config_.consortium, peer->role, peer->consortium)});
  }
  const Result<SiloId> silo = SiloId::create(peer->name);
  if (!silo) co_return refuse({ErrorCode::Unauthorized, silo.error().message});
  const Result<wire::Message> first = co_await session->receive();
  if (!first) co_return first.error();
  const auto* hello = std::get_if<wire::Hello>(&*first);
  if (hello == nullptr)
    co_return refuse({ErrorCode::Malformed, fmt::format("expected hello, got {}", wire::name_of(*first))});
  const Result<std::uint32_t> protocol = wire::negotiate(*hello, wire::kProtocolMin, wire::kProtocolMax);
  if (!protocol) co_return refuse(protocol.error());
  const Result<std::vector<queries::Receipt>> receipts = store_->receipts(*silo);
  if (!receipts) co_return refuse({ErrorCode::StorageFailed, "the coordinator's store cannot be read"});
  session->established();
  wire::Welcome welcome{*protocol, kBuild, *receipts};
  session->send(wire::Message(std::move(welcome)));
  co_return *silo;
}

asio::awaitable<void> CoordinatorHost::serve(SessionPtr session) {
  const Result<SiloId> silo = co_await greet(session);
  if (!silo) {
    spdlog::warn("connection_refused code={} reason=\"{}\"", to_string(silo.error().code), silo.error().message);
    --connections_;
    co_return;
  }
  SessionPtr& current = sessions_[*silo];
  if (current) current->close();  // the silo came back before its old connection was seen to be dead
  current = session;
  spdlog::info("silo_connected silo={}", silo->name());
  handle(machine_->on_connected(*silo));
  while (!stopped_) {
    const Result<wire::Message> message = co_await session->receive();
    if (!message) {
      spdlog::info("silo_disconnected silo={} reason=\"{}\"", silo->name(), message.error().message);
      break;
    }
    handle(machine_->on_message(*silo, *message, std::chrono::steady_clock::now()));
  }
  const auto known = sessions_.find(*silo);
  if (known != sessions_.end() && known->second == session) {
    sessions_.erase(known);
    machine_->on_disconnected(*silo);
  }
  --connections_;
}

void CoordinatorHost::handle(Result<std::vector<RunMachine::Action>> actions) {
  if (!actions) {
    failure_ = actions.error();
    stop();
    return;
  }
  for (RunMachine::Action& action : *actions) {
    if (watch_) watch_(action);
    if (auto* send = std::get_if<RunMachine::Send>(&action)) {
      const auto session = sessions_.find(send->silo);
      if (session != sessions_.end()) session->second->send(std::move(send->bytes));
    } else if (const auto* armed = std::get_if<RunMachine::ArmTimer>(&action)) {
      arm(armed->at);
    } else if (auto* ended = std::get_if<RunMachine::Ended>(&action)) {
      outcome_ = std::move(ended->outcome);
    } else if (std::holds_alternative<RunMachine::Goodbye>(action)) {
      stop();
    }
  }
}

void CoordinatorHost::arm(TimePoint at) {
  timer_.expires_at(at);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopped_) handle(machine_->on_timer(std::chrono::steady_clock::now()));
  });
}

void CoordinatorHost::stop() {
  stopped_ = true;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  timer_.cancel();
  for (const auto& [silo, session] : sessions_) session->finish();
}

}  // namespace undertone::coordinator
