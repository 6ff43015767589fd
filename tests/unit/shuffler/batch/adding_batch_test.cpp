#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shuffler/batch/batch_machine.hpp"
#include "tests/support/plain_adder.hpp"

/// Batches whose shares are added: what the machine does with them that it does not do with those it mixes.
namespace undertone::shuffler {
namespace {

using std::chrono::milliseconds;
using tests::PlainAdder;
using wire::BatchRefusal;
using wire::ReplyRefusal;
using Action = BatchMachine::Action;
using Actions = std::vector<Action>;

const RunId kRun{sha256("job"), {1}};
const RoundIndex kRound{3};
const Digest kTerms = sha256("terms");

SiloId silo(const std::string& name) { return SiloId::create(name).value(); }
/// As shares of two words of a byte are made.
Making making(std::uint32_t word_bytes = 1) { return {kTerms, PlainAdder::kSealing + 2, word_bytes}; }
/// One letter a silo.
std::vector<SiloId> silos(const std::string& letters) {
  std::vector<SiloId> out;
  for (const char letter : letters) out.push_back(silo(std::string(1, letter)));
  return out;
}

/// Silo "a" sends the words 1 and 10, "b" 2 and 20, "c" 3 and 30, "d" 4 and 40.
std::string share(char name) {
  const int number = name - 'a' + 1;
  return PlainAdder::share(std::string{static_cast<char>(number), static_cast<char>(10 * number)});
}

class NoPermuter final : public Permuter {
 public:
  std::vector<std::int64_t> order(std::int64_t /*count*/) override {
    ADD_FAILURE() << "a total has no order";
    return {};
  }
};

template <class Kind>
const Kind* first(const Actions& actions) {
  for (const Action& action : actions) {
    if (const Kind* one = std::get_if<Kind>(&action)) return one;
  }
  return nullptr;
}

/// "stores collected, says collected abc, arms": what the machine does, in order.
std::string told(const Actions& actions) {
  const auto names = [](const std::vector<SiloId>& list) {
    std::string out;
    for (const SiloId& one : list) out += one.name();
    return out;
  };
  const auto number = [](const std::string& total) {
    return fmt::format("{}+{}", int{static_cast<unsigned char>(total[0])}, int{static_cast<unsigned char>(total[1])});
  };
  static constexpr const char* kChanges[] = {"opened", "received", "collected", "permuted",
                                             "added",  "failed",   "finished"};
  std::string out;
  for (const Action& action : actions) {
    if (!out.empty()) out += ", ";
    if (const auto* store = std::get_if<BatchMachine::Store>(&action)) {
      out += fmt::format("store {}", kChanges[store->change.index()]);
    } else if (std::holds_alternative<BatchMachine::Opened>(action)) {
      out += "opened";
    } else if (const auto* refused = std::get_if<BatchMachine::RefuseBatch>(&action)) {
      out += to_string(refused->reason);
    } else if (const auto* collected = std::get_if<BatchMachine::Collected>(&action)) {
      out += fmt::format("collected {}", names(collected->silos));
    } else if (const auto* forward = std::get_if<BatchMachine::Forward>(&action)) {
      out += fmt::format("forward {} of {}", number(forward->units.at(0)), forward->replies);
    } else if (const auto* failed = std::get_if<BatchMachine::Failed>(&action)) {
      out += fmt::format("failed with {}", failed->replies);
    } else if (const auto* bad = std::get_if<BatchMachine::ShareRefused>(&action)) {
      out += fmt::format("bad share of {}", bad->silo.name());
    } else if (const auto* differing = std::get_if<BatchMachine::TermsDiffer>(&action)) {
      out += fmt::format("other terms of {}", names(differing->silos));
    } else if (std::holds_alternative<BatchMachine::Acknowledge>(action)) {
      out += "taken";
    } else if (const auto* not_taken = std::get_if<BatchMachine::Refuse>(&action)) {
      out += to_string(not_taken->reason);
    } else {
      out += "arm";
    }
  }
  return out;
}

class AddingBatchTest : public ::testing::Test {
 protected:
  static BatchSpec spec() {
    const std::size_t bytes = PlainAdder::kSealing + 2;
    return {kRun, kRound, 1, silos("abcd"), 2, bytes, bytes, 1, sha256("query"), milliseconds(100)};
  }
  Actions open() { return machine_.open(spec(), now_); }
  Actions send(char name) { return send(name, share(name)); }
  Actions send(char name, const std::string& message) {
    return machine_.on_message(silo(std::string(1, name)), kRun, kRound, making(), message, now_);
  }
  Actions close(const std::string& letters, std::uint32_t attempt = 1) {
    return machine_.on_close(kRun, kRound, attempt, silos(letters), now_);
  }
  Actions deadline_after(milliseconds time) { return machine_.on_deadline(kRun, kRound, now_ += time); }
  /// Of a, b and d; c did not answer.
  void collect() {
    (void)open();
    for (const char name : {'b', 'd', 'a'}) (void)send(name);
    ASSERT_EQ(told(deadline_after(milliseconds(100))), "store collected, collected abd, arm");
  }

