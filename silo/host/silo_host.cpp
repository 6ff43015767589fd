#include "silo/host/silo_host.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>
#include <spdlog/spdlog.h>

#include "shared/base/files.hpp"
#include "shared/base/log.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/net/await.hpp"
#include "shared/net/credentials_watch.hpp"
#include "shared/net/dial.hpp"
#include "shared/service/program.hpp"
#include "silo/agent/privacy_statement.hpp"

namespace undertone::silo {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using net::kAwait;

/// Enters the agent on the worker thread.
asio::awaitable<std::vector<Action>> enter(SiloAgent& agent, const wire::Message& message) {
  co_return agent.on_message(message);
}

}  // namespace

SiloHost::SiloHost(asio::io_context& context, const SiloConfig& config, SiloAgent& agent, crypto::NoiseKind noise)
    : context_(&context),
      config_(&config),
      agent_(&agent),
      noise_(noise),
      worker_(1),
      backoff_(config.reconnect_first, config.reconnect_most, std::random_device()()),
      pause_(context),
      housekeeping_(context) {}

SiloHost::~SiloHost() { worker_.join(); }

Status SiloHost::start() {
  Result<net::Credentials> credentials = net::Credentials::load(config_->tls, net::Side::Client, config_->party());
  if (!credentials) return credentials.error();
  credentials_.emplace(*std::move(credentials));
  std::error_code error;
  std::filesystem::create_directories(config_->statements, error);
  if (error)
    return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", config_->statements.string(), error.message())};
  for (const auto& machine : agent_->machines()) {  // a crash may have come between an end and its statement
    for (const auto& [run, account] : machine->ledger().accounts()) {
      if (account.ended && !account.returned && !has_statement(*machine, run, account)) write_statement(run);
      if (!account.ended && machine->concerned_by_places(run, account))
        spdlog::warn("advisory run={} id=UA-2026-1 reason=\"some of its releases were made by an affected version\"",
                     run.hex());
    }
  }
  net::spawn_essential(context_->get_executor(), keep_credentials(), "credentials");
  net::spawn_essential(context_->get_executor(), dial(), "dial");
  dial_shufflers();
  return {};
}

void SiloHost::stop() {
  stopped_ = true;
  pause_.cancel();
  housekeeping_.cancel();
  if (session_) session_->finish();
  for (const auto& [name, link] : links_) link->stop();
}

void SiloHost::dial_shufflers() {
  for (const net::LinkAddress& address : config_->shufflers) {
    const std::string name = address.name;
    net::Link::Handlers handlers;
    handlers.connected = [this, name] {
      reconnected_.insert(name);
      if (!computing_) send_again();
    };
    handlers.message = [this, name](const wire::Message& message) { handle(hand_over_.on_message(name, message)); };
    handlers.lost = [] {};
    net::Link::Setup setup;
    setup.address = address;
    setup.consortium = config_->consortium;
    setup.build = service::kSilo.build();
    setup.reconnect_first = config_->reconnect_first;
    setup.reconnect_most = config_->reconnect_most;
    setup.session = config_->session;
    setup.accepted = wire::kShufflerToSilo;
    const auto placed = links_.emplace(
        name, std::make_unique<net::Link>(*context_, std::move(setup), *credentials_, std::move(handlers)));
    placed.first->second->start();
  }
}

asio::awaitable<void> SiloHost::dial() {
  while (!stopped_) {
    const Status ended = co_await connect_once();
    if (stopped_) break;
    const std::chrono::milliseconds wait = backoff_.next();
    spdlog::warn("coordinator_lost reason={} retry_ms={}", quoted_text(ended ? "closed" : ended.error().message),
                 wait.count());
    pause_.expires_after(wait);
    (void)co_await pause_.async_wait(kAwait);
  }
}

asio::awaitable<Status> SiloHost::connect_once() {
  const net::Destination coordinator{config_->host, config_->port, config_->proxy};
  Result<tcp::socket> socket = co_await net::dial(coordinator, config_->session.handshake);
  if (!socket) co_return socket.error();
  session_ = std::make_shared<net::Session>(net::Session::Stream(*std::move(socket), credentials_->context()),
                                            config_->session);
  const Status ended = co_await converse(session_);
  session_->close();
  session_.reset();
  co_return ended;
}

