#include "shuffler/batch/sealed_adder.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/sealed/adder_mac_key.hpp"
#include "shared/sealed/sealed_reply.hpp"

namespace undertone::shuffler {
namespace {

using namespace std::string_literals;

const RunId kAddedRun{sha256("job"), {1}};

/// A round of `dimension` words of `word_bytes`, and the adder that it is sealed to.
class SealedAdderTest : public ::testing::Test {
 protected:
  BatchSpec spec(std::size_t dimension, std::uint32_t word_bytes) const {
    const std::size_t bytes = sealed::ReplyLength::kOverheadBytes + dimension * word_bytes;
    return {kAddedRun, {3}, 0, {}, 2, bytes, bytes, word_bytes, sha256("query"), std::chrono::milliseconds(1)};
  }
  static sealed::RoundTerms terms(const BatchSpec& of) {
    return {of.run, of.round, of.query, sealed::ReplyLength::create(total_bytes(of)).value()};
  }
  std::string sealed(const BatchSpec& of, std::string_view words) const {
    return sealed(terms(of), sealed::adder_mac_key(of.run), words);
  }
  std::string sealed(const sealed::RoundTerms& under, const sealed::ReplyMacKey& mac_key, std::string_view words,
                     const sealed::Ticket& ticket = sealed::Ticket::draw()) const {
    return sealed::seal(public_key_, mac_key, under, ticket, words).value();
  }

