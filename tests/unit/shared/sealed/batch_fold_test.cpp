#include "shared/sealed/batch_fold.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "shared/crypto/test_bits.hpp"
#include "silo/oracles/bits_stream.hpp"
#include "tests/support/shuffled_round.hpp"

namespace undertone::sealed {
namespace {

using tests::ShuffledRound;
using tests::ShuffleForm;
using Counts = std::vector<std::int64_t>;
using Messages = std::vector<std::vector<SealedMessage>>;  // of each shuffler, of each silo

const std::vector<Counts> kCounts = {{0, 20, 7}, {13, 1, 20}};  // of two silos, each in 0 .. 20

void expect_named(const Status& status, ErrorCode code, std::string_view expected) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, code);
  EXPECT_NE(status.error().message.find("round 7"), std::string::npos) << status.error().message;
  EXPECT_NE(status.error().message.find(expected), std::string::npos) << status.error().message;
}

void expect_named(const Result<folds::Gathered>& gathered, std::string_view expected) {
  ASSERT_FALSE(gathered);
  EXPECT_EQ(gathered.error().code, ErrorCode::Malformed);
  EXPECT_NE(gathered.error().message.find(expected), std::string::npos) << gathered.error().message;
}

std::vector<SealedMessage> sealed(const ShuffledRound& round, const Counts& counts, const SealFor& seal_for,
                                  std::uint64_t seed = 1) {
  if (round.layout.form() == ShuffleForm::Reports)
    return seal_report({counts}, crypto::NoiseKind::Secure, round.layout, seal_for).value();
  crypto::TestBits bits(seed, "encoding", crypto::InsecureForTestsOnly{});
  silo::BitsStream<crypto::TestBits> stream(bits);
  return seal_counts(counts, round.layout, seal_for, stream).value();
}

Messages messages_of(const ShuffledRound& round, const std::vector<Counts>& silos = kCounts) {
  Messages out(round.layout.shufflers());
  for (const Counts& counts : silos) {
    std::vector<SealedMessage> each = sealed(round, counts, round.seal_for());
    EXPECT_EQ(each.size(), out.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i].push_back(std::move(each[i]));
  }
  return out;
}

/// A fold that took what honest shufflers forward.
std::unique_ptr<BatchFold> folded(const ShuffledRound& round, const std::vector<Counts>& silos = kCounts,
                                  std::uint64_t seed = 1) {
  const Messages messages = messages_of(round, silos);
  std::unique_ptr<BatchFold> fold = round.fold();
  for (std::size_t i = 0; i < messages.size(); ++i)
    EXPECT_TRUE(fold->take(i, silos.size(), round.forwarded(i, messages[i], seed)));
  return fold;
}

TEST(BatchFoldTest, BitsCountsAndSharesGiveTheAnalyzerTheSameNumbers) {
  // 2 silos' 4 records of 5 bits: the ones of coordinate 0 are 13. Clip norm 2, g 3, b 2, p 1/2, s 8:
  // (4/3)(13 - 8) - 16 = -28/3, by 8.
  std::vector<Eigen::VectorXd> means;
  std::vector<Digest> digests;
  for (const ShuffleForm form : {ShuffleForm::Bits, ShuffleForm::Counts, ShuffleForm::Shares}) {
    ShuffledRound round(form);
    const std::unique_ptr<BatchFold> fold = folded(round);
    const folds::Gathered gathered = fold->gathered().value();
    EXPECT_EQ(gathered.round, RoundIndex{7});
    EXPECT_EQ(gathered.replies, 2);
    EXPECT_NEAR(gathered.mean()[0], -28.0 / 24.0, 1e-15);
    means.push_back(gathered.mean());
    digests.push_back(fold->digest());
  }
  for (const Eigen::VectorXd& mean : means) EXPECT_EQ(mean, means.front());
  for (const Digest& digest : digests) EXPECT_EQ(digest, digests.front());
}

