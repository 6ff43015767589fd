#include "simulation/simulated_shuffler.hpp"

#include <algorithm>
#include <utility>

#include "shared/crypto/test_bits.hpp"
#include "shuffler/batch/sealed_adder.hpp"

namespace undertone::simulation {

using std::chrono::milliseconds;

SimulatedShuffler::SimulatedShuffler(SimulatedWorld& world, std::string name, std::string secret, Watch watch)
    : SimulatedProcess(world, std::move(name)), secret_(std::move(secret)), watch_(std::move(watch)) {}

void SimulatedShuffler::boot() {
  Result<store::Database> database = open_database("shuffler.sqlite");
  if (!database) return world().give_up(*this);
  database_ = std::make_unique<store::Database>(*std::move(database));
  Result<shuffler::BatchStore> store = shuffler::BatchStore::open(*database_);
  if (!store) return world().give_up(*this);
  store_ = std::make_unique<shuffler::BatchStore>(*std::move(store));
  sealed::SealingKey key = *sealed::SealingKey::from_secret(secret_);
  const Digest public_key = *digest_from_bytes(key.public_key().bytes());
  permuter_ = std::make_unique<shuffler::BitsPermuter<crypto::TestBits>>(
      crypto::TestBits(world().chance().word(), "order of " + name(), crypto::InsecureForTestsOnly{}));
  adder_ = std::make_unique<shuffler::SealedAdder>(std::move(key));
  gate_ =
      std::make_unique<shuffler::BatchGate>(name(), public_key, wire::kBytesPerElement * wire::Limits{}.dimension_max);
  machine_ = std::make_unique<Machine>(shuffler::Limits{}, *permuter_, *adder_);
  Result<std::vector<shuffler::Batch>> batches = store_->load();
  if (!batches) return world().give_up(*this);
  if (watch_.restored) watch_.restored(name(), *batches);
  carry_out(machine_->restore(*std::move(batches), world().now()));
}

void SimulatedShuffler::dispose() {
  machine_.reset();
  gate_.reset();
  adder_.reset();
  permuter_.reset();
  store_.reset();
  database_.reset();
}

std::optional<wire::Message> SimulatedShuffler::greet(SimulatedProcess& /*client*/) {
  if (!machine_) return std::nullopt;
  return wire::Message(wire::Welcome{wire::kProtocolMax, "simulated", {}});
}

void SimulatedShuffler::on_message(SimulatedProcess& peer, wire::Message message) {
  if (!machine_) return;
  if (auto* reply = std::get_if<wire::SealedReply>(&message)) {
    const shuffler::Making making{reply->terms, static_cast<std::size_t>(reply->unit_bytes), reply->word_bytes};
    carry_out(machine_->on_message(*SiloId::create(peer.name()), reply->run, reply->round, making,
                                   std::move(reply->units), world().now()));
  } else if (const auto* offer = std::get_if<wire::JobOffer>(&message)) {
    (void)gate_->offer(offer->run, offer->job);
  } else if (const auto* open = std::get_if<wire::BatchOpen>(&message)) {
    const shuffler::BatchGate::Admission admission = gate_->admit(*open);
    if (const auto* reason = std::get_if<wire::BatchRefusal>(&admission)) {
      carry_out({Machine::RefuseBatch{open->run, open->round, open->attempt, *reason}});
    } else {
      carry_out(machine_->open(std::get<shuffler::BatchSpec>(admission), world().now(), open->receipt_key));
    }
  } else if (const auto* close = std::get_if<wire::BatchClose>(&message)) {
    carry_out(machine_->on_close(close->run, close->round, close->attempt, close->silos, world().now()));
  } else if (const auto* delivered = std::get_if<wire::BatchDelivered>(&message)) {
    carry_out(machine_->on_delivered(delivered->run, delivered->round));
  } else if (const auto* abandoned = std::get_if<wire::BatchAbandon>(&message)) {
    carry_out(machine_->abandon(abandoned->run, abandoned->round));
  }
}

void SimulatedShuffler::carry_out(std::vector<Machine::Action> actions) {
  for (Machine::Action& action : actions) {
    if (watch_.acts) watch_.acts(name(), action);
    if (const auto* store = std::get_if<Machine::Store>(&action)) {
      if (!store_->apply(store->change)) return world().give_up(*this);
    }
    if (const auto* opened = std::get_if<Machine::Opened>(&action)) {
      tell("coordinator", wire::BatchOpened{opened->run, opened->round, opened->attempt});
    } else if (const auto* refused = std::get_if<Machine::RefuseBatch>(&action)) {
      tell("coordinator", wire::BatchRefused{refused->run, refused->round, refused->attempt, refused->reason});
    } else if (auto* collected = std::get_if<Machine::Collected>(&action)) {
      tell("coordinator",
           wire::BatchCollected{collected->run, collected->round, collected->attempt, std::move(collected->silos)});
    } else if (const auto* forward = std::get_if<Machine::Forward>(&action)) {
      wire::BatchForward message{forward->run, forward->round, forward->replies, {}};
      for (const std::string& unit : forward->units) message.units += unit;
      tell("coordinator", message);
    } else if (const auto* failed = std::get_if<Machine::Failed>(&action)) {
      tell("coordinator", wire::BatchFailed{failed->run, failed->round, failed->attempt, failed->replies});
    } else if (const auto* taken = std::get_if<Machine::Acknowledge>(&action)) {
      tell(taken->silo.name(), wire::SealedReplyTaken{taken->run, taken->round, taken->receipt});
    } else if (const auto* not_taken = std::get_if<Machine::Refuse>(&action)) {
      tell(not_taken->silo.name(), wire::SealedReplyRefused{not_taken->run, not_taken->round, not_taken->reason});
    } else if (const auto* armed = std::get_if<Machine::ArmDeadline>(&action)) {
      const auto wait = std::chrono::duration_cast<milliseconds>(armed->at - world().now());
      world().after(*this, std::max(wait, milliseconds(0)), [this, run = armed->run, round = armed->round] {
        if (machine_) carry_out(machine_->on_deadline(run, round, world().now()));
      });
    }
  }
}

void SimulatedShuffler::tell(const std::string& peer, const wire::Message& message) {
  const auto known = peers_.find(peer);
  if (known == peers_.end()) return;
  world().send(*this, *known->second, std::make_shared<const std::string>(encoder_.encode(message)));
}

}  // namespace undertone::simulation
