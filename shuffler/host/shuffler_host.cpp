#include "shuffler/host/shuffler_host.hpp"

#include <spdlog/spdlog.h>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/net/await.hpp"
#include "shared/net/credentials_watch.hpp"
#include "shared/service/program.hpp"

namespace undertone::shuffler {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using certificates::Role;
using net::kAwait;

/// Ends a session with a sentence for the peer.
Error refuse(net::Session& session, Error error) {
  session.send(wire::Fault{error.code, error.message});
  session.finish();
  return error;
}

TimePoint now() { return std::chrono::steady_clock::now(); }

}  // namespace

ShufflerHost::ShufflerHost(asio::io_context& context, const ShufflerConfig& config, const Parts& parts)
    : context_(&context),
      config_(config),
      store_(&parts.store),
      machine_(config.limits, parts.permuter, parts.adder),
      gate_(config.name, parts.public_key, wire::kBytesPerElement * config.session.wire.dimension_max),
      assembly_gate_(std::make_shared<net::AssemblyGate>(context.get_executor())),
      listener_(context, config.connections_max),
      deadlines_(context, [this](const RunId& run, RoundIndex round,
                                 TimePoint present) { carry_out(machine_.on_deadline(run, round, present)); }),
      housekeeping_(context) {}

Result<std::uint16_t> ShufflerHost::start() {
  UNDERTONE_TRY(
      net::Credentials credentials,
      net::Credentials::load(config_.tls, net::Side::Server, {config_.consortium, Role::Shuffler, config_.name}));
  credentials_.emplace(std::move(credentials));
  Result<std::uint16_t> port = listener_.listen(config_.host, config_.port);
  if (!port) return port.error();
  UNDERTONE_TRY(std::vector<Batch> batches, store_->load());
  carry_out(machine_.restore(std::move(batches), now()));
  if (failure_) return *failure_;
  net::spawn_essential(context_->get_executor(), accept(), "accept");
  net::spawn_essential(context_->get_executor(), keep_house(), "housekeeping");
  return port;
}

asio::awaitable<void> ShufflerHost::accept() {
  while (std::optional<tcp::socket> socket = co_await listener_.accept()) {
    auto session = std::make_shared<net::Session>(net::Session::Stream(*std::move(socket), credentials_->context()),
                                                  config_.session, assembly_gate_);
    session->wipe_received();
    // Essential, since an exception, of too little memory say, may come between the machine and the disk: what the
    // machine then holds must not be forwarded.
    net::spawn_essential(context_->get_executor(), serve(std::move(session)), "session");
  }
}

asio::awaitable<Result<certificates::Party>> ShufflerHost::greet(SessionPtr session) {
  const Result<certificates::CertificateFacts> peer = co_await session->handshake(net::Side::Server);
  if (!peer) co_return peer.error();
  const certificates::Party& party = peer->party;
  if (party.consortium != config_.consortium || (party.role != Role::Silo && party.role != Role::Coordinator)) {
    Error error{ErrorCode::Unauthorized, fmt::format("expected a silo or the coordinator of {}, the certificate is of "
                                                     "the {}",
                                                     config_.consortium, describe(party))};
    co_return refuse(*session, std::move(error));
  }
  session->accept_only(party.role == Role::Silo ? wire::kSiloToShuffler : wire::kCoordinatorToShuffler);
  const Result<wire::Message> first = co_await session->receive();
  if (!first) co_return first.error();
  const auto* hello = std::get_if<wire::Hello>(&*first);
  if (hello == nullptr) {
    Error error{ErrorCode::Malformed, fmt::format("expected hello, got {}", wire::name_of(*first))};
    co_return refuse(*session, std::move(error));
  }
  const std::uint32_t newest = config_.session.protocol_max;
  const Result<std::uint32_t> protocol = wire::negotiate(*hello, kProtocolMin, newest);
  if (!protocol) {
    Error error{protocol.error().code,
                fmt::format("the {} ({}) speaks protocol {} to {}, this shuffler {} to {}", describe(party),
                            hello->build, hello->protocol_min, hello->protocol_max, kProtocolMin, newest)};
    co_return refuse(*session, std::move(error));
  }
  session->established();
  wire::Welcome welcome{*protocol, service::kShuffler.build(), {}};
  session->send(wire::Message(std::move(welcome)));
  co_return party;
}

