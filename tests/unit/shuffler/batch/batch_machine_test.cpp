#include "shuffler/batch/batch_machine.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "shared/sealed/hand_over_receipt.hpp"
#include "tests/support/plain_adder.hpp"

namespace undertone::shuffler {
namespace {

using std::chrono::milliseconds;
using Action = BatchMachine::Action;
using Actions = std::vector<Action>;
using wire::BatchRefusal;
using wire::ReplyRefusal;

const TimePoint kStart{};
const RunId kMachineRun{sha256("job"), {1}};
const RunId kOtherRun{sha256("job"), {2}};
const RoundIndex kMachineRound{3};
const Digest kMachineTerms = sha256("terms");

SiloId silo_named(const std::string& name) { return SiloId::create(name).value(); }

/// Last in, first out.
class Reversing final : public Permuter {
 public:
  std::vector<std::int64_t> order(std::int64_t count) override {
    ++drawn;
    std::vector<std::int64_t> out;
    for (std::int64_t i = count; i > 0; --i) out.push_back(i - 1);
    return out;
  }
  int drawn = 0;
};

/// As messages of one unit of four bytes are made.
Making making_batch(const Digest& terms = kMachineTerms, std::size_t unit_bytes = 4) { return {terms, unit_bytes, 0}; }

BatchSpec spec(const RunId& run = kMachineRun) {
  return {run, kMachineRound,    0, {silo_named("a"), silo_named("b"), silo_named("c")}, 2, 4, 4, 0,
          {},  milliseconds(100)};
}

template <class Kind>
const Kind* only(const Actions& actions) {
  const Kind* found = nullptr;
  for (const Action& action : actions) {
    if (const Kind* one = std::get_if<Kind>(&action)) {
      EXPECT_EQ(found, nullptr);
      found = one;
    }
  }
  return found;
}

std::optional<ReplyRefusal> refusal(const Actions& actions) {
  const auto* refused = only<BatchMachine::Refuse>(actions);
  if (refused == nullptr || actions.size() != 1) return std::nullopt;
  return refused->reason;
}

std::optional<BatchRefusal> batch_refusal(const Actions& actions) {
  const auto* refused = only<BatchMachine::RefuseBatch>(actions);
  if (refused == nullptr || actions.size() != 1) return std::nullopt;
  return refused->reason;
}

class BatchMachineTest : public ::testing::Test {
 protected:
  std::size_t unit_bytes_ = 4;  // as silos make them
  Actions open(const BatchSpec& wanted) { return machine_.open(wanted, now_); }
  Actions send(const char* name, const std::string& message, RoundIndex round = kMachineRound) {
    return machine_.on_message(silo_named(name), kMachineRun, round, making_batch(kMachineTerms, unit_bytes_), message,
                               now_);
  }
  Actions deadline_after(milliseconds time) {
    now_ += time;
    return machine_.on_deadline(kMachineRun, kMachineRound, now_);
  }
  void forward_all() {
    (void)open(spec());
    (void)send("a", "aaaa");
    (void)send("b", "bbbb");
    ASSERT_NE(only<BatchMachine::Forward>(send("c", "cccc")), nullptr);
  }

