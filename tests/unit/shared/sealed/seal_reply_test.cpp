#include "shared/sealed/seal_reply.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "shared/crypto/test_bits.hpp"
#include "silo/oracles/bits_stream.hpp"
#include "tests/support/shuffled_round.hpp"

namespace undertone::sealed {
namespace {

using tests::ShuffledRound;
using tests::ShuffleForm;
using Counts = std::vector<std::int64_t>;

class SealReplyTest : public testing::Test {
 protected:
  [[nodiscard]] Result<std::vector<SealedMessage>> seal(const ShuffledRound& round, const Counts& counts) {
    return seal_counts(counts, round.layout, round.seal_for(), stream_);
  }
  crypto::TestBits bits_{1, "encoding", crypto::InsecureForTestsOnly{}};
  silo::BitsStream<crypto::TestBits> stream_{bits_};
};

sealed::RoundTerms terms(const ShuffledRound& round) {
  return round.layout.terms(round.run, round.query.round, round.seal_for().query);
}

TEST_F(SealReplyTest, EveryMessageHasTheLayoutsLengthWhateverItSays) {
  for (const ShuffleForm form : {ShuffleForm::Bits, ShuffleForm::Counts, ShuffleForm::Shares}) {
    const ShuffledRound round(form);
    for (const Counts& counts : {Counts{0, 0, 0}, Counts{20, 20, 20}, Counts{1, 2, 3}}) {
      const std::vector<SealedMessage> messages = seal(round, counts).value();
      ASSERT_EQ(messages.size(), round.layout.shufflers());
      for (const SealedMessage& message : messages) EXPECT_EQ(message.units.size(), round.layout.message_bytes());
    }
  }
}

TEST_F(SealReplyTest, TermsAreWhatAllSilosShowTheSameShuffler) {
  const ShuffledRound shares(ShuffleForm::Shares);
  const std::vector<SealedMessage> one = seal(shares, {1, 2, 3}).value();
  const std::vector<SealedMessage> other = seal(shares, {3, 2, 1}).value();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(one[i].terms, other[i].terms);
    EXPECT_EQ(one[i].terms,
              sealed::terms_digest(shares.adders[i].public_key(), adder_mac_key(shares.run), terms(shares)));
  }
  EXPECT_NE(one[0].terms, one[1].terms);
}

TEST_F(SealReplyTest, TermsOfMessagesAreThoseThatTheMessagesShow) {
  for (const ShuffleForm form : {ShuffleForm::Bits, ShuffleForm::Counts, ShuffleForm::Shares}) {
    const ShuffledRound round(form);
    const std::vector<SealedMessage> messages = seal(round, {1, 2, 3}).value();
    std::vector<Digest> shown;
    for (const SealedMessage& message : messages) shown.push_back(message.terms);
    EXPECT_EQ(terms_of_messages(round.layout, round.seal_for()), shown);
  }
  const ShuffledRound round(ShuffleForm::Reports);
  const auto report = seal_report({{1, 2, 3}}, crypto::NoiseKind::Secure, round.layout, round.seal_for()).value();
  EXPECT_EQ(terms_of_messages(round.layout, round.seal_for()), std::vector<Digest>{report.at(0).terms});
}

TEST_F(SealReplyTest, CountsAreLittleEndianWordsForTheAdder) {
  // 4 records of 5 bits of at most 3 silos: one byte.
  const ShuffledRound round(ShuffleForm::Counts);
  const std::vector<SealedMessage> messages = seal(round, {0, 20, 7}).value();
  const auto opened = sealed::open(round.adders[0], adder_mac_key(round.run), terms(round), messages[0].units).value();
  EXPECT_EQ(opened.body(), std::string({'\0', '\x14', '\x07'}));
}

TEST_F(SealReplyTest, EachShareIsForItsOwnShuffler) {
  const ShuffledRound round(ShuffleForm::Shares);
  const std::vector<SealedMessage> messages = seal(round, {0, 20, 7}).value();
  std::array<std::string, 2> bodies;
  for (std::size_t i = 0; i < 2; ++i) {
    bodies[i] = sealed::open(round.adders[i], adder_mac_key(round.run), terms(round), messages[i].units).value().body();
    EXPECT_FALSE(
        sealed::open(round.adders[1 - i], adder_mac_key(round.run), terms(round), messages[i].units).has_value());
  }
  const Counts counts = {0, 20, 7};
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_EQ(static_cast<std::uint8_t>(bodies[0][j] + bodies[1][j]), counts[j]);
  }
}

TEST_F(SealReplyTest, BitsAreInARandomOrder) {
  // 60 bits have 60! / (20! 20! 7! 13!) > 1e30 orders that differ.
  const ShuffledRound round(ShuffleForm::Bits);
  const auto bodies = [&] {
    const std::string units = seal(round, {0, 20, 7}).value()[0].units;
    std::vector<std::string> out;
    for (std::size_t at = 0; at < units.size(); at += round.layout.unit_bytes()) {
      out.emplace_back(
          sealed::open(round.coordinator, round.mac_key, terms(round), units.substr(at, round.layout.unit_bytes()))
              .value()
              .body());
    }
    return out;
  };
  std::vector<std::string> first = bodies();
  std::vector<std::string> second = bodies();
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::count(first.begin(), first.end(), std::string({'\2', '\0', '\0', '\0', '\1'})), 7);
  EXPECT_EQ(std::count(first.begin(), first.end(), std::string({'\2', '\0', '\0', '\0', '\0'})), 13);
}

TEST_F(SealReplyTest, WhatDoesNotFitTheLayoutIsRefusedAtTheSilo) {
  for (const ShuffleForm form : {ShuffleForm::Bits, ShuffleForm::Counts, ShuffleForm::Shares}) {
    const ShuffledRound round(form);
    for (const Counts& counts : {Counts{1, 2}, Counts{1, 2, 3, 4}, Counts{1, 21, 3}, Counts{1, 2, -1}}) {
      const auto refused = seal(round, counts);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
    }
  }
  const auto report = [](queries::ReplyType type, Counts values) {
    const ShuffledRound round(ShuffleForm::Reports, 3, type);
    return seal_report({std::move(values)}, crypto::NoiseKind::Secure, round.layout, round.seal_for()).has_value();
  };
  EXPECT_TRUE(report(queries::ReplyType::I32, {0, -2'147'483'647, 2'147'483'647}));
  EXPECT_FALSE(report(queries::ReplyType::I32, {0, 0, 2'147'483'648}));
  EXPECT_FALSE(report(queries::ReplyType::I32, {0, 0}));
  EXPECT_TRUE(report(queries::ReplyType::I64, {0, 0, std::int64_t{1} << 62U}));
  EXPECT_FALSE(report(queries::ReplyType::I64, {0, 0, (std::int64_t{1} << 62U) + 1}));
}

}  // namespace
}  // namespace undertone::sealed
