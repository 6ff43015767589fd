#include <map>
#include <optional>
#include <set>

#include "shared/crypto/test_bits.hpp"
#include "shuffler/batch/batch_machine.hpp"
#include "shuffler/batch/batch_store.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/plain_adder.hpp"

namespace undertone::fuzz {
namespace {

using namespace shuffler;
using std::chrono::milliseconds;
using tests::PlainAdder;

constexpr std::uint32_t kSilos = 5;
constexpr std::uint64_t kRounds = 4;
constexpr std::size_t kEventsMax = 120;

SiloId silo_of(std::uint32_t number) { return SiloId::create(fmt::format("silo-{}", number)).value(); }

std::vector<SiloId> silos_of(std::uint32_t set) {
  std::vector<SiloId> out;
  for (std::uint32_t i = 0; i < 8; ++i) {
    if ((set >> i & 1U) != 0) out.push_back(silo_of(i));
  }
  return out;
}

/// A shuffler that adds or mixes, a coordinator that keeps no rule, silos that send what they like, and crashes between
/// any two actions. Silo i's share is the word 2^i, and its units name it: what is forwarded says whose it is.
class World {
 public:
  World(std::uint8_t how, std::uint8_t bad)
      : adds_((how & 1U) != 0),
        replies_min_(2 + (how >> 1U) % 3U),
        bad_((how & 8U) != 0 ? 1U << bad % kSilos : 0),
        store_(BatchStore::open(database_).value()) {
    restart();
  }

  void step(Input& input) {
    const std::uint32_t what = input.below(16);
    const std::uint8_t where = input.byte();
    const RoundIndex round = (where & 0xf0U) == 0xf0U ? RoundIndex{where % kRounds} : round_;
    const std::uint32_t attempt = (where & 0xe0U) == 0xc0U ? where % 4 : attempt_;
    crash_after_ = input.rarely(8) ? input.below(4) : 255;
    if (what < 2) {
      carry_out(machine_->open(spec(round, attempt, input.byte()), now_));
    } else if (what < 9) {
      message(round, attempt, input);
    } else if (what < 11) {
      const std::uint8_t set = input.byte();
      std::vector<SiloId> silos = silos_of((set & 0x80U) != 0 ? last_collected_ : set & 0x3fU);
      if ((set & 0xc0U) == 0x40U && silos.size() > 1) std::swap(silos.front(), silos.back());
      carry_out(machine_->on_close(kRun, round, attempt, silos, now_));
    } else if (what == 11) {
      now_ += input.rarely(4) ? Limits{}.undelivered_max : milliseconds(60);
      carry_out(machine_->on_deadline(kRun, round, now_));
    } else if (what == 12) {
      carry_out(machine_->abandon(kRun, round));
    } else if (what == 13) {
      carry_out(machine_->on_delivered(kRun, round));
    } else if (what == 14) {
      round_ = RoundIndex{(round_.value + 1) % kRounds};
      attempt_ = 0;
    } else {
      restart();
    }
    UNDERTONE_CHECK(machine_->batches() <= 1 && machine_->held_bytes() <= Limits{}.held_bytes_max);
  }

 private:
  inline static const RunId kRun{sha256("job"), {1}};

  [[nodiscard]] BatchSpec spec(RoundIndex round, std::uint32_t attempt, std::uint8_t how) const {
    const std::size_t unit = adds_ ? PlainAdder::kSealing + 1 : 4;
    BatchSpec out{kRun,         round,
                  attempt,      silos_of((1U << kSilos) - 1),
                  replies_min_, adds_ ? unit : 2 * unit,
                  unit,         adds_ ? 1U : 0U,
                  {},           milliseconds(100)};
    if (how == 255) std::swap(out.expected.front(), out.expected.back());
    if (how == 254) out.replies_min = 1;
    if (how == 253) out.unit_bytes = 3;
    if (how == 252) out.query = sha256("another");
    if (how == 251) out.expected.pop_back();
    return out;
  }
  [[nodiscard]] std::string message_of(std::uint32_t silo, RoundIndex round, std::uint32_t attempt) const {
    if (!adds_) {
      const std::string unit = fmt::format("{}{}{}", silo % 10, round.value % 10, attempt % 10);
      return unit + "a" + unit + "b";
    }
    std::string out = PlainAdder::share(std::string(1, static_cast<char>(1U << silo)));
    if ((bad_ >> silo & 1U) != 0) out.front() = '!';
    return out;
  }
  void message(RoundIndex round, std::uint32_t attempt, Input& input) {
    const std::uint8_t how = input.byte();
    const std::uint32_t silo = how % (kSilos + 1);  // the last is a stranger
    const BatchSpec batch = spec(round, attempt, 0);
    Making making{sha256("terms"), batch.unit_bytes, batch.word_bytes};
    std::string text = message_of(silo, round, attempt);
    if (how > 249) text[1] = static_cast<char>(text[1] ^ 1);  // a second one, with the same word
    if (how == 249) text.push_back('x');
    if (how >= 241 && how <= 248) making.terms = sha256("others");
    if (how == 247) ++making.unit_bytes;
    if (how == 246) ++making.word_bytes;
    carry_out(machine_->on_message(silo_of(silo), kRun, round, making, std::move(text), now_));
  }

  void restart() {
    machine_.emplace(Limits{}, permuter_, adder_);
    std::vector<Batch> batches = store_.load().value();
    if (!batches.empty() && batches.front().state == BatchState::Collecting) {
      received_.clear();
      for (const auto& [slot, text] : batches.front().received)
        received_.emplace(static_cast<std::uint32_t>(slot), Received{batches.front().terms.at(slot), text});
    }
    crash_after_ = 255;
    carry_out(machine_->restore(std::move(batches), now_));
  }

