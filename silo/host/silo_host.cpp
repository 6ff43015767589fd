#include "silo/host/silo_host.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

#include "shared/base/contained.hpp"
#include "shared/base/files.hpp"
#include "shared/base/log.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/net/await.hpp"
#include "shared/net/credentials_watch.hpp"
#include "shared/service/clock.hpp"
#include "shared/service/program.hpp"
#include "silo/agent/privacy_statement.hpp"
#include "silo/owner/agent_standing.hpp"

namespace undertone::silo {
namespace {

namespace asio = boost::asio;
using net::kAwait;

}  // namespace

SiloHost::SiloHost(asio::io_context& context, const SiloConfig& config, SiloAgent& agent, crypto::NoiseKind noise)
    : context_(&context),
      config_(&config),
      agent_(&agent),
      noise_(noise),
      worker_(1),
      interval_(context),
      housekeeping_(context),
      gate_(config.policy.release_interval),
      status_(context, net::StatusSocket::beside(config.desk), [this] { return standing(); }) {}

SiloHost::~SiloHost() { worker_.join(); }

Status SiloHost::start() {
  UNDERTONE_TRY(net::Credentials credentials,
                net::Credentials::load(config_->tls, net::Side::Client, config_->party()));
  credentials_.emplace(std::move(credentials));
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
  if (const Status opened = status_.open(); !opened)
    spdlog::warn("no_status reason={}", quoted_text(opened.error().message));
  dial_coordinator();
  dial_shufflers();
  net::spawn_essential(context_->get_executor(), keep_credentials(), "credentials");
  return {};
}

void SiloHost::stop() {
  stopped_ = true;
  status_.close();
  interval_.cancel();
  housekeeping_.cancel();
  if (coordinator_) coordinator_->stop();
  for (const auto& [name, link] : shufflers_) link->stop();
}

net::Link::Setup SiloHost::link_to(certificates::Role role) const {
  net::Link::Setup setup;
  setup.consortium = config_->consortium;
  setup.role = role;
  setup.build = service::kSilo.build();
  setup.reconnect_first = config_->reconnect_first;
  setup.reconnect_most = config_->reconnect_most;
  setup.session = config_->session;
  return setup;
}

void SiloHost::dial_coordinator() {
  net::Link::Setup setup = link_to(certificates::Role::Coordinator);
  setup.service = {config_->host, config_->port, config_->proxy};
  setup.protocol_min = wire::kProtocolMin;
  setup.accepted = wire::kCoordinatorToSilo;
  net::Link::Handlers handlers;
  handlers.message = [this](wire::Message message) { return on_coordinator(std::move(message)); };
  handlers.lost = [] {};
  coordinator_.emplace(*context_, std::move(setup), *credentials_, std::move(handlers));
  coordinator_->start();
}

void SiloHost::dial_shufflers() {
  for (const net::LinkAddress& address : config_->shufflers) {
    const std::string name = address.name;
    net::Link::Setup setup = link_to(certificates::Role::Shuffler);
    setup.name = name;
    setup.service = {address.host, address.port, std::nullopt};
    setup.accepted = wire::kShufflerToSilo;
    net::Link::Handlers handlers;
    handlers.message = [this, name](wire::Message message) -> asio::awaitable<void> {
      if (std::holds_alternative<wire::Welcome>(message)) {
        if (gate_.serve_now(name)) send_again({name});
      } else {
        handle(hand_over_.on_message(name, message));
      }
      co_return;
    };
    handlers.lost = [] {};
    const auto placed = shufflers_.emplace(
        name, std::make_unique<net::Link>(*context_, std::move(setup), *credentials_, std::move(handlers)));
    placed.first->second->start();
  }
}

asio::awaitable<void> SiloHost::keep_credentials() {
  net::CredentialsWatch watch;
  while (!stopped_) {
    watch.look(*credentials_);
    coordinator_->look_at_peer();
    for (const auto& [name, link] : shufflers_) link->look_at_peer();
    if (!gate_.closed()) {
      agent_->make_whole();
      unable_ = agent_->unable();
    }
    housekeeping_.expires_after(net::kCredentialsLook);
    (void)co_await housekeeping_.async_wait(kAwait);
  }
}

asio::awaitable<void> SiloHost::on_coordinator(wire::Message message) {
  const auto asked = std::chrono::steady_clock::now();
  // Held answers are computed on the worker, whatever they take: a heartbeat that is late would tell of them too.
  if (!gate_.holds() && agent_->answers_quickly(message)) {
    handle(enter(message));
    unable_ = agent_->unable();
    co_return;
  }
  gate_.close();
  busy_since_ = service::wall_clock();
  asio::awaitable<Worked> work = enter_on_worker(message);
  Worked worked = co_await asio::co_spawn(worker_, std::move(work), asio::use_awaitable);
  if (const auto* query = std::get_if<wire::QueryMessage>(&message); query != nullptr && gate_.holds()) {
    asio::awaitable<void> held = hold(*query, asked);
    co_await std::move(held);
  }
  const std::set<std::string> put_off = gate_.open();
  busy_since_.reset();
  unable_ = agent_->unable();
  if (stopped_) co_return;
  if (worked.broken) std::rethrow_exception(worked.broken);  // the process ends
  handle(std::move(worked.actions));
  send_again(put_off);
}

std::string SiloHost::standing() const {
  return AgentStanding{coordinator_->connected(), coordinator_->connected() ? "" : coordinator_->why_not(), busy_since_,
                       unable_}
      .text();
}

std::vector<Action> SiloHost::enter(const wire::Message& message) {
  std::vector<Action> actions = agent_->on_message(message);
  for (const Action& action : actions) {
    if (const auto* ended = std::get_if<RunEnded>(&action)) write_statement(ended->run);
  }
  return actions;
}

asio::awaitable<SiloHost::Worked> SiloHost::enter_on_worker(const wire::Message& message) {
  Worked worked;
  const Containment containment;
  try {
    worked.actions = enter(message);
  } catch (...) {  // dying here would tell when the computation was done
    worked.broken = std::current_exception();
  }
  co_return worked;
}

asio::awaitable<void> SiloHost::hold(const wire::QueryMessage& query, std::chrono::steady_clock::time_point asked) {
  const std::uint64_t before = gate_.overruns();
  const auto leaves = gate_.leaves_at(asked, std::chrono::steady_clock::now());
  interval_.expires_at(leaves);
  (void)co_await interval_.async_wait(kAwait);
  if (gate_.overruns() == before) co_return;
  const auto intervals = (leaves - asked) / config_->policy.release_interval;
  spdlog::warn("answer_overran run={} round={} intervals={} overruns={} release_interval_ms={}", query.run.hex(),
               query.query.round.value, intervals, gate_.overruns(), config_->policy.release_interval.count());
}

void SiloHost::handle(std::vector<Action> actions) {
  for (Action& action : actions) {
    if (auto* send = std::get_if<Send>(&action)) {
      if (send->release && !may_release(*send->release)) continue;
      coordinator_->send(std::make_shared<const std::string>(std::move(send->bytes)));
    } else if (const auto* shuffled = std::get_if<SendShuffled>(&action)) {
      if (may_release(shuffled->run)) handle(hand_over_.offer(shuffled->run, shuffled->round, shuffled->reply));
    } else if (const auto* tell = std::get_if<Tell>(&action)) {
      log_event(tell->warning, tell->event);
    } else if (const auto* ended = std::get_if<RunEnded>(&action)) {
      spdlog::info("run_ended run={} succeeded={}", ended->run.hex(), ended->succeeded);
      hand_over_.forget(ended->run);
    } else if (const auto* halt = std::get_if<Halt>(&action)) {
      spdlog::error("halted reason={}", quoted_text(halt->reason.message));
      halted_ = halt->reason;
      stop();
      return;
    }
  }
}

void SiloHost::send_again(const std::set<std::string>& shufflers) {
  for (const std::string& shuffler : shufflers) handle(hand_over_.on_connected(shuffler));
}

bool SiloHost::may_release(const RunId& run) const {
  // The owner may have paused or withdrawn since it was computed: it is committed, and stays here.
  SiloMachine* machine = agent_->machine_of(run);
  return machine == nullptr || machine->may_release(run);
}

void SiloHost::handle(const std::vector<HandOver::Action>& actions) {
  for (const HandOver::Action& action : actions) {
    if (const auto* reply = std::get_if<HandOver::ToShuffler>(&action)) {
      const auto link = shufflers_.find(reply->shuffler);
      if (link == shufflers_.end()) {
        spdlog::warn("reply_not_handed_over reason=\"the configuration names no shuffler {}\"", reply->shuffler);
      } else if (may_release(reply->run)) {
        link->second->send(reply->bytes);
      }
    } else if (const auto* told = std::get_if<HandOver::ToCoordinator>(&action)) {
      coordinator_->send(told->message);
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

StatedDataset SiloHost::stated(const std::string& dataset) const {
  const auto known = std::find_if(config_->datasets.begin(), config_->datasets.end(),
                                  [&](const DatasetConfig& one) { return one.name == dataset; });
  if (known == config_->datasets.end()) return {};
  return {known->person && known->person->without_id_alone, known->snapshots.has_value(), known->permit};
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
  const Result<PrivacyStatement> composed = contained("composing the statement", [&]() -> Result<PrivacyStatement> {
    if (!recorded)
      return make_unplanned_statement(config_->id, machine->dataset_name(), run, *account, recorded.error().message);
    return make_statement(config_->id, machine->dataset_name(), run, recorded->job, recorded->plan,
                          recorded->job.member(config_->id)->facts, *account, interval, noise_,
                          stated(machine->dataset_name()));
  });
  if (!composed) {  // a start composes it again: it goes on without, and says so
    spdlog::error("statement_not_written run={} reason={}", run.hex(), quoted_text(composed.error().message));
    return;
  }
  const PrivacyStatement& statement = *composed;
  for (const auto& [ending, content] : {std::pair(".txt", &statement.text), std::pair(".json", &statement.json)}) {
    const Status written = write_file_atomically(statement_of(run, ending), *content);
    if (!written)
      spdlog::error("statement_not_written run={} reason={}", run.hex(), quoted_text(written.error().message));
  }
}

}  // namespace undertone::silo