asio::awaitable<void> SiloHost::keep_credentials() {
  net::CredentialsWatch watch;
  while (!stopped_) {
    watch.look(*credentials_);
    if (session_) net::close_if_outdated(*session_, *credentials_);
    for (const auto& [name, link] : links_) link->look_at_peer();
    housekeeping_.expires_after(net::kCredentialsLook);
    (void)co_await housekeeping_.async_wait(kAwait);
  }
}

asio::awaitable<Status> SiloHost::converse(std::shared_ptr<net::Session> session) {
  const Result<certificates::CertificateFacts> peer = co_await session->handshake(net::Side::Client);
  if (!peer) co_return peer.error();
  if (peer->party.consortium != config_->consortium || peer->party.role != certificates::Role::Coordinator) {
    co_return Error{ErrorCode::Unauthorized, fmt::format("expected the coordinator of {}, the certificate is of the {}",
                                                         config_->consortium, describe(peer->party))};
  }
  session->accept_only(wire::kCoordinatorToSilo);
  const std::uint32_t newest = config_->session.protocol_max;
  const wire::Message hello = wire::Hello{wire::kProtocolMin, newest, service::kSilo.build()};
  session->send(hello);
  bool welcomed = false;
  while (!stopped_) {
    const Result<wire::Message> message = co_await session->receive();
    if (!message) co_return message.error();
    if (const auto* fault = std::get_if<wire::Fault>(&*message))
      co_return Error{fault->code, "the coordinator says: " + fault->sentence};
    if (const auto* welcome = std::get_if<wire::Welcome>(&*message); welcome != nullptr && !welcomed) {
      if (welcome->protocol < wire::kProtocolMin || welcome->protocol > newest) {
        co_return Error{ErrorCode::ProtocolMismatch,
                        fmt::format("the coordinator ({}) chose protocol {}, this silo speaks {} to {}", welcome->build,
                                    welcome->protocol, wire::kProtocolMin, newest)};
      }
      welcomed = true;
      session->established();
      backoff_.reset();
      spdlog::info("coordinator_connected name={} build={} protocol={}", peer->party.name, quoted_text(welcome->build),
                   welcome->protocol);
    } else if (!welcomed) {
      co_return Error{ErrorCode::Malformed, fmt::format("expected welcome, got {}", wire::name_of(*message))};
    }
    const auto asked = std::chrono::steady_clock::now();
    std::vector<Action> actions;
    // Held answers are computed on the worker, whatever they take: a heartbeat that is late would tell of them too.
    const bool holds = config_->policy.release_interval.count() > 0;
    if (!holds && agent_->answers_quickly(*message)) {
      actions = agent_->on_message(*message);
    } else {
      asio::awaitable<std::vector<Action>> work = enter(*agent_, *message);
      computing_ = true;
      actions = co_await asio::co_spawn(worker_, std::move(work), asio::use_awaitable);
      computing_ = false;
      send_again();
    }
    if (holds && std::holds_alternative<wire::QueryMessage>(*message)) co_await hold(asked);
    if (stopped_) break;
    handle(*session, std::move(actions));
  }
  co_return Status();
}

asio::awaitable<void> SiloHost::hold(std::chrono::steady_clock::time_point asked) {
  const auto interval = std::chrono::duration_cast<std::chrono::nanoseconds>(config_->policy.release_interval);
  const auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - asked);
  pause_.expires_at(asked + (spent / interval + 1) * interval);
  (void)co_await pause_.async_wait(kAwait);
}

