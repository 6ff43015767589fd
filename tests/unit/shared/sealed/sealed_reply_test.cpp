#include "shared/sealed/sealed_reply.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <sodium.h>

#include "shared/base/random_source.hpp"

namespace undertone::sealed {
namespace {

constexpr std::size_t kBodyBytesMax = 40;
// Where the fields stand, as the format says.
constexpr std::size_t kMessageAt = 48;
constexpr std::size_t kBodyBytesAt = 105;
constexpr std::size_t kCodeAt = 113;
constexpr std::size_t kBodyAt = 145;

const unsigned char* raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* raw(std::string& bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

/// Without gtest's output of bytes by the thousand.
bool contains(const Error& error, std::string_view text) { return error.message.find(text) != std::string::npos; }

class SealedReplyTest : public testing::Test {
 protected:
  static RoundTerms terms_of(std::size_t body_bytes_max) {
    RoundTerms terms{{}, RoundIndex{7}, sha256("query"), ReplyLength::create(body_bytes_max).value()};
    terms.run.job = sha256("job");
    terms.run.nonce.fill(3);
    return terms;
  }
  [[nodiscard]] std::string sealed(std::string_view body) const { return sealed_for(terms_, body); }
  [[nodiscard]] std::string sealed_for(const RoundTerms& terms, std::string_view body) const {
    return seal(key_.public_key(), mac_key_, terms, ticket_, body).value();
  }
  [[nodiscard]] Result<OpenedReply> opened(std::string bytes) const {
    return open(key_, mac_key_, terms_, std::move(bytes));
  }
  /// The library's own opening of a sealed box.
  [[nodiscard]] std::string message_of(std::string_view box) const {
    std::string message(box.size() - crypto_box_SEALBYTES, '\0');
    EXPECT_EQ(crypto_box_seal_open(raw(message), raw(box), box.size(), raw(key_.public_key().bytes()),
                                   raw(key_.secret_bytes())),
              0);
    return message;
  }
  /// The library's own sealing of a message, which anybody can do.
  [[nodiscard]] std::string box_of(std::string_view message) const {
    std::string box(message.size() + crypto_box_SEALBYTES, '\0');
    EXPECT_EQ(crypto_box_seal(raw(box), raw(message), message.size(), raw(key_.public_key().bytes())), 0);
    return box;
  }
  /// Written a second time, by the description of the format: what a silo that has the MAC key can send if it is not
  /// ours. The code in the message is replaced.
  [[nodiscard]] std::string vouched_box_of(std::string message) const {
    std::string ephemeral(32, '\0');
    std::string secret(32, '\0');
    crypto_box_keypair(raw(ephemeral), raw(secret));
    const std::uint64_t sealed_bytes = message.size() + kMessageAt;
    std::string text = std::string(key_.public_key().bytes()) + ephemeral;
    text.append(reinterpret_cast<const char*>(&sealed_bytes), sizeof sealed_bytes);
    text += message.substr(0, kCodeAt);
    message.replace(kCodeAt, 32, as_bytes(mac_key_.mac(MacPurpose::Reply, text)));
    const std::string both = ephemeral + std::string(key_.public_key().bytes());
    std::string nonce(24, '\0');
    crypto_generichash(raw(nonce), nonce.size(), raw(both), both.size(), nullptr, 0);
    std::string box(message.size() + 16, '\0');
    EXPECT_EQ(crypto_box_easy(raw(box), raw(message), message.size(), raw(nonce), raw(key_.public_key().bytes()),
                              raw(secret)),
              0);
    return ephemeral + box;
  }
  void expect_refused(std::string bytes, ErrorCode code, std::string_view named) const {
    const Result<OpenedReply> reply = opened(std::move(bytes));
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, code) << reply.error().message;
    EXPECT_TRUE(contains(reply.error(), named)) << reply.error().message;
    EXPECT_TRUE(contains(reply.error(), "round 7")) << reply.error().message;
  }

  SealingKey key_ = SealingKey::generate();
  ReplyMacKey mac_key_ = ReplyMacKey::draw();
  RoundTerms terms_ = terms_of(kBodyBytesMax);
  Ticket ticket_ = Ticket::draw();
};

TEST_F(SealedReplyTest, OpensToWhatWasSealed) {
  RandomSource random(1);
  for (std::size_t size = 0; size <= kBodyBytesMax; ++size) {
    SCOPED_TRACE(size);
    std::string body(size, '\0');
    for (char& byte : body) byte = static_cast<char>(random.below(256));
    const Result<OpenedReply> reply = opened(sealed(body));
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->body(), body);
    EXPECT_EQ(reply->ticket(), ticket_);
  }
}

TEST_F(SealedReplyTest, BodyMayEndInZerosOrBeNothingElse) {
  for (const std::size_t size : {0U, 1U, 39U, 40U})
    EXPECT_EQ(opened(sealed(std::string(size, '\0')))->body(), std::string(size, '\0'));
}

TEST_F(SealedReplyTest, IsASealedBoxOfTheLibrarysWithTheFieldsInTheirPlaces) {
  const std::string message = message_of(sealed("body"));
  ASSERT_EQ(message.size(), kBodyAt + kBodyBytesMax);
  EXPECT_EQ(message[0], 1);
  EXPECT_EQ(message.substr(1, 48), terms_.run.bytes());
  EXPECT_EQ(message.substr(49, 8), std::string("\x07\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(message.substr(57, 32), as_bytes(terms_.query));
  EXPECT_EQ(0, std::memcmp(message.data() + 89, ticket_.bytes.data(), 16));
  EXPECT_EQ(message.substr(kBodyBytesAt, 8), std::string("\x04\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(message.substr(kBodyAt, 4), "body");
  EXPECT_EQ(message.substr(kBodyAt + 4), std::string(kBodyBytesMax - 4, '\0'));
}

TEST_F(SealedReplyTest, OpensWhatAnotherWriterOfTheFormatSealed) {
  const Result<OpenedReply> reply = opened(vouched_box_of(message_of(sealed("body"))));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->body(), "body");
}

TEST_F(SealedReplyTest, AllOfARoundAreEquallyLong) {
  EXPECT_EQ(terms_.length.sealed_bytes(), 40U + 193U);
  for (std::size_t size = 0; size <= kBodyBytesMax; ++size)
    EXPECT_EQ(sealed(std::string(size, 'x')).size(), terms_.length.sealed_bytes());
}

TEST_F(SealedReplyTest, ABodyLongerThanTheRoundsIsAnErrorAtTheSilo) {
  const Result<std::string> bytes =
      seal(key_.public_key(), mac_key_, terms_, ticket_, std::string(kBodyBytesMax + 1, 'x'));
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(bytes.error().message, "round 7: a reply of 41 bytes, the round's length is 40");
}

TEST_F(SealedReplyTest, SealedTwiceIsAnotherMessageWithTheSameTicket) {
  const std::string first = sealed("body");
  const std::string second = sealed("body");
  EXPECT_NE(first.substr(0, 32), second.substr(0, 32));
  EXPECT_NE(identity_of(first), identity_of(second));
  EXPECT_NE(message_of(first).substr(kCodeAt, 32), message_of(second).substr(kCodeAt, 32));
  EXPECT_EQ(opened(first)->ticket(), opened(second)->ticket());
}

TEST_F(SealedReplyTest, NoBytesOfTwoSealsOfOneReplyAgreeMoreOftenThanByChance) {
  // 65728 bytes that agree with probability 1/256 each: 257 expected, standard deviation 16; ten deviations more have a
  // probability below 1e-9. A keystream used twice would agree everywhere. Of the header's 113 bytes, the ones that
  // name run and round, 12 agree by chance with a probability below C(113, 12) / 256^12 < 1e-13.
  const RoundTerms terms = terms_of(65535);
  const std::string first = sealed_for(terms, std::string(65535, 'x'));
  const std::string second = sealed_for(terms, std::string(65535, 'x'));
  const auto agreeing = [&](std::size_t from, std::size_t to) {
    std::size_t count = 0;
    for (std::size_t i = from; i < to; ++i) count += first[i] == second[i] ? 1U : 0U;
    return count;
  };
  EXPECT_LT(agreeing(0, first.size()), 257U + 160U);
  EXPECT_LT(agreeing(kMessageAt, kMessageAt + kCodeAt), 12U);
}

TEST_F(SealedReplyTest, IdentityIsThatOfTheBytes) {
  const std::string bytes = sealed("body");
  EXPECT_EQ(identity_of(bytes), identity_of(std::string(bytes)));
  std::string other = bytes;
  other.back() = static_cast<char>(other.back() ^ 1);
  EXPECT_NE(identity_of(bytes), identity_of(other));
}

TEST_F(SealedReplyTest, EveryAlteredBitIsRefused) {
  const std::string bytes = sealed("body");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(8 * at + bit);
      std::string altered = bytes;
      altered[at] = static_cast<char>(static_cast<unsigned char>(altered[at]) ^ (1U << bit));
      expect_refused(altered, ErrorCode::Unauthorized, "does not open");
    }
  }
}

TEST_F(SealedReplyTest, EveryOtherLengthIsNamed) {
  const std::string bytes = sealed("body");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    expect_refused(bytes.substr(0, size), ErrorCode::Malformed, fmt::format("expected 233 bytes, got {}", size));
  expect_refused(bytes + '\0', ErrorCode::Malformed, "expected 233 bytes, got 234");
  expect_refused(sealed_for(terms_of(kBodyBytesMax + 1), "body"), ErrorCode::Malformed, "another length");
}

TEST_F(SealedReplyTest, SealedToAnotherKeyIsNamed) {
  const SealingKey other = SealingKey::generate();
  expect_refused(seal(other.public_key(), mac_key_, terms_, ticket_, "body").value(), ErrorCode::Unauthorized,
                 "sealed to another key");
}

TEST_F(SealedReplyTest, InjectedUnderAnotherMacKeyIsNamed) {
  const ReplyMacKey other = ReplyMacKey::draw();
  expect_refused(seal(key_.public_key(), other, terms_, ticket_, "body").value(), ErrorCode::Unauthorized, "injected");
}

TEST_F(SealedReplyTest, InjectedWithoutAnyCodeIsNamed) {
  std::string message = message_of(sealed("body"));
  std::fill_n(message.begin() + static_cast<std::ptrdiff_t>(kCodeAt), 32, '\0');
  expect_refused(box_of(message), ErrorCode::Unauthorized, "injected");
}

TEST_F(SealedReplyTest, ACodeVouchesForItsOwnBoxAlone) {
  std::string message = message_of(sealed("body"));
  expect_refused(box_of(message), ErrorCode::Unauthorized, "injected");
  message.replace(kBodyAt, 4, "BODY");
  expect_refused(box_of(message), ErrorCode::Unauthorized, "injected");
}

TEST_F(SealedReplyTest, ForAnotherRunIsNamed) {
  RoundTerms other = terms_;
  other.run.nonce[15] ^= 1U;
  expect_refused(sealed_for(other, "body"), ErrorCode::UnknownRun, other.run.hex());
  other = terms_;
  other.run.job[0] ^= 1U;
  expect_refused(sealed_for(other, "body"), ErrorCode::UnknownRun, "another run");
}

TEST_F(SealedReplyTest, ForAnotherRoundIsNamed) {
  RoundTerms other = terms_;
  other.round = RoundIndex{6};
  expect_refused(sealed_for(other, "body"), ErrorCode::UnplannedQuery, "another round, 6");
}

TEST_F(SealedReplyTest, ForAnotherQueryIsNamed) {
  RoundTerms other = terms_;
  other.query = sha256("other");
  expect_refused(sealed_for(other, "body"), ErrorCode::UnplannedQuery, "another query");
}

TEST_F(SealedReplyTest, OfAnotherFormatIsNamed) {
  std::string message = message_of(sealed("body"));
  message[0] = 2;
  expect_refused(vouched_box_of(message), ErrorCode::ProtocolMismatch, "expected 1, got 2");
}

TEST_F(SealedReplyTest, ALengthBeyondTheMessageIsRefused) {
  for (const std::uint64_t claimed : {std::uint64_t{41}, std::uint64_t{1} << 31U, ~std::uint64_t{0}}) {
    std::string message = message_of(sealed("body"));
    std::memcpy(message.data() + kBodyBytesAt, &claimed, sizeof claimed);
    expect_refused(vouched_box_of(message), ErrorCode::Malformed, fmt::format("a body of {} bytes", claimed));
  }
}

TEST_F(SealedReplyTest, AnythingInThePaddingIsRefused) {
  for (const std::size_t at : {kBodyAt + 4, kBodyAt + 5, kBodyAt + kBodyBytesMax - 1}) {
    std::string message = message_of(sealed("body"));
    message[at] = 1;
    expect_refused(vouched_box_of(message), ErrorCode::Malformed, "padding");
  }
}

TEST_F(SealedReplyTest, RandomBytesNeverOpen) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const bool right_length = random.chance(0.8);
    std::string bytes(right_length ? terms_.length.sealed_bytes() : random.below(600), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    EXPECT_FALSE(opened(bytes));
  }
}

TEST_F(SealedReplyTest, RandomMessagesOfStrangersAreRefused) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    std::string message = message_of(sealed("body"));
    for (std::uint64_t i = random.below(200); i > 0; --i)
      message[random.below(message.size())] = static_cast<char>(random.below(256));
    EXPECT_FALSE(opened(box_of(message)));
  }
}

