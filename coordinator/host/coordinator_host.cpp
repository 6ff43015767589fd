#include "coordinator/host/coordinator_host.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <spdlog/spdlog.h>

#include "coordinator/jobs/result.hpp"
#include "shared/base/contained.hpp"
#include "shared/base/log.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/crypto/secure_bits.hpp"
#include "shared/jobs/public_records.hpp"
#include "shared/net/await.hpp"
#include "shared/net/credentials_watch.hpp"
#include "shared/service/clock.hpp"
#include "shared/service/program.hpp"

namespace undertone::coordinator {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using net::kAwait;
constexpr std::size_t kResultsChecked = 200;
constexpr std::chrono::seconds kFlush{1};
constexpr std::chrono::seconds kPlanningAwaited{5};  // before an operator is told a place in the queue
constexpr const char* kSubmitted = "job";            // in place of a file's name

const char* by_page(const http::Request& request) { return request.by_page ? " by=page" : ""; }

std::set<std::string> names_of(const std::vector<net::LinkAddress>& links) {
  std::set<std::string> out;
  for (const net::LinkAddress& link : links) out.insert(link.name);
  return out;
}

}  // namespace

Nonce draw_nonce() {
  Nonce nonce{};
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  for (std::uint8_t& byte : nonce) byte = static_cast<std::uint8_t>(bits.word());
  return nonce;
}

CoordinatorHost::CoordinatorHost(asio::io_context& context, const CoordinatorConfig& config, RunStore& store,
                                 Watch watch, jobs::AlgorithmMaker make_algorithm)
    : context_(&context),
      config_(config),
      store_(&store),
      watch_(std::move(watch)),
      writer_(context),
      marks_(config.store.string() + ".at-work"),
      advances_(context, config.limits.runs_at_once,
                [this](Advanced advanced) {
                  marks_.end(advanced.run);
                  if (!stopped_) handle(service_.on_advanced(std::move(advanced), std::chrono::steady_clock::now()));
                }),
      service_(store, config.session.wire, config.limits, service::wall_clock, names_of(config.shufflers),
               jobs::plan_of, make_algorithm ? std::move(make_algorithm) : jobs::algorithms_with(config.public_folder)),
      api_(service_, config.results, metrics_, hooks()),
      planning_(
          context,
          [this](const PlannedJob& planned, bool again, const std::string& who) -> Result<ApiHooks::Submitted> {
            UNDERTONE_TRY(const JobService::Submitted submitted, submit(planned, kSubmitted, draw_nonce(), again));
            if (submitted.created)
              log_event(false, fmt::format("job_queued run={} sha256={} operator={}", submitted.run.hex(),
                                           to_hex(submitted.run.job), quoted_text(who)));
            return ApiHooks::Submitted{submitted.run, submitted.created};
          },
          config.public_folder),
      aside_(context),
      gate_(std::make_shared<net::AssemblyGate>(context.get_executor())),
      listener_(context, config.connections_max),
      timer_(context),
      housekeeping_(context),
      flushing_(context),
      started_at_(service::wall_clock()) {}

CoordinatorHost::~CoordinatorHost() { stopped_ = true; }

Status CoordinatorHost::load_credentials() {
  certificates::Party self{config_.consortium, certificates::Role::Coordinator, config_.name};
  if (self.name.empty()) {
    UNDERTONE_TRY(const certificates::CertificateFacts own, certificates::load_certificate(config_.tls.certificate));
    self.name = own.party.name;
  }
  UNDERTONE_TRY(net::Credentials credentials, net::Credentials::load(config_.tls, net::Side::Server, self));
  credentials_.emplace(std::move(credentials));
  if (!config_.shufflers.empty()) {
    UNDERTONE_TRY(net::Credentials dialling, net::Credentials::load(config_.tls, net::Side::Client, self));
    dialling_.emplace(std::move(dialling));
  }
  if (!config_.http || !config_.http->tls) return {};
  UNDERTONE_TRY(net::Credentials http, net::Credentials::load(config_.tls, net::Side::OpenServer, self));
  http_credentials_.emplace(std::move(http));
  return {};
}