TEST(BatchFoldTest, ReportsFoldToTheirEqualMean) {
  for (const queries::ReplyType type : {queries::ReplyType::I32, queries::ReplyType::I64}) {
    const ShuffledRound round(ShuffleForm::Reports, 3, type);
    const std::vector<Counts> silos = {{-7, 2'147'483'647, 5}, {9, 1, -2'147'483'647}, {1, 2, 3}};
    const folds::Gathered gathered = folded(round, silos)->gathered().value();
    EXPECT_EQ(gathered.replies, 3);
    EXPECT_EQ(gathered.mean()[0], 1.0 / 1'048'576.0);  // 3 steps of 2^-20, by 3
    EXPECT_EQ(gathered.mean()[1], 2'147'483'650.0 / 3.0 / 1'048'576.0);
  }
}

TEST(BatchFoldTest, DigestIsOfWhatWasFoldedInAnyOrder) {
  for (const ShuffleForm form : {ShuffleForm::Bits, ShuffleForm::Counts, ShuffleForm::Shares, ShuffleForm::Reports}) {
    const ShuffledRound round(form);
    const Digest digest = folded(round)->digest();
    EXPECT_EQ(folded(round, {kCounts[1], kCounts[0]}, 9)->digest(), digest);
    EXPECT_NE(folded(round, {kCounts[0], {13, 1, 19}})->digest(), digest);
    EXPECT_NE(folded(round, {kCounts[0]})->digest(), digest);
    ShuffledRound later(form);
    later.query.round = RoundIndex{8};
    EXPECT_NE(folded(later)->digest(), digest);
  }
}

/// What a stranger, a shuffler or a silo may put into a mixed batch.
class MixedFoldTest : public testing::TestWithParam<ShuffleForm> {
 protected:
  /// The first silo's message as it should be, and the second's.
  [[nodiscard]] std::string units_with(const SealFor& second) const {
    return sealed(round_, kCounts[0], round_.seal_for())[0].units + sealed(round_, kCounts[1], second)[0].units;
  }
  [[nodiscard]] Status take(std::string units, std::uint64_t replies = 2) const {
    return round_.fold()->take(0, replies, std::move(units));
  }
  ShuffledRound round_{GetParam()};
};

TEST_P(MixedFoldTest, SealedToAnotherKeyIsNamed) {
  Recipients elsewhere = round_.recipients_for(round_.run);
  elsewhere.keys[0] = round_.adders[0].public_key();
  SealFor other{round_.run, round_.query.round, round_.seal_for().query, elsewhere};
  expect_named(take(units_with(other)), ErrorCode::Unauthorized, "sealed to another key");
}

TEST_P(MixedFoldTest, InjectedWithoutTheRunsMacKeyIsNamed) {
  const Recipients stranger{round_.recipients.keys, sealed::ReplyMacKey::draw()};
  const SealFor other{round_.run, round_.query.round, round_.seal_for().query, stranger};
  expect_named(take(units_with(other)), ErrorCode::Unauthorized, "injected");
}

TEST_P(MixedFoldTest, AnotherLengthIsNamed) {
  const std::string units = units_with(round_.seal_for());
  expect_named(take(units + 'x'), ErrorCode::Malformed, "bytes, got");
  expect_named(take(units.substr(1)), ErrorCode::Malformed, "bytes, got");
  expect_named(take(units + units.substr(0, round_.layout.unit_bytes())), ErrorCode::Malformed, "a batch of 2 replies");
  expect_named(take(""), ErrorCode::Malformed, "got 0");
}

TEST_P(MixedFoldTest, AShorterBodyIsNamed) {
  // Padded to the length of all others, so that only the coordinator sees it.
  std::string units = units_with(round_.seal_for());
  const std::string body(round_.layout.body_bytes() - 1, '\1');
  const std::string unit = sealed::seal(round_.recipients.keys[0], round_.mac_key,
                                        round_.layout.terms(round_.run, round_.query.round, round_.seal_for().query),
                                        sealed::Ticket::draw(), body)
                               .value();
  units.replace(0, unit.size(), unit);
  expect_named(take(std::move(units)), ErrorCode::Malformed, "a unit has");
}

TEST_P(MixedFoldTest, AnotherNumberOfRepliesIsNamed) {
  const std::string units = units_with(round_.seal_for());
  expect_named(take(units, 1), ErrorCode::Malformed, "a batch of 1 replies has");
  expect_named(take(units, 3), ErrorCode::Malformed, "a batch of 3 replies has");
  expect_named(take(units, 0), ErrorCode::Malformed, "1 to 3 replies expected, got 0");
  expect_named(take(units, std::uint64_t{1} << 60U), ErrorCode::Malformed, "1 to 3 replies expected");
}

TEST_P(MixedFoldTest, AUnitThatIsThereTwiceIsNamed) {
  std::string units = units_with(round_.seal_for());
  const std::size_t bytes = round_.layout.unit_bytes();
  units.replace(units.size() - bytes, bytes, units.substr(0, bytes));
  expect_named(take(std::move(units)), ErrorCode::Malformed, "twice");
}

TEST_P(MixedFoldTest, OfAnotherRunRoundOrQueryIsNamed) {
  const Digest query = round_.seal_for().query;
  RunId run = round_.run;
  run.nonce[3] = 1;
  const SealFor of_run{run, round_.query.round, query, round_.recipients};
  expect_named(take(units_with(of_run)), ErrorCode::UnknownRun, "another run");
  const SealFor of_round{round_.run, RoundIndex{6}, query, round_.recipients};
  expect_named(take(units_with(of_round)), ErrorCode::UnplannedQuery, "another round, 6");
  const SealFor of_query{round_.run, round_.query.round, sha256("other"), round_.recipients};
  expect_named(take(units_with(of_query)), ErrorCode::UnplannedQuery, "another query");
}

TEST_P(MixedFoldTest, AWrongBatchLeavesNothingBehind) {
  const std::unique_ptr<BatchFold> fold = round_.fold();
  std::string wrong = units_with(round_.seal_for());
  wrong.back() = static_cast<char>(wrong.back() + 1);
  EXPECT_FALSE(fold->take(0, 2, std::move(wrong)));
  EXPECT_TRUE(fold->take(0, 2, units_with(round_.seal_for())));
  EXPECT_EQ(fold->digest(), folded(round_)->digest());
}

INSTANTIATE_TEST_SUITE_P(Forms, MixedFoldTest, testing::Values(ShuffleForm::Bits, ShuffleForm::Reports),
                         [](const auto& tested) { return std::string(jobs::to_string(tested.param)); });

/// The batch of two silos with its first unit replaced by one that a member of the run sealed.
Status take_with(const ShuffledRound& round, std::string_view body) {
  const Messages messages = messages_of(round);
  std::string units = messages[0][0].units + messages[0][1].units;
  const std::string unit = sealed::seal(round.recipients.keys[0], round.mac_key,
                                        round.layout.terms(round.run, round.query.round, round.seal_for().query),
                                        sealed::Ticket::draw(), body)
                               .value();
  units.replace(0, unit.size(), unit);
  return round.fold()->take(0, 2, std::move(units));
}

std::string bit_body(std::uint32_t coordinate, char bit) {
  std::string body(sizeof coordinate, '\0');
  std::memcpy(body.data(), &coordinate, sizeof coordinate);
  return body + bit;
}

TEST(BitsFoldTest, ABitTooManyOfACoordinateIsNamed) {
  const ShuffledRound round(ShuffleForm::Bits);
  // Which coordinate the first unit was of is up to the order; a bit of another one makes 41 of it.
  int refused = 0;
  for (std::uint32_t coordinate = 0; coordinate < 3; ++coordinate) {
    const Status taken = take_with(round, bit_body(coordinate, 0));
    if (taken) continue;
    ++refused;
    expect_named(taken, ErrorCode::Malformed, "2 replies have 40 bits of it, got");
  }
  EXPECT_EQ(refused, 2);
}

TEST(BitsFoldTest, WhatIsNoBitOrOfNoCoordinateIsNamed) {
  const ShuffledRound round(ShuffleForm::Bits);
  expect_named(take_with(round, bit_body(3, 1)), ErrorCode::Malformed, "coordinate 0 .. 2, got 1 of coordinate 3");
  expect_named(take_with(round, bit_body(0xffffffff, 0)), ErrorCode::Malformed, "of coordinate 4294967295");
  expect_named(take_with(round, bit_body(0, 2)), ErrorCode::Malformed, "got 2 of coordinate 0");
}

std::string report_body(char form, crypto::NoiseKind noise, const std::vector<std::int64_t>& values) {
  std::string body{form, static_cast<char>(noise)};
  body.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t));
  return body;
}

