#include "coordinator/rounds/shuffled_round.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <utility>

#include "shared/base/random_source.hpp"
#include "shared/sealed/hand_over_receipt.hpp"

namespace undertone::coordinator {
namespace {

using std::chrono::milliseconds;
using Actions = std::vector<ShuffledRound::Action>;

const RunId kRun{sha256("job"), {}};
constexpr RoundIndex kRound{3};
constexpr std::size_t kRepliesMin = 2;

constexpr std::size_t kSilos = 4;

/// Accepts every batch that a round may fold.
class CountingFold final : public sealed::BatchFold {
 public:
  Status take(std::size_t shuffler, std::uint64_t replies, std::string) override {
    EXPECT_TRUE(taken_.insert(shuffler).second) << "two batches of one shuffler";
    EXPECT_GE(replies, kRepliesMin);
    EXPECT_LE(replies, kSilos);
    replies_ = replies;
    return {};
  }
  Result<folds::Gathered> gathered() const override {
    return folds::Gathered{kRound, static_cast<Eigen::Index>(replies_), folds::Mean{Eigen::VectorXd::Zero(1)}};
  }
  Digest digest() const override { return sha256("batch"); }

 private:
  std::set<std::size_t> taken_;
  std::uint64_t replies_ = 0;
};

/// A shuffler as the protocol has it, without keys or contents. It forgets nothing.
class HonestShuffler {
 public:
  using Messages = std::vector<wire::Message>;
  explicit HonestShuffler(bool adds) : adds_(adds) {}

  Messages hear(const wire::Message& message) {
    if (const auto* open = std::get_if<wire::BatchOpen>(&message)) return on_open(*open);
    if (const auto* close = std::get_if<wire::BatchClose>(&message)) return on_close(*close);
    if (std::holds_alternative<wire::BatchAbandon>(message)) return on_abandon();
    if (std::holds_alternative<wire::BatchDelivered>(message) && state_ == State::Forwarded) state_ = State::Final;
    return {};
  }
  /// @param out what it says when that was the last reply it waited for
  /// @return whether it took the reply
  bool take(const SiloId& silo, Messages& out) {
    if (state_ != State::Collecting) return false;
    if (!std::binary_search(spec_.expected.begin(), spec_.expected.end(), silo)) return false;
    received_.insert(silo);
    if (received_.size() == spec_.expected.size()) out = finish();
    return true;
  }
  Messages on_deadline() { return state_ == State::Collecting ? finish() : Messages{}; }

  [[nodiscard]] bool has(const SiloId& silo) const { return received_.contains(silo); }
  /// @pre it took the reply
  [[nodiscard]] Digest receipt(const SiloId& silo) const {
    return sealed::receipt_of(*spec_.receipt_key, {kRun, kRound, spec_.attempt, silo, sha256("terms")});
  }
  [[nodiscard]] bool has_forwarded() const { return state_ == State::Forwarded || state_ == State::Final; }

 private:
  enum class State { Nothing, Collecting, Collected, Forwarded, Final, Failed };

  Messages on_open(const wire::BatchOpen& open) {
    const bool anew = state_ == State::Nothing || (state_ == State::Failed && open.attempt > spec_.attempt);
    if (anew) {
      spec_ = open;
      received_.clear();
      state_ = State::Collecting;
    }
    switch (state_) {
      case State::Nothing:
        break;
      case State::Collecting:
        if (open.attempt != spec_.attempt || open.expected != spec_.expected)
          return {wire::BatchRefused{kRun, kRound, open.attempt, wire::BatchRefusal::Different}};
        return {wire::BatchOpened{kRun, kRound, spec_.attempt}};
      case State::Collected:
        return {collected()};
      case State::Forwarded:
        return {forward_};
      case State::Final:
        return {wire::BatchRefused{kRun, kRound, open.attempt, wire::BatchRefusal::Past}};
      case State::Failed:
        return {failed()};
    }
    return {};
  }
  Messages on_close(const wire::BatchClose& close) {
    if (close.attempt != spec_.attempt) return {};
    if (state_ == State::Forwarded) {
      EXPECT_EQ(close.silos.size(), forward_.replies) << "told to add another set";
      return {forward_};
    }
    if (state_ != State::Collected) return {};
    for (const SiloId& silo : close.silos) EXPECT_TRUE(has(silo));
    return forward(close.silos.size());
  }
  Messages on_abandon() {
    if (state_ == State::Collecting || state_ == State::Collected) state_ = State::Failed;
    if (state_ == State::Failed) return {failed()};
    if (state_ == State::Forwarded) return {forward_};
    return {wire::BatchRefused{kRun, kRound, 0, wire::BatchRefusal::Past}};
  }
  Messages finish() {
    if (received_.size() < kRepliesMin) {
      state_ = State::Failed;
      return {failed()};
    }
    if (!adds_) return forward(received_.size());
    state_ = State::Collected;
    return {collected()};
  }
  Messages forward(std::size_t replies) {
    state_ = State::Forwarded;
    forward_ = {kRun, kRound, replies, "units"};
    return {forward_};
  }
  [[nodiscard]] wire::BatchCollected collected() const {
    return {kRun, kRound, spec_.attempt, {received_.begin(), received_.end()}};
  }
  [[nodiscard]] wire::BatchFailed failed() const { return {kRun, kRound, spec_.attempt, received_.size()}; }

