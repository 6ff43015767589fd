#include "silo/host/silo_host.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>
#include <spdlog/spdlog.h>

#include "shared/base/files.hpp"
#include "shared/base/log.hpp"
#include "silo/agent/privacy_statement.hpp"

namespace undertone::silo {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr const char* kBuild = "undertone-silo 0.1.0";

/// Enters the machine on the worker thread.
asio::awaitable<std::vector<Action>> enter(SiloMachine& machine, const wire::Message& message) {
  co_return machine.on_message(message);
}

}  // namespace

SiloHost::SiloHost(asio::io_context& context, const SiloConfig& config, Ledger& ledger, SiloMachine& machine,
                   privacy::NoiseKind noise)
    : context_(&context),
      config_(&config),
      ledger_(&ledger),
      machine_(&machine),
      noise_(noise),
      worker_(1),
      backoff_(config.reconnect_first, config.reconnect_most, std::random_device()()),
      pause_(context) {}

SiloHost::~SiloHost() { worker_.join(); }

Status SiloHost::start() {
  Result<std::unique_ptr<asio::ssl::context>> tls = net::make_tls_context(config_->tls, net::Side::Client);
  if (!tls) return tls.error();
  tls_ = *std::move(tls);
  std::error_code error;
  std::filesystem::create_directories(config_->statements, error);
  if (error)
    return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", config_->statements.string(), error.message())};
  for (const auto& [run, account] : ledger_->accounts()) {  // a crash may have come between the end and its statement
    if (account.ended && !account.returned && !std::filesystem::exists(config_->statements / (run.hex() + ".json")))
      write_statement(run);
  }
  net::spawn_essential(context_->get_executor(), dial(), "dial");
  return {};
}

void SiloHost::stop() {
  stopped_ = true;
  pause_.cancel();
  if (session_) session_->finish();
}

asio::awaitable<void> SiloHost::dial() {
  while (!stopped_) {
    const Status ended = co_await connect_once();
    if (stopped_) break;
    const std::chrono::milliseconds wait = backoff_.next();
    spdlog::warn("coordinator_lost reason=\"{}\" retry_ms={}", ended ? "closed" : ended.error().message, wait.count());
    pause_.expires_after(wait);
    (void)co_await pause_.async_wait(kAwait);
  }
}

asio::awaitable<Status> SiloHost::connect_once() {
  tcp::resolver resolver(*context_);
  const auto [unresolved, endpoints] =
      co_await resolver.async_resolve(config_->host, std::to_string(config_->port), kAwait);
  if (unresolved) co_return Error{ErrorCode::Unreachable, fmt::format("{}: {}", config_->host, unresolved.message())};
  tcp::socket socket(*context_);
  asio::steady_timer deadline(*context_, config_->session.handshake);
  deadline.async_wait([&socket](const boost::system::error_code& error) {
    if (!error) socket.close();
  });
  const auto [refused, endpoint] = co_await asio::async_connect(socket, endpoints, kAwait);
  deadline.cancel();
  if (refused)
    co_return Error{ErrorCode::Unreachable, fmt::format("{}:{}: {}", config_->host, config_->port, refused.message())};
  session_ = std::make_shared<net::Session>(net::Session::Stream(std::move(socket), *tls_), config_->session);
  const Status ended = co_await converse(session_);
  session_->close();
  session_.reset();
  co_return ended;
}

asio::awaitable<Status> SiloHost::converse(std::shared_ptr<net::Session> session) {
  const Result<net::PeerIdentity> peer = co_await session->handshake(net::Side::Client);
  if (!peer) co_return peer.error();
  if (peer->consortium != config_->consortium || peer->role != "coordinator") {
    co_return Error{ErrorCode::Unauthorized,
                    fmt::format("expected the coordinator of \"{}\", the certificate is of a {} of \"{}\"",
                                config_->consortium, peer->role, peer->consortium)};
  }
  const wire::Message hello = wire::Hello{wire::kProtocolMin, wire::kProtocolMax, kBuild};
  session->send(hello);
  bool welcomed = false;
  while (!stopped_) {
    const Result<wire::Message> message = co_await session->receive();
    if (!message) co_return message.error();
    if (const auto* fault = std::get_if<wire::Fault>(&*message))
      co_return Error{fault->code, "the coordinator says: " + fault->sentence};
    if (const auto* welcome = std::get_if<wire::Welcome>(&*message); welcome != nullptr && !welcomed) {
      if (welcome->protocol < wire::kProtocolMin || welcome->protocol > wire::kProtocolMax) {
        co_return Error{ErrorCode::ProtocolMismatch,
                        fmt::format("the coordinator ({}) chose protocol {}, this silo speaks {} to {}", welcome->build,
                                    welcome->protocol, wire::kProtocolMin, wire::kProtocolMax)};
      }
      welcomed = true;
      session->established();
      backoff_.reset();
      spdlog::info("coordinator_connected name={} build=\"{}\" protocol={}", peer->name, welcome->build,
                   welcome->protocol);
    } else if (!welcomed) {
      co_return Error{ErrorCode::Malformed, fmt::format("expected welcome, got {}", wire::name_of(*message))};
    }
    asio::awaitable<std::vector<Action>> work = enter(*machine_, *message);
    std::vector<Action> actions = co_await asio::co_spawn(worker_, std::move(work), asio::use_awaitable);
    handle(*session, std::move(actions));
  }
  co_return Status();
}

void SiloHost::handle(net::Session& session, std::vector<Action> actions) {
  for (Action& action : actions) {
    if (auto* send = std::get_if<Send>(&action)) {
      session.send(std::make_shared<const std::string>(std::move(send->bytes)));
    } else if (const auto* tell = std::get_if<Tell>(&action)) {
      log_event(tell->warning, tell->event);
    } else if (const auto* ended = std::get_if<RunEnded>(&action)) {
      spdlog::info("run_ended run={} succeeded={}", ended->run.hex(), ended->succeeded);
      write_statement(ended->run);
    } else if (const auto* halt = std::get_if<Halt>(&action)) {
      spdlog::error("halted reason=\"{}\"", halt->reason.message);
      halted_ = halt->reason;
      stop();
      return;
    }
  }
}

void SiloHost::write_statement(const RunId& run) {
  const RunAccount* account = ledger_->account(run);
  if (account == nullptr || account->returned) return;  // nothing left, nothing is charged
  const Result<SiloMachine::Accepted> recorded = machine_->recorded(run);
  if (!recorded) {
    spdlog::error("statement_not_written run={} reason=\"{}\"", run.hex(), recorded.error().message);
    return;
  }
  const PrivacyStatement statement =
      make_statement(config_->id, config_->dataset_name, run, recorded->job, recorded->plan,
                     recorded->job.member(config_->id)->facts, *account, noise_);
  const std::filesystem::path base = config_->statements / run.hex();
  for (const auto& [ending, content] : {std::pair(".txt", &statement.text), std::pair(".json", &statement.json)}) {
    const Status written = write_file_atomically(base.string() + ending, *content);
    if (!written) spdlog::error("statement_not_written run={} reason=\"{}\"", run.hex(), written.error().message);
  }
}

}  // namespace undertone::silo