Result<CoordinatorHost::Ports> CoordinatorHost::start() {
  UNDERTONE_TRY(load_credentials());
  UNDERTONE_TRY(const std::uint16_t bound, listener_.listen(config_.host, config_.port));
  Ports ports{bound, 0};
  if (config_.http) {
    http_.emplace(*context_, *config_.http, config_.consortium,
                  [this](http::Request request) { return answer(std::move(request)); });
    UNDERTONE_TRY(const std::uint16_t http, http_->start(http_credentials_ ? &*http_credentials_ : nullptr));
    ports.http = http;
  }
  handle(service_.start(std::chrono::steady_clock::now(), marks_.set_aside()));
  if (failure_) return *failure_;
  write_missing_results();
  dial_shufflers();
  net::spawn_essential(context_->get_executor(), accept(), "accept");
  net::spawn_essential(context_->get_executor(), keep_house(), "housekeeping");
  net::spawn_essential(context_->get_executor(), write_what_silos_said(), "flushing");
  return ports;
}

void CoordinatorHost::dial_shufflers() {
  for (const net::LinkAddress& address : config_.shufflers) {
    const std::string name = address.name;
    net::Link::Handlers handlers;
    handlers.message = [this, name](wire::Message message) -> boost::asio::awaitable<void> {
      const auto now = std::chrono::steady_clock::now();
      if (std::holds_alternative<wire::Welcome>(message)) {
        handle(service_.on_shuffler_connected(name, now));
      } else {
        handle(service_.on_shuffler_message(name, std::move(message), now));
      }
      co_return;
    };
    handlers.lost = [this, name] { service_.on_shuffler_lost(name); };
    net::Link::Setup setup;
    setup.consortium = config_.consortium;
    setup.name = name;
    setup.service = {address.host, address.port, std::nullopt};
    setup.build = service::kCoordinator.build();
    setup.session = config_.session;
    setup.accepted = wire::kShufflerToCoordinator;
    const auto placed =
        links_.emplace(name, std::make_unique<net::Link>(*context_, std::move(setup), *dialling_, std::move(handlers)));
    placed.first->second->start();
  }
}

Result<JobService::Submitted> CoordinatorHost::submit(const std::string& job, const std::string& file,
                                                      const Nonce& nonce, bool again) {
  UNDERTONE_TRY(const PlannedJob planned, PlannedJob::plan(job, file, jobs::plan_of, config_.public_folder));
  return submit(planned, file, nonce, again);
}

Result<JobService::Submitted> CoordinatorHost::submit(const PlannedJob& planned, const std::string& file,
                                                      const Nonce& nonce, bool again) {
  Result<JobService::Submitted> submitted = service_.submit(planned, nonce, again, std::chrono::steady_clock::now());
  if (!submitted) return submitted;
  if (submitted->created) spdlog::info("job_submitted run={} file={}", submitted->run.hex(), quoted_text(file));
  handle(std::exchange(submitted->actions, {}));
  return submitted;
}

asio::awaitable<http::Reply> CoordinatorHost::answer(http::Request request) {
  if (std::optional<Api::PlanningAsked> asked = api_.planning_of(request)) {
    asio::awaitable<http::Reply> planning = answer_planning(std::move(request), *std::move(asked));
    co_return co_await std::move(planning);
  }
  http::Reply reply = api_.handle(request);
  if (reply.work) {
    asio::awaitable<http::Reply> rest = aside_.answer(request.who, std::exchange(reply.work, nullptr));
    reply = api_.counted(co_await std::move(rest));
  }
  if (!reply.event.empty())
    log_event(false, fmt::format("{} operator={}{}", reply.event, quoted_text(request.who), by_page(request)));
  co_return reply;
}

