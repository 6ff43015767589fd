#include "shared/sealed/sealing_key.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <type_traits>

#include "shared/sealed/reply_mac_key.hpp"

namespace undertone::sealed {
namespace {

static_assert(!std::is_copy_constructible_v<SealingKey> && !std::is_copy_constructible_v<ReplyMacKey>);

// RFC 7748, 6.1: Alice's.
constexpr std::string_view kSecret = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a";
constexpr std::string_view kPublic = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";

SealingKey published_key() { return SealingKey::from_secret(from_hex(kSecret).value()).value(); }

TEST(SealingKeyTest, PublicPartIsThePublishedOne) { EXPECT_EQ(to_hex(published_key().public_key().bytes()), kPublic); }

TEST(SealingKeyTest, FingerprintIsSha256OfThePublicBytes) {
  EXPECT_EQ(to_hex(published_key().public_key().fingerprint()),
            "300c9c9603b92a4b39ed3958bf9240114804db4fd373012c0ca47432d63425ae");
}

TEST(SealingKeyTest, ComesBackFromItsSecretBytes) {
  const SealingKey key = SealingKey::generate();
  const SealingKey again = SealingKey::from_secret(std::string(key.secret_bytes())).value();
  EXPECT_EQ(again.public_key(), key.public_key());
  EXPECT_EQ(again.secret_bytes(), key.secret_bytes());
}

TEST(SealingKeyTest, NoTwoAreEqual) {
  EXPECT_NE(SealingKey::generate().public_key(), SealingKey::generate().public_key());
}

TEST(SealingKeyTest, RefusesASecretOfAnotherLengthWithoutQuotingIt) {
  for (const std::size_t size : {0U, 31U, 33U, 64U}) {
    const Result<SealingKey> key = SealingKey::from_secret(std::string(size, 'k'));
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().code, ErrorCode::Malformed);
    EXPECT_EQ(key.error().message.find("kkk"), std::string::npos);
  }
}

TEST(SealingKeyTest, LivesOnWhereItWasMovedTo) {
  SealingKey key = published_key();
  const SealingKey moved = std::move(key);
  EXPECT_EQ(to_hex(moved.secret_bytes()), kSecret);
  EXPECT_EQ(to_hex(moved.public_key().bytes()), kPublic);
}

TEST(SealingKeyDeathTest, WhatWasMovedFromHasNoSecret) {
  std::optional<SealingKey> key = published_key();
  const SealingKey moved = *std::move(key);
  EXPECT_DEATH((void)key->secret_bytes(), "");  // NOLINT(bugprone-use-after-move)
}

TEST(SealingPublicKeyTest, RefusesAnotherLength) {
  for (const std::size_t size : {0U, 31U, 33U}) EXPECT_FALSE(SealingPublicKey::from_bytes(std::string(size, '\x09')));
}

TEST(SealingPublicKeyTest, RefusesPointsOfSmallOrder) {
  // 0, 1, the two of order 8, and p - 1, p, p + 1 for p = 2^255 - 19.
  for (const std::string_view point : {"0000000000000000000000000000000000000000000000000000000000000000",
                                       "0100000000000000000000000000000000000000000000000000000000000000",
                                       "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                                       "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                                       "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                       "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                       "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"}) {
    SCOPED_TRACE(point);
    EXPECT_FALSE(SealingPublicKey::from_bytes(from_hex(point).value()));
  }
}

TEST(SealingPublicKeyTest, IsApprovedByTheJobsFingerprintAlone) {
  const SealingKey key = SealingKey::generate();
  const std::string told(key.public_key().bytes());
  EXPECT_EQ(SealingPublicKey::approved(told, key.public_key().fingerprint()).value(), key.public_key());
  const Result<SealingPublicKey> other =
      SealingPublicKey::approved(told, SealingKey::generate().public_key().fingerprint());
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::Unauthorized);
}

std::string counting_key() {
  std::string out;
  for (char i = 0; i < 32; ++i) out.push_back(i);
  return out;
}

TEST(ReplyMacKeyTest, CodesAreKeyedPersonalisedBlake2b) {
  // Key 00 01 .. 1f, "abc", 32 bytes of output: computed with Python's hashlib.blake2b.
  const ReplyMacKey key = ReplyMacKey::from_bytes(counting_key()).value();
  EXPECT_EQ(to_hex(key.mac(MacPurpose::Reply, "abc")),
            "1525d0a29a9c1e5102e51c2f9345b7981e538b93cb4b5f4631320d6982fad40b");
  EXPECT_EQ(to_hex(key.mac(MacPurpose::RoundTerms, "abc")),
            "320e58da610cf260c44b94b54f0cbdce3c6e4afa24a228f3a2cc85a7265f0a82");
}

TEST(ReplyMacKeyTest, ComesBackFromItsBytes) {
  const ReplyMacKey key = ReplyMacKey::draw();
  const ReplyMacKey again = ReplyMacKey::from_bytes(key.bytes()).value();
  EXPECT_EQ(again.mac(MacPurpose::Reply, "text"), key.mac(MacPurpose::Reply, "text"));
}

TEST(ReplyMacKeyTest, NoTwoGiveOneCode) {
  EXPECT_NE(ReplyMacKey::draw().mac(MacPurpose::Reply, "text"), ReplyMacKey::draw().mac(MacPurpose::Reply, "text"));
}

TEST(ReplyMacKeyTest, RefusesAnotherLength) {
  for (const std::size_t size : {0U, 31U, 33U}) EXPECT_FALSE(ReplyMacKey::from_bytes(std::string(size, 'k')));
}

}  // namespace
}  // namespace undertone::sealed
