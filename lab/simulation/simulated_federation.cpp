#include "lab/simulation/simulated_federation.hpp"

#include <utility>

#include "silo/oracles/test_randomness.hpp"

namespace undertone::lab {
namespace {

using std::chrono::milliseconds;

/// The head outside the ledger's file, on the same simulated disk.
class MemoryHeadStore final : public silo::HeadStore {
 public:
  explicit MemoryHeadStore(std::function<void()> around) : around_(std::move(around)) {}
  [[nodiscard]] Result<std::optional<std::string>> read() override { return head_; }
  [[nodiscard]] Status write(std::string_view head) override {
    around_();
    head_ = std::string(head);
    around_();
    return {};
  }

 private:
  std::function<void()> around_;
  std::optional<std::string> head_;
};

}  // namespace

Nonce simulated_nonce(std::uint64_t seed) {
  const Digest digest = sha256("undertone simulated nonce " + std::to_string(seed));
  Nonce nonce{};
  std::copy_n(digest.begin(), nonce.size(), nonce.begin());
  return nonce;
}

struct SimulatedFederation::SiloProcess {
  SimulatedSilo spec;
  SigningKey key;
  silo::DatasetIdentity identity;
  std::unique_ptr<store::Database> disk;
  std::unique_ptr<store::Database> desk_disk;
  std::unique_ptr<silo::Desk> desk;
  std::unique_ptr<MemoryHeadStore> head;
  std::unique_ptr<silo::ReleaseRandomness> randomness;
  // What dies with the process:
  std::unique_ptr<silo::Ledger> ledger;
  std::unique_ptr<silo::SiloMachine> machine;
  std::uint64_t life = 0;
  std::uint64_t session = 0;  // 0: not connected
  std::uint64_t sessions = 0;
};

SimulatedFederation::SimulatedFederation(Setup setup) : setup_(std::move(setup)), chance_(setup_.seed ^ 0x5bd1e995U) {
  coordinator_disk_ = std::make_unique<store::Database>(*store::Database::in_memory());
  arm_disk(*coordinator_disk_);
  for (SimulatedSilo& spec : setup_.silos) {
    const SiloId id = spec.id;
    const Digest seed = sha256("undertone simulated silo " + id.name());
    auto process = std::make_unique<SiloProcess>(
        SiloProcess{std::move(spec), *SigningKey::from_seed(as_bytes(seed)), {}, {}, {}, {}, {}, {}, {}, {}});
    process->identity = {"simulated-" + id.name(), seed, {}};
    process->disk = std::make_unique<store::Database>(*store::Database::in_memory());
    arm_disk(*process->disk);
    process->desk_disk = std::make_unique<store::Database>(*store::Database::in_memory());
    process->desk = std::make_unique<silo::Desk>(*silo::Desk::open(*process->desk_disk));
    process->head = std::make_unique<MemoryHeadStore>([this] { maybe_crash(setup_.faults.crash_at_commit); });
    switch (setup_.noise) {
      case SimulatedNoise::Seeded:
        process->randomness = std::make_unique<silo::TestRandomness>(setup_.seed, id);
        break;
      case SimulatedNoise::None:
        process->randomness = std::make_unique<silo::NoiselessRandomness>(setup_.seed, id);
        break;
    }
    silos_.emplace(id, std::move(process));
  }
  setup_.silos.clear();
}

SimulatedFederation::~SimulatedFederation() = default;

store::Database& SimulatedFederation::silo_disk(const SiloId& silo) { return *silos_.at(silo)->disk; }

Result<silo::Ledger> SimulatedFederation::open_ledger(const SiloId& silo) {
  SiloProcess& process = *silos_.at(silo);
  return silo::Ledger::open(*process.disk, *process.head, process.key, process.identity, process.spec.policy.total,
                            process.randomness->kind(), virtual_clock());
}

silo::Ledger::Clock SimulatedFederation::virtual_clock() const {
  return [this] { return std::chrono::duration_cast<std::chrono::seconds>(now_).count(); };
}

void SimulatedFederation::after(milliseconds delay, std::function<void()> happen) {
  queue_.push(Event{now_ + delay, next_order_++, std::move(happen)});
}

milliseconds SimulatedFederation::random_delay(milliseconds most) {
  return milliseconds(chance_.below(static_cast<std::uint64_t>(most.count()) + 1));
}

void SimulatedFederation::maybe_crash(double probability) {
  if (over_) return;
  if (++crash_points_ == setup_.faults.crash_at_point) throw Crash{};
  if (probability > 0.0 && chance_.chance(probability)) throw Crash{};
}

void SimulatedFederation::arm_disk(store::Database& disk) {
  disk.observe_commits([this](store::Database::CommitPoint /*point*/) { maybe_crash(setup_.faults.crash_at_commit); });
}

void SimulatedFederation::survive(const std::function<void()>& event, const std::function<void()>& dead) {
  try {
    maybe_crash(setup_.faults.crash_at_event);
    event();
  } catch (const Crash&) {
    ++crashes_;
    dead();
  }
}

Result<algorithms::Outcome> SimulatedFederation::run(const Watch& watch) {
  watch_ = watch;
  after(milliseconds(0), [this] { boot_coordinator(); });
  for (auto& [id, process] : silos_) {
    after(milliseconds(0), [this, silo = process.get()] { boot_silo(*silo); });
  }
  while (!over_ && !queue_.empty()) {
    const Event event = queue_.top();
    queue_.pop();
    now_ = event.at;
    if (now_ > setup_.time_max) break;
    ++events_;
    event.happen();
  }
  if (!over_ || !outcome_) {
    violate(fmt::format("the run did not end within {} ms of virtual time", setup_.time_max.count()));
    over_ = true;
    return Error{ErrorCode::Internal, "the simulated run did not end"};
  }
  return *outcome_;
}

void SimulatedFederation::boot_coordinator() {
  survive(
      [this] {
        Result<coordinator::RunStore> store = coordinator::RunStore::open(*coordinator_disk_);
        if (!store) return violate("coordinator: " + store.error().message);
        run_store_ = std::make_unique<coordinator::RunStore>(*store);
        const Nonce nonce = setup_.nonce.value_or(simulated_nonce(setup_.seed));
        Result<coordinator::RunMachine> machine =
            coordinator::RunMachine::create(*run_store_, setup_.job, setup_.file, nonce, true, wire::Limits{});
        if (!machine) {
          outcome_ = machine.error();
          over_ = true;
          return;
        }
        machine_ = std::make_unique<coordinator::RunMachine>(*std::move(machine));
        ++coordinator_life_;
        run_ = machine_->run();
        handle(machine_->start(now()));
        for (auto& [id, silo] : silos_) {
          if (silo->machine) after(random_delay(setup_.faults.delay_max), [this, s = silo.get()] { connect(*s); });
        }
      },
      [this] { kill_coordinator(); });
}

void SimulatedFederation::kill_coordinator() {
  machine_.reset();
  run_store_.reset();
  ++coordinator_life_;
  for (auto& [id, silo] : silos_) silo->session = 0;
  after(random_delay(setup_.faults.restart_max), [this] { boot_coordinator(); });
}

void SimulatedFederation::boot_silo(SiloProcess& silo) {
  survive(
      [&] {
        Result<silo::Ledger> ledger = open_ledger(silo.spec.id);
        if (!ledger)
          return violate(fmt::format("silo {}: its ledger is refused after a crash: {}", silo.spec.id.name(),
                                     ledger.error().message));
        silo.ledger = std::make_unique<silo::Ledger>(*std::move(ledger));
        silo.machine = std::make_unique<silo::SiloMachine>(silo::SiloMachine::Setup{silo.spec.id,
                                                                                    silo.spec.policy,
                                                                                    silo.spec.facts,
                                                                                    silo.spec.dataset,
                                                                                    *silo.ledger,
                                                                                    *silo.randomness,
                                                                                    wire::Limits{},
                                                                                    {},
                                                                                    *silo.desk,
                                                                                    silo.identity.name,
                                                                                    virtual_clock()});
        ++silo.life;
        after(random_delay(setup_.faults.delay_max), [this, &silo] { connect(silo); });
      },
      [&] { kill_silo(silo); });
}

void SimulatedFederation::kill_silo(SiloProcess& silo) {
  disconnect(silo);
  silo.machine.reset();
  silo.ledger.reset();
  ++silo.life;
  after(random_delay(setup_.faults.restart_max), [this, &silo] { boot_silo(silo); });
}

void SimulatedFederation::connect(SiloProcess& silo) {
  if (silo.session != 0 || !silo.machine || !machine_) return;  // whoever is down connects when it is back
  silo.session = ++silo.sessions;
  survive(
      [&] {
        const Result<std::vector<queries::Receipt>> receipts = run_store_->receipts(silo.spec.id);
        if (!receipts) return violate("coordinator: " + receipts.error().message);
        const wire::Welcome welcome{wire::kProtocolMax, "simulated", *receipts};
        handle(silo, silo.machine->on_message(welcome));
        if (machine_ && silo.session != 0) handle(machine_->on_connected(silo.spec.id));
      },
      [this] { kill_coordinator(); });
}

void SimulatedFederation::disconnect(SiloProcess& silo) {
  if (silo.session == 0) return;
  silo.session = 0;
  if (machine_) machine_->on_disconnected(silo.spec.id);
}

void SimulatedFederation::transmit(SiloProcess& silo, const std::shared_ptr<const std::string>& bytes, bool to_silo) {
  if (silo.session == 0) return;
  if (chance_.chance(setup_.faults.disconnect)) {
    disconnect(silo);
    after(random_delay(setup_.faults.delay_max), [this, &silo] { connect(silo); });
    return;
  }
  const int copies = chance_.chance(setup_.faults.loss) ? 0 : chance_.chance(setup_.faults.duplication) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    after(random_delay(setup_.faults.delay_max), [this, &silo, bytes, to_silo, session = silo.session] {
      if (silo.session == session) deliver(silo, *bytes, to_silo);
    });
  }
}