void SiloHost::handle(net::Session& session, std::vector<Action> actions) {
  for (Action& action : actions) {
    if (auto* send = std::get_if<Send>(&action)) {
      if (send->release && !may_release(*send->release)) continue;
      session.send(std::make_shared<const std::string>(std::move(send->bytes)));
    } else if (const auto* shuffled = std::get_if<SendShuffled>(&action)) {
      if (may_release(shuffled->run)) handle(hand_over_.offer(shuffled->run, shuffled->round, shuffled->reply));
    } else if (const auto* tell = std::get_if<Tell>(&action)) {
      log_event(tell->warning, tell->event);
    } else if (const auto* ended = std::get_if<RunEnded>(&action)) {
      spdlog::info("run_ended run={} succeeded={}", ended->run.hex(), ended->succeeded);
      hand_over_.forget(ended->run);
      write_statement(ended->run);
    } else if (const auto* halt = std::get_if<Halt>(&action)) {
      spdlog::error("halted reason={}", quoted_text(halt->reason.message));
      halted_ = halt->reason;
      stop();
      return;
    }
  }
}

void SiloHost::send_again() {
  for (const std::string& shuffler : std::exchange(reconnected_, {})) handle(hand_over_.on_connected(shuffler));
}

bool SiloHost::may_release(const RunId& run) const {
  // The owner may have paused or withdrawn since it was computed: it is committed, and stays here.
  SiloMachine* machine = agent_->machine_of(run);
  return machine == nullptr || machine->may_release(run);
}

void SiloHost::handle(const std::vector<HandOver::Action>& actions) {
  for (const HandOver::Action& action : actions) {
    if (const auto* reply = std::get_if<HandOver::ToShuffler>(&action)) {
      const auto link = links_.find(reply->shuffler);
      if (link == links_.end()) {
        spdlog::warn("reply_not_handed_over reason=\"the configuration names no shuffler {}\"", reply->shuffler);
      } else if (may_release(reply->run)) {
        link->second->send(reply->bytes);
      }
    } else if (const auto* told = std::get_if<HandOver::ToCoordinator>(&action)) {
      if (session_) session_->send(told->message);
    } else {
      spdlog::warn("{}", std::get<HandOver::Tell>(action).event);
    }
  }
}

bool SiloHost::has_statement(const SiloMachine& machine, const RunId& run, const RunAccount& account) const {
  constexpr std::size_t kStatementBytesMax = std::size_t{1} << 20U;
  const Result<std::string> present = read_file(statement_of(run, ".json"), kStatementBytesMax);
  if (!present) return false;
  if (present->find("\"advisories\"") != present->npos || !machine.concerned_by_places(run, account)) return true;
  // What was stated then stays beside what is known now.
  for (const char* ending : {".txt", ".json"}) {
    std::error_code ignored;
    std::filesystem::rename(statement_of(run, ending), statement_of(run, std::string(ending) + ".superseded"), ignored);
  }
  return false;
}

std::filesystem::path SiloHost::statement_of(const RunId& run, const std::string& ending) const {
  return config_->statements / (run.hex() + ending);
}

void SiloHost::write_statement(const RunId& run) {
  const SiloMachine* machine = agent_->machine_of(run);
  const RunAccount* account = machine == nullptr ? nullptr : machine->ledger().account(run);
  if (account == nullptr || account->returned) return;  // nothing left, nothing is charged
  const bool concerned = machine->concerned_by_places(run, *account);
  const Result<SiloMachine::Accepted> recorded = machine->recorded(run);
  if (!recorded) {
    spdlog::error("statement_not_written run={} reason={}", run.hex(), quoted_text(recorded.error().message));
    if (!concerned) return;
  }
  // Of a run that an advisory concerns it is not known at which interval it was answered: none is claimed.
  const std::chrono::milliseconds interval =
      concerned ? std::chrono::milliseconds(0) : config_->policy.release_interval;
  const PrivacyStatement statement =
      recorded
          ? make_statement(config_->id, machine->dataset_name(), run, recorded->job, recorded->plan,
                           recorded->job.member(config_->id)->facts, *account, interval, noise_)
          : make_unplanned_statement(config_->id, machine->dataset_name(), run, *account, recorded.error().message);
  for (const auto& [ending, content] : {std::pair(".txt", &statement.text), std::pair(".json", &statement.json)}) {
    const Status written = write_file_atomically(statement_of(run, ending), *content);
    if (!written)
      spdlog::error("statement_not_written run={} reason={}", run.hex(), quoted_text(written.error().message));
  }
}

}  // namespace undertone::silo
