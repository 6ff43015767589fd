#include <algorithm>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "shared/base/overloaded.hpp"
#include "shared/base/random_source.hpp"
#include "shared/crypto/test_bits.hpp"
#include "shuffler/batch/batch_machine.hpp"
#include "shuffler/batch/batch_store.hpp"
#include "tests/support/plain_adder.hpp"
#include "tests/support/temporary_folder.hpp"

/// A shuffler with its store on disk, killed between any two actions and on both sides of every commit. The process
/// that follows finds copies of the files as they were at that instant, and nothing else.
namespace undertone::shuffler {
namespace {

using std::chrono::milliseconds;
using store::Database;
using Key = std::pair<std::size_t, RoundIndex>;  // number of the run, round
using Messages = std::vector<std::string>;
using tests::PlainAdder;

struct Died {};

struct Faults {
  std::uint64_t seed = 0;
  std::size_t runs = 1;
  std::size_t silos = 3;
  std::size_t replies_min = 2;
  std::size_t unit_bytes = 24;  // of a mixed unit, or of a total
  std::size_t units = 2;        // in a message that is mixed
  bool adds = false;
  bool stray = false;                        // the last silo's messages are of other terms
  double death = 0.0;                        // at each point
  std::optional<std::uint64_t> death_point;  // and once, at this one
};

std::size_t count(const std::string& haystack, const std::string& needle) {
  std::size_t found = 0;
  for (std::size_t at = haystack.find(needle); at != std::string::npos; at = haystack.find(needle, at + 1)) ++found;
  return found;
}

class World {
 public:
  explicit World(const Faults& faults)
      : faults_(faults),
        random_(faults.seed),
        permuter_(crypto::TestBits(faults.seed, "order", crypto::InsecureForTestsOnly{})) {
    asked_.resize(faults.runs);
    start();
  }

  /// What the coordinator wants of a run at present.
  struct Asked {
    RoundIndex round;
    std::uint32_t attempt = 0;
    bool open = false;
  };
  [[nodiscard]] const Asked& asked(std::size_t run) const { return asked_[run]; }
  [[nodiscard]] std::uint64_t points() const noexcept { return points_; }
  [[nodiscard]] std::uint64_t deaths() const noexcept { return deaths_; }
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }
  [[nodiscard]] const std::map<Key, Messages>& forwarded() const noexcept { return forwarded_; }
  [[nodiscard]] RandomSource& random() noexcept { return random_; }

  /// After a new connection nobody knows whether the last acknowledgement arrived: it is said again.
  void open(std::size_t run) {
    const RoundIndex round = asked_[run].round;
    if (round.value > 0) event([&] { return machine_->on_delivered(id(run), {round.value - 1}); });
    event([&] { return machine_->open(spec(run), now_); });
  }
  void send(std::size_t run, std::size_t silo, RoundIndex round) {
    const std::string bytes = message(run, silo, round);
    const Digest made_for = strays(silo) ? other_terms() : terms(round);
    if (!strays(silo)) sent_[{run, round}].insert(bytes);
    event([&] { return machine_->on_message(name(run, silo), id(run), round, making(made_for), bytes, now_); });
  }
  /// The coordinator has chosen once and for all whose shares are added.
  void close(std::size_t run) {
    const auto chosen = chosen_.find({run, asked_[run].round});
    if (chosen == chosen_.end()) return;
    const std::vector<SiloId> silos = chosen->second;
    event([&] { return machine_->on_close(id(run), asked_[run].round, asked_[run].attempt, silos, now_); });
  }
  /// Once something is forwarded, any set of silos is too late.
  void close_otherwise(std::size_t run) {
    if (!forwarded_.contains({run, asked_[run].round})) return;
    std::vector<SiloId> silos;
    for (std::size_t silo = 0; silo < faults_.silos; ++silo) {
      if (random_.chance(0.7)) silos.push_back(name(run, silo));
    }
    event([&] { return machine_->on_close(id(run), asked_[run].round, asked_[run].attempt, silos, now_); });
  }
  /// Whatever a silo of the run should not send.
  void misbehave(std::size_t run, std::uint64_t how) {
    const RoundIndex round = asked_[run].round;
    const std::size_t silo = random_.below(faults_.silos);
    const std::string other = message(run, silo, {round.value + 1000});
    event([&]() -> std::vector<BatchMachine::Action> {
      const Digest same = terms(round);
      switch (how % 6) {
        case 0:  // a second, different message: only where the first is there already
          if (!acknowledged_[{run, round}].contains(message(run, silo, round))) return {};
          return machine_->on_message(name(run, silo), id(run), round, making(same), other, now_);
        case 1:
          return machine_->on_message(name(run, silo), id(run), round, making(same), other + "x", now_);
        case 2:
          return machine_->on_message(name(run, faults_.silos), id(run), round, making(same), other, now_);
        case 3:
          return machine_->on_message(name(run, silo), id(run), round.next(), making(same), other, now_);
        case 4:  // other terms: only where its message is there already
          if (!acknowledged_[{run, round}].contains(message(run, silo, round))) return {};
          return machine_->on_message(name(run, silo), id(run), round, making(terms(round.next())), other, now_);
        default:
          return machine_->on_message(name(run, silo), id(faults_.runs), round, making(same), other, now_);
      }
    });
  }
  void pass(milliseconds time) {
    now_ += time;
    std::vector<BatchMachine::ArmDeadline> due;
    for (const BatchMachine::ArmDeadline& one : deadlines_) {
      if (one.at <= now_) due.push_back(one);
    }
    std::erase_if(deadlines_, [this](const BatchMachine::ArmDeadline& one) { return one.at <= now_; });
    for (const BatchMachine::ArmDeadline& one : due)
      event([&] { return machine_->on_deadline(one.run, one.round, now_); });
  }
  /// The coordinator has the batch on disk. It may say so more than once.
  void deliver(std::size_t run) {
    const Key key{run, asked_[run].round};
    if (!forwarded_.contains(key)) return;
    delivered_.insert(key);
    event([&] { return machine_->on_delivered(id(run), key.second); });
  }
  void next_round(std::size_t run) {
    if (delivered_.contains({run, asked_[run].round})) asked_[run] = {asked_[run].round.next(), 0, false};
  }
  void abandon(std::size_t run) {
    event([&] { return machine_->abandon(id(run), asked_[run].round); });
  }
  void kill() {
    snapshot();
    restart();
  }