  void carry_out(const std::vector<BatchMachine::Action>& actions) {
    for (const BatchMachine::Action& action : actions) {
      if (const auto* store = std::get_if<BatchMachine::Store>(&action)) {
        UNDERTONE_CHECK(store_.apply(store->change).has_value());
        remember(store->change);
      } else if (const auto* forward = std::get_if<BatchMachine::Forward>(&action)) {
        check(*forward);
      } else if (const auto* collected = std::get_if<BatchMachine::Collected>(&action)) {
        check(*collected);
      } else if (const auto* failed = std::get_if<BatchMachine::Failed>(&action)) {
        UNDERTONE_CHECK(!forwarded_.contains(failed->round));
        if (failed->round == round_) attempt_ = failed->attempt + 1;
      } else if (const auto* opened = std::get_if<BatchMachine::Opened>(&action)) {
        UNDERTONE_CHECK(!forwarded_.contains(opened->round));
        round_ = opened->round;
        attempt_ = opened->attempt;
      } else if (const auto* refused = std::get_if<BatchMachine::ShareRefused>(&action)) {
        UNDERTONE_CHECK(adds_);
        (void)refused;
      } else if (const auto* taken = std::get_if<BatchMachine::Acknowledge>(&action)) {
        UNDERTONE_CHECK(!forwarded_.contains(taken->round));
      }
      if (crash_after_-- == 0) return restart();
    }
  }
  void remember(const Change& change) {
    if (std::holds_alternative<shuffler::BatchOpened>(change)) received_.clear();
    if (const auto* received = std::get_if<MessageReceived>(&change)) {
      const Received kept{received->terms, received->message};
      UNDERTONE_CHECK(received_.emplace(static_cast<std::uint32_t>(received->slot), kept).second);
    }
  }
  struct Received {
    Digest terms{};
    std::string text;
  };
  /// Of what is on disk that whose terms most have, or of two halves that with the lowest slot.
  [[nodiscard]] std::map<std::uint32_t, std::string> agreeing() const {
    std::map<std::uint32_t, std::string> best;
    for (const auto& [first, of] : received_) {
      std::map<std::uint32_t, std::string> group;
      for (const auto& [slot, one] : received_) {
        if (one.terms == of.terms) group.emplace(slot, one.text);
      }
      if (group.size() > best.size()) best = std::move(group);
    }
    return best;
  }
  /// Of an attempt there is one set of silos for ever, those whose messages were on disk and agree.
  void check(const BatchMachine::Collected& collected) {
    UNDERTONE_CHECK(adds_ && collected.silos.size() >= replies_min_ && !forwarded_.contains(collected.round));
    const auto known = collected_.emplace(std::pair(collected.round, collected.attempt), collected.silos).first;
    UNDERTONE_CHECK(known->second == collected.silos);
    last_collected_ = 0;
    const std::map<std::uint32_t, std::string> together = agreeing();
    for (std::uint32_t i = 0; i < kSilos; ++i) {
      const bool in = std::binary_search(collected.silos.begin(), collected.silos.end(), silo_of(i));
      UNDERTONE_CHECK(in == together.contains(i));
      if (in) last_collected_ |= 1U << i;
    }
  }
  /// A round is forwarded once: later ones are the same bytes in the same order.
  void check(const BatchMachine::Forward& forward) {
    UNDERTONE_CHECK(forward.replies >= replies_min_);
    const auto [known, first] = forwarded_.emplace(forward.round, forward.units);
    UNDERTONE_CHECK(known->second == forward.units);
    if (!first) return;
    if (adds_) {
      const auto set = static_cast<std::uint32_t>(static_cast<unsigned char>(forward.units.at(0).at(0)));
      UNDERTONE_CHECK(forward.units.size() == 1 && silos_of(set).size() == forward.replies &&
                      (set & ~last_collected_) == 0);
      UNDERTONE_CHECK((set & bad_) == 0);
      return;
    }
    // All that was on disk and agrees, and nothing else.
    const std::map<std::uint32_t, std::string> together = agreeing();
    std::multiset<std::string> expected;
    for (const auto& [silo, text] : together) {
      expected.insert(text.substr(0, 4));
      expected.insert(text.substr(4));
    }
    UNDERTONE_CHECK(forward.replies == together.size());
    UNDERTONE_CHECK(expected == std::multiset<std::string>(forward.units.begin(), forward.units.end()));
  }

  bool adds_;
  std::size_t replies_min_;
  std::uint32_t bad_;  // the silo whose shares are garbage, if there is one
  store::Database database_ = store::Database::in_memory().value();
  BatchStore store_;
  BitsPermuter<crypto::TestBits> permuter_{crypto::TestBits(1, "order", crypto::InsecureForTestsOnly{})};
  PlainAdder adder_;
  std::optional<BatchMachine> machine_;
  TimePoint now_{};
  std::map<std::uint32_t, Received> received_;  // in the newest batch, by slot
  std::map<std::pair<RoundIndex, std::uint32_t>, std::vector<SiloId>> collected_;
  std::map<RoundIndex, std::vector<std::string>> forwarded_;
  std::uint32_t last_collected_ = 0;
  std::uint32_t crash_after_ = 255;
  RoundIndex round_;  // that most events are about
  std::uint32_t attempt_ = 0;
};

void batch_machine(std::string_view bytes) {
  Input input(bytes);
  const std::uint8_t how = input.byte();
  World world(how, input.byte());
  for (std::size_t i = 0; i < kEventsMax && !input.empty(); ++i) world.step(input);
}

const Target kTarget("batch_machine", batch_machine);

}  // namespace
}  // namespace undertone::fuzz
