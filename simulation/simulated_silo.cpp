#include "simulation/simulated_silo.hpp"

#include <utility>

#include "silo/oracles/test_randomness.hpp"

namespace undertone::simulation {

/// The head outside the ledger's file, on the same simulated disk.
class SimulatedSiloProcess::Head final : public silo::HeadStore {
 public:
  explicit Head(SimulatedDisk& disk) : disk_(&disk) {}
  [[nodiscard]] Result<std::optional<std::string>> read() override {
    const std::string* head = disk_->content("head");
    return head == nullptr ? std::optional<std::string>() : std::optional<std::string>(*head);
  }
  [[nodiscard]] Status write(std::string_view head) override {
    if (disk_->replace("head", std::string(head))) return {};
    return Error{ErrorCode::StorageFailed, "the simulated disk took no head"};
  }

 private:
  SimulatedDisk* disk_;
};

SimulatedSiloProcess::SimulatedSiloProcess(SimulatedWorld& world, SimulatedSilo spec, std::uint64_t seed,
                                           SimulatedNoise noise, std::set<std::string> shufflers, jobs::Planner planner,
                                           Watch watch)
    : SimulatedProcess(world, spec.id.name()),
      spec_(std::move(spec)),
      key_(*SigningKey::from_seed(as_bytes(sha256("undertone simulated silo " + spec_.id.name())))),
      identity_{"simulated-" + spec_.id.name(),
                sha256("undertone simulated silo " + spec_.id.name()),
                spec_.facts.holdout_public ? sha256("undertone simulated holdout " + spec_.id.name()) : Digest{},
                spec_.facts.public_records > 0 ? sha256("undertone simulated public " + spec_.id.name()) : Digest{},
                spec_.facts.unit,
                spec_.facts.unit == releases::Unit::Person ? sha256("undertone simulated persons") : Digest{}},
      shufflers_(std::move(shufflers)),
      planner_(std::move(planner)),
      watch_(std::move(watch)),
      head_(std::make_unique<Head>(disk())) {
  if (noise == SimulatedNoise::Seeded) {
    randomness_ = std::make_unique<silo::TestRandomness>(seed, spec_.id);
  } else {
    randomness_ = std::make_unique<silo::NoiselessRandomness>(seed, spec_.id);
  }
}

void SimulatedSiloProcess::boot() {
  Result<store::Database> database = open_database(kLedger);
  Result<store::Database> desk_database = open_database("desk.sqlite");
  if (!database || !desk_database) return world().give_up(*this);
  database_ = std::make_unique<store::Database>(*std::move(database));
  desk_database_ = std::make_unique<store::Database>(*std::move(desk_database));
  Result<silo::Desk> desk = silo::Desk::open(*desk_database_);
  if (!desk) return world().give_up(*this);
  desk_ = std::make_unique<silo::Desk>(*std::move(desk));
  Result<silo::Ledger> ledger =
      silo::Ledger::open(*database_, *head_, key_, identity_, spec_.policy.total, randomness_->kind(), wall_clock());
  if (!ledger) {
    if (!is_of_storage(ledger.error().code) && watch_.halted) watch_.halted(spec_.id, ledger.error());
    return world().give_up(*this);
  }
  ledger_ = std::make_unique<silo::Ledger>(*std::move(ledger));
  machine_ = std::make_unique<silo::SiloMachine>(silo::SiloMachine::Setup{spec_.id,
                                                                          spec_.policy,
                                                                          spec_.facts,
                                                                          spec_.dataset,
                                                                          *ledger_,
                                                                          *randomness_,
                                                                          wire::Limits{},
                                                                          {},
                                                                          *desk_,
                                                                          identity_.name,
                                                                          wall_clock(),
                                                                          shufflers_,
                                                                          planner_});
  rest();
}

void SimulatedSiloProcess::dispose() {
  machine_.reset();
  ledger_.reset();
  desk_.reset();
  desk_database_.reset();
  database_.reset();
  hand_over_ = {};
}

void SimulatedSiloProcess::on_connected(SimulatedProcess& peer, const std::optional<wire::Message>& greeting) {
  if (!machine_) return;
  if (shufflers_.contains(peer.name())) return handle(hand_over_.on_connected(peer.name()));
  if (greeting) handle(machine_->on_message(*greeting));
  rest();
}

void SimulatedSiloProcess::on_message(SimulatedProcess& peer, wire::Message message) {
  if (!machine_) return;
  if (watch_.received) watch_.received(spec_.id, message);
  if (shufflers_.contains(peer.name())) return handle(hand_over_.on_message(peer.name(), message));
  handle(machine_->on_message(message));
  rest();
}

bool SimulatedSiloProcess::set_paused(bool paused) { return desk_ && desk_->set_paused(paused); }

bool SimulatedSiloProcess::withdraw(const RunId& run) {
  if (!desk_) return false;
  const Result<bool> done = desk_->decide(run, silo::Decision::Withdrawn);
  return done && *done;
}

void SimulatedSiloProcess::rest() {
  if (!machine_ || disk().dead()) return;
  if (watch_.rested) watch_.rested(*this);
  if (disk().refused()) world().give_up(*this);  // its ledger hands out nothing more: its owner starts it again
}

void SimulatedSiloProcess::tell_coordinator(std::string bytes) {
  world().send(*this, *peers_.at("coordinator"), std::make_shared<const std::string>(std::move(bytes)));
}

void SimulatedSiloProcess::handle(std::vector<silo::Action> actions) {
  for (silo::Action& action : actions) {
    if (disk().dead()) return;
    if (auto* send = std::get_if<silo::Send>(&action)) {
      if (send->release) {
        if (!machine_->may_release(*send->release)) continue;
        wire::Decoder decoder{wire::Limits{}};
        const Result<std::vector<wire::Message>> sent = decoder.feed(send->bytes);
        UNDERTONE_CHECK(sent && sent->size() == 1);
        const auto& reply = std::get<wire::ReplyMessage>(sent->front());
        if (watch_.leaving) watch_.leaving({spec_.id, "coordinator", reply.run, reply.reply.round, send->bytes});
      }
      tell_coordinator(std::move(send->bytes));
    } else if (const auto* shuffled = std::get_if<silo::SendShuffled>(&action)) {
      if (spec_.hostility == SimulatedSilo::Hostility::ClaimsHandOver) {
        tell_coordinator(encoder_.encode(wire::ReplyHandedOver{shuffled->run, shuffled->round}));
      } else if (machine_->may_release(shuffled->run)) {
        handle(hand_over_.offer(shuffled->run, shuffled->round, shuffled->reply));
      }
    } else if (const auto* ended = std::get_if<silo::RunEnded>(&action)) {
      hand_over_.forget(ended->run);
    } else if (const auto* halt = std::get_if<silo::Halt>(&action)) {
      if (!is_of_storage(halt->reason.code) && watch_.halted) watch_.halted(spec_.id, halt->reason);
      return world().give_up(*this);
    }
  }
}

void SimulatedSiloProcess::handle(const std::vector<silo::HandOver::Action>& actions) {
  for (const silo::HandOver::Action& action : actions) {
    if (const auto* reply = std::get_if<silo::HandOver::ToShuffler>(&action)) {
      const auto peer = peers_.find(reply->shuffler);
      if (peer == peers_.end() || !machine_->may_release(reply->run)) continue;
      wire::Decoder decoder{wire::Limits{}};
      const Result<std::vector<wire::Message>> sent = decoder.feed(*reply->bytes);
      UNDERTONE_CHECK(sent && sent->size() == 1);
      const auto& sealed = std::get<wire::SealedReply>(sent->front());
      if (watch_.leaving) watch_.leaving({spec_.id, reply->shuffler, sealed.run, sealed.round, *reply->bytes});
      if (spec_.hostility == SimulatedSilo::Hostility::OtherTerms) {
        wire::SealedReply other = sealed;
        other.terms = sha256("terms of its own");
        other.units.assign(other.units.size(), 'x');
        world().send(*this, *peer->second, std::make_shared<const std::string>(encoder_.encode(other)));
        continue;
      }
      world().send(*this, *peer->second, reply->bytes);
    } else if (const auto* told = std::get_if<silo::HandOver::ToCoordinator>(&action)) {
      tell_coordinator(encoder_.encode(told->message));
    }
  }
}

}  // namespace undertone::simulation
