#include "shared/sealed/round_layout.hpp"

#include <gtest/gtest.h>

#include "shared/sealed/adder_mac_key.hpp"
#include "shared/sealed/recipients.hpp"
#include "tests/support/shuffled_round.hpp"

namespace undertone::sealed {
namespace {

using tests::ShuffledRound;
using tests::ShuffleForm;

constexpr queries::WireLattice kWire{queries::ReplyType::I64, -20};

jobs::Shuffle shuffle(ShuffleForm form) {
  jobs::Shuffle out;
  out.form = form;
  return out;
}

/// @param expected a part of the sentence
void expect_refused(const Result<RoundLayout>& layout, std::string_view expected) {
  ASSERT_FALSE(layout);
  EXPECT_NE(layout.error().message.find(expected), std::string::npos) << layout.error().message;
}

planning::Release release(ShuffleForm form, Eigen::Index dimension, std::int64_t records,
                          const mechanisms::BinomialParameters& parameters = ShuffledRound::parameters()) {
  planning::Release out = ShuffledRound::release_of(form, dimension);
  out.records_drawn = out.population = out.block_records = records;
  if (auto* binomial = std::get_if<mechanisms::BinomialSum>(&out.mechanism)) binomial->parameters = parameters;
  return out;
}

mechanisms::BinomialParameters parameters(std::int64_t grid, std::int64_t coins) {
  return mechanisms::BinomialParameters::create(grid, coins, {1, 2}).value();
}

TEST(RoundLayoutTest, BitsAreOneUnitEach) {
  // 3 coordinates of 4 (3 + 2) bits; 5 bytes each and 193 of sealing.
  const ShuffledRound round(ShuffleForm::Bits);
  EXPECT_EQ(round.layout.units(), 60U);
  EXPECT_EQ(round.layout.unit_bytes(), 198U);
  EXPECT_EQ(round.layout.message_bytes(), 60U * 198U);
  EXPECT_EQ(round.layout.word_bytes(), 0U);
  EXPECT_EQ(round.layout.shufflers(), 1U);
}

TEST(RoundLayoutTest, ReportsAreOneUnitOfTheWiresType) {
  const ShuffledRound wide(ShuffleForm::Reports);
  EXPECT_EQ(wide.layout.body_bytes(), 2U + 3U * 8U);
  EXPECT_EQ(wide.layout.units(), 1U);
  EXPECT_EQ(wide.layout.word_bytes(), 0U);
  const ShuffledRound narrow(ShuffleForm::Reports, 3, queries::ReplyType::I32);
  EXPECT_EQ(narrow.layout.message_bytes(), 193U + 2U + 3U * 4U);
}

TEST(RoundLayoutTest, WordsHoldATotalOfTheWholeCohort) {
  for (const ShuffleForm form : {ShuffleForm::Counts, ShuffleForm::Shares}) {
    // Records of 5 bits: 51 silos make 255, one byte; 52 make 260, two.
    const planning::Release one = release(form, 10, 1);
    EXPECT_EQ(RoundLayout::create(shuffle(form), one, kWire, 51)->word_bytes(), 1U);
    const RoundLayout two = RoundLayout::create(shuffle(form), one, kWire, 52).value();
    EXPECT_EQ(two.word_bytes(), 2U);
    EXPECT_EQ(two.modulus().total_max(), 260);
    EXPECT_EQ(two.message_bytes(), 193U + 20U);
    EXPECT_EQ(two.shufflers(), form == ShuffleForm::Shares ? 2U : 1U);
  }
}

TEST(RoundLayoutTest, ClipsAsThePairOfPointsSays) {
  planning::Release difference = release(ShuffleForm::Shares, 2, 4);
  difference.ask.map = releases::GradientDifferenceMap{};
  difference.ask.bound = releases::L2Bound{difference.ask.clip(), 0.5};
  const RoundLayout layout = RoundLayout::create(shuffle(ShuffleForm::Shares), difference, kWire, 3).value();
  // ||(3, 4)|| / 2 = 2.5 is beyond the clip norm of 2, ||(0.3, 0.4)|| / 2 = 0.25 is not.
  EXPECT_EQ(layout.clip_of(queries::GradientDifferenceQuestion{Eigen::Vector4d(3, 4, 0, 0)}).value(), 2.0);
  EXPECT_DOUBLE_EQ(layout.clip_of(queries::GradientDifferenceQuestion{Eigen::Vector4d(0.3, 0.4, 0, 0)}).value(), 0.25);
}

TEST(RoundLayoutTest, TooManyBitsAreSentToShares) {
  // 2^16 units of three silos: 1092 coordinates of 20 bits each, and no more.
  EXPECT_TRUE(RoundLayout::create(shuffle(ShuffleForm::Bits), release(ShuffleForm::Bits, 1'092, 4), kWire, 3));
  expect_refused(RoundLayout::create(shuffle(ShuffleForm::Bits), release(ShuffleForm::Bits, 1'093, 4), kWire, 3),
                 "1093 coordinates of 20 bits each");
  expect_refused(RoundLayout::create(shuffle(ShuffleForm::Bits), release(ShuffleForm::Bits, 1'093, 4), kWire, 3),
                 "choose form \"shares\"");
}

TEST(RoundLayoutTest, AMessageHasAtMostAGibibyte) {
  // 193 + 2 + 8 d at most 2^30: d up to 134217703.
  const auto reports = [](Eigen::Index dimension, const queries::WireLattice& wire) {
    planning::Release one = release(ShuffleForm::Reports, 1, 4);
    one.ask.dimension = dimension;
    return RoundLayout::create(shuffle(ShuffleForm::Reports), one, wire, 3);
  };
  EXPECT_TRUE(reports(134'217'703, kWire));
  expect_refused(reports(134'217'704, kWire), "1073741827 bytes, at most 1073741824 are allowed: 32-bit replies");
  EXPECT_TRUE(reports(134'217'704, {queries::ReplyType::I32, -20}));
  expect_refused(reports(Eigen::Index{1} << 60U, kWire), "coordinates");
}

TEST(RoundLayoutTest, RefusesWhatASiloCannotAddUpOrDraw) {
  const auto shares = [](const mechanisms::BinomialParameters& with, std::int64_t records, std::size_t cohort) {
    return RoundLayout::create(shuffle(ShuffleForm::Shares), release(ShuffleForm::Shares, 2, records, with), kWire,
                               cohort);
  };
  // 2^13 records on a grid of 2^16 have a shifted sum of at most 2^61.
  EXPECT_TRUE(shares(parameters(1 << 16, 1), 1 << 13, 3));
  expect_refused(shares(parameters(1 << 16, 1), (1 << 13) + 1, 3), "at most 8192 records, a round has 8193");
  // 2^34 coins are a table's most, 2^40 bits the analyzer's.
  EXPECT_TRUE(shares(parameters(2, std::int64_t{1} << 32U), 4, 3));
  expect_refused(shares(parameters(2, std::int64_t{1} << 32U), 5, 3), "draw fewer records");
  expect_refused(shares(parameters(2, std::int64_t{1} << 32U), 4, 64), "of 64 silos");
  expect_refused(shares(parameters(2, 2), 4, 0), "1 to 4096 silos, got 0");
  expect_refused(shares(parameters(2, 2), 4, 4097), "got 4097");
}

TEST(RoundLayoutTest, EveryFormIsOfItsOwnReleases) {
  for (const ShuffleForm form : {ShuffleForm::Bits, ShuffleForm::Counts, ShuffleForm::Shares})
    expect_refused(RoundLayout::create(shuffle(form), release(ShuffleForm::Reports, 3, 4), kWire, 3),
                   "no binomial sum");
  expect_refused(RoundLayout::create(shuffle(ShuffleForm::Reports), release(ShuffleForm::Shares, 3, 4), kWire, 3),
                 "no Gaussian sum");
  planning::Release evaluation = release(ShuffleForm::Reports, 3, 4);
  evaluation.mechanism = mechanisms::Unplanned{};
  expect_refused(RoundLayout::create(shuffle(ShuffleForm::Reports), evaluation, kWire, 3), "no Gaussian sum");
}

TEST(AdderMacKeyTest, IsOfTheRunAlone) {
  RunId run{sha256("job"), {}};
  const std::string key(adder_mac_key(run).bytes());
  EXPECT_EQ(key, as_bytes(sha256("undertone adder" + run.bytes())));
  run.nonce[0] = 1;
  EXPECT_NE(adder_mac_key(run).bytes(), key);
}

TEST(RecipientsTest, OnlyTheKeyThatTheJobNamesIsSealedTo) {
  const ShuffledRound round(ShuffleForm::Reports);
  const sealed::SealingKey other = sealed::SealingKey::generate();
  EXPECT_TRUE(coordinator_of(round.shuffle, round.coordinator.public_key().bytes(), round.mac_key.bytes()));
  EXPECT_FALSE(coordinator_of(round.shuffle, other.public_key().bytes(), round.mac_key.bytes()));
  EXPECT_FALSE(coordinator_of(round.shuffle, round.coordinator.public_key().bytes(), "short"));
}

TEST(RecipientsTest, AnAdderWhoseKeyIsNoneIsNamed) {
  ShuffledRound round(ShuffleForm::Shares);
  round.shuffle.shufflers[1].key = Digest{};  // the point of order one
  const Result<Recipients> recipients = adders_of(round.shuffle, round.run);
  ASSERT_FALSE(recipients);
  EXPECT_NE(recipients.error().message.find("second"), std::string::npos) << recipients.error().message;
}

}  // namespace
}  // namespace undertone::sealed