  Limits limits_;
  NoPermuter permuter_;
  PlainAdder adder_;
  TimePoint now_{};
  BatchMachine machine_{limits_, permuter_, adder_};
};

TEST_F(AddingBatchTest, IsCollectedWhenAllHaveSentAndAddsNothingYet) {
  (void)open();
  for (const char name : {'b', 'd', 'a'}) EXPECT_EQ(told(send(name)), "store received, taken");
  const Actions last = send('c');
  EXPECT_EQ(told(last), "store received, taken, store collected, collected abcd, arm");
  EXPECT_EQ(first<BatchMachine::Collected>(last)->attempt, 1U);
  EXPECT_EQ(std::get<BatchMachine::ArmDeadline>(last.back()).at, now_ + limits_.undelivered_max);
  EXPECT_EQ(adder_.called, 0);
}

TEST_F(AddingBatchTest, ForwardsTheTotalOfTheChosenSilos) {
  collect();
  const Actions closed = close("ad");
  EXPECT_EQ(told(closed), "store added, forward 5+50 of 2, arm");  // 1 + 4 and 10 + 40
  const auto& added = std::get<BatchAdded>(std::get<BatchMachine::Store>(closed[0]).change);
  EXPECT_EQ(added.total, first<BatchMachine::Forward>(closed)->units.at(0));
  EXPECT_EQ(added.replies, 2U);
  EXPECT_EQ(machine_.held_bytes(), 2U);  // the shares are gone
  EXPECT_EQ(machine_.held_units(), 1U);
}

TEST_F(AddingBatchTest, TakesNoShareThatWasMadeOfOtherWords) {
  // Added in words of another length, totals would show carries, which no total of counts does.
  (void)open();
  const auto refused = machine_.on_message(silo("a"), kRun, kRound, making(2), share('a'), now_);
  EXPECT_EQ(std::get<BatchMachine::Refuse>(refused.at(0)).reason, ReplyRefusal::OtherTerms);
}

TEST_F(AddingBatchTest, AShareOfOtherTermsIsNotAmongTheCollected) {
  (void)open();
  const Making other{sha256("other terms"), PlainAdder::kSealing + 2, 1};
  EXPECT_EQ(told(machine_.on_message(silo("a"), kRun, kRound, other, share('a'), now_)), "store received, taken");
  for (const char name : {'b', 'c'}) (void)send(name);
  EXPECT_EQ(told(send('d')), "store received, taken, other terms of a, store collected, collected bcd, arm");
  EXPECT_EQ(told(close("ab")), "invalid_spec");
  EXPECT_EQ(told(close("bd")), "store added, forward 6+60 of 2, arm");  // 2 + 4 and 20 + 40
}

TEST_F(AddingBatchTest, TheTotalIsOfTheSumWhicheverSilosAreChosen) {
  for (const auto& [chosen, total] :
       std::map<std::string, std::string>{{"ab", "3+30 of 2"}, {"bd", "6+60 of 2"}, {"abd", "7+70 of 3"}}) {
    BatchMachine machine(limits_, permuter_, adder_);
    (void)machine.open(spec(), now_);
    for (const char name : {'d', 'b', 'a'})
      (void)machine.on_message(silo(std::string(1, name)), kRun, kRound, making(), share(name), now_);
    (void)machine.on_deadline(kRun, kRound, now_ + milliseconds(100));
    EXPECT_EQ(told(machine.on_close(kRun, kRound, 1, silos(chosen), now_)),
              fmt::format("store added, forward {}, arm", total));
  }
}

TEST_F(AddingBatchTest, ASetThatCannotBeAddedLeavesTheBatchAsItIs) {
  collect();
  const std::vector<std::vector<SiloId>> wrong = {
      silos(""),    silos("a"),   // fewer than the minimum
      silos("ba"),  silos("aa"),  // out of order, twice
      silos("abc"), silos("ae"),  // c was not collected, nor expected e
  };
  for (const std::vector<SiloId>& set : wrong)
    EXPECT_EQ(told(machine_.on_close(kRun, kRound, 1, set, now_)), "invalid_spec");
  EXPECT_EQ(adder_.called, 0);
  EXPECT_EQ(told(close("ab")), "store added, forward 3+30 of 2, arm");
}

TEST_F(AddingBatchTest, IsClosedWithOneSetForEver) {
  collect();
  (void)close("abd");
  for (int again = 0; again < 2; ++again) EXPECT_EQ(told(close("abd")), "forward 7+70 of 3");
  for (const char* other : {"ab", "ad", "bd", "", "a", "abc", "abcd", "dba"})
    EXPECT_EQ(told(close(other)), "different");
  EXPECT_EQ(told(close("abd", 2)), "different");
  EXPECT_EQ(told(close("abd", 0)), "past");
  EXPECT_EQ(adder_.called, 1);
}

TEST_F(AddingBatchTest, ABadShareFailsTheBatchAndIsNamedInTheLogAlone) {
  (void)open();
  for (const char name : {'a', 'b', 'c'}) (void)send(name);
  std::string garbage = share('d');
  garbage[0] = '!';
  EXPECT_EQ(told(send('d', garbage)), "store received, taken, store collected, collected abcd, arm");
  const Actions failed = close("bcd");
  EXPECT_EQ(told(failed), "bad share of d, store failed, failed with 4");
  EXPECT_EQ(machine_.held_bytes(), 0U);
  EXPECT_EQ(told(close("abc")), "failed with 4");
  EXPECT_EQ(told(machine_.abandon(kRun, kRound)), "failed with 4");
  // Nothing was forwarded: the round may be asked again.
  BatchSpec again = spec();
  again.attempt = 2;
  again.expected = silos("abc");
  EXPECT_EQ(told(machine_.open(again, now_)), "store opened, opened, arm");
}

TEST_F(AddingBatchTest, ABadShareThatIsNotChosenDoesNoHarm) {
  (void)open();
  for (const char name : {'a', 'b', 'c'}) (void)send(name);
  std::string garbage = share('d');
  garbage[0] = '!';
  (void)send('d', garbage);
  EXPECT_EQ(told(close("ab")), "store added, forward 3+30 of 2, arm");
}

TEST_F(AddingBatchTest, WhatTheCoordinatorNeverClosesIsWiped) {
  collect();
  EXPECT_EQ(told(deadline_after(limits_.undelivered_max - milliseconds(1))), "");
  EXPECT_EQ(told(deadline_after(milliseconds(1))), "store failed, failed with 3");
  EXPECT_EQ(machine_.held_bytes(), 0U);
}

TEST_F(AddingBatchTest, RefusesASpecThatDoesNotAddUp) {
  const auto refused = [this](const std::function<void(BatchSpec&)>& change) {
    BatchSpec wanted = spec();
    change(wanted);
    return told(machine_.open(wanted, now_));
  };
  EXPECT_EQ(refused([](BatchSpec& s) { s.word_bytes = 9; }), "invalid_spec");
  EXPECT_EQ(refused([](BatchSpec& s) { s.word_bytes = 4; }), "invalid_spec");      // half a word
  EXPECT_EQ(refused([](BatchSpec& s) { s.message_bytes *= 2; }), "invalid_spec");  // two units
  EXPECT_EQ(refused([](BatchSpec& s) { s.message_bytes = s.unit_bytes = PlainAdder::kSealing; }), "invalid_spec");
  EXPECT_EQ(refused([](BatchSpec& s) { s.message_bytes = s.unit_bytes = 100; }), "invalid_spec");
  EXPECT_EQ(refused([](BatchSpec& s) { s.replies_min = 1; }), "invalid_spec");  // one share is its own total
  EXPECT_EQ(refused([](BatchSpec& s) { s.word_bytes = 2; }), "store opened, opened, arm");
}

/// A share longer than can be sealed, at a shuffler whose owner allows such messages.
TEST_F(AddingBatchTest, RefusesASpecThatNobodyCanSealFor) {
  Limits generous;
  generous.message_bytes_max = generous.held_bytes_max = std::size_t{1} << 40U;
  BatchMachine machine(generous, permuter_, adder_);
  BatchSpec wanted = spec();
  wanted.message_bytes = wanted.unit_bytes = PlainAdder::kSealing + sealed::ReplyLength::kBodyBytesMax + 1;
  EXPECT_EQ(told(machine.open(wanted, now_)), "invalid_spec");
  wanted.message_bytes = wanted.unit_bytes = PlainAdder::kSealing + sealed::ReplyLength::kBodyBytesMax;
  EXPECT_EQ(told(machine.open(wanted, now_)), "store opened, opened, arm");
}

TEST_F(AddingBatchTest, GoesOnWithWhatTheStoreHeld) {
  const auto held = [](std::uint8_t number, BatchState state) {
    Batch out;
    out.spec = spec();
    out.spec.run.nonce = {number};
    out.state = state;
    return out;
  };
  Batch complete = held(2, BatchState::Collecting);
  for (std::size_t slot = 0; slot < 4; ++slot) {
    complete.received.emplace(slot, share("abcd"[slot]));
    complete.terms.emplace(slot, kTerms);
  }
  Batch collected = held(3, BatchState::Collected);
  for (const std::size_t slot : {0U, 3U}) {
    collected.received.emplace(slot, share("abcd"[slot]));
    collected.terms.emplace(slot, kTerms);
  }
  const Actions restored = machine_.restore({complete, collected}, now_);
  EXPECT_EQ(told(restored), "store collected, collected abcd, arm, collected ad, arm");
  EXPECT_EQ(told(machine_.on_close(collected.spec.run, kRound, 1, silos("ad"), now_)),
            "store added, forward 5+50 of 2, arm");
  // The same process that forwarded it, and one that finds it on disk, know with which set it was closed.
  const Actions closed = machine_.on_close(complete.spec.run, kRound, 1, silos("bc"), now_);
  const auto& added = std::get<BatchAdded>(std::get<BatchMachine::Store>(closed[0]).change);
  Batch forwarding = held(2, BatchState::Forwarding);
  forwarding.spec.expected.clear();
  forwarding.replies = added.replies;
  forwarding.units = {added.total};
  forwarding.added = added.added;
  BatchMachine next(limits_, permuter_, adder_);
  EXPECT_EQ(told(next.restore({forwarding}, now_)), "forward 5+50 of 2, arm");
  EXPECT_EQ(told(next.on_close(complete.spec.run, kRound, 1, silos("bc"), now_)), "forward 5+50 of 2");
  EXPECT_EQ(told(next.on_close(complete.spec.run, kRound, 1, silos("ad"), now_)), "different");
}

/// Every event in every state.
TEST_F(AddingBatchTest, StatesAndEvents) {
  using Event = std::function<Actions()>;
  const std::vector<std::pair<const char*, Event>> events = {
      {"open", [this] { return open(); }},
      {"open otherwise",
       [this] {
         BatchSpec other = spec();
         other.query = sha256("another query");
         return machine_.open(other, now_);
       }},
      {"open a new attempt",
       [this] {
         BatchSpec again = spec();
         again.attempt = 2;
         return machine_.open(again, now_);
       }},
      {"open the next round",
       [this] {
         BatchSpec next = spec();
         next.round = {4};
         return machine_.open(next, now_);
       }},
      {"open an earlier round",
       [this] {
         BatchSpec earlier = spec();
         earlier.round = {2};
         return machine_.open(earlier, now_);
       }},
      {"known message", [this] { return send('a'); }},
      {"other message", [this] { return send('a', share('b')); }},
      {"new message", [this] { return send('c'); }},
      {"foreign message", [this] { return send('e'); }},
      {"close", [this] { return close("ab"); }},
      {"close otherwise", [this] { return close("bd"); }},
      {"close an earlier attempt", [this] { return close("ab", 0); }},
      {"close a later attempt", [this] { return close("ab", 2); }},
      {"early deadline", [this] { return deadline_after(milliseconds(0)); }},
      {"deadline", [this] { return deadline_after(limits_.undelivered_max); }},
      {"delivered", [this] { return machine_.on_delivered(kRun, kRound); }},
      {"abandon", [this] { return machine_.abandon(kRun, kRound); }},
  };
  const std::string opened = "store opened, opened, arm";
  const std::string collected = "store collected, collected abd, arm";
  const std::string added = "store added, forward 3+30 of 2, arm";
  struct State {
    const char* name;
    std::function<void()> reach;
    std::vector<std::string> answers;  // one for each event
  };
  const std::vector<State> states = {
      {"unknown",
       [] {},
       {opened, opened, opened, opened, opened, "unknown_batch", "unknown_batch", "unknown_batch", "unknown_batch",
        "past", "past", "past", "past", "", "", "", "past"}},
      {"collecting",
       [this] {
         (void)open();
         for (const char name : {'b', 'd', 'a'}) (void)send(name);
       },
       {"opened", "different", "different", "busy", "past", "taken", "different",
        "store received, taken, store collected, collected abcd, arm", "not_expected", "invalid_spec", "invalid_spec",
        "past", "different", "", collected, "", "store failed, failed with 3"}},
      {"collected",
       [this] { collect(); },
       {"collected abd", "different", "different", "busy", "past", "taken", "different", "closed", "not_expected",
        added, "store added, forward 6+60 of 2, arm", "past", "different", "", "store failed, failed with 3", "",
        "store failed, failed with 3"}},
      {"forwarding",
       [this] {
         collect();
         (void)close("ab");
       },
       {"forward 3+30 of 2", "forward 3+30 of 2", "forward 3+30 of 2", "store finished, " + opened, "past", "closed",
        "closed", "closed", "closed", "forward 3+30 of 2", "different", "past", "different", "", "store finished",
        "store finished", "forward 3+30 of 2"}},
      {"final",
       [this] {
         collect();
         (void)close("ab");
         (void)machine_.on_delivered(kRun, kRound);
       },
       {"past", "past", "past", opened, "past", "closed", "closed", "closed", "closed", "past", "past", "past",
        "different", "", "", "", "past"}},
      {"failed",
       [this] {
         collect();
         (void)machine_.abandon(kRun, kRound);
       },
       {"failed with 3", "failed with 3", opened, opened, "past", "closed", "closed", "closed", "closed",
        "failed with 3", "failed with 3", "past", "different", "", "", "", "failed with 3"}},
  };
  for (const State& state : states) {
    ASSERT_EQ(state.answers.size(), events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} when {}", events[i].first, state.name));
      now_ = {};
      machine_ = BatchMachine(limits_, permuter_, adder_);
      state.reach();
      EXPECT_EQ(told(events[i].second()), state.answers[i]);
    }
  }
}

}  // namespace
}  // namespace undertone::shuffler