 private:
  [[nodiscard]] RunId id(std::size_t run) const {
    return {sha256(fmt::format("job {}", faults_.seed)), {static_cast<std::uint8_t>(run)}};
  }
  [[nodiscard]] static SiloId name(std::size_t run, std::size_t silo) {
    return SiloId::create(fmt::format("institution-{}-of-run-{}", silo, run)).value();
  }
  [[nodiscard]] std::string message(std::size_t run, std::size_t silo, RoundIndex round) const {
    RandomSource bytes(faults_.seed * 1'000'003 + run * 10'007 + silo * 101 + round.value * 1'000'000'007);
    std::string out(faults_.adds ? 1 : 0, 'o');
    while (out.size() < message_bytes()) out.push_back(static_cast<char>(bytes.word()));
    return out;
  }
  [[nodiscard]] std::size_t message_bytes() const {
    return faults_.adds ? PlainAdder::kSealing + faults_.unit_bytes : faults_.units * faults_.unit_bytes;
  }
  /// A message that is added is one unit.
  [[nodiscard]] Messages units_of(const std::string& message) const {
    if (faults_.adds) return {message};
    Messages out;
    for (std::size_t at = 0; at < message.size(); at += faults_.unit_bytes)
      out.push_back(message.substr(at, faults_.unit_bytes));
    return out;
  }
  [[nodiscard]] Making making(const Digest& terms) const {
    return {terms, faults_.adds ? message_bytes() : faults_.unit_bytes, faults_.adds ? 4U : 0U};
  }
  [[nodiscard]] static Digest terms(RoundIndex round) { return sha256(fmt::format("terms {}", round.value)); }
  [[nodiscard]] static Digest other_terms() { return sha256("other terms"); }
  [[nodiscard]] bool strays(std::size_t silo) const { return faults_.stray && silo + 1 == faults_.silos; }
  [[nodiscard]] BatchSpec spec(std::size_t run) const {
    BatchSpec out{id(run), asked_[run].round, asked_[run].attempt, {}, faults_.replies_min, message_bytes(), 0, 0,
                  {},      milliseconds(1000)};
    out.unit_bytes = faults_.adds ? message_bytes() : faults_.unit_bytes;
    out.word_bytes = faults_.adds ? 4 : 0;
    for (std::size_t silo = 0; silo < faults_.silos; ++silo) out.expected.push_back(name(run, silo));
    return out;
  }
  [[nodiscard]] std::size_t number(const RunId& run) const { return run.nonce[0]; }
  [[nodiscard]] std::filesystem::path file() const {
    return folder_.path() / fmt::format("batches-{}.sqlite", generation_);
  }