  bool adds_;
  State state_ = State::Nothing;
  wire::BatchOpen spec_;
  std::set<SiloId> received_;
  wire::BatchForward forward_;
};

/// What may go wrong, each with its chance per event.
struct Faults {
  bool reorders = false;
  double drop = 0.0;
  double duplicate = 0.0;
  double reconnect = 0.0;
  double crash = 0.0;     // of the coordinator, between two events
  double deadline = 0.0;  // of a shuffler
  double lose_silo = 0.0;
  double lie = 0.0;  // of a silo that handed nothing over
};

/// A round, its shufflers and silos, and the messages under way. Holds every action against what must never happen.
class Federation {
 public:
  Federation(std::uint64_t seed, bool adds, std::size_t shufflers, Faults faults)
      : random_(seed), adds_(adds), faults_(faults) {
    for (std::size_t i = 0; i < shufflers; ++i) {
      names_.push_back("shuffler-" + std::to_string(i));
      shufflers_.emplace(names_.back(), HonestShuffler(adds));
    }
    for (const char* name : {"a", "b", "c", "d"}) silos_.insert(SiloId::create(name).value());
    start();
  }

  /// One thing happens. @return false: nothing is under way and nobody has anything to do
  bool step() {
    now_ += milliseconds(1);
    if (chance(faults_.crash) && !ended()) {
      ++crashes;
      from_silos_.clear();
      start();
    } else if (chance(faults_.reconnect)) {
      run(machine_->on_shuffler_connected(pick(names_)));
    } else if (chance(faults_.deadline)) {
      const std::string& name = pick(names_);
      say(name, shufflers_.at(name).on_deadline());
    } else if (chance(faults_.lose_silo)) {
      run(machine_->on_lost(pick(std::vector<SiloId>(silos_.begin(), silos_.end()))));
    } else if (chance(faults_.lie)) {
      run(machine_->on_handed_over(pick(std::vector<SiloId>(silos_.begin(), silos_.end())), {{names_[0], Digest{}}}));
    } else if (chance(faults_.drop)) {
      run(machine_->on_resend());
    } else {
      return deliver();
    }
    return true;
  }
  void fire_deadline() { run(machine_->on_deadline(due_)); }

  [[nodiscard]] bool ended() const { return closed() || machine_->state() == ShuffledRound::State::Aborted; }
  [[nodiscard]] bool closed() const { return machine_->state() == ShuffledRound::State::Closed; }
  [[nodiscard]] std::uint32_t attempt() const { return machine_->attempt(); }

  int crashes = 0;

 private:
  struct Envelope {
    std::string shuffler;
    bool to_shuffler = false;
    wire::Message message;
  };

  void start() {
    ShuffledRound::Setup setup;
    setup.run = kRun;
    setup.round = kRound;
    setup.shufflers = names_;
    setup.terms.assign(names_.size(), sha256("terms"));
    setup.receipt_secret = sha256(std::to_string(crashes));
    setup.adds = adds_;
    setup.expected = silos_;
    setup.replies_min = kRepliesMin;
    setup.message_bytes = setup.unit_bytes = 32;
    setup.word_bytes = adds_ ? 4 : 0;
    setup.deadline = milliseconds(1000);
    setup.committed = committed_;
    setup.fold = std::make_unique<CountingFold>();
    machine_ = std::make_unique<ShuffledRound>(std::move(setup));
    taken_ = false;
    run(machine_->open(now_));
  }