asio::awaitable<void> ShufflerHost::serve(SessionPtr session) {
  net::Listener::Slot slot(listener_, [session] { session->close(); });
  const Result<certificates::Party> peer = co_await greet(session);
  if (!peer) {
    log_within(refusals_, fmt::format("connection_refused code={} reason={}", to_string(peer.error().code),
                                      quoted_text(peer.error().message)));
    co_return;
  }
  slot.introduced();
  if (peer->role == Role::Coordinator) {
    co_await serve_coordinator(session, peer->name);
    co_return;
  }
  const Result<SiloId> silo = SiloId::create(peer->name);
  UNDERTONE_CHECK(silo.has_value());  // a certificate's names and silos' are of the same form
  co_await serve_silo(session, *silo);
}

asio::awaitable<void> ShufflerHost::serve_silo(SessionPtr session, SiloId silo) {
  const SessionPtr before = std::exchange(silos_[silo], session);
  if (before) before->close();  // the silo came back before its old connection was dead
  session->expect_large([this, silo](const wire::VectorHeader& header) { return expects(silo, header); });
  while (!stopped_) {
    Result<wire::Message> message = co_await session->receive();
    if (!message || stopped_) break;
    auto* reply = std::get_if<wire::SealedReply>(&*message);
    if (reply == nullptr) {
      Error error{ErrorCode::Malformed,
                  fmt::format("a silo sends a shuffler sealed replies alone, got {}", wire::name_of(*message))};
      (void)refuse(*session, std::move(error));
      break;
    }
    const Making making{reply->terms, static_cast<std::size_t>(reply->unit_bytes), reply->word_bytes};
    carry_out(machine_.on_message(silo, reply->run, reply->round, making, std::move(reply->units), now()));
  }
  const auto known = silos_.find(silo);
  if (known != silos_.end() && known->second == session) silos_.erase(known);
}

bool ShufflerHost::expects(const SiloId& silo, const wire::VectorHeader& header) {
  const Making making{header.terms, static_cast<std::size_t>(header.unit_bytes), header.word_bytes};
  const std::optional<wire::ReplyRefusal> reason =
      machine_.refuses(silo, header.run, header.round, making, header.dimension);
  if (!reason) return true;
  tell(silo, wire::SealedReplyRefused{header.run, header.round, *reason});
  return false;
}

asio::awaitable<void> ShufflerHost::serve_coordinator(SessionPtr session, std::string name) {
  const SessionPtr before = std::exchange(coordinator_, session);
  if (before) before->close();
  spdlog::info("coordinator_connected name={}", name);
  while (!stopped_) {
    Result<wire::Message> message = co_await session->receive();
    if (stopped_) break;
    if (!message) {
      spdlog::info("coordinator_lost name={} reason={}", name, quoted_text(message.error().message));
      break;
    }
    const std::string_view kind = wire::name_of(*message);
    if (take(*std::move(message))) continue;
    Error error{ErrorCode::Malformed, fmt::format("a coordinator does not send a shuffler {}", kind)};
    spdlog::warn("coordinator_dropped name={} reason={}", name,
                 quoted_text(refuse(*session, std::move(error)).message));
    break;
  }
  if (coordinator_ == session) coordinator_.reset();
}

bool ShufflerHost::take(wire::Message message) {
  if (const auto* offer = std::get_if<wire::JobOffer>(&message)) {
    take(*offer);
  } else if (const auto* open = std::get_if<wire::BatchOpen>(&message)) {
    take(*open);
  } else if (const auto* close = std::get_if<wire::BatchClose>(&message)) {
    carry_out(machine_.on_close(close->run, close->round, close->attempt, close->silos, now()));
  } else if (const auto* delivered = std::get_if<wire::BatchDelivered>(&message)) {
    spdlog::info("batch_delivered run={} round={}", delivered->run.hex(), delivered->round.value);
    carry_out(machine_.on_delivered(delivered->run, delivered->round));
  } else if (const auto* abandoned = std::get_if<wire::BatchAbandon>(&message)) {
    carry_out(machine_.abandon(abandoned->run, abandoned->round));
  } else {
    return false;
  }
  return true;
}

void ShufflerHost::take(const wire::JobOffer& offer) {
  if (const Status known = gate_.offer(offer.run, offer.job); !known)
    spdlog::warn("job_not_served run={} reason={}", offer.run.hex(), quoted_text(known.error().message));
}

void ShufflerHost::take(const wire::BatchOpen& open) {
  const BatchGate::Admission admission = gate_.admit(open);
  if (const auto* reason = std::get_if<wire::BatchRefusal>(&admission)) {
    BatchMachine::RefuseBatch refused{open.run, open.round, open.attempt, *reason};
    carry_out(refused);
  } else {
    carry_out(machine_.open(std::get<BatchSpec>(admission), now(), open.receipt_key));
  }
}