  void start() {
    database_.emplace(Database::open(file(), Database::Sync::Normal).value());
    ASSERT_TRUE(database_->execute("PRAGMA synchronous=OFF"));  // processes die here, the machine does not
    store_.emplace(BatchStore::open(*database_).value());
    database_->observe_commits([this](Database::CommitPoint /*point*/) { point(); });
    machine_.emplace(Limits{}, permuter_, adder_);
    std::vector<Batch> batches = store_->load().value();
    event([&] { return machine_->restore(std::move(batches), now_); });
  }
  void snapshot() {
    const std::string from = file().string();
    ++generation_;
    for (const char* suffix : {"", "-wal"}) {
      if (std::filesystem::exists(from + suffix)) std::filesystem::copy_file(from + suffix, file().string() + suffix);
    }
  }
  void restart() {
    ++deaths_;
    deadlines_.clear();
    changed_ = true;
    for (Asked& asked : asked_) asked.open = false;  // the coordinator lost its connection: it asks again
    machine_.reset();
    store_.reset();
    database_.reset();
    start();
  }
  void point() {
    ++points_;
    if (points_ != faults_.death_point && !random_.chance(faults_.death)) return;
    snapshot();
    throw Died{};
  }
  void event(const std::function<std::vector<BatchMachine::Action>()>& tell) {
    bool died = false;
    try {
      for (const BatchMachine::Action& action : tell()) {
        point();
        carry_out(action);
      }
    } catch (const Died&) {
      died = true;
    }
    if (died) {
      restart();
    } else {
      check_disk();
    }
  }

  void carry_out(const BatchMachine::Action& action) {
    std::visit(Overloaded{
                   [this](const BatchMachine::Store& one) {
                     changed_ = changed_ || !std::holds_alternative<MessageReceived>(one.change);
                     const Status applied = store_->apply(one.change);
                     ASSERT_TRUE(applied) << applied.error().message;
                   },
                   [this](const BatchMachine::Opened& one) { asked_[number(one.run)].open = true; },
                   [this](const BatchMachine::RefuseBatch& one) { on_refused(one); },
                   [this](const BatchMachine::Collected& one) { on_collected(one); },
                   [this](const BatchMachine::Forward& one) { on_forward(one); },
                   [this](const BatchMachine::Failed& one) { on_failed(one); },
                   [this](const BatchMachine::Acknowledge& one) { on_acknowledged(one); },
                   [](const BatchMachine::ShareRefused& one) { ADD_FAILURE() << one.silo.name(); },
                   [this](const BatchMachine::TermsDiffer& one) {
                     EXPECT_TRUE(faults_.stray);
                     EXPECT_EQ(one.silos, std::vector<SiloId>{name(number(one.run), faults_.silos - 1)});
                   },
                   [](const BatchMachine::Refuse&) {},
                   [this](const BatchMachine::ArmDeadline& one) { deadlines_.push_back(one); },
               },
               action);
  }
  void on_refused(const BatchMachine::RefuseBatch& refused) {
    const Key key{number(refused.run), refused.round};
    if (refused.reason == wire::BatchRefusal::Different && forwarded_.contains(key)) return;  // close_otherwise
    EXPECT_TRUE(delivered_.contains(key) || !asked_[key.first].open) << to_string(refused.reason);
  }
  /// The same silos whenever they are told, all those acknowledged among them; of these the coordinator takes some.
  void on_collected(const BatchMachine::Collected& collected) {
    const Key key{number(collected.run), collected.round};
    EXPECT_EQ(collected.attempt, asked_[key.first].attempt);
    asked_[key.first].open = true;
    const auto [known, first] = collected_.emplace(key, collected.silos);
    EXPECT_EQ(known->second, collected.silos);
    if (!first) return;
    std::size_t acknowledged = 0;
    for (std::size_t silo = 0; silo < faults_.silos; ++silo) {
      const std::string one = message(key.first, silo, key.second);
      const bool in = std::binary_search(collected.silos.begin(), collected.silos.end(), name(key.first, silo));
      EXPECT_TRUE(!in || sent_[key].contains(one)) << "a silo that sent nothing in this attempt";
      EXPECT_TRUE(in || !acknowledged_[key].contains(one)) << "an acknowledged message was lost";
      acknowledged += in ? 1 : 0;
    }
    EXPECT_EQ(acknowledged, collected.silos.size());
    EXPECT_GE(collected.silos.size(), faults_.replies_min);
    std::vector<SiloId>& chosen = chosen_[key] = collected.silos;
    while (chosen.size() > faults_.replies_min && random_.chance(0.3))
      chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(random_.below(chosen.size())));
  }
  void on_acknowledged(const BatchMachine::Acknowledge& one) {
    const Key key{number(one.run), one.round};
    for (std::size_t silo = 0; silo < faults_.silos; ++silo) {
      if (name(key.first, silo) == one.silo && !strays(silo))
        acknowledged_[key].insert(message(key.first, silo, one.round));
    }
  }
  void on_failed(const BatchMachine::Failed& failed) {
    const Key key{number(failed.run), failed.round};
    EXPECT_FALSE(forwarded_.contains(key));  // nothing was, and nothing of this attempt will be: see on_forward
    ++failures_;
    Asked& asked = asked_[key.first];
    if (asked.round != failed.round || asked.attempt != failed.attempt) return;
    asked = {failed.round, failed.attempt + 1, false};
    sent_.erase(key);
    acknowledged_.erase(key);
    collected_.erase(key);
    chosen_.erase(key);
  }
  void on_forward(const BatchMachine::Forward& forward) {
    const Key key{number(forward.run), forward.round};
    const auto [known, first] = forwarded_.emplace(key, forward.units);
    EXPECT_EQ(known->second, forward.units) << "two batches of one round";
    if (!first) return;
    EXPECT_GE(forward.replies, faults_.replies_min);
    if (faults_.adds) {
      check_total(key, forward);
    } else {
      check_units(key, forward);
    }
  }
  void check_units(const Key& key, const BatchMachine::Forward& forward) {
    EXPECT_EQ(forward.units.size(), forward.replies * faults_.units);
    const std::set<std::string> once(forward.units.begin(), forward.units.end());
    EXPECT_EQ(once.size(), forward.units.size()) << "a unit twice";
    const auto units = [this](const std::set<std::string>& messages) {
      std::set<std::string> out;
      for (const std::string& message : messages) {
        for (std::string& unit : units_of(message)) out.insert(std::move(unit));
      }
      return out;
    };
    const std::set<std::string> sent = units(sent_[key]);
    const std::set<std::string> acknowledged = units(acknowledged_[key]);
    EXPECT_TRUE(std::includes(sent.begin(), sent.end(), once.begin(), once.end()))
        << "a unit that nobody sent in this attempt";
    EXPECT_TRUE(std::includes(once.begin(), once.end(), acknowledged.begin(), acknowledged.end()))
        << "an acknowledged unit was lost";
  }
  void check_total(const Key& key, const BatchMachine::Forward& forward) {
    ASSERT_TRUE(chosen_.contains(key)) << "closed by nobody";
    Messages shares;
    for (std::size_t silo = 0; silo < faults_.silos; ++silo) {
      const std::vector<SiloId>& chosen = chosen_[key];
      if (std::binary_search(chosen.begin(), chosen.end(), name(key.first, silo)))
        shares.push_back(message(key.first, silo, key.second));
    }
    EXPECT_EQ(forward.replies, shares.size());
    EXPECT_EQ(forward.units, Messages{*adder_.add(spec(key.first), shares)});
  }

