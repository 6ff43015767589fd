#include "simulation/simulated_coordinator.hpp"

#include <algorithm>
#include <utility>

namespace undertone::simulation {

using coordinator::JobService;
using std::chrono::milliseconds;

void SimulatedCoordinator::boot() {
  Result<store::Database> database = open_database(kStore);
  if (!database) return world().give_up(*this);
  database_ = std::make_unique<store::Database>(*std::move(database));
  Result<coordinator::RunStore> store = coordinator::RunStore::open(*database_);
  if (!store) return world().give_up(*this);
  store_ = std::make_unique<coordinator::RunStore>(*std::move(store));
  if (!setup_.sealing_secret.empty()) {
    const sealed::SealingKey key = *sealed::SealingKey::from_secret(setup_.sealing_secret);
    const Digest fingerprint = key.public_key().fingerprint();
    const Result<std::optional<std::string>> kept = store_->sealing_secret(fingerprint);
    if (!kept || (!*kept && !store_->add_sealing_key(fingerprint, setup_.sealing_secret)))
      return world().give_up(*this);
  }
  service_ = std::make_unique<JobService>(*store_, wire::Limits{}, coordinator::ServiceLimits{}, wall_clock(),
                                          setup_.shufflers, setup_.planner, setup_.make_algorithm);
  handle(service_->start(world().now()));
}

void SimulatedCoordinator::dispose() {
  service_.reset();
  store_.reset();
  database_.reset();
}

std::optional<wire::Message> SimulatedCoordinator::greet(SimulatedProcess& client) {
  if (!store_) return std::nullopt;
  Result<std::vector<wire::Receipt>> receipts = store_->receipts(*SiloId::create(client.name()));
  if (!receipts) return std::nullopt;
  return wire::Message(wire::Welcome{wire::kProtocolMax, "simulated", *std::move(receipts)});
}

void SimulatedCoordinator::on_connected(SimulatedProcess& peer, const std::optional<wire::Message>& /*greeting*/) {
  if (!service_) return;
  handle(is_shuffler(peer) ? service_->on_shuffler_connected(peer.name(), world().now())
                           : service_->on_connected(*SiloId::create(peer.name()), world().now()));
}

void SimulatedCoordinator::on_lost(SimulatedProcess& peer) {
  if (!service_) return;
  if (is_shuffler(peer)) return service_->on_shuffler_lost(peer.name());
  handle(service_->on_disconnected(*SiloId::create(peer.name()), world().now()));
  if (!service_) return;
  if (!store_->flush()) world().give_up(*this);
}

void SimulatedCoordinator::on_message(SimulatedProcess& peer, wire::Message message) {
  if (!service_) return;
  handle(is_shuffler(peer) ? service_->on_shuffler_message(peer.name(), std::move(message), world().now())
                           : service_->on_message(*SiloId::create(peer.name()), message, world().now()));
}

Result<std::optional<RunId>> SimulatedCoordinator::submit(const std::string& job, const std::string& file,
                                                          const Nonce& nonce) {
  if (!service_) return std::optional<RunId>();
  const Result<coordinator::PlannedJob> planned =
      coordinator::PlannedJob::plan(job, file, setup_.planner, setup_.public_folder);
  Result<JobService::Submitted> submitted =
      planned ? service_->submit(*planned, nonce, false, world().now()) : planned.error();
  if (!submitted && !is_of_storage(submitted.error().code)) return submitted.error();
  if (!submitted) {
    world().give_up(*this);
    return std::optional<RunId>();
  }
  handle(std::exchange(submitted->actions, {}));
  return std::optional<RunId>(submitted->run);
}

bool SimulatedCoordinator::cancel(const RunId& run) {
  if (!service_) return false;
  Result<JobService::Actions> actions = service_->cancel(run, "cancelled by the operator", world().now());
  const bool is_over = actions || !is_of_storage(actions.error().code);
  if (actions || !is_over) handle(std::move(actions));
  return is_over;
}

void SimulatedCoordinator::handle(Result<JobService::Actions> actions) {
  if (!actions) return world().give_up(*this);
  for (JobService::Action& action : *actions) {
    if (const auto* send = std::get_if<JobService::SessionSend>(&action)) {
      const auto peer = peers_.find(send->silo.name());
      if (peer != peers_.end()) world().send(*this, *peer->second, send->bytes);
    } else if (const auto* shuffled = std::get_if<JobService::SendToShuffler>(&action)) {
      const auto peer = peers_.find(shuffled->shuffler);
      if (peer != peers_.end()) world().send(*this, *peer->second, shuffled->bytes);
    } else if (const auto* armed = std::get_if<JobService::ArmTimer>(&action)) {
      const milliseconds at = std::chrono::duration_cast<milliseconds>(armed->at.time_since_epoch());
      world().after(*this, std::max(at - world().elapsed(), milliseconds(0)), [this, timer = ++timer_] {
        if (timer == timer_ && service_) handle(service_->on_timer(world().now()));
      });
    } else if (auto* advance = std::get_if<coordinator::Advance>(&action)) {
      // Events are copied, an Advance cannot be.
      const auto work = std::make_shared<coordinator::Advance>(std::move(*advance));
      world().after(*this, world().random_work(), [this, work] {
        if (service_) handle(service_->on_advanced(std::move(*work).perform(), world().now()));
      });
    } else if (const auto* said = std::get_if<JobService::OfRun>(&action)) {
      if (setup_.watch) setup_.watch(*said);
    }
  }
}

}  // namespace undertone::simulation