  sealed::SealingKey key_ = sealed::SealingKey::generate();
  sealed::SealingPublicKey public_key_ = key_.public_key();
  SealedAdder adder_{std::move(key_)};
};

std::string words_of(const std::vector<std::uint64_t>& words, std::uint32_t word_bytes) {
  std::string out;
  for (std::uint64_t word : words) {
    for (std::uint32_t i = 0; i < word_bytes; ++i, word >>= 8U) out.push_back(static_cast<char>(word & 0xFFU));
  }
  return out;
}

TEST_F(SealedAdderTest, AddsTheWordsOfEveryShareModuloTheirSize) {
  const BatchSpec bytes = spec(4, 1);
  // 200 + 100 - 256 = 44, 255 + 1 - 256 = 0; nothing is carried into the next word.
  EXPECT_EQ(*adder_.add(bytes, {sealed(bytes, "\xC8\xFF\x01\x07"s), sealed(bytes, "\x64\x01\x02\x00"s)}),
            "\x2C\x00\x03\x07"s);
  const BatchSpec pairs = spec(2, 2);
  // 0x00FF + 0x0001 = 0x0100, 0xFFFF + 0x0002 = 0x0001.
  EXPECT_EQ(*adder_.add(pairs, {sealed(pairs, "\xFF\x00\xFF\xFF"s), sealed(pairs, "\x01\x00\x02\x00"s)}),
            "\x00\x01\x01\x00"s);
}

TEST_F(SealedAdderTest, TheTotalOfAnyWordSizeIsTheSum) {
  for (std::uint32_t word_bytes = 1; word_bytes <= 8; ++word_bytes) {
    SCOPED_TRACE(word_bytes);
    RandomSource random(word_bytes);
    const BatchSpec of = spec(50, word_bytes);
    std::vector<std::uint64_t> total(50, 0);
    std::vector<std::string> shares;
    for (int silo = 0; silo < 7; ++silo) {
      std::vector<std::uint64_t> words(50);
      for (std::size_t j = 0; j < words.size(); ++j) total[j] += words[j] = random.word();
      shares.push_back(sealed(of, words_of(words, word_bytes)));
    }
    EXPECT_EQ(*adder_.add(of, shares), words_of(total, word_bytes));  // words_of keeps the low bytes alone
    std::swap(shares.front(), shares.back());
    EXPECT_EQ(*adder_.add(of, shares), words_of(total, word_bytes));
  }
}

TEST_F(SealedAdderTest, NamesTheFirstShareThatIsNotOfThisBatch) {
  const BatchSpec of = spec(2, 2);
  const sealed::ReplyMacKey mac_key = sealed::adder_mac_key(kAddedRun);
  const std::string good = sealed(of, "abcd");
  std::string altered = good;
  altered.back() = static_cast<char>(altered.back() ^ 1);
  sealed::RoundTerms other_round = terms(of);
  other_round.round = {4};
  sealed::RoundTerms other_query = terms(of);
  other_query.query = sha256("another query");
  const RunId other_run{sha256("job"), {2}};
  sealed::RoundTerms of_other_run = terms(of);
  of_other_run.run = other_run;
  const sealed::SealingKey another = sealed::SealingKey::generate();
  struct Case {
    const char* name;
    std::string bad;
    ErrorCode code;
  };
  const std::vector<Case> cases = {
      {"no box", std::string(of.unit_bytes, 'x'), ErrorCode::Unauthorized},
      {"altered", altered, ErrorCode::Unauthorized},
      {"sealed to another key",
       sealed::seal(another.public_key(), mac_key, terms(of), sealed::Ticket::draw(), "abcd").value(),
       ErrorCode::Unauthorized},
      {"under another MAC key", sealed(terms(of), sealed::ReplyMacKey::draw(), "abcd"), ErrorCode::Unauthorized},
      {"of another round", sealed(other_round, mac_key, "abcd"), ErrorCode::UnplannedQuery},
      {"of another query", sealed(other_query, mac_key, "abcd"), ErrorCode::UnplannedQuery},
      {"of another run", sealed(of_other_run, sealed::adder_mac_key(other_run), "abcd"), ErrorCode::Unauthorized},
      {"that says another run", sealed(of_other_run, mac_key, "abcd"), ErrorCode::UnknownRun},
      {"a word short", sealed(of, "ab"), ErrorCode::Malformed},
      {"empty", sealed(of, ""), ErrorCode::Malformed},
      {"too short", good.substr(1), ErrorCode::Malformed},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const Total total = adder_.add(of, {sealed(of, "abcd"), one.bad, sealed(of, "abcd"), one.bad});
    ASSERT_FALSE(total);
    EXPECT_EQ(total.error().index, 1U);
    EXPECT_EQ(total.error().why.code, one.code);
  }
}

TEST_F(SealedAdderTest, ACopiedShareIsNotAddedAgain) {
  const BatchSpec of = spec(2, 2);
  const std::string share = sealed(of, "abcd");
  const sealed::Ticket ticket = sealed::Ticket::draw();
  const auto sealed_again = [&] { return sealed(terms(of), sealed::adder_mac_key(kAddedRun), "abcd", ticket); };
  for (const std::vector<std::string>& copies :
       {std::vector{share, share}, std::vector{sealed_again(), sealed_again()}}) {
    const Total total = adder_.add(of, {copies[0], sealed(of, "abcd"), copies[1]});
    ASSERT_FALSE(total);
    EXPECT_EQ(total.error().index, 2U);
  }
}

/// What a silo sealed is not quoted: neither a number of its share nor a byte of its header.
TEST_F(SealedAdderTest, WhatIsWrongIsSaidWithoutAWordOfTheShare) {
  const BatchSpec of = spec(2, 2);
  sealed::RoundTerms other = terms(of);
  other.query = sha256("another query");
  other.round = {77'777};
  for (const std::string& bad :
       {sealed(other, sealed::adder_mac_key(kAddedRun), "secr"), sealed(of, "se"), std::string(of.unit_bytes, 's')}) {
    const Total total = adder_.add(of, {bad});
    ASSERT_FALSE(total);
    const std::string& said = total.error().why.message;
    EXPECT_NE(said.find("round 3"), std::string::npos) << said;
    for (const std::string& unsaid : {to_hex(other.query), std::string("77777"), std::string("secr"), to_hex("secr")})
      EXPECT_EQ(said.find(unsaid), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace undertone::shuffler