  /// Silos stand in the files while their batch is collected, and messages until the batch is over; nothing is left in
  /// the log.
  void check_disk() {
    if (!std::exchange(changed_, false)) return;
    std::string bytes;
    for (const char* suffix : {"", "-wal"}) {
      std::ifstream in(file().string() + suffix, std::ios::binary);
      bytes.append(std::istreambuf_iterator<char>(in), {});
    }
    for (const Batch& batch : store_->load().value()) {
      if (batch.state == BatchState::Collecting || batch.state == BatchState::Collected) continue;
      const std::size_t run = number(batch.spec.run);
      EXPECT_EQ(count(bytes, fmt::format("-of-run-{}", run)), 0U);
      for (std::size_t silo = 0; silo < faults_.silos; ++silo) {
        for (const std::string& one : units_of(message(run, silo, batch.spec.round))) {
          const bool held = std::find(batch.units.begin(), batch.units.end(), one) != batch.units.end();
          // A long unit lies in pieces.
          EXPECT_EQ(count(bytes, one.substr(0, 24)), held ? 1U : 0U);
          EXPECT_EQ(count(bytes, one.substr(one.size() - 24)), held ? 1U : 0U);
        }
      }
    }
  }

  Faults faults_;
  RandomSource random_;
  tests::TemporaryFolder folder_;
  BitsPermuter<crypto::TestBits> permuter_;
  PlainAdder adder_;
  std::optional<Database> database_;
  std::optional<BatchStore> store_;
  std::optional<BatchMachine> machine_;
  std::vector<BatchMachine::ArmDeadline> deadlines_;
  TimePoint now_{};
  std::size_t generation_ = 0;
  bool changed_ = false;  // a batch, not only what it holds
  std::uint64_t points_ = 0;
  std::uint64_t deaths_ = 0;
  std::uint64_t failures_ = 0;
  std::vector<Asked> asked_;
  std::map<Key, std::set<std::string>> sent_;          // in the present attempt
  std::map<Key, std::set<std::string>> acknowledged_;  // in the present attempt
  std::map<Key, std::vector<SiloId>> collected_;       // in the present attempt, of a batch that adds
  std::map<Key, std::vector<SiloId>> chosen_;          // of these, by the coordinator
  std::map<Key, Messages> forwarded_;
  std::set<Key> delivered_;
};