  bool deliver() {
    const bool wire_waits = !under_way_.empty();
    // Every second event is a silo's, while there is one that still has something to hand over.
    if ((!wire_waits || chance(0.5)) && a_silo_sends()) return true;
    if (!from_silos_.empty() && (!wire_waits || chance(0.3))) {
      run(machine_->on_handed_over(from_silos_.front().first, from_silos_.front().second));
      from_silos_.erase(from_silos_.begin());
      return true;
    }
    if (!wire_waits) return false;
    const std::size_t index = faults_.reorders ? below(under_way_.size()) : 0;
    const Envelope envelope = under_way_[index];
    if (!chance(faults_.duplicate)) under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(index));
    if (chance(faults_.drop)) return true;
    if (envelope.to_shuffler) {
      say(envelope.shuffler, shufflers_.at(envelope.shuffler).hear(envelope.message));
    } else {
      taken_ = taken_ || std::holds_alternative<wire::BatchForward>(envelope.message);
      run(machine_->on_shuffler_message(envelope.shuffler, envelope.message, now_));
    }
    return true;
  }

  bool a_silo_sends() {
    std::vector<SiloId> asked;
    for (const SiloId& silo : silos_) {
      const bool everywhere =
          std::all_of(shufflers_.begin(), shufflers_.end(), [&](const auto& s) { return s.second.has(silo); });
      if (machine_->wants(silo) && !everywhere) asked.push_back(silo);
    }
    if (asked.empty()) return false;
    const SiloId silo = pick(asked);
    bool everywhere = true;
    std::map<std::string, Digest> receipts;
    for (auto& [name, shuffler] : shufflers_) {
      HonestShuffler::Messages said;
      // It may not reach all of them; then it tries again.
      const bool taken = !chance(faults_.drop) && shuffler.take(silo, said);
      if (taken) receipts.emplace(name, shuffler.receipt(silo));
      everywhere = taken && everywhere;
      say(name, said);
    }
    if (everywhere) from_silos_.emplace_back(silo, std::move(receipts));
    return everywhere || faults_.drop > 0.0;
  }

  void say(const std::string& shuffler, HonestShuffler::Messages messages) {
    for (wire::Message& message : messages) under_way_.push_back({shuffler, false, std::move(message)});
  }

  void run(const Actions& actions) {
    const bool any_forwarded =
        std::any_of(shufflers_.begin(), shufflers_.end(), [](const auto& s) { return s.second.has_forwarded(); });
    bool released = false;
    for (const auto& action : actions) {
      EXPECT_FALSE(released && !std::holds_alternative<ShuffledRound::LogEvent>(action)) << "something after the end";
      if (const auto* commit = std::get_if<ShuffledRound::Commit>(&action)) {
        const bool attempt_begins = committed_ && commit->attempt > committed_->attempt;
        EXPECT_FALSE(attempt_begins && any_forwarded) << "asked again after a forward";
        EXPECT_FALSE(committed_ && !attempt_begins && committed_->closing) << "a second set in one attempt";
        EXPECT_LT(commit->attempt, ShuffledRound::kAttemptsMax);
        committed_ = *commit;
      } else if (const auto* send = std::get_if<ShuffledRound::ToShuffler>(&action)) {
        check(send->message);
        under_way_.push_back({send->shuffler, true, send->message});
      } else if (const auto* armed = std::get_if<ShuffledRound::ArmDeadline>(&action)) {
        due_ = armed->at;
      } else if (std::holds_alternative<ShuffledRound::AskSilos>(action)) {
        EXPECT_FALSE(taken_) << "silos asked after a forward";
      } else if (std::holds_alternative<ShuffledRound::CloseRound>(action)) {
        EXPECT_EQ(++closings_, 1) << "closed twice";
        released = true;
      } else if (const auto* aborted = std::get_if<ShuffledRound::AbortRound>(&action)) {
        EXPECT_EQ(++abortions_, 1) << "aborted twice";
        // In a second attempt a silo may be heard that speaks of the first.
        const bool in_the_first = machine_->attempt() == 0;
        EXPECT_FALSE(in_the_first && aborted->reason.code == ErrorCode::Malformed) << aborted->reason.message;
        EXPECT_FALSE(!faults_.reorders && aborted->reason.code == ErrorCode::InvalidArgument)
            << aborted->reason.message;
        released = true;
      }
    }
    EXPECT_LE(closings_ + abortions_, 1);
    if (!released) return;
    for (const auto& action : machine_->delivered()) {
      under_way_.push_back({std::get<ShuffledRound::ToShuffler>(action).shuffler, true,
                            std::get<ShuffledRound::ToShuffler>(action).message});
    }
  }

