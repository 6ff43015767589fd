#include "coordinator/rounds/round_machine.hpp"

#include <functional>
#include <gtest/gtest.h>

namespace undertone::coordinator {
namespace {

using std::chrono::milliseconds;
using Reception = RoundMachine::Reception;

const TimePoint kStart{};

SiloId silo(const char* name) { return SiloId::create(name).value(); }

RoundMachine::Setup setup_of(std::size_t quorum) {
  RoundMachine::Setup setup;
  setup.round = {3};
  setup.query = sha256("query");
  setup.shape = {2, {queries::ReplyType::I64, -10}, crypto::NoiseKind::Secure};
  for (const char* name : {"a", "b", "c"}) setup.expected.emplace(silo(name), Participant{1, false});
  setup.quorum = quorum;
  setup.deadline = milliseconds(100);
  return setup;
}

RoundMachine machine(std::size_t quorum) { return RoundMachine(setup_of(quorum)); }

wire::ReplyMessage reply(std::int64_t value) {
  return {{},
          sha256("query"),
          queries::ReplyType::I64,
          {{3}, -10, crypto::NoiseKind::Secure, queries::NoisedSums{{value, -value}}}};
}

template <class Kind>
bool has(const std::vector<RoundMachine::Action>& actions) {
  for (const auto& action : actions) {
    if (std::holds_alternative<Kind>(action)) return true;
  }
  return false;
}

TEST(RoundMachineTest, ClosesWhenEverybodyAnsweredAndNotAtQuorum) {
  RoundMachine m = machine(1);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  EXPECT_TRUE(m.on_reply(silo("a"), reply(1024), reception).empty());
  EXPECT_TRUE(m.on_reply(silo("b"), reply(2048), reception).empty());
  EXPECT_TRUE(has<RoundMachine::CloseRound>(m.on_reply(silo("c"), reply(3072), reception)));
  EXPECT_EQ(m.gathered().mean()[0], 2.0);  // (1024 + 2048 + 3072) / 3 steps of 2^-10
  EXPECT_EQ(m.gathered().replies, 3);
}

TEST(RoundMachineTest, OfTwoBlocksEachIsAMeanOfItsOwn) {
  RoundMachine::Setup setup = setup_of(1);
  setup.shape.dimension = 4;  // two blocks of two
  setup.shape.beside_public = true;
  setup.expected.clear();
  setup.expected.emplace(silo("a"), Participant{1, false, 10, 1});
  setup.expected.emplace(silo("b"), Participant{1, false, 10, 3});
  setup.expected.emplace(silo("c"), Participant{2, false, 10, 0});
  RoundMachine m{std::move(setup)};
  (void)m.open(kStart);
  const auto hear = [&](const char* name, const queries::Answer& answer) {
    wire::ReplyMessage message = reply(0);
    message.reply.answer = answer;
    std::optional<Reception> reception;
    (void)m.on_reply(silo(name), message, reception);
    return reception;
  };
  EXPECT_EQ(hear("a", queries::NoisedSums{{1, 2, 3, 4}}), Reception::Misshapen);
  EXPECT_EQ(hear("a", queries::PublicSums{{1, 2, 3, 4}}), Reception::Misshapen);
  EXPECT_EQ(hear("a", queries::SumsBesidePublic{{1, 2}}), Reception::Misshapen);
  EXPECT_EQ(hear("a", queries::SumsBesidePublic{{1024, 0, 1024, 4096}}), Reception::Accepted);
  EXPECT_EQ(hear("b", queries::SumsBesidePublic{{3072, 0, 5120, 0}}), Reception::Accepted);
  // This silo has weight 2 and no public record: whatever it says of some is not heard.
  EXPECT_EQ(hear("c", queries::SumsBesidePublic{{4096, 8192, 1 << 20, 1 << 20}}), Reception::Accepted);
  const folds::Gathered gathered = m.gathered();
  const auto& mean = std::get<folds::Mean>(gathered.value);
  EXPECT_EQ(mean.values, Eigen::Vector2d((1.0 + 3.0 + 2 * 4.0) / 4.0, 2 * 8.0 / 4.0));
  ASSERT_TRUE(mean.open);
  EXPECT_EQ(mean.open->values, Eigen::Vector2d((1.0 + 3 * 5.0) / 4.0, 4.0 / 4.0));
  EXPECT_EQ(mean.open->records, 4U);
}

TEST(RoundMachineTest, OfReportsThereIsOneOfEveryRecordOfTheSiloThatSendsThem) {
  RoundMachine::Setup setup = setup_of(1);
  setup.shape.dimension = 1;
  setup.shape.lattice = {queries::ReplyType::I32, 0};
  setup.shape.reports = folds::ReportShape(
      {releases::StatisticMap{{0}}, {}, releases::RangeBound{-1.0, 1.0}, 1, releases::ReportsForm{}});
  setup.shape.kept = true;
  setup.expected.clear();
  setup.expected.emplace(silo("a"), Participant{1, false, 3});
  setup.expected.emplace(silo("b"), Participant{1, false, 5});
  RoundMachine m{std::move(setup)};
  (void)m.open(kStart);
  const auto header = [](std::uint64_t dimension) {
    return wire::VectorHeader{wire::Kind::Reply, {}, {3}, dimension, 4, 8 * dimension};
  };
  // Before a number is received.
  EXPECT_EQ(m.refuses(silo("a"), header(3)), std::nullopt);
  for (const std::uint64_t numbers : {1U, 2U, 4U, 5U})
    EXPECT_EQ(m.refuses(silo("a"), header(numbers)), Reception::Misshapen);
  EXPECT_EQ(m.refuses(silo("b"), header(5)), std::nullopt);
  const auto hear = [&](const char* name, const queries::Answer& answer) {
    std::optional<Reception> reception;
    (void)m.on_reply(silo(name),
                     {{}, sha256("query"), queries::ReplyType::I32, {{3}, 0, crypto::NoiseKind::Secure, answer}},
                     reception);
    return reception;
  };
  EXPECT_EQ(hear("a", queries::NoisedSums{{1, 1, 0}}), Reception::Misshapen);
  EXPECT_EQ(hear("a", queries::Reports{{1, 1}}), Reception::Misshapen);
  EXPECT_EQ(hear("a", queries::Reports{{1, 1, 0, 1, 1}}), Reception::Misshapen);
  EXPECT_EQ(hear("a", queries::Reports{{1, 2, 0}}), Reception::Misshapen);
  EXPECT_EQ(hear("a", queries::Reports{{1, 1, 0}}), Reception::Accepted);
  EXPECT_EQ(hear("b", queries::Reports{{0, 1, 0, 0, 0}}), Reception::Accepted);
  const folds::Gathered gathered = m.gathered();
  EXPECT_EQ(std::get<folds::Reports>(gathered.value).totals[0], 3.0);
  EXPECT_EQ(std::get<folds::Reports>(gathered.value).reports, 8);
  EXPECT_EQ(gathered.records, 8);
  // Of what each said its sum is kept, and no report.
  EXPECT_EQ(gathered.each.at(silo("a")), std::vector<std::int64_t>{2});
  EXPECT_EQ(gathered.each.at(silo("b")), std::vector<std::int64_t>{1});
}

TEST(RoundMachineTest, ClosesAtTheDeadlineWhenQuorumIsMet) {
  RoundMachine m = machine(2);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  (void)m.on_reply(silo("a"), reply(1), reception);
  (void)m.on_reply(silo("b"), reply(1), reception);
  EXPECT_TRUE(has<RoundMachine::CloseRound>(m.on_deadline(kStart + milliseconds(100))));
  EXPECT_EQ(m.missing(), std::vector<SiloId>{silo("c")});
}

TEST(RoundMachineTest, BelowQuorumItAsksOnceMoreThenFailsWithWhoWasMissing) {
  RoundMachine m = machine(3);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  (void)m.on_reply(silo("b"), reply(1), reception);
  const auto again = m.on_deadline(kStart + milliseconds(100));
  ASSERT_TRUE(has<RoundMachine::AskSilos>(again));
  EXPECT_EQ(std::get<RoundMachine::AskSilos>(again[0]).silos, (std::vector<SiloId>{silo("a"), silo("c")}));
  EXPECT_EQ(std::get<RoundMachine::ArmDeadline>(again[1]).at, kStart + milliseconds(200));
  const auto given_up = m.on_deadline(kStart + milliseconds(200));
  ASSERT_TRUE(has<RoundMachine::AbortRound>(given_up));
  EXPECT_EQ(std::get<RoundMachine::AbortRound>(given_up[0]).reason.message,
            "round 3: 1 replies at the deadline, quorum is 3; missing: a, c");
}

/// Of silos a, b, c with a deadline of 100 ms, one whose grace is 30 ms.
RoundMachine machine_with_grace(std::size_t quorum) {
  RoundMachine::Setup setup = setup_of(quorum);
  setup.grace = milliseconds(30);
  return RoundMachine(std::move(setup));
}

std::optional<TimePoint> armed(const std::vector<RoundMachine::Action>& actions) {
  for (const auto& action : actions) {
    if (const auto* one = std::get_if<RoundMachine::ArmDeadline>(&action)) return one->at;
  }
  return std::nullopt;
}

TEST(RoundMachineTest, WithAQuorumItClosesWhenAllOthersHaveBeenAwayForTheGrace) {
  RoundMachine m = machine_with_grace(2);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  EXPECT_EQ(armed(m.on_away(silo("c"), kStart + milliseconds(10))), std::nullopt);  // no quorum yet
  (void)m.on_reply(silo("a"), reply(1), reception);
  EXPECT_EQ(armed(m.on_reply(silo("b"), reply(1), reception)), kStart + milliseconds(40));
  EXPECT_TRUE(has<RoundMachine::CloseRound>(m.on_deadline(kStart + milliseconds(40))));
  EXPECT_EQ(m.missing(), std::vector<SiloId>{silo("c")});
}

TEST(RoundMachineTest, WhoeverIsBackWithinTheGraceIsWaitedForUntilTheDeadline) {
  RoundMachine m = machine_with_grace(2);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  (void)m.on_reply(silo("a"), reply(1), reception);
  (void)m.on_reply(silo("b"), reply(1), reception);
  EXPECT_EQ(armed(m.on_away(silo("c"), kStart + milliseconds(10))), kStart + milliseconds(40));
  EXPECT_EQ(armed(m.on_back(silo("c"))), kStart + milliseconds(100));
  // A timer that was under way already closes nothing.
  EXPECT_EQ(armed(m.on_deadline(kStart + milliseconds(40))), kStart + milliseconds(100));
  EXPECT_TRUE(m.wants(silo("c")));
  // Away again: the grace begins anew.
  EXPECT_EQ(armed(m.on_away(silo("c"), kStart + milliseconds(50))), kStart + milliseconds(80));
  EXPECT_TRUE(has<RoundMachine::CloseRound>(m.on_deadline(kStart + milliseconds(80))));
}

TEST(RoundMachineTest, OneThatIsConnectedHoldsTheRoundOpenForThoseThatAreNot) {
  RoundMachine m = machine_with_grace(1);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  EXPECT_EQ(armed(m.on_reply(silo("a"), reply(1), reception)), std::nullopt);
  EXPECT_EQ(armed(m.on_away(silo("c"), kStart)), std::nullopt);
  EXPECT_EQ(m.state(), RoundMachine::State::Open);
  EXPECT_EQ(armed(m.on_reply(silo("b"), reply(1), reception)), kStart + milliseconds(30));
}

TEST(RoundMachineTest, BelowQuorumTheGraceEndsNothing) {
  RoundMachine m = machine_with_grace(3);
  std::optional<Reception> reception;
  (void)m.on_away(silo("c"), kStart - milliseconds(1000));  // long before the round
  EXPECT_EQ(armed(m.open(kStart)), kStart + milliseconds(100));
  (void)m.on_reply(silo("a"), reply(1), reception);
  EXPECT_EQ(armed(m.on_reply(silo("b"), reply(1), reception)), std::nullopt);
  EXPECT_EQ(m.state(), RoundMachine::State::Open);
  EXPECT_TRUE(has<RoundMachine::AskSilos>(m.on_deadline(kStart + milliseconds(100))));
}

TEST(RoundMachineTest, OneThatHasBeenAwayForLongIsNotWaitedForAtAll) {
  RoundMachine m = machine_with_grace(2);
  std::optional<Reception> reception;
  (void)m.on_away(silo("c"), kStart - milliseconds(1000));
  (void)m.open(kStart);
  (void)m.on_reply(silo("a"), reply(1), reception);
  EXPECT_EQ(armed(m.on_reply(silo("b"), reply(1), reception)), kStart - milliseconds(970));
  EXPECT_TRUE(has<RoundMachine::CloseRound>(m.on_deadline(kStart + milliseconds(1))));
}

TEST(RoundMachineTest, WithoutAGraceNobodysConnectionMatters) {
  RoundMachine m = machine(2);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  (void)m.on_reply(silo("a"), reply(1), reception);
  (void)m.on_reply(silo("b"), reply(1), reception);
  EXPECT_TRUE(m.on_away(silo("c"), kStart - milliseconds(1000)).empty());
}

TEST(RoundMachineTest, CountsEachSiloOnce) {
  RoundMachine m = machine(1);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  (void)m.on_reply(silo("a"), reply(1024), reception);
  (void)m.on_reply(silo("a"), reply(1024), reception);
  EXPECT_EQ(reception, Reception::Duplicate);
  (void)m.on_deadline(kStart + milliseconds(100));
  EXPECT_EQ(m.gathered().replies, 1);
}

TEST(RoundMachineTest, RefusesAReplyByItsHeaderAsItWouldTheWhole) {
  RoundMachine m = machine(1);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  const wire::VectorHeader sound{wire::Kind::Reply, {}, {3}, 2, 8, 16};
  EXPECT_EQ(m.refuses(silo("a"), sound), std::nullopt);
  EXPECT_EQ(m.refuses(silo("stranger"), sound), Reception::Foreign);
  const auto changed = [&](const std::function<void(wire::VectorHeader&)>& change) {
    wire::VectorHeader header = sound;
    change(header);
    return m.refuses(silo("a"), header);
  };
  EXPECT_EQ(changed([](auto& header) { header.run.nonce[0] = 1; }), Reception::Foreign);
  EXPECT_EQ(changed([](auto& header) { header.round = {4}; }), Reception::Foreign);
  EXPECT_EQ(changed([](auto& header) { header.round = {2}; }), Reception::Late);
  EXPECT_EQ(changed([](auto& header) { header.dimension = 1; }), Reception::Misshapen);
  EXPECT_EQ(changed([](auto& header) { header.dimension = std::uint64_t{1} << 24U; }), Reception::Misshapen);
  EXPECT_EQ(changed([](auto& header) { header.element_bytes = 4; }), Reception::Misshapen);
  EXPECT_EQ(changed([](auto& header) { header.kind = wire::Kind::SealedReply; }), Reception::Misshapen);
  (void)m.on_reply(silo("a"), reply(1), reception);
  EXPECT_EQ(m.refuses(silo("a"), sound), Reception::Duplicate);
  EXPECT_EQ(m.refuses(silo("b"), sound), std::nullopt);
  (void)m.on_deadline(kStart + milliseconds(100));
  EXPECT_EQ(m.refuses(silo("b"), sound), Reception::Late);
}

TEST(RoundMachineTest, LateForeignAndMisshapenRepliesChangeNothing) {
  RoundMachine m = machine(1);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  const auto expect = [&](const SiloId& from, const wire::ReplyMessage& message, Reception wanted) {
    EXPECT_TRUE(m.on_reply(from, message, reception).empty());
    EXPECT_EQ(reception, wanted);
  };
  expect(silo("stranger"), reply(1), Reception::Foreign);
  wire::ReplyMessage other = reply(1);
  other.run.nonce[0] = 1;
  expect(silo("a"), other, Reception::Foreign);
  other = reply(1);
  other.reply.round = {4};
  expect(silo("a"), other, Reception::Foreign);
  other.reply.round = {2};
  expect(silo("a"), other, Reception::Late);
  other = reply(1);
  other.query = sha256("another");
  expect(silo("a"), other, Reception::Misshapen);
  other = reply(1);
  other.reply.noise = crypto::NoiseKind::Test;
  expect(silo("a"), other, Reception::Misshapen);
  other = reply(1);
  other.reply.step_log2 = -11;
  expect(silo("a"), other, Reception::Misshapen);
  other = reply(1);
  other.type = queries::ReplyType::I32;
  expect(silo("a"), other, Reception::Misshapen);
  other = reply(1);
  other.reply.answer = queries::PublicSums{{1, 2}};  // un-noised where noise is due
  expect(silo("a"), other, Reception::Misshapen);
  other = reply(1);
  other.reply.answer = queries::NoisedSums{{1, 2, 3}};
  expect(silo("a"), other, Reception::Misshapen);
  EXPECT_TRUE(m.accepted().empty());
}

TEST(RoundMachineTest, WhoeverSaysWhatNoHonestSiloDoesIsLost) {
  RoundMachine::Setup setup = setup_of(1);
  setup.plausible = [](const SiloId& from, const std::vector<std::int64_t>& values) {
    return from != silo("b") || values[0] <= 100;
  };
  RoundMachine m(std::move(setup));
  std::optional<Reception> reception;
  (void)m.open(kStart);
  EXPECT_TRUE(m.on_reply(silo("a"), reply(101), reception).empty());
  EXPECT_EQ(reception, Reception::Accepted);
  EXPECT_TRUE(m.on_reply(silo("b"), reply(101), reception).empty());
  EXPECT_EQ(reception, Reception::Implausible);
  EXPECT_TRUE(has<RoundMachine::CloseRound>(m.on_reply(silo("c"), reply(103), reception)));  // b is not waited for
  EXPECT_EQ(m.missing(), std::vector<SiloId>{silo("b")});
  EXPECT_EQ(m.gathered().mean()[0], 102.0 / 1024.0);
}

TEST(RoundMachineTest, WhatShufflersAndHandOversSayChangesNothing) {
  RoundMachine m = machine(1);
  (void)m.open(kStart);
  EXPECT_TRUE(m.on_handed_over(silo("a"), {{"mixer", sha256("receipt")}}).empty());
  EXPECT_TRUE(m.on_shuffler_connected("mixer").empty());
  EXPECT_TRUE(m.on_shuffler_message("mixer", wire::BatchForward{{}, {3}, 3, "units"}, kStart).empty());
  EXPECT_TRUE(m.on_resend().empty());
  EXPECT_EQ(m.state(), RoundMachine::State::Open);
  EXPECT_EQ(m.missing().size(), 3U);
}

TEST(RoundMachineTest, OpensWithTheQueryToEverybodyAndTakesLaterSilosInUntilItEnds) {
  RoundMachine m = machine(1);
  const Round::Actions opened = m.open(kStart);
  EXPECT_EQ(std::get<Round::AskSilos>(opened.at(0)).silos, (std::vector<SiloId>{silo("a"), silo("b"), silo("c")}));
  EXPECT_EQ(std::get<Round::ArmDeadline>(opened.at(1)).at, kStart + milliseconds(100));
  EXPECT_TRUE(m.expect(silo("d"), {}));
  EXPECT_TRUE(m.wants(silo("d")));
  EXPECT_EQ(m.missing().size(), 4U);
  EXPECT_TRUE(m.cancel().empty());
  EXPECT_FALSE(m.expect(silo("e"), {}));
  EXPECT_FALSE(m.wants(silo("d")));
  EXPECT_TRUE(m.on_lost(silo("a")).empty());
  EXPECT_TRUE(m.on_deadline(kStart + milliseconds(100)).empty());
  EXPECT_FALSE(m.closed());
}

TEST(RoundMachineTest, ASiloThatRefusedAndIsExpectedAgainIsWaitedFor) {
  RoundMachine m = machine(1);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  EXPECT_TRUE(m.on_lost(silo("c")).empty());
  EXPECT_TRUE(m.expect(silo("c"), {1, false}));
  EXPECT_TRUE(m.on_reply(silo("a"), reply(1), reception).empty());
  EXPECT_TRUE(m.on_reply(silo("b"), reply(1), reception).empty());
  EXPECT_TRUE(has<RoundMachine::CloseRound>(m.on_reply(silo("c"), reply(1), reception)));
}

TEST(RoundMachineTest, FoldsAsItIsAsked) {
  RoundMachine::Setup setup = setup_of(3);
  setup.aggregation = {folds::Aggregation::Kind::TrimmedMean, 0.4};
  RoundMachine m(std::move(setup));
  std::optional<Reception> reception;
  (void)m.open(kStart);
  (void)m.on_reply(silo("a"), reply(1 << 30), reception);
  (void)m.on_reply(silo("b"), reply(1024), reception);
  (void)m.on_reply(silo("c"), reply(-7), reception);
  EXPECT_EQ(m.gathered().mean()[0], 1.0);
}

TEST(RoundMachineTest, ScalesToTheWholeCohortWhereTheJobAsksForIt) {
  RoundMachine::Setup setup = setup_of(2);
  setup.expected[silo("a")].weight = 6;  // of 8; a fourth silo of the cohort never joined
  setup.aggregation.scaled_to = folds::WholeCohort{4, 10};
  RoundMachine m(std::move(setup));
  std::optional<Reception> reception;
  (void)m.open(kStart);
  (void)m.on_reply(silo("a"), reply(1024), reception);
  (void)m.on_reply(silo("b"), reply(-1024), reception);
  EXPECT_TRUE(has<RoundMachine::CloseRound>(m.on_deadline(kStart + milliseconds(100))));
  EXPECT_EQ(m.gathered().mean()[0], 1.0);  // (4/2) (6 - 1) / 10
}

TEST(RoundMachineTest, ASiloThatWillNotAnswerIsNotWaitedFor) {
  RoundMachine m = machine(2);
  std::optional<Reception> reception;
  (void)m.open(kStart);
  (void)m.on_reply(silo("a"), reply(1), reception);
  (void)m.on_reply(silo("b"), reply(1), reception);
  EXPECT_TRUE(has<RoundMachine::CloseRound>(m.on_lost(silo("c"))));
}

TEST(RoundMachineTest, FailsAtOnceWhenQuorumCannotBeReached) {
  RoundMachine m = machine(2);
  (void)m.open(kStart);
  EXPECT_TRUE(m.on_lost(silo("a")).empty());
  EXPECT_TRUE(has<RoundMachine::AbortRound>(m.on_lost(silo("b"))));
  std::optional<Reception> reception;
  EXPECT_TRUE(m.on_reply(silo("c"), reply(1), reception).empty());
  EXPECT_EQ(reception, Reception::Late);
}

}  // namespace
}  // namespace undertone::coordinator