void step(World& world, const Faults& faults) {
  const std::size_t run = world.random().below(faults.runs);
  const RoundIndex round = world.asked(run).round;
  const std::uint64_t what = world.random().below(100);
  if (what < 15) {
    world.open(run);
  } else if (what < 62) {
    if (world.asked(run).open) world.send(run, world.random().below(faults.silos), round);
  } else if (what < 70) {
    world.close(run);
  } else if (what < 72) {
    world.close_otherwise(run);
  } else if (what < 75) {
    world.misbehave(run, world.random().word());
  } else if (what < 80) {
    world.pass(milliseconds(world.random().below(700)));
  } else if (what < 92) {
    world.deliver(run);
    world.next_round(run);
  } else if (what < 95) {
    if (round.value > 0) world.send(run, world.random().below(faults.silos), {round.value - 1});
  } else if (what < 97) {
    world.abandon(run);
  } else {
    world.kill();
  }
}

/// @param adds of all shufflers
void live_long(bool adds) {
  std::uint64_t deaths = 0;
  std::uint64_t failures = 0;
  std::size_t forwarded = 0;
  for (std::uint64_t seed = 0; seed < 100 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Faults faults;
    faults.seed = seed;
    faults.adds = adds;
    faults.runs = 1 + seed % 3;
    faults.silos = 2 + seed % 5;
    faults.replies_min = 2 + (seed / 5) % (faults.silos - 1);
    faults.unit_bytes = std::vector<std::size_t>{24, 700, 6000}[(seed / 2) % 3];
    faults.units = 1 + (seed / 7) % 3;
    faults.stray = faults.silos > faults.replies_min && seed % 4 == 1;  // the others can still be enough
    faults.death = 0.01 * static_cast<double>(seed % 8);
    World world(faults);
    for (int i = 0; i < 250 && !::testing::Test::HasFailure(); ++i) step(world, faults);
    deaths += world.deaths();
    failures += world.failures();
    forwarded += world.forwarded().size();
  }
  std::cout << "forwarded " << forwarded << ", failed " << failures << ", deaths " << deaths << "\n";
  EXPECT_GT(forwarded, 200U);
  EXPECT_GT(failures, 100U);
  EXPECT_GT(deaths, 1000U);
}

TEST(BatchCrashTest, AHundredShufflersThatMixKeepEveryPromise) { live_long(false); }

TEST(BatchCrashTest, AHundredShufflersThatAddKeepEveryPromise) { live_long(true); }

/// One round of three silos, from its opening to its delivery. @param all whether the third silo sends too
void live_through(World& world, bool all) {
  for (int turn = 0; turn < 20 && world.asked(0).round.value == 0; ++turn) {
    const std::uint64_t deaths = world.deaths();
    if (!world.asked(0).open) world.open(0);
    for (std::size_t silo = 0; silo < (all ? 3U : 2U); ++silo) {
      if (world.asked(0).open) world.send(0, silo, {0});
    }
    if (!all && world.deaths() == deaths) world.pass(milliseconds(1000));
    world.close(0);
    world.deliver(0);
    world.next_round(0);
  }
}

TEST(BatchCrashTest, ADeathAtAnySinglePointCostsNothing) {
  for (const bool adds : {false, true}) {
    for (const bool all : {true, false}) {
      Faults faults;
      faults.adds = adds;
      World calm(faults);
      live_through(calm, all);
      ASSERT_GT(calm.points(), adds ? 16U : 12U);
      ASSERT_EQ(calm.forwarded().size(), 1U);
      for (std::uint64_t at = 1; at <= calm.points() && !::testing::Test::HasFailure(); ++at) {
        SCOPED_TRACE(fmt::format("adds {} all {} point {}", adds, all, at));
        faults.death_point = at;
        World world(faults);
        live_through(world, all);
        EXPECT_EQ(world.deaths(), 1U);
        EXPECT_EQ(world.failures(), 0U);
        ASSERT_EQ(world.forwarded().size(), 1U);
        EXPECT_EQ(world.forwarded().begin()->second.size(), calm.forwarded().begin()->second.size());
      }
    }
  }
}

}  // namespace
}  // namespace undertone::shuffler
