#include "shared/mechanisms/selection/exponential_mechanism.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <vector>

#include "shared/crypto/secure_bits.hpp"
#include "shared/crypto/test_bits.hpp"
#include "tests/support/drawn_law.hpp"

namespace undertone::mechanisms {
namespace {

using crypto::SecureBits;
using crypto::TestBits;

constexpr int kDraws = 1 << 20;

ExponentialMechanism mechanism(double epsilon, std::int64_t range) {
  return ExponentialMechanism::create(releases::Epsilon::create(epsilon).value(),
                                      ScoreRange::of_differences(range).value())
      .value();
}

template <class Bits>
std::map<std::int64_t, double> drawn(const ExponentialMechanism& selection, const std::vector<std::int64_t>& scores,
                                     int draws, Bits& bits) {
  std::map<std::int64_t, double> counts;
  for (int i = 0; i < draws; ++i) counts[static_cast<std::int64_t>(selection.select(scores, bits))] += 1.0;
  return counts;
}

TEST(ScoreRangeTest, TwoScoresMayMoveApart) {
  EXPECT_EQ(ScoreRange::of_differences(6)->value(), 6);
  EXPECT_EQ(ScoreRange::of_each_score(3)->value(), 6);
  EXPECT_EQ(ScoreRange::of_differences(kScoreMax)->value(), kScoreMax);
  EXPECT_EQ(ScoreRange::of_each_score(kScoreMax / 2)->value(), kScoreMax);
}

TEST(ScoreRangeTest, RefusesWhatIsNoRange) {
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, kScoreMax + 1, INT64_MIN, INT64_MAX}) {
    SCOPED_TRACE(value);
    EXPECT_FALSE(ScoreRange::of_differences(value));
    EXPECT_FALSE(ScoreRange::of_each_score(value));
  }
  EXPECT_FALSE(ScoreRange::of_each_score(kScoreMax / 2 + 1));
}

TEST(ExponentialMechanismTest, RefusesAnEpsilonThatIntegersDoNotHold) {
  const ScoreRange range = ScoreRange::of_differences(1).value();
  for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    EXPECT_FALSE(releases::Epsilon::create(value)) << value;  // so that no selection is made with it
  }
  EXPECT_FALSE(ExponentialMechanism::create(releases::Epsilon::create(0x1p-41).value(), range));
  EXPECT_FALSE(ExponentialMechanism::create(releases::Epsilon::create(1024.5).value(), range));
  EXPECT_TRUE(ExponentialMechanism::create(releases::Epsilon::create(0x1p-40).value(), range));
  EXPECT_TRUE(ExponentialMechanism::create(releases::Epsilon::create(1024.0).value(), range));
}

TEST(ExponentialMechanismTest, CostsTheEpsilonAskedForRoundedDown) {
  // 0.1 = 109951162777.6 units of 2^-40.
  const ExponentialMechanism selection = mechanism(0.1, 7);
  EXPECT_EQ(selection.epsilon().units(), 109951162777U);
  EXPECT_EQ(selection.event().epsilon.value(), std::ldexp(109951162777.0, -40));
  EXPECT_LT(selection.event().epsilon.value(), 0.1);
  const double exact = std::ldexp(109951162777.0, -40);
  EXPECT_GE(selection.rho().value(), exact * exact / 8.0);
  EXPECT_NEAR(selection.rho().value(), 0.00125, 1e-11);
  EXPECT_EQ(selection.range().value(), 7);
}

TEST(ExponentialMechanismTest, ItsLawIsAsComputedByHand) {
  // Range 4, epsilon 2: half a unit of exponent per unit of score. Weights 1, e^-1, e^-2.
  const std::vector<long double> law = mechanism(2.0, 4).law(std::vector<std::int64_t>{10, 8, 6});
  const long double total = 1.0L + std::exp(-1.0L) + std::exp(-2.0L);
  EXPECT_NEAR(static_cast<double>(law[0] * total), 1.0, 1e-15);
  EXPECT_NEAR(static_cast<double>(law[1] * total), std::exp(-1.0), 1e-15);
  EXPECT_NEAR(static_cast<double>(law[2] * total), std::exp(-2.0), 1e-15);
}