TEST(ReportsFoldTest, WhatIsNoProperAnswerIsNamed) {
  using crypto::NoiseKind;
  const ShuffledRound round(ShuffleForm::Reports);
  constexpr std::int64_t kLargest = std::int64_t{1} << 62U;
  EXPECT_TRUE(take_with(round, report_body(1, NoiseKind::Secure, {kLargest, -kLargest, 0})));
  expect_named(take_with(round, report_body(1, NoiseKind::Test, {1, 2, 3})), ErrorCode::Malformed,
               "form 1 with noise 1, got 1 and 2");
  expect_named(take_with(round, report_body(2, NoiseKind::Secure, {1, 2, 3})), ErrorCode::Malformed, "got 2 and 1");
}

TEST(ReportsFoldTest, WhatNoHonestSiloSendsIsLeftOutAndCounted) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 62U;
  ShuffledRound round(ShuffleForm::Reports);
  round.plausible = [](const std::vector<std::int64_t>& values) { return std::abs(values[0]) < 1000; };
  const std::vector<Counts> all = {{4, 8, 12}, {1000, 0, 0}, {2, 4, 6}};
  const std::unique_ptr<BatchFold> fold = folded(round, all);
  EXPECT_EQ(fold->refused(), 1);
  const folds::Gathered gathered = fold->gathered().value();
  EXPECT_EQ(gathered.replies, 2);
  EXPECT_EQ(gathered.mean() * 0x1p20, Eigen::Vector3d(3, 6, 9));
  EXPECT_NE(fold->digest(), folded(round, {all[0], all[2]})->digest());  // it is of all that came
  expect_named(folded(round, {all[1], {-5000, 0, 0}})->gathered(), "no report of the batch");
  EXPECT_EQ(folded(ShuffledRound(ShuffleForm::Reports))->refused(), 0);
  // A silo made it, and the shuffler that forwards it is not to blame.
  for (const std::int64_t beyond : {kLargest + 1, -kLargest - 1, std::numeric_limits<std::int64_t>::min()})
    EXPECT_TRUE(take_with(round, report_body(1, crypto::NoiseKind::Secure, {0, 0, beyond})));
}