  /// Nothing is said to a shuffler that is not in the store.
  void check(const wire::Message& message) const {
    ASSERT_TRUE(committed_.has_value());
    if (const auto* open = std::get_if<wire::BatchOpen>(&message)) {
      EXPECT_EQ(open->attempt, committed_->attempt);
      EXPECT_EQ(open->expected, committed_->expected);
    } else if (const auto* close = std::get_if<wire::BatchClose>(&message)) {
      EXPECT_EQ(close->attempt, committed_->attempt);
      EXPECT_EQ(close->silos, committed_->closing);
      EXPECT_GE(close->silos.size(), kRepliesMin);
    }
  }

  bool chance(double probability) { return random_.chance(probability); }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_.below(bound)); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  RandomSource random_;
  bool adds_;
  Faults faults_;
  std::vector<std::string> names_;
  std::map<std::string, HonestShuffler> shufflers_;
  std::set<SiloId> silos_;
  std::optional<ShuffledRound::Commit> committed_;
  std::unique_ptr<ShuffledRound> machine_;
  std::vector<Envelope> under_way_;
  std::vector<std::pair<SiloId, std::map<std::string, Digest>>> from_silos_;  // with the receipts that they show
  TimePoint now_{};
  TimePoint due_{};
  bool taken_ = false;  // this machine was handed a forward
  int closings_ = 0;
  int abortions_ = 0;
};

constexpr std::uint64_t kEventsMax = 400;

TEST(ShuffledRoundPropertyTest, WithoutFaultsEveryRoundCloses) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Federation federation(seed, seed % 2 == 0, 1 + seed / 2 % 2, {});
    for (std::uint64_t i = 0; i < kEventsMax && !federation.ended(); ++i) (void)federation.step();
    EXPECT_TRUE(federation.closed());
    EXPECT_EQ(federation.attempt(), 0U);
  }
}

TEST(ShuffledRoundPropertyTest, WhateverHappensItEndsOnceAndNeverAsksAgainAfterAForward) {
  int closed = 0;
  int closed_at_once = 0;
  int aborted = 0;
  int closed_after_a_crash = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    Faults faults;
    faults.reorders = seed % 4 < 2;
    faults.drop = 0.02 * static_cast<double>(seed % 3);
    faults.duplicate = 0.1 * static_cast<double>(seed / 3 % 2);
    faults.reconnect = 0.1;
    faults.crash = 0.02 * static_cast<double>(seed / 6 % 2);
    faults.deadline = 0.05;
    faults.lose_silo = 0.02 * static_cast<double>(seed / 12 % 2);
    faults.lie = seed / 24 % 4 == 0 ? 0.02 : 0.0;
    Federation federation(seed, seed % 2 == 0, 1 + seed / 2 % 2, faults);
    // Some are cut off by the deadline. The others go on after the end: what is late or repeated must do nothing.
    const std::uint64_t events = seed % 5 == 0 ? seed % 50 : kEventsMax;
    for (std::uint64_t i = 0; i < events; ++i) (void)federation.step();
    federation.fire_deadline();
    ASSERT_TRUE(federation.ended());
    for (int i = 0; i < 20; ++i) (void)federation.step();
    aborted += federation.closed() ? 0 : 1;
    closed += federation.closed() && federation.attempt() > 0 ? 1 : 0;
    closed_at_once += federation.closed() && federation.attempt() == 0 ? 1 : 0;
    closed_after_a_crash += federation.closed() && federation.crashes > 0 ? 1 : 0;
    if (HasFailure()) return;
  }
  // The faults reach every kind of end, or this would show little.
  EXPECT_GT(closed_at_once, 500);
  EXPECT_GT(closed, 50);
  EXPECT_GT(aborted, 100);
  EXPECT_GT(closed_after_a_crash, 50);
  RecordProperty("closed_at_once", closed_at_once);
  RecordProperty("closed_again", closed);
  RecordProperty("aborted", aborted);
}

