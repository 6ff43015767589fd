#include "shared/mechanisms/binomial_sum/binomial_report.hpp"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

#include "shared/crypto/test_bits.hpp"
#include "tests/support/drawn_law.hpp"

namespace undertone::mechanisms {
namespace {

/// The words of a list, and zeros after it.
class ListedWords {
 public:
  using ScriptedForTests = void;
  explicit ListedWords(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  std::uint64_t word() { return next_ < words_.size() ? words_[next_++] : 0; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t next_ = 0;
};

BinomialParameters parameters(std::int64_t grid, std::int64_t coins, noise::Rational heads) {
  return BinomialParameters::create(grid, coins, heads).value();
}
releases::ClipNorm clip(double value) { return releases::ClipNorm::create(value).value(); }

double binomial_probability(std::int64_t trials, double p, std::int64_t ones) {
  if (ones < 0 || ones > trials) return 0.0;
  const auto n = static_cast<double>(trials);
  const auto x = static_cast<double>(ones);
  return std::exp(std::lgamma(n + 1.0) - std::lgamma(x + 1.0) - std::lgamma(n - x + 1.0) + x * std::log(p) +
                  (n - x) * std::log1p(-p));
}

TEST(BinomialTableTest, HasItsLaw) {
  constexpr int kDraws = 2'000'000;
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  for (const auto& [trials, p] : std::vector<std::pair<std::int64_t, noise::Rational>>{{1, {1, 2}},
                                                                                       {2, {1, 4}},
                                                                                       {12, {1, 2}},
                                                                                       {100, {1, 3}},
                                                                                       {1000, {1, 500}},
                                                                                       {5000, {3, 4}},
                                                                                       {200'000, {1, 2}}}) {
    SCOPED_TRACE(fmt::format("{} trials at {}/{}", trials, p.numerator, p.denominator));
    const double chance = static_cast<double>(p.numerator) / static_cast<double>(p.denominator);
    const noise::BinomialTable table = noise::BinomialTable::create(trials, p).value();
    std::map<std::int64_t, double> counts;
    for (int i = 0; i < kDraws; ++i) counts[table.sample(bits)] += 1.0;
    EXPECT_GE(counts.begin()->first, 0);
    EXPECT_LE(counts.rbegin()->first, trials);
    const auto trials_now = trials;
    tests::expect_law(
        counts, 0, trials, [&](std::int64_t x) { return binomial_probability(trials_now, chance, x); }, kDraws);
  }
}

TEST(BinomialTableTest, HasTheMomentsOfAMillionCoins) {
  // 3,000,000 coins: mean and variance within 6.2 standard errors, each a false alarm below 1e-9.
  constexpr int kDraws = 1'000'000;
  const noise::BinomialTable table = noise::BinomialTable::create(3'000'000, {1, 2}).value();
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const double y = (static_cast<double>(table.sample(bits)) - 1'500'000.0) / std::sqrt(750'000.0);
    sum += y;
    squares += y * y;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 6.2 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0, 6.2 * std::sqrt(2.0 / kDraws));
}

TEST(BinomialTableTest, InvertsExactlyAtEveryBoundary) {
  // p = 1/4, 40 coins: P[X <= x] 2^80 is an integer, so that a uniform can be put 2^-192 above and below it.
  constexpr std::int64_t kTrials = 40;
  const noise::BinomialTable table = noise::BinomialTable::create(kTrials, {1, 4}).value();
  releases::UInt128 below = 0;
  releases::UInt128 choose = 1;
  for (std::int64_t x = 0; x < kTrials; ++x) {
    releases::UInt128 weight = choose;  // C(40, x) 3^(40 - x)
    for (std::int64_t i = x; i < kTrials; ++i) weight *= 3;
    below += weight;
    choose = choose * static_cast<releases::UInt128>(kTrials - x) / static_cast<releases::UInt128>(x + 1);
    SCOPED_TRACE(x);
    const releases::UInt128 boundary = below << 48U;
    const auto word = [](releases::UInt128 value, unsigned shift) {
      return static_cast<std::uint64_t>(value >> shift);
    };
    ListedWords above_it({word(boundary, 64), word(boundary, 0), 1});
    EXPECT_EQ(table.sample(above_it), x + 1);
    ListedWords below_it({word(boundary - 1, 64), word(boundary - 1, 0), ~std::uint64_t{0}});
    EXPECT_EQ(table.sample(below_it), x);
    // 2^-128 and 2^-100 away, where two words are asked.
    ListedWords just_above({word(boundary + 1, 64), word(boundary + 1, 0), 1});
    EXPECT_EQ(table.sample(just_above), x + 1);
    const releases::UInt128 far = releases::UInt128{1} << 28U;
    ListedWords further_below({word(boundary - far, 64), word(boundary - far, 0)});
    EXPECT_EQ(table.sample(further_below), x);
  }
}

TEST(BinomialTableTest, EndsAreReachedByTheirOwnUniforms) {
  // One coin: all zeros is tails, all ones is heads.
  const noise::BinomialTable one = noise::BinomialTable::create(1, {1, 2}).value();
  ListedWords zeros({0, 0, 1});
  EXPECT_EQ(one.sample(zeros), 0);
  ListedWords ones(std::vector<std::uint64_t>(16, ~std::uint64_t{0}));
  EXPECT_EQ(one.sample(ones), 1);
  // Many: a uniform of 2^-192 is a count that the table itself does not hold, far below its first.
  const noise::BinomialTable many = noise::BinomialTable::create(100'000, {1, 2}).value();
  ListedWords tiny({0, 0, 1});
  const std::int64_t low = many.sample(tiny);
  // ln P[X <= x] = -133: 16.1 standard deviations of 158 below the mean, a little less for the factor 1/(z sqrt(2 pi)).
  EXPECT_GT(low, 50'000 - 16 * 159);
  EXPECT_LT(low, 50'000 - 15 * 158);
}

TEST(BinomialTableTest, RefusesWhatItIsNotFor) {
  EXPECT_FALSE(noise::BinomialTable::create(0, {1, 2}));
  EXPECT_FALSE(noise::BinomialTable::create(noise::BinomialTable::kTrialsMax + 1, {1, 2}));
  EXPECT_FALSE(noise::BinomialTable::create(10, {0, 2}));
  EXPECT_FALSE(noise::BinomialTable::create(10, {2, 2}));
  EXPECT_FALSE(noise::BinomialTable::create(10, {1, 100'000}));
  const auto coins = binomial_coins(parameters(1, std::int64_t{1} << 32U, {1, 2}), 5);
  ASSERT_FALSE(coins);
  EXPECT_NE(coins.error().message.find("4294967296 coins of each of 5 records"), std::string::npos)
      << coins.error().message;
}

TEST(RoundingTest, GoesUpExactlyAsOftenAsItsFractionSays) {
  // g = 3: the place (x + 3 2^31) / 2^32. At x = 5 it is 1 + (2^31 + 5) / 2^32: up for the 2^31 + 5 largest of the 2^32
  // values of 32 bits.
  const BinomialParameters three = parameters(3, 1, {1, 2});
  const std::uint64_t first_up = (std::uint64_t{1} << 31U) - 5;
  const auto rounded = [&](std::int64_t units, std::uint64_t random) {
    ListedWords bits({random << 32U | random});
    std::vector<std::int64_t> counts(2, 10);
    add_rounded_record(std::vector{units, units}, three, bits, counts);
    EXPECT_EQ(counts[0], counts[1]);
    ListedWords once({random << 32U});
    std::vector<std::int64_t> sums(1, 10);
    add_rounded_sum(std::vector{units}, 1, three, once, sums);
    EXPECT_EQ(sums[0], counts[0]);
    return counts[0] - 10;
  };
  EXPECT_EQ(rounded(5, first_up), 2);
  EXPECT_EQ(rounded(5, first_up - 1), 1);
  // The ends of the range stay in 0 .. g whatever the bits are.
  const std::int64_t end = std::int64_t{3} << 31U;
  for (const std::uint64_t random : {std::uint64_t{0}, std::uint64_t{0xffffffff}}) {
    EXPECT_EQ(rounded(-end, random), 0);
    EXPECT_EQ(rounded(end, random), 3);
  }
}

TEST(RoundingTest, StopsAtWhatWasNotClipped) {
  const BinomialParameters three = parameters(3, 1, {1, 2});
  ListedWords bits({0});
  std::vector<std::int64_t> counts(1, 0);
  EXPECT_DEATH(add_rounded_record(std::vector{(std::int64_t{3} << 31U) + 1}, three, bits, counts), "");
  EXPECT_DEATH(add_rounded_record(std::vector{-(std::int64_t{3} << 31U) - 1}, three, bits, counts), "");
  EXPECT_DEATH(add_rounded_sum(std::vector{(std::int64_t{6} << 31U) + 1}, 2, three, bits, counts), "");
}

TEST(RoundingTest, NeighboursMoveTheCountsByAtMostTheSensitivity) {
  // The same words for both: no coordinate moves by more than g, the vector by at most g + sqrt d, however the rounding
  // is done.
  constexpr Eigen::Index kDimension = 40;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    crypto::TestBits draws(seed, "neighbours", crypto::InsecureForTestsOnly{});
    const std::int64_t grid = 1 + static_cast<std::int64_t>(crypto::uniform_below(draws, 30));
    const BinomialParameters chosen = parameters(grid, 1, {1, 2});
    const Lattice lattice = binomial_lattice(chosen, clip(2.5));
    std::vector<std::vector<std::int64_t>> records(4, std::vector<std::int64_t>(kDimension, 0));
    for (std::vector<std::int64_t>& record : records) {
      Eigen::VectorXd vector(kDimension);
      for (double& one : vector) one = std::ldexp(static_cast<double>(draws.word() >> 11U), -53) - 0.5;
      if (seed % 3 == 0) vector.tail(kDimension - 1).setZero();
      vector *= 10.0 * static_cast<double>(crypto::uniform_below(draws, 3));
      add_clipped(vector, lattice, record);
    }
    const auto counts_of = [&](std::size_t third, bool once) {
      crypto::TestBits rounding(seed, "rounding", crypto::InsecureForTestsOnly{});
      std::vector<std::int64_t> counts(kDimension, 0);
      std::vector<std::int64_t> sum(kDimension, 0);
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}, third}) {
        if (!once) add_rounded_record(records[i], chosen, rounding, counts);
        for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += records[i][j];
      }
      if (once) add_rounded_sum(sum, 3, chosen, rounding, counts);
      return counts;
    };
    for (const bool once : {false, true}) {
      const std::vector<std::int64_t> before = counts_of(2, once);
      const std::vector<std::int64_t> after = counts_of(3, once);
      double squares = 0.0;
      for (std::size_t j = 0; j < before.size(); ++j) {
        EXPECT_LE(std::abs(before[j] - after[j]), grid);
        squares += static_cast<double>((before[j] - after[j]) * (before[j] - after[j]));
      }
      EXPECT_LE(std::sqrt(squares), static_cast<double>(grid) + std::sqrt(static_cast<double>(kDimension)));
    }
  }
}

TEST(BinomialReportTest, ARecordThatIsNotFiniteCountsAsZero) {
  // The middle of a grid of 4 is a grid point: no rounding.
  const BinomialParameters four = parameters(4, 1, {1, 2});
  std::vector<std::int64_t> units(2, 99);
  std::vector<std::int64_t> counts(2, 0);
  ListedWords bits({~std::uint64_t{0}, ~std::uint64_t{0}});
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    Eigen::VectorXd vector(2);
    vector << 1.0, bad;
    add_record(vector, four, clip(1.0), bits, units, counts);
  }
  EXPECT_EQ(counts, std::vector<std::int64_t>(2, 4));
}

TEST(BinomialReportTest, ASilosCountsHaveTheLawOfItsRecordsReports) {
  // Two records at 3/4 and 13/8 of a grid of 2, three coins each of 1/4: roundings and coins convolved by hand.
  const BinomialParameters two = parameters(2, 3, {1, 4});
  const std::int64_t unit = std::int64_t{1} << 32U;
  const std::vector<std::int64_t> records{unit * 3 / 4 - unit, unit * 13 / 8 - unit};
  const noise::BinomialTable coins = binomial_coins(two, 2).value();
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  constexpr int kDraws = 1'000'000;
  std::map<std::int64_t, double> each;
  std::map<std::int64_t, double> once;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<std::int64_t> counts(1, 0);
    for (const std::int64_t record : records) add_rounded_record(std::vector{record}, two, bits, counts);
    add_coins(coins, bits, counts);
    each[counts[0]] += 1.0;
    counts[0] = 0;
    add_rounded_sum(std::vector{records[0] + records[1]}, 2, two, bits, counts);
    add_coins(coins, bits, counts);
    once[counts[0]] += 1.0;
  }
  const auto noise = [](std::int64_t x) { return binomial_probability(6, 0.25, x); };
  // 0 or 1 with 3/4, and 1 or 2 with 5/8: 1 + {0, 1, 2} with 3/32, 14/32, 15/32.
  tests::expect_law(
      each, 0, 10,
      [&](std::int64_t x) { return (3.0 * noise(x - 1) + 14.0 * noise(x - 2) + 15.0 * noise(x - 3)) / 32.0; }, kDraws);
  // The sum is 19/8: 2 with 5/8, 3 with 3/8.
  tests::expect_law(
      once, 0, 10, [&](std::int64_t x) { return (5.0 * noise(x - 2) + 3.0 * noise(x - 3)) / 8.0; }, kDraws);
}

TEST(BinomialReportTest, BitsLanesAndCountsTellTheAnalyzerTheSame) {
  const BinomialParameters chosen = parameters(3, 5, {1, 2});
  const noise::BinomialTable coins = noise::BinomialTable::create(5, {1, 2}).value();
  crypto::TestBits bits(7, "lanes", crypto::InsecureForTestsOnly{});
  std::vector<bool> lane;
  std::int64_t total = 0;
  for (std::int64_t record = 0; record < 30; ++record) {
    std::vector<std::int64_t> count(1, 0);
    add_rounded_record(std::vector{(record - 15) << 27U}, chosen, bits, count);
    add_coins(coins, bits, count);
    const std::vector<bool> report = report_bits(chosen, count[0]);
    EXPECT_EQ(report.size(), 8U);
    lane.insert(lane.end(), report.begin(), report.end());
    total += count[0];
  }
  std::int64_t ones = 0;
  for (const std::int64_t place : noise::sample_permutation(static_cast<std::int64_t>(lane.size()), bits))
    ones += lane[static_cast<std::size_t>(place)] ? 1 : 0;
  EXPECT_EQ(lane.size(), 30U * 8U);
  EXPECT_EQ(ones, total);
}

TEST(BinomialEstimateTest, IsWhatTheFormulaSays) {
  // L = 2, g = 4, b = 3, p = 1/4, s = 5: (2L/g)(ones - p b s) - s L = ones - 3.75 - 10.
  const BinomialParameters chosen = parameters(4, 3, {1, 4});
  const BinomialEstimate found = estimate_of(std::vector<std::int64_t>{0, 14, 35}, chosen, clip(2.0), 5).value();
  EXPECT_DOUBLE_EQ(found.sum[0], -13.75);
  EXPECT_DOUBLE_EQ(found.sum[1], 0.25);
  EXPECT_DOUBLE_EQ(found.sum[2], 21.25);
  EXPECT_DOUBLE_EQ(found.mean[2], 4.25);
  // (2L/g)^2 (rounding + s b p (1 - p)) = 0.7 + 15 x 3/16.
  EXPECT_DOUBLE_EQ(binomial_sum_variance(chosen, clip(2.0), 5, 0.7), 0.7 + 2.8125);
}

TEST(BinomialEstimateTest, RefusesImpossibleCounts) {
  const BinomialParameters chosen = parameters(4, 3, {1, 4});
  const auto large = estimate_of(std::vector<std::int64_t>{3, 36}, chosen, clip(2.0), 5);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::Malformed);
  EXPECT_NE(large.error().message.find("coordinate 1: 36 ones among 35 bits"), std::string::npos)
      << large.error().message;
  EXPECT_FALSE(estimate_of(std::vector<std::int64_t>{-1}, chosen, clip(2.0), 5));
  EXPECT_FALSE(estimate_of(std::vector<std::int64_t>{1}, chosen, clip(2.0), 0));
  EXPECT_FALSE(estimate_of(std::vector<std::int64_t>{1}, chosen, clip(2.0), std::int64_t{1} << 50U));
}

TEST(BinomialEstimateTest, IsUnbiasedAndHasItsVariance) {
  // Three silos of two records each, clipped from beyond the norm or not; mean and variance of every coordinate over
  // 40,000 rounds within 6.7 standard errors: 12 comparisons, false alarm below 1e-9 together. Re-centring by L in
  // place of s L would move the mean by 5 L, thousands of standard errors.
  constexpr int kRounds = 40'000;
  constexpr Eigen::Index kDimension = 3;
  const BinomialParameters chosen = parameters(5, 20, {1, 4});
  const releases::ClipNorm bound = clip(1.5);
  const Lattice lattice = binomial_lattice(chosen, bound);
  const noise::BinomialTable coins = binomial_coins(chosen, 2).value();
  std::vector<std::vector<std::int64_t>> records;
  Eigen::VectorXd truth = Eigen::VectorXd::Zero(kDimension);
  std::vector<double> each(kDimension, 0.0);  // sum of fraction (1 - fraction)
  std::vector<double> once(kDimension, 0.0);
  const auto fraction = [](std::int64_t units, std::int64_t grid) {
    const auto place = static_cast<std::uint64_t>(units) + (static_cast<std::uint64_t>(grid) << 31U);
    return std::ldexp(static_cast<double>(place & 0xffffffffU), -32);
  };
  for (int i = 0; i < 6; ++i) {
    Eigen::VectorXd gradient(kDimension);
    gradient << 0.3 * i - 0.7, 0.2, 2.0 - 0.9 * i;
    Eigen::VectorXd scratch = gradient;
    std::vector<std::int64_t> units(kDimension, 0);
    add_clipped(scratch, lattice, units);
    truth += gradient * std::min(1.0, 1.5 / gradient.norm());
    for (std::size_t j = 0; j < units.size(); ++j) {
      const double part = fraction(units[j], 5);
      each[j] += part * (1.0 - part);
    }
    records.push_back(units);
  }
  for (std::size_t silo = 0; silo < 3; ++silo) {
    for (std::size_t j = 0; j < once.size(); ++j) {
      const double part = fraction(records[2 * silo][j] + records[2 * silo + 1][j], 10);
      once[j] += part * (1.0 - part);
    }
  }
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  for (const bool rounded_once : {false, true}) {
    SCOPED_TRACE(rounded_once);
    Eigen::VectorXd sums = Eigen::VectorXd::Zero(kDimension);
    Eigen::VectorXd squares = Eigen::VectorXd::Zero(kDimension);
    std::vector<std::int64_t> counts(kDimension);
    for (int round = 0; round < kRounds; ++round) {
      std::fill(counts.begin(), counts.end(), 0);
      for (std::size_t silo = 0; silo < 3; ++silo) {
        if (rounded_once) {
          std::vector<std::int64_t> sum = records[2 * silo];
          for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += records[2 * silo + 1][j];
          add_rounded_sum(sum, 2, chosen, bits, counts);
        } else {
          add_rounded_record(records[2 * silo], chosen, bits, counts);
          add_rounded_record(records[2 * silo + 1], chosen, bits, counts);
        }
        add_coins(coins, bits, counts);
      }
      const Eigen::VectorXd off = estimate_of(counts, chosen, bound, 6).value().sum - truth;
      sums += off;
      squares += off.cwiseProduct(off);
    }
    for (Eigen::Index j = 0; j < kDimension; ++j) {
      const double rounding = (rounded_once ? once : each)[static_cast<std::size_t>(j)];
      const double variance = binomial_sum_variance(chosen, bound, 6, rounding);
      // A norm scaled down by 2^-20 and truncated to 2^-31 of the clip moves the truth by less than 1e-5 of it.
      EXPECT_NEAR(sums[j] / kRounds, 0.0, 6.7 * std::sqrt(variance / kRounds) + 1e-5);
      EXPECT_NEAR(squares[j] / kRounds, variance, 6.7 * variance * std::sqrt(2.0 / kRounds));
    }
  }
}

}  // namespace
}  // namespace undertone::mechanisms