TEST(ExponentialMechanismTest, DrawsItsLaw) {
  // Chi-square over at most 8 cells with a false-alarm probability below 1e-9, see `expect_law`. A rate that is off by
  // the factor 2 between a range and the change of a score moves it by more than 600.
  struct Case {
    double epsilon;
    std::int64_t range;
    std::vector<std::int64_t> scores;
  };
  const std::int64_t far = std::int64_t{1} << 60U;
  const std::vector<Case> cases{{1.0, 3, {0, -3, 5, 5, 2, -40}},
                                {0.1, 1, {0, 1}},
                                {3.7, 1000, {-1000, -999, -500, 0, 1, 499, 500, 501}},
                                {0.5, far, {kScoreMax, kScoreMax - far, kScoreMax - 3 * far, -kScoreMax, 0}},
                                {1024.0, kScoreMax, {kScoreMax, kScoreMax - (far >> 7U), -kScoreMax}}};
  SecureBits secure = SecureBits::from_os();
  TestBits seeded(7, "exponential mechanism", crypto::InsecureForTestsOnly{});
  for (const Case& c : cases) {
    SCOPED_TRACE(c.epsilon);
    const ExponentialMechanism selection = mechanism(c.epsilon, c.range);
    const std::vector<long double> law = selection.law(c.scores);
    const auto probability = [&](std::int64_t j) { return static_cast<double>(law[static_cast<std::size_t>(j)]); };
    const auto last = static_cast<std::int64_t>(c.scores.size()) - 1;
    tests::expect_law(drawn(selection, c.scores, kDraws, secure), 0, last, probability, kDraws);
    tests::expect_law(drawn(selection, c.scores, kDraws, seeded), 0, last, probability, kDraws);
  }
}

/// Words whose top bits are an enumerated string, and nothing beyond.
class EnumeratedBits {
 public:
  using ScriptedForTests = void;
  struct OutOfBits {};
  static constexpr unsigned kWords = 5;
  static constexpr unsigned kWidth = 4;
  EnumeratedBits(std::uint64_t script, std::uint64_t rest) : script_(script), rest_(rest) {}
  std::uint64_t word() {
    if (words_-- == 0) throw OutOfBits{};
    const std::uint64_t chunk = script_ & ((std::uint64_t{1} << kWidth) - 1);
    script_ >>= kWidth;
    return (chunk << (64 - kWidth)) | (rest_ >> kWidth);
  }

 private:
  std::uint64_t script_;
  std::uint64_t rest_;
  unsigned words_ = kWords;
};

TEST(ExponentialMechanismTest, EnumeratedBitStringsBracketItsLaw) {
  // Of the strings of 5 words of 4 bits, some decide for candidate 0 whatever follows, some still may: their shares are
  // bounds on its probability, without any chance.
  const ExponentialMechanism selection = mechanism(1.0, 2);
  for (const std::vector<std::int64_t>& scores : {std::vector<std::int64_t>{1, 0}, {0, 3}, {2, 2}}) {
    SCOPED_TRACE(scores[1]);
    constexpr std::uint64_t kScripts = std::uint64_t{1} << (EnumeratedBits::kWords * EnumeratedBits::kWidth);
    std::int64_t certain = 0;
    std::int64_t possible = 0;
    for (std::uint64_t script = 0; script < kScripts; ++script) {
      int hits = 0;
      int open = 0;
      for (const std::uint64_t rest : {std::uint64_t{0}, ~std::uint64_t{0}}) {
        EnumeratedBits bits(script, rest);
        try {
          hits += selection.select(scores, bits) == 0 ? 1 : 0;
        } catch (const EnumeratedBits::OutOfBits&) {
          ++open;
        }
      }
      certain += hits == 2 ? 1 : 0;
      possible += hits + open > 0 ? 1 : 0;
    }
    const auto exact = static_cast<double>(selection.law(scores)[0]);
    EXPECT_LE(static_cast<double>(certain) / kScripts, exact);
    EXPECT_GE(static_cast<double>(possible) / kScripts, exact);
    EXPECT_LT(static_cast<double>(possible - certain) / kScripts, 0.35);  // what five words leave open
  }
}