  Limits limits_;
  Reversing permuter_;
  TimePoint now_ = kStart;
  tests::PlainAdder adder_;
  BatchMachine machine_{limits_, permuter_, adder_};
};

using Messages = std::vector<std::string>;

TEST_F(BatchMachineTest, OpensOnDiskFirstAndArmsTheDeadline) {
  const Actions opened = open(spec());
  ASSERT_EQ(opened.size(), 3U);
  EXPECT_EQ(std::get<BatchOpened>(std::get<BatchMachine::Store>(opened[0]).change).spec, spec());
  EXPECT_EQ(std::get<BatchMachine::Opened>(opened[1]).round, kMachineRound);
  EXPECT_EQ(std::get<BatchMachine::ArmDeadline>(opened[2]).at, kStart + milliseconds(100));
}

TEST_F(BatchMachineTest, HoldsEverythingUntilAllExpectedHaveSent) {
  (void)open(spec());
  for (const char* name : {"b", "a"}) {
    const Actions taken = send(name, std::string(4, name[0]));
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_TRUE(std::holds_alternative<BatchMachine::Store>(taken[0]));
    EXPECT_EQ(std::get<BatchMachine::Acknowledge>(taken[1]).silo, silo_named(name));
  }
  const Actions closed = send("c", "cccc");
  ASSERT_EQ(closed.size(), 5U);
  EXPECT_EQ(std::get<MessageReceived>(std::get<BatchMachine::Store>(closed[0]).change).slot, 2U);
  EXPECT_TRUE(std::holds_alternative<BatchMachine::Acknowledge>(closed[1]));
  const Messages expected{"cccc", "bbbb", "aaaa"};  // by silo, reversed
  EXPECT_EQ(std::get<BatchPermuted>(std::get<BatchMachine::Store>(closed[2]).change).units, expected);
  EXPECT_EQ(std::get<BatchMachine::Forward>(closed[3]).units, expected);
  EXPECT_EQ(std::get<BatchMachine::ArmDeadline>(closed[4]).at, kStart + limits_.undelivered_max);
}

TEST_F(BatchMachineTest, TheOrderOfArrivalLeavesNoTrace) {
  Messages first;
  for (const Messages& names : {Messages{"a", "b", "c"}, Messages{"c", "a", "b"}, Messages{"b", "c", "a"}}) {
    BatchMachine machine(limits_, permuter_, adder_);
    (void)machine.open(spec(), kStart);
    Actions closed;
    for (const std::string& name : names)
      closed = machine.on_message(silo_named(name), kMachineRun, kMachineRound, making_batch(), std::string(4, name[0]),
                                  kStart);
    const auto* forward = only<BatchMachine::Forward>(closed);
    ASSERT_NE(forward, nullptr);
    if (first.empty()) first = forward->units;
    EXPECT_EQ(forward->units, first);
  }
}

TEST_F(BatchMachineTest, MixesTheUnitsOfAllSilosAndNotTheirMessages) {
  BatchSpec halves = spec();
  halves.unit_bytes = unit_bytes_ = 2;
  (void)open(halves);
  (void)send("b", "BBbb");
  (void)send("c", "CCcc");
  const Actions closed = send("a", "AAaa");
  const Messages expected{"cc", "CC", "bb", "BB", "aa", "AA"};  // by silo and place, reversed
  const auto* forward = only<BatchMachine::Forward>(closed);
  ASSERT_NE(forward, nullptr);
  EXPECT_EQ(forward->units, expected);
  EXPECT_EQ(forward->replies, 3U);
  EXPECT_EQ(machine_.held_units(), 6U);
  EXPECT_EQ(machine_.held_bytes(), 12U);
}

TEST_F(BatchMachineTest, TakesNothingThatItsSiloDidNotMakeToBeCutOrAddedSo) {
  // A coordinator that has whole messages mixed could take each apart and see a silo's own bits.
  (void)open(spec());
  EXPECT_EQ(
      refusal(machine_.on_message(silo_named("a"), kMachineRun, kMachineRound, {kMachineTerms, 2, 0}, "aaaa", now_)),
      ReplyRefusal::OtherTerms);
  EXPECT_EQ(
      refusal(machine_.on_message(silo_named("a"), kMachineRun, kMachineRound, {kMachineTerms, 4, 1}, "aaaa", now_)),
      ReplyRefusal::OtherTerms);
  EXPECT_NE(only<BatchMachine::Acknowledge>(send("a", "aaaa")), nullptr);
}

TEST_F(BatchMachineTest, TheNextRoundSaysThatTheLastWasDelivered) {
  (void)open(spec());
  for (const char* name : {"a", "b", "c"}) (void)send(name, std::string(4, name[0]));
  BatchSpec next = spec();
  next.round = next.round.next();
  const Actions opened = open(next);
  ASSERT_EQ(opened.size(), 4U);  // finished, opened, told, armed
  EXPECT_TRUE(std::holds_alternative<BatchFinished>(std::get<BatchMachine::Store>(opened[0]).change));
  EXPECT_TRUE(std::holds_alternative<BatchOpened>(std::get<BatchMachine::Store>(opened[1]).change));
  EXPECT_EQ(machine_.held_units(), 3U);  // set aside for the new one alone
  // One that is still collected is not given up for another.
  BatchSpec later = next;
  later.round = later.round.next();
  EXPECT_EQ(batch_refusal(open(later)), BatchRefusal::Busy);
}

TEST_F(BatchMachineTest, OneSilosTermsEndNoBatchWheneverTheyCome) {
  for (const Messages& names : {Messages{"a", "b", "c"}, Messages{"b", "a", "c"}, Messages{"b", "c", "a"}}) {
    BatchMachine machine(limits_, permuter_, adder_);
    (void)machine.open(spec(), kStart);
    Actions closed;
    for (const std::string& name : names) {
      const Digest terms = name == "a" ? sha256("other terms") : kMachineTerms;
      closed = machine.on_message(silo_named(name), kMachineRun, kMachineRound, making_batch(terms),
                                  std::string(4, name[0]), kStart);
      EXPECT_NE(only<BatchMachine::Acknowledge>(closed), nullptr);
    }
    const auto* differing = only<BatchMachine::TermsDiffer>(closed);
    ASSERT_NE(differing, nullptr);
    EXPECT_EQ(differing->silos, std::vector<SiloId>{silo_named("a")});
    const auto* forward = only<BatchMachine::Forward>(closed);
    ASSERT_NE(forward, nullptr);
    EXPECT_EQ(forward->units, (Messages{"cccc", "bbbb"}));
    EXPECT_EQ(forward->replies, 2U);
    EXPECT_EQ(machine.held_bytes(), 8U);
  }
}

TEST_F(BatchMachineTest, RepliesOfDifferentTermsAreNeverForwardedTogether) {
  // Two of four are the minimum: of two pairs that of the lowest slot is taken, whichever came first.
  BatchSpec pairs = spec();
  pairs.expected.push_back(silo_named("d"));
  for (const Messages& names : {Messages{"a", "b", "c", "d"}, Messages{"d", "b", "c", "a"}}) {
    BatchMachine machine(limits_, permuter_, adder_);
    (void)machine.open(pairs, kStart);
    Actions closed;
    for (const std::string& name : names) {
      const bool outer = name == "a" || name == "d";
      closed = machine.on_message(silo_named(name), kMachineRun, kMachineRound,
                                  making_batch(sha256(outer ? "outer" : "inner")), std::string(4, name[0]), kStart);
    }
    ASSERT_NE(only<BatchMachine::Forward>(closed), nullptr);
    EXPECT_EQ(only<BatchMachine::Forward>(closed)->units, (Messages{"dddd", "aaaa"}));
    EXPECT_EQ(only<BatchMachine::TermsDiffer>(closed)->silos, (std::vector<SiloId>{silo_named("b"), silo_named("c")}));
  }
}

TEST_F(BatchMachineTest, WhereNoTermsHaveTheMinimumTheBatchFails) {
  (void)open(spec());
  Actions closed;
  for (const char* name : {"a", "b", "c"})
    closed =
        machine_.on_message(silo_named(name), kMachineRun, kMachineRound, making_batch(sha256(name)), "same", now_);
  EXPECT_EQ(only<BatchMachine::Forward>(closed), nullptr);
  ASSERT_NE(only<BatchMachine::Failed>(closed), nullptr);
  EXPECT_EQ(only<BatchMachine::Failed>(closed)->replies, 1U);
  EXPECT_EQ(only<BatchMachine::TermsDiffer>(closed)->silos, (std::vector<SiloId>{silo_named("b"), silo_named("c")}));
  EXPECT_EQ(machine_.held_bytes(), 0U);
}

TEST_F(BatchMachineTest, GivesAReceiptOfTheReplyWithTheNewestKeyThatItWasTold) {
  const Digest first = sha256("first key");
  const Digest second = sha256("second key");
  const auto receipt = [](const Actions& actions) { return only<BatchMachine::Acknowledge>(actions)->receipt; };
  (void)machine_.open(spec(), now_, first);
  sealed::TakenReply taken{kMachineRun, kMachineRound, 0, silo_named("a"), kMachineTerms};
  EXPECT_EQ(receipt(send("a", "aaaa")), sealed::receipt_of(first, taken));
  EXPECT_EQ(receipt(send("a", "aaaa")), sealed::receipt_of(first, taken)) << "a repeat is taken alike";
  // The coordinator was started again.
  EXPECT_NE(only<BatchMachine::Opened>(machine_.open(spec(), now_, second)), nullptr);
  EXPECT_EQ(receipt(send("a", "aaaa")), sealed::receipt_of(second, taken));
  BatchSpec other = spec();
  other.attempt = 1;
  EXPECT_EQ(batch_refusal(machine_.open(other, now_, first)), BatchRefusal::Different);
  EXPECT_EQ(receipt(send("a", "aaaa")), sealed::receipt_of(second, taken));
  // A reply of other terms gets a receipt of those.
  taken = {kMachineRun, kMachineRound, 0, silo_named("b"), sha256("other terms")};
  EXPECT_EQ(receipt(machine_.on_message(silo_named("b"), kMachineRun, kMachineRound, making_batch(taken.terms), "bbbb",
                                        now_)),
            sealed::receipt_of(second, taken));
  // One that knows of no receipts tells no key.
  EXPECT_NE(only<BatchMachine::Opened>(open(spec())), nullptr);
  EXPECT_EQ(receipt(send("a", "aaaa")), std::nullopt);
}

TEST_F(BatchMachineTest, ASiloHasOneSlotWhateverItsTerms) {
  (void)open(spec());
  const std::size_t set_aside = machine_.held_bytes();
  (void)send("b", "bbbb");
  for (int i = 0; i < 100; ++i) {
    const Making other = making_batch(sha256(std::to_string(i)));
    EXPECT_EQ(refusal(machine_.on_message(silo_named("b"), kMachineRun, kMachineRound, other, "bbbb", now_)),
              ReplyRefusal::OtherTerms);
    EXPECT_EQ(refusal(machine_.on_message(silo_named("b"), kMachineRun, kMachineRound, other, "BBBB", now_)),
              ReplyRefusal::OtherTerms);
  }
  EXPECT_EQ(machine_.held_bytes(), set_aside);
  // What failed binds nobody.
  (void)machine_.abandon(kMachineRun, kMachineRound);
  BatchSpec again = spec();
  again.attempt = 1;
  (void)open(again);
  EXPECT_EQ(
      machine_.on_message(silo_named("b"), kMachineRun, kMachineRound, making_batch(sha256("another")), "bbbb", now_)
          .size(),
      2U);
}

TEST_F(BatchMachineTest, ForwardsWhatThereIsAtTheDeadlineFromTheMinimumUp) {
  (void)open(spec());
  (void)send("a", "aaaa");
  (void)send("c", "cccc");
  const Actions closed = deadline_after(milliseconds(100));
  ASSERT_EQ(closed.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<BatchMachine::Store>(closed[0]));
  EXPECT_EQ(std::get<BatchMachine::Forward>(closed[1]).units, (Messages{"cccc", "aaaa"}));
}

TEST_F(BatchMachineTest, BelowTheMinimumAtTheDeadlineItFailsAndForgets) {
  (void)open(spec());
  (void)send("a", "aaaa");
  const Actions failed = deadline_after(milliseconds(100));
  ASSERT_EQ(failed.size(), 2U);
  EXPECT_EQ(std::get<BatchFailed>(std::get<BatchMachine::Store>(failed[0]).change).replies, 1U);
  const auto& told = std::get<BatchMachine::Failed>(failed[1]);
  EXPECT_EQ(told.replies, 1U);
  EXPECT_EQ(told.replies_min, 2U);
  EXPECT_EQ(permuter_.drawn, 0);
  EXPECT_EQ(machine_.held_bytes(), 0U);
  EXPECT_EQ(refusal(send("b", "bbbb")), ReplyRefusal::Closed);
  EXPECT_TRUE(deadline_after(milliseconds(1'000'000)).empty());
}

TEST_F(BatchMachineTest, AReAskedRoundTakesNothingFromTheFailedAttempt) {
  (void)open(spec());
  (void)send("a", "aaaa");
  (void)deadline_after(milliseconds(100));
  EXPECT_NE(only<BatchMachine::Failed>(open(spec())), nullptr);  // the same attempt: told again
  BatchSpec again = spec();
  again.attempt = 1;
  ASSERT_NE(only<BatchMachine::Opened>(open(again)), nullptr);
  (void)send("b", "bbbb");
  const auto closed = send("c", "cccc");
  EXPECT_EQ(only<BatchMachine::Forward>(closed), nullptr);  // a's message is gone
  EXPECT_EQ(only<BatchMachine::Forward>(send("a", "aaaa"))->units, (Messages{"cccc", "bbbb", "aaaa"}));
}

TEST_F(BatchMachineTest, AcknowledgesARepeatAndRefusesADifferentSecondMessage) {
  (void)open(spec());
  (void)send("a", "aaaa");
  const Actions repeated = send("a", "aaaa");
  ASSERT_EQ(repeated.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<BatchMachine::Acknowledge>(repeated[0]));
  EXPECT_EQ(refusal(send("a", "AAAA")), ReplyRefusal::Different);
  (void)send("b", "bbbb");
  EXPECT_EQ(only<BatchMachine::Forward>(send("c", "cccc"))->units, (Messages{"cccc", "bbbb", "aaaa"}));
}

TEST_F(BatchMachineTest, RefusesByTheHeaderWhatItWouldRefuseWhole) {
  const auto refused = [this](const char* name, RoundIndex round, std::uint64_t bytes,
                              const Making& made = making_batch()) {
    return machine_.refuses(silo_named(name), kMachineRun, round, made, bytes);
  };
  EXPECT_EQ(refused("a", kMachineRound, 4), ReplyRefusal::UnknownBatch);
  (void)open(spec());
  EXPECT_EQ(refused("a", kMachineRound, 4), std::nullopt);
  EXPECT_EQ(refused("a", {4}, 4), ReplyRefusal::UnknownBatch);
  EXPECT_EQ(refused("a", {2}, 4), ReplyRefusal::Closed);
  EXPECT_EQ(refused("d", kMachineRound, 4), ReplyRefusal::NotExpected);
  EXPECT_EQ(refused("a", kMachineRound, std::uint64_t{1} << 27U), ReplyRefusal::WrongLength);
  EXPECT_EQ(refused("a", kMachineRound, 4, making_batch(kMachineTerms, 2)), ReplyRefusal::OtherTerms);
  (void)send("a", "aaaa");
  EXPECT_EQ(refused("a", kMachineRound, 4), std::nullopt);  // it may be the same, and is acknowledged again
  EXPECT_EQ(refused("a", kMachineRound, 4, making_batch(sha256("other"))), ReplyRefusal::OtherTerms);
  EXPECT_EQ(refused("b", kMachineRound, 4, making_batch(sha256("other"))), std::nullopt);  // terms are a slot's own
  (void)send("b", "bbbb");
  (void)send("c", "cccc");
  EXPECT_EQ(refused("a", kMachineRound, 4), ReplyRefusal::Closed);
}

TEST_F(BatchMachineTest, RefusesWhatIsNotExpected) {
  EXPECT_EQ(refusal(send("a", "aaaa")), ReplyRefusal::UnknownBatch);
  (void)open(spec());
  EXPECT_EQ(refusal(send("a", "aaaa", {4})), ReplyRefusal::UnknownBatch);
  EXPECT_EQ(refusal(send("a", "aaaa", {2})), ReplyRefusal::Closed);
  EXPECT_EQ(refusal(machine_.on_message(silo_named("a"), kOtherRun, kMachineRound, making_batch(), "aaaa", now_)),
            ReplyRefusal::UnknownBatch);
  EXPECT_EQ(refusal(send("d", "dddd")), ReplyRefusal::NotExpected);
  EXPECT_EQ(refusal(send("a", "aaa")), ReplyRefusal::WrongLength);
  EXPECT_EQ(refusal(send("a", "aaaaa")), ReplyRefusal::WrongLength);
  EXPECT_EQ(refusal(send("a", "")), ReplyRefusal::WrongLength);
}

TEST_F(BatchMachineTest, AForwardedBatchIsFinalAndRepeatedWordForWord) {
  (void)open(spec());
  (void)send("a", "aaaa");
  (void)send("b", "bbbb");
  const Actions closed = deadline_after(milliseconds(100));
  const Messages forwarded = only<BatchMachine::Forward>(closed)->units;
  EXPECT_EQ(refusal(send("c", "cccc")), ReplyRefusal::Closed);
  EXPECT_EQ(refusal(send("a", "aaaa")), ReplyRefusal::Closed);  // nobody knows any more whether it was in it
  for (const std::uint32_t attempt : {0U, 1U, 7U}) {
    BatchSpec again = spec();
    again.attempt = attempt;
    again.expected.push_back(silo_named("newcomer"));
    const Actions repeated = open(again);
    ASSERT_EQ(repeated.size(), 1U);
    EXPECT_EQ(std::get<BatchMachine::Forward>(repeated[0]).units, forwarded);
  }
  EXPECT_EQ(only<BatchMachine::Forward>(machine_.abandon(kMachineRun, kMachineRound))->units, forwarded);
  EXPECT_EQ(permuter_.drawn, 1);
}

TEST_F(BatchMachineTest, ADeliveredBatchIsGone) {
  forward_all();
  EXPECT_TRUE(machine_.on_delivered(kMachineRun, {2}).empty());
  EXPECT_TRUE(machine_.on_delivered(kOtherRun, kMachineRound).empty());
  const Actions delivered = machine_.on_delivered(kMachineRun, kMachineRound);
  ASSERT_EQ(delivered.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<BatchFinished>(std::get<BatchMachine::Store>(delivered[0]).change));
  EXPECT_TRUE(machine_.on_delivered(kMachineRun, kMachineRound).empty());
  BatchSpec again = spec();
  again.attempt = 1;
  EXPECT_EQ(batch_refusal(open(again)), BatchRefusal::Past);
  EXPECT_EQ(batch_refusal(machine_.abandon(kMachineRun, kMachineRound)), BatchRefusal::Past);
  EXPECT_EQ(refusal(send("a", "aaaa")), ReplyRefusal::Closed);
  EXPECT_EQ(machine_.batches(), 0U);
  EXPECT_EQ(machine_.held_bytes(), 0U);
}

TEST_F(BatchMachineTest, ARunHasOneBatchAtATimeAndNeverAnEarlierOne) {
  (void)open(spec());
  BatchSpec next = spec();
  next.round = {4};
  EXPECT_EQ(batch_refusal(open(next)), BatchRefusal::Busy);
  for (const char* name : {"a", "b", "c"}) (void)send(name, "aaaa");
  (void)machine_.on_delivered(kMachineRun, kMachineRound);
  EXPECT_NE(only<BatchMachine::Opened>(open(next)), nullptr);
  EXPECT_EQ(batch_refusal(open(spec())), BatchRefusal::Past);
  EXPECT_NE(only<BatchMachine::Opened>(open(spec(kOtherRun))), nullptr);
}

TEST_F(BatchMachineTest, TheSameSpecIsOpenedOnceAndAnotherIsRefused) {
  (void)open(spec());
  const Actions repeated = open(spec());
  ASSERT_EQ(repeated.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<BatchMachine::Opened>(repeated[0]));
  BatchSpec other = spec();
  other.expected.pop_back();
  EXPECT_EQ(batch_refusal(open(other)), BatchRefusal::Different);
  other = spec();
  other.attempt = 1;
  EXPECT_EQ(batch_refusal(open(other)), BatchRefusal::Different);
}

TEST_F(BatchMachineTest, RefusesASpecOutsideTheLimits) {
  const auto refused = [this](auto change) {
    BatchSpec wanted = spec();
    change(wanted);
    return batch_refusal(open(wanted));
  };
  const auto invalid = BatchRefusal::InvalidSpec;
  EXPECT_EQ(refused([](BatchSpec& s) { s.expected.clear(); }), invalid);
  EXPECT_EQ(refused([](BatchSpec& s) { s.expected = {silo_named("b"), silo_named("a")}; }), invalid);
  EXPECT_EQ(refused([](BatchSpec& s) { s.expected = {silo_named("a"), silo_named("a")}; }), invalid);
  EXPECT_EQ(refused([](BatchSpec& s) { s.replies_min = 4; }), invalid);
  EXPECT_EQ(refused([](BatchSpec& s) { s.message_bytes = 0; }), invalid);
  EXPECT_EQ(refused([](BatchSpec& s) { s.unit_bytes = 0; }), invalid);
  EXPECT_EQ(refused([](BatchSpec& s) { s.message_bytes = 6; }), invalid);  // a unit and a half
  EXPECT_EQ(refused([this](BatchSpec& s) { s.message_bytes = limits_.message_bytes_max + 4; }), invalid);
  // Alone too many: 4096 silos of 2^17 bytes and one unit more; three silos of a third of all units and one more.
  EXPECT_EQ(refused([this](BatchSpec& s) {
              s.expected.clear();
              for (int i = 0; i < 4096; ++i) s.expected.push_back(silo_named(fmt::format("s{:04}", i)));
              s.message_bytes = limits_.held_bytes_max / 4096 + 4;
            }),
            invalid);
  EXPECT_EQ(refused([this](BatchSpec& s) {
              s.unit_bytes = 1;
              s.message_bytes = limits_.held_units_max / 3 + 1;
            }),
            invalid);
  EXPECT_EQ(refused([](BatchSpec& s) { s.deadline = milliseconds(0); }), invalid);
  EXPECT_EQ(refused([](BatchSpec& s) { s.deadline = milliseconds(-1); }), invalid);
  EXPECT_EQ(refused([this](BatchSpec& s) { s.deadline = limits_.deadline_max + milliseconds(1); }), invalid);
  EXPECT_EQ(refused([](BatchSpec& s) { s.replies_min = 0; }), invalid);
  EXPECT_EQ(refused([](BatchSpec& s) { s.replies_min = 1; }), invalid);
  EXPECT_EQ(machine_.batches(), 0U);
  EXPECT_EQ(refused([this](BatchSpec& s) { s.deadline = limits_.deadline_max; }), std::nullopt);
  EXPECT_EQ(machine_.batches(), 1U);
}

TEST_F(BatchMachineTest, TakesNoMoreBatchesBytesAndRunsThanTheLimitsSay) {
  Limits limits;
  limits.batches_max = 2;
  limits.held_bytes_max = 30;  // two batches of three silos times 4 bytes are 24
  limits.runs_max = 3;
  limits.silos_max = 3;
  BatchMachine machine(limits, permuter_, adder_);
  const auto numbered = [](std::uint8_t number) { return spec({sha256("job"), {number}}); };
  BatchSpec large = numbered(2);
  large.message_bytes = large.unit_bytes = 7;  // 12 + 21 > 30
  BatchSpec many = numbered(2);
  many.expected.push_back(silo_named("d"));
  (void)machine.open(numbered(1), now_);
  EXPECT_EQ(batch_refusal(machine.open(large, now_)), BatchRefusal::Busy);
  EXPECT_EQ(batch_refusal(machine.open(many, now_)), BatchRefusal::InvalidSpec);
  large.message_bytes = large.unit_bytes = 6;  // 12 + 18 = 30
  EXPECT_NE(only<BatchMachine::Opened>(machine.open(large, now_)), nullptr);
  EXPECT_EQ(machine.held_bytes(), 30U);
  EXPECT_EQ(batch_refusal(machine.open(numbered(3), now_)), BatchRefusal::Busy);
  (void)machine.abandon(numbered(2).run, kMachineRound);
  EXPECT_EQ(machine.held_bytes(), 12U);
  EXPECT_NE(only<BatchMachine::Opened>(machine.open(numbered(3), now_)), nullptr);
  (void)machine.abandon(numbered(3).run, kMachineRound);
  EXPECT_EQ(batch_refusal(machine.open(numbered(4), now_)), BatchRefusal::Busy);
}

TEST_F(BatchMachineTest, TakesNoMoreUnitsThanTheLimitsSay) {
  Limits limits;
  limits.held_units_max = 9;  // a batch of three silos times 2 units is 6
  BatchMachine machine(limits, permuter_, adder_);
  BatchSpec two = spec();
  two.unit_bytes = 2;
  ASSERT_NE(only<BatchMachine::Opened>(machine.open(two, now_)), nullptr);
  EXPECT_EQ(machine.held_units(), 6U);
  two.run = kOtherRun;
  EXPECT_EQ(batch_refusal(machine.open(two, now_)), BatchRefusal::Busy);
  EXPECT_NE(only<BatchMachine::Opened>(machine.open(spec(kOtherRun), now_)), nullptr);
  EXPECT_EQ(machine.held_units(), 9U);
}

TEST_F(BatchMachineTest, AnEarlyDeadlineDoesNothing) {
  (void)open(spec());
  EXPECT_TRUE(deadline_after(milliseconds(99)).empty());
  EXPECT_TRUE(machine_.on_deadline(kMachineRun, {2}, now_ + milliseconds(500)).empty());
  EXPECT_TRUE(machine_.on_deadline(kOtherRun, kMachineRound, now_ + milliseconds(500)).empty());
  (void)send("a", "aaaa");
  (void)send("b", "bbbb");
  EXPECT_NE(only<BatchMachine::Forward>(deadline_after(milliseconds(1))), nullptr);
  EXPECT_TRUE(deadline_after(milliseconds(100)).empty());  // the collection's: the batch waits for its delivery
}

TEST_F(BatchMachineTest, WhatIsNotDeliveredForTooLongIsWipedAndNeverMadeAgain) {
  forward_all();
  EXPECT_TRUE(deadline_after(limits_.undelivered_max - milliseconds(1)).empty());
  const Actions wiped = deadline_after(milliseconds(1));
  ASSERT_EQ(wiped.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<BatchFinished>(std::get<BatchMachine::Store>(wiped[0]).change));
  EXPECT_EQ(batch_refusal(open(spec())), BatchRefusal::Past);
}

TEST_F(BatchMachineTest, AnAbandonedCollectionFailsEvenAboveTheMinimum) {
  EXPECT_EQ(batch_refusal(machine_.abandon(kMachineRun, kMachineRound)), BatchRefusal::Past);
  (void)open(spec());
  (void)send("a", "aaaa");
  (void)send("b", "bbbb");
  const Actions given_up = machine_.abandon(kMachineRun, kMachineRound);
  ASSERT_EQ(given_up.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<BatchFailed>(std::get<BatchMachine::Store>(given_up[0]).change));
  EXPECT_EQ(std::get<BatchMachine::Failed>(given_up[1]).replies, 2U);
  EXPECT_NE(only<BatchMachine::Failed>(machine_.abandon(kMachineRun, kMachineRound)), nullptr);
}

TEST_F(BatchMachineTest, GoesOnWithWhatTheStoreHeld) {
  const auto batch = [](const RunId& run, BatchState state, std::size_t replies) {
    BatchSpec known = spec(run);
    if (state != BatchState::Collecting) known.expected.clear();
    return Batch{known, state, replies, {}, {}, {}, {}};
  };
  const auto run = [](std::uint8_t number) { return RunId{sha256("job"), {number}}; };
  Batch collecting = batch(run(1), BatchState::Collecting, 0);
  collecting.received.emplace(1, "bbbb");
  collecting.terms.emplace(1, kMachineTerms);
  Batch complete = batch(run(2), BatchState::Collecting, 0);
  for (std::size_t slot = 0; slot < 3; ++slot) {
    complete.received.emplace(slot, std::string(4, "abc"[slot]));
    complete.terms.emplace(slot, kMachineTerms);
  }
  Batch forwarding = batch(run(3), BatchState::Forwarding, 2);
  forwarding.units = {"yyyy", "xxxx"};
  const Actions restored = machine_.restore(
      {collecting, complete, forwarding, batch(run(4), BatchState::Final, 3), batch(run(5), BatchState::Failed, 1)},
      now_);
  ASSERT_EQ(restored.size(), 6U);
  EXPECT_EQ(std::get<BatchMachine::ArmDeadline>(restored[0]).at, now_ + milliseconds(100));
  EXPECT_TRUE(std::holds_alternative<BatchPermuted>(std::get<BatchMachine::Store>(restored[1]).change));
  EXPECT_EQ(std::get<BatchMachine::Forward>(restored[2]).units, (Messages{"cccc", "bbbb", "aaaa"}));
  EXPECT_EQ(std::get<BatchMachine::Forward>(restored[4]).units, (Messages{"yyyy", "xxxx"}));
  EXPECT_EQ(machine_.batches(), 3U);
  EXPECT_NE(only<BatchMachine::Opened>(open(spec(run(1)))), nullptr);
  EXPECT_EQ(refusal(machine_.on_message(silo_named("b"), run(1), kMachineRound, making_batch(), "BBBB", now_)),
            ReplyRefusal::Different);
  EXPECT_EQ(batch_refusal(open(spec(run(4)))), BatchRefusal::Past);
  EXPECT_EQ(only<BatchMachine::Failed>(open(spec(run(5))))->replies, 1U);
}

}  // namespace
}  // namespace undertone::shuffler