TEST(TotalsFoldTest, ATotalOfAnotherDimensionIsNamed) {
  for (const ShuffleForm form : {ShuffleForm::Counts, ShuffleForm::Shares}) {
    const ShuffledRound round(form);
    const Messages messages = messages_of(round);
    const std::string total = round.forwarded(0, messages[0]);
    expect_named(round.fold()->take(0, 2, total + 'x'), ErrorCode::Malformed, "has 3 bytes, got 4");
    expect_named(round.fold()->take(0, 2, total.substr(1)), ErrorCode::Malformed, "has 3 bytes, got 2");
    expect_named(round.fold()->take(0, 0, total), ErrorCode::Malformed, "1 to 3 replies expected, got 0");
    expect_named(round.fold()->take(0, 4, total), ErrorCode::Malformed, "1 to 3 replies expected, got 4");
  }
}

TEST(TotalsFoldTest, ACountBeyondTheRepliesBitsIsNamed) {
  const ShuffledRound round(ShuffleForm::Counts);
  EXPECT_TRUE(round.fold()->take(0, 2, {'\0', '\x28', '\x01'}));
  expect_named(round.fold()->take(0, 2, {'\0', '\x29', '\x01'}), ErrorCode::Malformed,
               "coordinate 1: 41 ones among 40 bits");
  EXPECT_TRUE(round.fold()->take(0, 3, {'\0', '\x29', '\x01'}));
}

/// @return what two totals of shares come to
Result<folds::Gathered> combined(const ShuffledRound& round, std::uint64_t first_replies, const std::string& first,
                                 std::uint64_t second_replies, const std::string& second) {
  const std::unique_ptr<BatchFold> fold = round.fold();
  EXPECT_TRUE(fold->take(1, second_replies, second));  // in any order
  EXPECT_TRUE(fold->take(0, first_replies, first));
  return fold->gathered();
}

TEST(TotalsFoldTest, SharesThatAddUpToTooMuchAreNamed) {
  const ShuffledRound round(ShuffleForm::Shares);
  // Modulo 256, and at most 60 of three silos, 40 of two.
  EXPECT_TRUE(combined(round, 2, {'\xff', '\xf0', '\0'}, 2, {'\x01', '\x38', '\0'}));
  expect_named(combined(round, 2, {'\xff', '\xf0', '\0'}, 2, {'\x01', '\x39', '\0'}),
               "coordinate 1: 41 ones among 40 bits");
  expect_named(combined(round, 3, {'\xff', '\xf0', '\0'}, 3, {'\x01', '\x4d', '\0'}),
               "coordinate 1: the shares add up to 61, at most 60 is possible");
}

TEST(TotalsFoldTest, AddersOfDifferentRepliesAreNamed) {
  const ShuffledRound round(ShuffleForm::Shares);
  expect_named(combined(round, 2, {'\0', '\0', '\0'}, 3, {'\1', '\1', '\1'}),
               "the two shufflers added up 2 and 3 replies");
}

TEST(TotalsFoldTest, AShareTooFewIsNoticedWhereItLeavesTheRange) {
  // A silo that the second shuffler left out leaves its uniform first share: with 64 coordinates all of them stay in
  // 0 .. 40 of 256 values with probability (41/256)^64 < 1e-50.
  const ShuffledRound round(ShuffleForm::Shares, 64);
  const Messages messages = messages_of(round, {Counts(64, 3), Counts(64, 4)});
  expect_named(combined(round, 2, round.forwarded(0, messages[0]), 2, round.forwarded(1, {messages[1][0]})),
               "coordinate");
}

}  // namespace
}  // namespace undertone::sealed
