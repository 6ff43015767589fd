#include "shared/sealed/additive_shares.hpp"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "shared/crypto/test_bits.hpp"

namespace undertone::sealed {
namespace {

/// One word, as often as it is asked for.
struct OneWord {
  using ScriptedForTests = void;
  std::uint64_t value;
  [[nodiscard]] std::uint64_t word() const { return value; }
};

ShareModulus modulus(std::int64_t total_max) { return ShareModulus::create(total_max).value(); }

TEST(ShareModulusTest, TakesTheFewestBytesThatHoldTheTotal) {
  EXPECT_EQ(modulus(1).bytes(), 1U);
  EXPECT_EQ(modulus(255).bytes(), 1U);
  EXPECT_EQ(modulus(256).bytes(), 2U);
  EXPECT_EQ(modulus(65'535).bytes(), 2U);
  EXPECT_EQ(modulus(65'536).bytes(), 3U);
  EXPECT_EQ(modulus((std::int64_t{1} << 56U) - 1).bytes(), 7U);
  EXPECT_EQ(modulus(std::int64_t{1} << 62U).bytes(), 8U);
  EXPECT_FALSE(ShareModulus::create(0));
  EXPECT_FALSE(ShareModulus::create(-1));
}

TEST(AdditiveSharesTest, RecombineToTheTotalOfAllSilos) {
  constexpr std::int64_t kSilos = 5;
  for (const std::int64_t most : {std::int64_t{50}, std::int64_t{1000}, std::int64_t{16'777'216},
                                  (std::int64_t{1} << 40U) + 17, std::int64_t{1} << 62U}) {
    SCOPED_TRACE(most);
    const ShareModulus ring = modulus(most);
    crypto::TestBits bits(static_cast<std::uint64_t>(most), "shares", crypto::InsecureForTestsOnly{});
    constexpr std::size_t kDimension = 64;
    std::vector<std::uint64_t> first(kDimension, 0);
    std::vector<std::uint64_t> second(kDimension, 0);
    std::vector<std::int64_t> expected(kDimension, 0);
    for (int silo = 0; silo < kSilos; ++silo) {
      std::vector<std::int64_t> counts(kDimension);
      for (std::size_t j = 0; j < kDimension; ++j) {
        counts[j] =
            static_cast<std::int64_t>(crypto::uniform_below(bits, static_cast<std::uint64_t>(most / kSilos) + 1));
        if (j == 0) counts[j] = most / kSilos;
        if (j == 1) counts[j] = 0;
        expected[j] += counts[j];
      }
      const SharePair shares = split_counts(counts, ring, bits).value();
      EXPECT_EQ(shares.first.size(), kDimension * ring.bytes());  // both together: at most 8 * 2 * d bytes
      EXPECT_EQ(shares.second.size(), kDimension * ring.bytes());
      EXPECT_TRUE(add_share(shares.first, ring, first));
      EXPECT_TRUE(add_share(shares.second, ring, second));
    }
    EXPECT_EQ(combine_shares(first, second, ring).value(), expected);
  }
}

TEST(AdditiveSharesTest, EachShareIsUniformWhateverTheCountIs) {
  // One byte: all 256 words give all 256 first shares and all 256 second shares, for every count.
  const ShareModulus ring = modulus(255);
  for (std::int64_t count = 0; count <= 255; count += 51) {
    std::set<std::uint8_t> first;
    std::set<std::uint8_t> second;
    for (std::uint64_t word = 0; word < 256; ++word) {
      OneWord bits{word};
      const SharePair shares = split_counts(std::vector{count}, ring, bits).value();
      first.insert(shares.first[0]);
      second.insert(shares.second[0]);
    }
    EXPECT_EQ(first.size(), 256U);
    EXPECT_EQ(second.size(), 256U);
  }
}

TEST(AdditiveSharesTest, EveryByteOfALongShareIsUniform) {
  // Three bytes of counts that are all the same: chi-square of 255 degrees, 22.6 standard deviations of 5.7 are the
  // quantile of 1e-9 plus room; a byte that repeats its count would be at 255 times the draws.
  constexpr std::size_t kDimension = 100'000;
  const ShareModulus ring = modulus(1 << 20);
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  const SharePair shares = split_counts(std::vector<std::int64_t>(kDimension, 77'777), ring, bits).value();
  for (const std::vector<std::uint8_t>* share : {&shares.first, &shares.second}) {
    for (std::size_t byte = 0; byte < ring.bytes(); ++byte) {
      std::array<double, 256> cells{};
      for (std::size_t j = 0; j < kDimension; ++j) cells[(*share)[j * ring.bytes() + byte]] += 1.0;
      const double expected = kDimension / 256.0;
      double chi_square = 0.0;
      for (const double cell : cells) chi_square += (cell - expected) * (cell - expected) / expected;
      EXPECT_LT(chi_square, 255.0 + 8.0 * std::sqrt(510.0));
    }
  }
}

TEST(AdditiveSharesTest, RefuseWhatDoesNotFit) {
  const ShareModulus ring = modulus(1000);
  OneWord bits{12'345};
  const auto large = split_counts(std::vector<std::int64_t>{3, 1001}, ring, bits);
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("coordinate 1: a count to share must be in 0 .. 1000, got 1001"),
            std::string::npos)
      << large.error().message;
  EXPECT_FALSE(split_counts(std::vector<std::int64_t>{-1}, ring, bits));

  std::vector<std::uint64_t> total(3, 5);
  const Status short_share = add_share(std::vector<std::uint8_t>(5), ring, total);
  ASSERT_FALSE(short_share);
  EXPECT_NE(short_share.error().message.find("takes 6 bytes, got 5"), std::string::npos) << short_share.error().message;
  EXPECT_EQ(total, std::vector<std::uint64_t>(3, 5));

  const auto unequal = combine_shares(std::vector<std::uint64_t>(2), std::vector<std::uint64_t>(3), ring);
  ASSERT_FALSE(unequal);
  EXPECT_NE(unequal.error().message.find("2 and 3"), std::string::npos);
  // A share that was lost leaves a uniform number: above the most with probability 1 - 1001/65536.
  const auto lost = combine_shares(std::vector<std::uint64_t>{60'000}, std::vector<std::uint64_t>{0}, ring);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::Malformed);
  EXPECT_NE(lost.error().message.find("60000, at most 1000"), std::string::npos) << lost.error().message;
}

}  // namespace
}  // namespace undertone::sealed