asio::awaitable<http::Reply> CoordinatorHost::answer_planning(http::Request request, Api::PlanningAsked asked) {
  std::string id = asked.id;
  if (asked.what == Api::PlanningAsked::What::Enter) {
    const Result<std::string> entered = planning_.enter(request.body, asked.purpose, request.who, asked.page);
    if (!entered) co_return api_.counted(Api::refusal(entered.error()));
    id = *entered;
  }
  if (!planning_.knows(id)) co_return api_.counted(http::error_reply(404, "not_found", "no such planning"));
  if (asked.what == Api::PlanningAsked::What::Cancel) {
    const bool given_up = planning_.cancel(id, request.who);
    if (given_up)
      log_event(false,
                fmt::format("planning_cancelled id={} operator={}{}", id, quoted_text(request.who), by_page(request)));
    co_return api_.counted(given_up ? Api::planning_cancelled(id)
                                    : http::error_reply(409, "has_ended", "the job is planned, or another operator's"));
  }
  const std::string text = planning_.text(id);  // what is planned may be forgotten meanwhile
  asio::awaitable<std::optional<PlanningDesk::Outcome>> outcome = planning_.outcome(id, kPlanningAwaited);
  const std::optional<PlanningDesk::Outcome> made = co_await std::move(outcome);
  if (!made) co_return api_.counted(Api::still_planning(id, planning_.before(id)));
  if (!*made) co_return api_.counted(Api::refusal(made->error()));
  if (const auto* plan = std::get_if<std::string>(&**made)) co_return api_.counted(Api::shown_plan(*plan));
  co_return api_.counted(api_.submitted(text, std::get<ApiHooks::Submitted>(**made)));
}

ApiHooks CoordinatorHost::hooks() {
  ApiHooks out;
  out.cancel = [this](const RunId& run, const std::string& who) -> Status {
    UNDERTONE_TRY(JobService::Actions actions,
                  service_.cancel(run, fmt::format("cancelled by {}", who), std::chrono::steady_clock::now()));
    handle(std::move(actions));
    return {};
  };
  out.make_sealing_key = [this] { return make_sealing_key(*store_); };
  out.being_written = [this](const RunId& run) { return is_being_written(run); };
  out.sessions = [this] {
    std::vector<SiloSession> sessions;
    for (const auto& [silo, peer] : peers_) sessions.push_back(peer.facts);
    return sessions;
  };
  out.gauges = [this] { return gauges(); };
  out.why_away = [this](const SiloId& silo) {
    const auto known = why_away_.find(silo);
    return known == why_away_.end() || peers_.contains(silo) ? std::string() : known->second;
  };
  out.changes = &changes_;
  out.shufflers = [this] {
    std::map<std::string, bool> shufflers;
    for (const auto& [name, link] : links_) shufflers[name] = service_.is_connected(name);
    return shufflers;
  };
  out.now = [] { return std::chrono::steady_clock::now(); };
  out.ready = [this] { return !stopped_ && !failure_ && listener_.is_open(); };
  return out;
}

Metrics::Gauges CoordinatorHost::gauges() const {
  Metrics::Gauges out;
  if (auto runs = store_->count_by_state()) out.runs = *std::move(runs);
  if (auto charges = store_->charges()) out.charges = *std::move(charges);
  if (const auto size = store_->size()) out.store_bytes = *size;
  for (const auto& [silo, charge] : out.charges) out.silos[silo] = false;
  for (const auto& [silo, peer] : peers_) {
    out.silos[silo] = true;
    out.open_bytes_received += peer.session->bytes_received();
    out.open_bytes_sent += peer.session->bytes_sent();
  }
  out.certificate_expires_at = credentials_->own().not_after;
  out.started_at = started_at_;
  return out;
}