TEST_F(SealedReplyTest, RandomMessagesOfMembersNeverReachBeyondTheirBytes) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    std::string message = message_of(sealed("body"));
    for (std::uint64_t i = 1 + random.below(3); i > 0; --i)
      message[random.below(message.size())] = static_cast<char>(random.below(256));
    if (const Result<OpenedReply> reply = opened(vouched_box_of(message))) {
      EXPECT_LE(reply->body().size(), kBodyBytesMax);
      EXPECT_EQ(reply->body(), message.substr(kBodyAt, reply->body().size()));
    }
  }
}

TEST_F(SealedReplyTest, IsOpenedWhereItIs) {
  std::string bytes = sealed("body");
  const char* const at = bytes.data();
  const OpenedReply reply = opened(std::move(bytes)).value();
  EXPECT_EQ(reply.body().data(), at + ReplyLength::kOverheadBytes);
}

TEST_F(SealedReplyTest, TakesTheLengthOfAModel) {
  constexpr std::size_t kBytes = std::size_t{8} << 20U;
  RandomSource random(5);
  std::string body(kBytes, '\0');
  for (std::size_t at = 0; at < kBytes; at += 8) {
    const std::uint64_t word = random.word();
    std::memcpy(body.data() + at, &word, sizeof word);
  }
  const RoundTerms terms = terms_of(kBytes + 1000);
  const Result<OpenedReply> reply = open(key_, mac_key_, terms, sealed_for(terms, body));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_TRUE(reply->body() == body);
}

