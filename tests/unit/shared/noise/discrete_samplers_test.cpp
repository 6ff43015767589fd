#include "shared/noise/discrete_samplers.hpp"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <map>

#include "shared/crypto/test_bits.hpp"
#include "tests/support/drawn_law.hpp"
#include "tests/support/repetitions.hpp"

namespace undertone::noise {
namespace {

/// Words whose top bits are an enumerated string, and nothing beyond.
class ScriptedBits {
 public:
  using ScriptedForTests = void;
  struct OutOfBits {};
  ScriptedBits(std::uint64_t script, int words, int width, std::uint64_t rest)
      : script_(script), words_(words), width_(width), rest_(rest) {}
  std::uint64_t word() {
    if (words_-- == 0) throw OutOfBits{};
    const std::uint64_t chunk = script_ & ((std::uint64_t{1} << width_) - 1);
    script_ >>= width_;
    return (chunk << (64 - width_)) | (rest_ >> width_);
  }

 private:
  std::uint64_t script_;
  int words_;
  int width_;
  std::uint64_t rest_;
};

/// Mass of `true` over all scripts: certain (whatever follows the enumerated bits) and possible.
std::pair<double, double> enumerate(int words, int width, const std::function<bool(ScriptedBits&)>& draw) {
  const std::uint64_t scripts = std::uint64_t{1} << (words * width);
  double certain = 0.0;
  double possible = 0.0;
  for (std::uint64_t script = 0; script < scripts; ++script) {
    int hits = 0;
    int open = 0;
    for (const std::uint64_t rest : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      ScriptedBits bits(script, words, width, rest);
      try {
        hits += draw(bits) ? 1 : 0;
      } catch (const ScriptedBits::OutOfBits&) {
        ++open;
      }
    }
    certain += hits == 2 ? 1.0 : 0.0;
    possible += hits + open > 0 ? 1.0 : 0.0;
  }
  return {certain / static_cast<double>(scripts), possible / static_cast<double>(scripts)};
}

TEST(BernoulliTest, HasItsExactProbabilityByEnumeration) {
  const releases::UInt128 big = (releases::UInt128{1} << 100U) + 12345;
  for (const auto& [a, c] : std::vector<std::pair<releases::UInt128, releases::UInt128>>{
           {1, 3}, {2, 3}, {5, 7}, {1, 1000}, {999, 1000}, {1, 1}, {0, 5}, {big / 3, big}, {big - 1, big}}) {
    const double exact = static_cast<double>(a) / static_cast<double>(c);
    SCOPED_TRACE(exact);
    const auto [certain, possible] =
        enumerate(1, 14, [a = a, c = c](ScriptedBits& bits) { return detail::bernoulli(a, c, bits); });
    EXPECT_LE(certain, exact * (1.0 + 1e-12));
    EXPECT_GE(possible, exact * (1.0 - 1e-12));
    EXPECT_LE(possible - certain, std::ldexp(1.0, -14) * 1.01);  // one string of 2^14 is cut by a/c
  }
}

TEST(BernoulliTest, ExponentialCoinsHaveTheirExactProbabilityByEnumeration) {
  for (const auto& [a, b] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 3}, {1, 3}, {1, 1}, {5, 8}}) {
    const double exact = std::exp(-static_cast<double>(a) / static_cast<double>(b));
    SCOPED_TRACE(exact);
    const auto [certain, possible] =
        enumerate(4, 5, [a = a, b = b](ScriptedBits& bits) { return detail::bernoulli_exp_below_one(a, b, bits); });
    EXPECT_LE(certain, exact + 1e-12);
    EXPECT_GE(possible, exact - 1e-12);
    EXPECT_LT(possible - certain, 0.1);
  }
}

template <class Draw>
std::map<std::int64_t, double> count(int draws, const Draw& draw) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  std::map<std::int64_t, double> counts;
  for (int i = 0; i < draws; ++i) counts[draw(bits)] += 1.0;
  return counts;
}