/// Anything that a shuffler may say of this round, true or not.
wire::Message anything(RandomSource& random, const std::vector<SiloId>& silos) {
  const auto attempt = static_cast<std::uint32_t>(random.below(2));
  std::vector<SiloId> some;
  for (const SiloId& silo : silos) {
    if (random.chance(0.8)) some.push_back(silo);
  }
  switch (random.below(8)) {
    case 0:
      return wire::BatchForward{kRun, kRound, random.below(kSilos + 2), "units"};
    case 1:
      return wire::BatchFailed{kRun, kRound, attempt, random.below(kSilos)};
    case 2:
    case 3:
      return wire::BatchCollected{kRun, kRound, attempt, std::move(some)};
    case 4:
      return wire::BatchRefused{kRun, kRound, attempt,
                                random.chance(0.5) ? wire::BatchRefusal::UnknownJob : wire::BatchRefusal::Busy};
    default:
      return wire::BatchOpened{kRun, kRound, attempt};
  }
}

TEST(ShuffledRoundPropertyTest, ShufflersThatLieCannotHaveTwoSetsAddedOrAForwardedRoundAskedAgain) {
  std::vector<SiloId> silos;
  for (const char* name : {"a", "b", "c", "d"}) silos.push_back(SiloId::create(name).value());
  int closed = 0;
  int asked_again = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    ShuffledRound::Setup setup;
    setup.run = kRun;
    setup.round = kRound;
    setup.shufflers = {"one", "two"};
    setup.terms.resize(2);
    setup.adds = seed % 3 != 0;
    setup.expected = {silos.begin(), silos.end()};
    setup.replies_min = kRepliesMin;
    setup.deadline = milliseconds(1000);
    setup.fold = std::make_unique<CountingFold>();
    ShuffledRound round(std::move(setup));

    bool heard_a_forward = false;
    int ends = 0;
    std::map<std::uint32_t, std::vector<SiloId>> sets;  // by attempt
    const auto check = [&](const Actions& actions) {
      for (const auto& action : actions) {
        if (const auto* send = std::get_if<ShuffledRound::ToShuffler>(&action)) {
          if (const auto* close = std::get_if<wire::BatchClose>(&send->message)) {
            EXPECT_EQ(sets.emplace(close->attempt, close->silos).first->second, close->silos);
          }
        }
        const auto* commit = std::get_if<ShuffledRound::Commit>(&action);
        asked_again += commit != nullptr && commit->attempt > 0 && !commit->closing ? 1 : 0;
        EXPECT_FALSE(commit != nullptr && heard_a_forward);
        EXPECT_FALSE(std::holds_alternative<ShuffledRound::AskSilos>(action) && heard_a_forward);
        ends += std::holds_alternative<ShuffledRound::CloseRound>(action) ||
                        std::holds_alternative<ShuffledRound::AbortRound>(action)
                    ? 1
                    : 0;
      }
    };
    check(round.open({}));
    for (int i = 0; i < 60; ++i) {
      const std::string_view name = random.chance(0.5) ? "one" : "two";
      const SiloId& silo = silos[random.below(kSilos)];
      if (random.chance(0.05)) check(round.on_handed_over(silo, {}));
      if (random.chance(0.02)) check(round.on_lost(silo));
      if (random.chance(0.05)) check(round.on_shuffler_connected(name));
      wire::Message message = anything(random, silos);
      heard_a_forward = heard_a_forward || std::holds_alternative<wire::BatchForward>(message);
      check(round.on_shuffler_message(name, std::move(message), {}));
      ASSERT_LE(ends, 1);
    }
    check(round.on_deadline(TimePoint{} + milliseconds(2000)));
    ASSERT_EQ(ends, 1);
    closed += round.state() == ShuffledRound::State::Closed ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(closed, 10);
  EXPECT_GT(asked_again, 100);
  RecordProperty("closed", closed);
  RecordProperty("asked_again", asked_again);
}

}  // namespace
}  // namespace undertone::coordinator