TEST(ExponentialMechanismTest, EqualScoresAreEquallyLikelyAmongAMillion) {
  // 16 blocks of 62,500 candidates.
  constexpr std::int64_t kBlock = 62'500;
  const std::vector<std::int64_t> scores(1'000'000, -kScoreMax);
  const ExponentialMechanism selection = mechanism(1.0, 1);
  TestBits bits(8, "equal scores", crypto::InsecureForTestsOnly{});
  std::map<std::int64_t, double> counts;
  constexpr int kFew = 1024;
  for (int i = 0; i < kFew; ++i) counts[static_cast<std::int64_t>(selection.select(scores, bits)) / kBlock] += 1.0;
  tests::expect_law(
      counts, 0, 15, [](std::int64_t) { return 1.0 / 16.0; }, kFew);
}

TEST(ExponentialMechanismTest, OneCandidateFarAboveIsAlwaysChosen) {
  std::vector<std::int64_t> scores(1000, -kScoreMax);
  scores[617] = kScoreMax;
  SecureBits bits = SecureBits::from_os();
  const ExponentialMechanism selection = mechanism(1.0, 1);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(selection.select(scores, bits), 617U);
}

TEST(ExponentialMechanismTest, OneCandidateAloneIsChosen) {
  SecureBits bits = SecureBits::from_os();
  for (const std::int64_t score : {-kScoreMax, std::int64_t{0}, kScoreMax}) {
    EXPECT_EQ(mechanism(0.1, 1).select(std::vector<std::int64_t>{score}, bits), 0U);
  }
}

/// Counts the words that are drawn.
class CountedBits {
 public:
  using ScriptedForTests = void;
  std::uint64_t word() {
    ++words;
    return bits_.word();
  }
  std::uint64_t words = 0;

 private:
  TestBits bits_{9, "counted words", crypto::InsecureForTestsOnly{}};
};

TEST(ExponentialMechanismTest, WorkIsBoundedByTheNumberOfCandidates) {
  // One candidate far above m - 1 others: a try succeeds with probability 1/m, the fewest that there can be. A word for
  // the candidate, then e words on average for each coin of e^-1, of which 1/(1 - 1/e) = 1.58 fall: 5.3 a try. The mean
  // number of tries over 4096 draws is m with a standard deviation of m / 64; six of them are 10 %.
  constexpr std::size_t kCandidates = 300;
  constexpr int kFew = 4096;
  std::vector<std::int64_t> scores(kCandidates, -kScoreMax);
  scores[3] = kScoreMax;
  CountedBits bits;
  const ExponentialMechanism selection = mechanism(1.0, 1);
  for (int i = 0; i < kFew; ++i) EXPECT_EQ(selection.select(scores, bits), 3U);
  const double words = static_cast<double>(bits.words) / kFew;
  EXPECT_LT(words, 5.3 * 1.1 * kCandidates);
  EXPECT_GT(words, 5.3 * 0.9 * kCandidates);
}

TEST(ExponentialMechanismTest, TheExpectedLossIsWithinItsBound) {
  // (R / epsilon) ln m = 4 / 2 * ln 6 = 3.58 units.
  const ExponentialMechanism selection = mechanism(2.0, 4);
  EXPECT_NEAR(selection.expected_loss_max(6), 2.0 * std::log(6.0), 1e-12);
  for (std::int64_t gap = 0; gap < 40; ++gap) {
    const std::vector<std::int64_t> scores{0, -gap, -gap, -gap, -gap, -gap};
    const std::vector<long double> law = selection.law(scores);
    EXPECT_LE(static_cast<double>((1.0L - law[0]) * static_cast<long double>(gap)), selection.expected_loss_max(6));
  }
}

}  // namespace
}  // namespace undertone::mechanisms