TEST_F(SealedReplyTest, SilosOfOneRoundShowTheSameTerms) {
  const ReplyMacKey same = ReplyMacKey::from_bytes(mac_key_.bytes()).value();
  EXPECT_EQ(terms_digest(key_.public_key(), mac_key_, terms_), terms_digest(key_.public_key(), same, terms_));
}

TEST_F(SealedReplyTest, EachOtherTermOrKeyShows) {
  std::set<Digest> shown = {terms_digest(key_.public_key(), mac_key_, terms_)};
  const auto is_new = [&](const SealingPublicKey& to, const ReplyMacKey& mac_key, const RoundTerms& terms) {
    return shown.insert(terms_digest(to, mac_key, terms)).second;
  };
  EXPECT_TRUE(is_new(SealingKey::generate().public_key(), mac_key_, terms_));
  EXPECT_TRUE(is_new(key_.public_key(), ReplyMacKey::draw(), terms_));
  RoundTerms other = terms_;
  other.run.nonce[0] ^= 1U;
  EXPECT_TRUE(is_new(key_.public_key(), mac_key_, other));
  other = terms_;
  other.round = terms_.round.next();
  EXPECT_TRUE(is_new(key_.public_key(), mac_key_, other));
  other = terms_;
  other.query[0] ^= 1U;
  EXPECT_TRUE(is_new(key_.public_key(), mac_key_, other));
  EXPECT_TRUE(is_new(key_.public_key(), mac_key_, terms_of(kBodyBytesMax + 1)));
}

TEST(ReplyLengthTest, IsPositiveAndBounded) {
  EXPECT_FALSE(ReplyLength::create(0));
  EXPECT_FALSE(ReplyLength::create(ReplyLength::kBodyBytesMax + 1));
  EXPECT_FALSE(ReplyLength::create(~std::size_t{0}));
  EXPECT_EQ(ReplyLength::create(ReplyLength::kBodyBytesMax)->sealed_bytes(), (std::size_t{1} << 30U) + 193U);
}

TEST(TicketTest, NoTwoAreEqual) { EXPECT_NE(Ticket::draw(), Ticket::draw()); }

}  // namespace
}  // namespace undertone::sealed