TEST(DiscreteLaplaceTest, HasItsLaw) {
  const int kDraws = tests::repetitions(500'000, 2'000'000);
  for (const Rational scale : {Rational{5, 1}, Rational{1, 1}, Rational{7, 3}, Rational{1, 4}}) {
    SCOPED_TRACE(scale.numerator);
    const double t = static_cast<double>(scale.numerator) / static_cast<double>(scale.denominator);
    const double total = 1.0 / std::tanh(0.5 / t);
    const auto counts = count(kDraws, [&](crypto::SecureBits& bits) { return sample_discrete_laplace(scale, bits); });
    tests::expect_law(
        counts, -2000, 2000, [&](std::int64_t x) { return std::exp(-std::abs(static_cast<double>(x)) / t) / total; },
        kDraws);
    // Reference table, rows 92 and 93: at t = 5, P[0] = 0.099667994625.
    if (scale.numerator == 5) {
      EXPECT_NEAR(1.0 / total, 0.099667994625, 1e-12);
    }
  }
}

TEST(DiscreteGaussianTest, HasItsLawAndTheVarianceOfTheTable) {
  const int kDraws = tests::repetitions(500'000, 2'000'000);
  struct Row {
    Rational variance;
    double at_zero;        // reference table, rows 84, 86, 88
    double real_variance;  // rows 85, 87, 89: below the parameter where it is small
  };
  for (const Row& row : {Row{{1, 4}, 0.786570707042, 0.215012675088}, Row{{1, 1}, 0.398942278267, 0.999999788768},
                         Row{{16, 1}, 0.0997355701004, 16.0}}) {
    SCOPED_TRACE(row.at_zero);
    const double parameter =
        static_cast<double>(row.variance.numerator) / static_cast<double>(row.variance.denominator);
    const auto counts =
        count(kDraws, [&](crypto::SecureBits& bits) { return sample_discrete_gaussian(row.variance, bits); });
    double total = 0.0;
    for (std::int64_t x = -400; x <= 400; ++x) total += std::exp(-static_cast<double>(x * x) / (2.0 * parameter));
    EXPECT_NEAR(1.0 / total, row.at_zero, 1e-11);
    tests::expect_law(
        counts, -2000, 2000,
        [&](std::int64_t x) { return std::exp(-static_cast<double>(x * x) / (2.0 * parameter)) / total; }, kDraws);
    double squares = 0.0;
    for (const auto& [x, times] : counts) squares += times * static_cast<double>(x * x);
    EXPECT_NEAR(squares / kDraws, row.real_variance, 6.0 * 1.5 * row.real_variance * std::sqrt(2.0 / kDraws) + 2e-3);
  }
}

TEST(DiscreteGaussianTest, WorksAtTheScaleOfALattice) {
  // Variance 2^32: moments within six standard errors.
  constexpr int kDraws = 300'000;
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double y = std::ldexp(static_cast<double>(sample_discrete_gaussian({std::uint64_t{1} << 32U, 1}, bits)), -16);
    sum += y;
    squares += y * y;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 6.0 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0, 6.0 * std::sqrt(2.0 / kDraws));
}

TEST(ExponentialMechanismTest, CandidatesHaveTheirWeights) {
  constexpr int kDraws = 1'000'000;
  const std::vector<std::int64_t> scores{0, -3, 5, 5, 2, -40};
  const double rate = 2.0 / 7.0;
  double total = 0.0;
  for (const std::int64_t score : scores) total += std::exp(rate * static_cast<double>(score));
  const auto counts = count(kDraws, [&](crypto::SecureBits& bits) {
    return static_cast<std::int64_t>(sample_exponential_mechanism(scores, {2, 7}, bits));
  });
  tests::expect_law(
      counts, -2000, 2000,
      [&](std::int64_t i) {
        return i < 0 || i >= 6 ? 0.0
                               : std::exp(rate * static_cast<double>(scores[static_cast<std::size_t>(i)])) / total;
      },
      kDraws);
}

TEST(BinomialTest, HasItsLaw) {
  constexpr int kDraws = 500'000;
  for (const auto& [trials, p] : std::vector<std::pair<std::int64_t, Rational>>{
           {10, {1, 2}}, {100, {1, 3}}, {1000, {999, 1000}}, {70, {5, 8}}, {3, {0, 1}}, {4, {1, 1}}}) {
    SCOPED_TRACE(fmt::format("{} trials at {}/{}", trials, p.numerator, p.denominator));
    const double chance = static_cast<double>(p.numerator) / static_cast<double>(p.denominator);
    const auto n = static_cast<double>(trials);
    const auto counts = count(
        kDraws, [&, trials = trials, p = p](crypto::SecureBits& bits) { return sample_binomial(trials, p, bits); });
    tests::expect_law(
        counts, -2000, 2000,
        [&](std::int64_t k) {
          const auto x = static_cast<double>(k);
          if (x < 0.0 || x > n) return 0.0;
          if (chance == 0.0 || chance == 1.0) return x == n * chance ? 1.0 : 0.0;
          return std::exp(std::lgamma(n + 1.0) - std::lgamma(x + 1.0) - std::lgamma(n - x + 1.0) +
                          x * std::log(chance) + (n - x) * std::log1p(-chance));
        },
        kDraws);
  }
}

TEST(PermutationTest, EveryOrderIsEquallyLikely) {
  constexpr int kDraws = 240'000;
  const auto counts = count(kDraws, [](crypto::SecureBits& bits) {
    std::int64_t code = 0;
    for (const std::int64_t one : sample_permutation(4, bits)) code = 4 * code + one;
    return code;
  });
  EXPECT_EQ(counts.size(), 24U);
  for (const auto& [code, times] : counts)  // 10,000 each; six standard errors
    EXPECT_NEAR(times, kDraws / 24.0, 6.0 * std::sqrt(kDraws / 24.0));
}

TEST(WithReplacementTest, DrawsAreIndependentAndUniform) {
  constexpr int kDraws = 250'000;
  const auto counts = count(kDraws, [](crypto::SecureBits& bits) {
    const std::vector<std::int64_t> drawn = sample_with_replacement(5, 2, bits);
    return 5 * drawn[0] + drawn[1];
  });
  EXPECT_EQ(counts.size(), 25U);
  for (const auto& [pair, times] : counts) EXPECT_NEAR(times, kDraws / 25.0, 6.0 * std::sqrt(kDraws / 25.0));
}

}  // namespace
}  // namespace undertone::noise