void SimulatedFederation::deliver(SiloProcess& silo, const std::string& bytes, bool to_silo) {
  wire::Decoder decoder{wire::Limits{}};
  const Result<std::vector<wire::Message>> messages = decoder.feed(bytes);
  if (!messages || messages->size() != 1)
    return violate("a message did not survive the wire: " + (messages ? "cut" : messages.error().message));
  const wire::Message& message = messages->front();
  if (to_silo) {
    survive([&] { handle(silo, silo.machine->on_message(message)); }, [&] { kill_silo(silo); });
  } else {
    survive([&] { handle(machine_->on_message(silo.spec.id, message, now())); }, [this] { kill_coordinator(); });
  }
}

void SimulatedFederation::handle(SiloProcess& silo, std::vector<silo::Action> actions) {
  for (silo::Action& action : actions) {
    if (auto* send = std::get_if<silo::Send>(&action)) {
      wire::Decoder decoder{wire::Limits{}};
      const Result<std::vector<wire::Message>> sent = decoder.feed(send->bytes);
      if (sent && sent->size() == 1) {
        if (const auto* reply = std::get_if<wire::ReplyMessage>(&sent->front())) check_reply(silo, *reply, send->bytes);
      }
      transmit(silo, std::make_shared<const std::string>(std::move(send->bytes)), false);
    } else if (const auto* halt = std::get_if<silo::Halt>(&action)) {
      violate(fmt::format("silo {} halted: {}", silo.spec.id.name(), halt->reason.message));
    }
  }
}