asio::awaitable<void> CoordinatorHost::accept() {
  while (std::optional<tcp::socket> socket = co_await listener_.accept()) {
    auto session = std::make_shared<net::Session>(net::Session::Stream(*std::move(socket), credentials_->context()),
                                                  config_.session, gate_);
    net::spawn_logged(context_->get_executor(), serve(std::move(session)), "session");
  }
}

asio::awaitable<Result<CoordinatorHost::Greeted>> CoordinatorHost::greet(SessionPtr session) {
  const Result<certificates::CertificateFacts> peer = co_await session->handshake(net::Side::Server);
  if (!peer) co_return peer.error();
  const auto refuse = [&session](Error error) {
    session->send(wire::Fault{error.code, error.message});
    session->finish();
    return error;
  };
  if (peer->party.consortium != config_.consortium || peer->party.role != certificates::Role::Silo) {
    co_return refuse({ErrorCode::Unauthorized, fmt::format("expected a silo of {}, the certificate is of the {}",
                                                           config_.consortium, describe(peer->party))});
  }
  session->accept_only(wire::kSiloToCoordinator);
  const Result<SiloId> silo = SiloId::create(peer->party.name);
  if (!silo) co_return refuse({ErrorCode::Unauthorized, silo.error().message});
  const Result<wire::Message> first = co_await session->receive();
  if (!first) co_return first.error();
  const auto* hello = std::get_if<wire::Hello>(&*first);
  if (hello == nullptr)
    co_return refuse({ErrorCode::Malformed, fmt::format("expected hello, got {}", wire::name_of(*first))});
  const Result<std::uint32_t> protocol = wire::negotiate(*hello, wire::kProtocolMin, config_.session.protocol_max);
  if (!protocol) co_return refuse(protocol.error());
  const Result<std::vector<wire::Receipt>> receipts = store_->receipts(*silo);
  if (!receipts) co_return refuse({ErrorCode::StorageFailed, "the coordinator's store cannot be read"});
  session->established();
  wire::Welcome welcome{*protocol, service::kCoordinator.build(), *receipts};
  session->send(wire::Message(std::move(welcome)));
  co_return Greeted{*silo, hello->build, *protocol, peer->not_after};
}

bool CoordinatorHost::expects(const SiloId& silo, const wire::VectorHeader& header) {
  const std::optional<Round::Reception> reception = service_.refuses(silo, header);
  if (!reception) return true;
  metrics_.reply(*reception);
  log_within(refused_vectors_,
             fmt::format("vector_refused silo={} run={} round={} dimension={} reception={}", silo.name(),
                         header.run.hex(), header.round.value, header.dimension, to_string(*reception)));
  return false;
}

asio::awaitable<void> CoordinatorHost::serve(SessionPtr session) {
  net::Listener::Slot slot(listener_, [session] { session->close(); });
  const Result<Greeted> greeted = co_await greet(session);
  if (!greeted) {
    log_within(refusals_, fmt::format("connection_refused code={} reason={}", to_string(greeted.error().code),
                                      quoted_text(greeted.error().message)));
    metrics_.connection_refused(std::string(to_string(greeted.error().code)));
    co_return;
  }
  slot.introduced();
  const SiloId silo = greeted->silo;
  session->expect_large([this, silo](const wire::VectorHeader& header) { return expects(silo, header); });
  const auto before = peers_.find(silo);
  if (before != peers_.end()) before->second.session->close();  // the silo came back before its old connection was dead
  peers_.insert_or_assign(
      silo, Peer{session, {silo, greeted->build, greeted->protocol, service::wall_clock(), greeted->certificate_ends}});
  spdlog::info("silo_connected silo={} build={} protocol={}", silo.name(), quoted_text(greeted->build),
               greeted->protocol);
  handle(service_.on_connected(silo, std::chrono::steady_clock::now()));
  while (!stopped_) {
    const Result<wire::Message> message = co_await session->receive();
    if (!message) {
      spdlog::info("silo_disconnected silo={} reason={}", silo.name(), quoted_text(message.error().message));
      why_away_.insert_or_assign(silo, message.error().message);
      break;
    }
    if (std::holds_alternative<wire::ReplyMessage>(*message)) {
      if (const auto peer = peers_.find(silo); peer != peers_.end())
        peer->second.facts.last_answer = service::wall_clock();
    }
    handle(service_.on_message(silo, *message, std::chrono::steady_clock::now()));
  }
  metrics_.bytes(session->bytes_received(), session->bytes_sent());
  const auto known = peers_.find(silo);
  if (known != peers_.end() && known->second.session == session) {
    peers_.erase(known);
    handle(service_.on_disconnected(silo, std::chrono::steady_clock::now()));
  }
}