void ShufflerHost::carry_out(std::vector<BatchMachine::Action> actions) {
  for (BatchMachine::Action& action : actions) {
    if (failure_) return;
    std::visit([this](auto& what) { carry_out(what); }, action);
  }
}

void ShufflerHost::carry_out(BatchMachine::Store& store) {
  const Status stored = store_->apply(store.change);
  if (stored) return;
  spdlog::error("store_failed reason={}", quoted_text(stored.error().message));
  failure_ = stored.error();
  stop();
}

void ShufflerHost::carry_out(BatchMachine::Opened& opened) {
  spdlog::info("batch_opened run={} round={} attempt={}", opened.run.hex(), opened.round.value, opened.attempt);
  tell_coordinator(wire::BatchOpened{opened.run, opened.round, opened.attempt});
}

void ShufflerHost::carry_out(BatchMachine::RefuseBatch& refused) {
  spdlog::warn("batch_refused run={} round={} attempt={} reason={}", refused.run.hex(), refused.round.value,
               refused.attempt, to_string(refused.reason));
  tell_coordinator(wire::BatchRefused{refused.run, refused.round, refused.attempt, refused.reason});
}

void ShufflerHost::carry_out(BatchMachine::Collected& collected) {
  spdlog::info("batch_collected run={} round={} attempt={} replies={}", collected.run.hex(), collected.round.value,
               collected.attempt, collected.silos.size());
  tell_coordinator(wire::BatchCollected{collected.run, collected.round, collected.attempt, std::move(collected.silos)});
}

void ShufflerHost::carry_out(BatchMachine::Forward& forward) {
  spdlog::info("batch_forwarded run={} round={} replies={}", forward.run.hex(), forward.round.value, forward.replies);
  if (!coordinator_) return;
  std::size_t bytes = 0;
  for (const std::string& unit : forward.units) bytes += unit.size();
  wire::BatchForward message{forward.run, forward.round, forward.replies, {}};
  message.units.reserve(bytes);
  for (std::string& unit : forward.units) message.units += std::exchange(unit, {});
  tell_coordinator(wire::Message(std::move(message)));
}

void ShufflerHost::carry_out(BatchMachine::Failed& failed) {
  spdlog::warn("batch_failed run={} round={} attempt={} replies={} replies_min={}", failed.run.hex(),
               failed.round.value, failed.attempt, failed.replies, failed.replies_min);
  tell_coordinator(wire::BatchFailed{failed.run, failed.round, failed.attempt, failed.replies});
}

void ShufflerHost::carry_out(BatchMachine::ShareRefused& refused) {
  spdlog::error("share_refused silo={} run={} round={} reason={}", refused.silo.name(), refused.run.hex(),
                refused.round.value, quoted_text(refused.why.message));
}

void ShufflerHost::carry_out(BatchMachine::TermsDiffer& differing) {
  std::string names;
  for (const SiloId& silo : differing.silos) names += (names.empty() ? "" : ", ") + silo.name();
  spdlog::error("terms_differ silos=\"{}\" run={} round={}", names, differing.run.hex(), differing.round.value);
}

void ShufflerHost::carry_out(BatchMachine::Acknowledge& acknowledged) {
  tell(acknowledged.silo, wire::SealedReplyTaken{acknowledged.run, acknowledged.round, acknowledged.receipt});
}

void ShufflerHost::carry_out(BatchMachine::Refuse& refused) {
  tell(refused.silo, wire::SealedReplyRefused{refused.run, refused.round, refused.reason});
}

void ShufflerHost::carry_out(BatchMachine::ArmDeadline& armed) { deadlines_.set(armed); }

void ShufflerHost::tell_coordinator(const wire::Message& message) {
  if (coordinator_) coordinator_->send(message);
}

void ShufflerHost::tell(const SiloId& silo, const wire::Message& message) {
  const auto session = silos_.find(silo);
  if (session != silos_.end()) session->second->send(message);
}

asio::awaitable<void> ShufflerHost::keep_house() {
  net::CredentialsWatch watch;
  while (!stopped_) {
    watch.look(*credentials_);
    for (const auto& [silo, session] : silos_) net::close_if_outdated(*session, *credentials_);
    if (coordinator_) net::close_if_outdated(*coordinator_, *credentials_);
    housekeeping_.expires_after(net::kCredentialsLook);
    (void)co_await housekeeping_.async_wait(kAwait);
  }
}

void ShufflerHost::stop() {
  stopped_ = true;
  listener_.close();
  deadlines_.stop();
  housekeeping_.cancel();
  for (const auto& [silo, session] : silos_) session->finish();
  if (coordinator_) coordinator_->finish();
}

}  // namespace undertone::shuffler