void SimulatedFederation::check_reply(SiloProcess& silo, const wire::ReplyMessage& reply, const std::string& bytes) {
  const std::uint64_t round = reply.reply.round.value;
  const Digest digest = sha256(bytes);
  const auto [seen, first] = replies_seen_.emplace(std::pair(silo.spec.id, round), digest);
  if (!first && seen->second != digest)
    violate(fmt::format("silo {} sent two different replies to round {}", silo.spec.id.name(), round));
  Result<store::Statement> row = silo.disk->prepare(
      "SELECT count(*) FROM replies, entries WHERE run = ? AND round = ? AND json_extract(CAST(body AS TEXT), "
      "'$.reply') = ?");
  if (!row) return violate(row.error().message);
  row->bind_blob(1, reply.run.bytes()).bind(2, static_cast<std::int64_t>(round)).bind_text(3, to_hex(digest));
  const Result<bool> found = row->step();
  if (!found || row->integer(0) != 1)
    violate(fmt::format("silo {} sent a reply to round {} that its ledger does not hold", silo.spec.id.name(), round));
}

void SimulatedFederation::handle(Result<std::vector<coordinator::RunMachine::Action>> actions) {
  using Machine = coordinator::RunMachine;
  if (!actions) return violate("coordinator: " + actions.error().message);
  for (Machine::Action& action : *actions) {
    if (watch_) watch_(action);
    if (const auto* send = std::get_if<Machine::Send>(&action)) {
      transmit(*silos_.at(send->silo), send->bytes, true);
    } else if (const auto* armed = std::get_if<Machine::ArmTimer>(&action)) {
      const milliseconds at = std::chrono::duration_cast<milliseconds>(armed->at.time_since_epoch());
      after(std::max(at - now_, milliseconds(0)), [this, timer = ++timer_, life = coordinator_life_] {
        if (timer != timer_ || life != coordinator_life_ || !machine_) return;
        survive([this] { handle(machine_->on_timer(now())); }, [this] { kill_coordinator(); });
      });
    } else if (auto* ended = std::get_if<Machine::Ended>(&action)) {
      outcome_ = std::move(ended->outcome);
    } else if (std::holds_alternative<Machine::Goodbye>(action)) {
      over_ = true;
    }
  }
}

}  // namespace undertone::lab