asio::awaitable<void> CoordinatorHost::keep_house() {
  net::CredentialsWatch watch;
  net::CredentialsWatch http_watch;
  net::CredentialsWatch dialling_watch;
  while (!stopped_) {
    watch.look(*credentials_);
    if (http_credentials_) http_watch.look(*http_credentials_);
    if (dialling_) dialling_watch.look(*dialling_);
    for (const auto& [silo, peer] : peers_) net::close_if_outdated(*peer.session, *credentials_);
    for (const auto& [name, link] : links_) link->look_at_peer();
    housekeeping_.expires_after(net::kCredentialsLook);
    (void)co_await housekeeping_.async_wait(kAwait);
  }
}

asio::awaitable<void> CoordinatorHost::write_what_silos_said() {
  while (!stopped_) {
    if (const Status flushed = store_->flush(); !flushed) handle(Result<JobService::Actions>(flushed.error()));
    flushing_.expires_after(kFlush);
    (void)co_await flushing_.async_wait(kAwait);
  }
}

void CoordinatorHost::handle(Result<JobService::Actions> actions) {
  if (!actions) {
    spdlog::error("service_stopped reason={}", quoted_text(actions.error().message));
    failure_ = actions.error();
    stop();
    return;
  }
  changes_.notify();
  for (JobService::Action& action : *actions) {
    if (auto* send = std::get_if<RunMachine::Send>(&action)) {
      const auto peer = peers_.find(send->silo);
      if (peer != peers_.end() && !peer->second.session->waits_last(send->bytes))
        peer->second.session->send(std::move(send->bytes));
    } else if (auto* shuffled = std::get_if<RunMachine::SendToShuffler>(&action)) {
      const auto link = links_.find(shuffled->shuffler);
      if (link != links_.end()) link->second->send(std::move(shuffled->bytes));
    } else if (const auto* armed = std::get_if<RunMachine::ArmTimer>(&action)) {
      arm(armed->at);
    } else if (auto* advance = std::get_if<Advance>(&action)) {
      marks_.begin(advance->run(), advance->round());
      advances_.perform(std::move(*advance));
    } else if (const auto* forgotten = std::get_if<JobService::Forgotten>(&action)) {
      writer_.remove(results_of(forgotten->run));
      spdlog::info("run_forgotten run={}", forgotten->run.hex());
    } else {
      handle(std::get<JobService::OfRun>(action));
    }
  }
}

void CoordinatorHost::handle(const JobService::OfRun& said) {
  if (const auto* tell = std::get_if<RunMachine::LogEvent>(&said.what)) {
    log_event(tell->warning, tell->event);
  } else if (const auto* closed = std::get_if<RunMachine::RoundClosed>(&said.what)) {
    metrics_.round_closed(closed->elapsed, closed->missing.size());
    const bool worth =
        round_log_.is_worth_a_line(said.run, closed->round, closed->rounds, std::chrono::steady_clock::now());
    spdlog::log(worth ? spdlog::level::info : spdlog::level::debug,
                "round_closed run={} round={} rounds={} replies={} missing={} elapsed_ms={}", said.run.hex(),
                closed->round.value, closed->rounds, closed->replies, closed->missing.size(), closed->elapsed.count());
  } else if (const auto* counted = std::get_if<RunMachine::ReplyCounted>(&said.what)) {
    metrics_.reply(counted->reception);
  } else if (const auto* ended = std::get_if<RunMachine::Ended>(&said.what)) {
    round_log_.forget(said.run);
    write_result(said.run, *ended);
    return;
  }
  if (watch_) watch_(said);
}

void CoordinatorHost::write_result(const RunId& run, const RunMachine::Ended& ended) {
  const auto outcome = std::make_shared<const Result<algorithms::Outcome>>(ended.outcome);
  Result<std::optional<RunRecord>> record = store_->find(run);
  Result<std::vector<RoundRecord>> rounds = store_->rounds(run);
  if (!record || !*record || !rounds) {  // forgotten already, or the store fails
    on_written(run, outcome, "", Error{ErrorCode::UnknownRun, "the store does not hold the run"});
    return;
  }
  const std::string state(to_string((**record).state));
  being_written_.insert(run);
  writer_.write(results_of(run), **std::move(record), *std::move(rounds), outcome,
                [this, run, outcome, state](const Status& written) { on_written(run, outcome, state, written); });
}

void CoordinatorHost::on_written(const RunId& run, const ResultWriter::OutcomePtr& outcome, const std::string& state,
                                 const Status& written) {
  being_written_.erase(run);
  changes_.notify();
  if (!written) spdlog::error("result_not_written run={} reason={}", run.hex(), quoted_text(written.error().message));
  if (!state.empty()) spdlog::info("run_ended run={} state={}", run.hex(), state);
  if (watch_) watch_(JobService::OfRun{run, RunMachine::Ended{*outcome}});
  write_next_missing();
}

void CoordinatorHost::write_missing_results() {
  const Result<std::vector<RunRecord>> newest = store_->list(kResultsChecked, 0);
  if (!newest) return;
  for (const RunRecord& summary : *newest) {
    if (is_end(summary.state) && !being_written_.contains(summary.run) &&
        !std::filesystem::exists(results_of(summary.run) / "result.json"))
      missing_results_.push_back(summary.run);
  }
  write_next_missing();
}

void CoordinatorHost::write_next_missing() {
  // One at a time: an outcome may be as large as a model.
  while (being_written_.empty() && !missing_results_.empty()) {
    const RunId run = missing_results_.front();
    missing_results_.pop_front();
    Result<std::optional<RunRecord>> record = store_->find(run);
    if (!record || !*record) continue;
    Result<RunMachine> machine = contained(
        "opening the run", [&] { return RunMachine::open(*store_, **std::move(record), config_.session.wire); });
    if (!machine) continue;
    const Result<std::vector<RunMachine::Action>> actions = machine->start(std::chrono::steady_clock::now());
    if (!actions) continue;
    for (const RunMachine::Action& action : *actions) {
      if (const auto* ended = std::get_if<RunMachine::Ended>(&action)) write_result(run, *ended);
    }
  }
}

bool CoordinatorHost::is_being_written(const RunId& run) const {
  return being_written_.contains(run) ||
         std::find(missing_results_.begin(), missing_results_.end(), run) != missing_results_.end();
}

void CoordinatorHost::arm(TimePoint at) {
  timer_.expires_at(at);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopped_) handle(service_.on_timer(std::chrono::steady_clock::now()));
  });
}

void CoordinatorHost::stop() {
  stopped_ = true;
  marks_.forget_all();
  planning_.stop();
  listener_.close();
  timer_.cancel();
  housekeeping_.cancel();
  flushing_.cancel();
  if (http_) http_->stop();
  if (const Status flushed = store_->flush(); !flushed && !failure_) failure_ = flushed.error();
  for (const auto& [silo, peer] : peers_) peer.session->finish();
  for (const auto& [name, link] : links_) link->stop();
}

}  // namespace undertone::coordinator
