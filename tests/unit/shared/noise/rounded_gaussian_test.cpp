#include "shared/noise/rounded_gaussian.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "shared/crypto/test_bits.hpp"

namespace undertone::noise {
namespace {

struct OutOfBits {};

/// Words whose top bits are an enumerated string; every word uses `width` bits of it, the rest are a fixed middle, so
/// that comparisons are decided by the enumerated bits unless those are equal.
class ScriptedBits {
 public:
  using ScriptedForTests = void;
  ScriptedBits(std::uint64_t script, int words, int width) : script_(script), words_(words), width_(width) {}
  std::uint64_t word() {
    if (words_-- == 0) throw OutOfBits{};
    const std::uint64_t chunk = script_ & ((std::uint64_t{1} << width_) - 1);
    script_ >>= width_;
    return chunk << (64 - width_);
  }

 private:
  std::uint64_t script_;
  int words_;
  int width_;
};

/// Mass of `true`, `false` and undecided over all scripts of `words` words with `width` bits each.
template <class Draw>
std::array<double, 3> enumerate(int words, int width, const Draw& draw) {
  std::array<double, 3> mass{};
  const std::uint64_t scripts = std::uint64_t{1} << (words * width);
  for (std::uint64_t script = 0; script < scripts; ++script) {
    ScriptedBits bits(script, words, width);
    try {
      mass[draw(bits) ? 0 : 1] += 1.0;
    } catch (const OutOfBits&) {
      mass[2] += 1.0;
    }
  }
  for (double& m : mass) m /= static_cast<double>(scripts);
  return mass;
}

TEST(RoundedGaussianTest, HalfExponentialCoinHasItsExactProbabilityUpToUndecidedScripts) {
  // With coarse words two uniforms tie with probability 2^-width; ties draw further words here, so what is decided is
  // exact and what is not is the third mass. exp(-1/2) lies between the certain and the possible mass.
  const auto mass = enumerate(4, 5, [](ScriptedBits& bits) { return detail::bernoulli_exp_half(bits); });
  EXPECT_LE(mass[0], std::exp(-0.5));
  EXPECT_GE(mass[0] + mass[2], std::exp(-0.5));
  EXPECT_LT(mass[2], 0.02);
}

TEST(RoundedGaussianTest, StepCoinHasItsExactProbability) {
  for (const std::uint64_t k : {0U, 1U, 2U}) {
    for (const double x_value : {0.25, 0.5, 0.8125}) {
      SCOPED_TRACE(fmt::format("k {} x {}", k, x_value));
      crypto::TestBits bits(11, fmt::format("step {} {}", k, x_value), crypto::InsecureForTestsOnly{});
      int hits = 0;
      constexpr int kDraws = 200'000;
      for (int i = 0; i < kDraws; ++i) {
        // A uniform whose first word is x and whose further digits are random, as the sampler has it.
        struct Prefixed {
          using ScriptedForTests = void;
          crypto::TestBits& rest;
          std::uint64_t first;
          bool used = false;
          std::uint64_t word() { return std::exchange(used, true) ? rest.word() : first; }
        } prefixed{bits, static_cast<std::uint64_t>(std::ldexp(x_value, 64))};
        detail::LazyUniform<Prefixed> x(prefixed);
        hits += detail::bernoulli_exp_step(k, x, prefixed) ? 1 : 0;
      }
      const double kd = static_cast<double>(k);
      const double p = std::exp(-x_value * (2.0 * kd + x_value) / (2.0 * kd + 2.0));
      // Six standard errors: false alarm 2e-9 each; a wrong branch for c moves p by whole per cents.
      EXPECT_NEAR(hits / static_cast<double>(kDraws), p, 6.0 * std::sqrt(p * (1.0 - p) / kDraws));
    }
  }
}

/// P[Z = z] of floor(2^m |Y| + 1/2) with a random sign.
double cell(std::int64_t z, int m) {
  const double scale = std::ldexp(std::sqrt(2.0), m);
  const auto upper_tail = [scale](double t) { return 0.5 * std::erfc(t / scale); };
  const double magnitude = std::abs(static_cast<double>(z));
  if (z == 0) return 1.0 - 2.0 * upper_tail(0.5);
  return upper_tail(magnitude - 0.5) - upper_tail(magnitude + 0.5);
}

template <crypto::NoiseBits Bits, class Draw>
void expect_the_exact_law(Bits& bits, int m, const Draw& draw) {
  constexpr int kDraws = 1'000'000;
  const auto reach = static_cast<std::int64_t>(std::ldexp(4.0, m));
  std::vector<double> counts(static_cast<std::size_t>(2 * reach + 1), 0.0);
  double sum = 0.0;
  double squares = 0.0;
  double fourth = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    const std::int64_t z = draw(bits, m);
    const double y = std::ldexp(static_cast<double>(z), -m);
    sum += y;
    squares += y * y;
    fourth += y * y * y * y;
    if (std::abs(z) <= reach) counts[static_cast<std::size_t>(z + reach)] += 1.0;
  }
  double chi_square = 0.0;
  double cells = 0.0;
  for (std::int64_t z = -reach; z <= reach; ++z) {
    const double expected = kDraws * cell(z, m);
    if (expected < 20.0) continue;
    const double off = counts[static_cast<std::size_t>(z + reach)] - expected;
    chi_square += off * off / expected;
    cells += 1.0;
  }
  // Normal approximation of chi-square, six standard deviations: false alarm about 1e-9. Flooring instead of rounding
  // at m = 2 moves every cell by 12 % of its neighbour's difference and is seen at once.
  EXPECT_LT(chi_square, cells + 6.0 * std::sqrt(2.0 * cells));
  EXPECT_NEAR(sum / kDraws, 0.0, 6.0 / std::sqrt(kDraws));
  // Rounding adds 1/12 of a unit squared to the variance; the standard error of the variance is sqrt(2/n).
  const double variance = 1.0 + std::ldexp(1.0, -2 * m) / 12.0;
  EXPECT_NEAR(squares / kDraws, variance, 6.0 * variance * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(fourth / kDraws, 3.0 + 6.0 * (variance - 1.0), 6.0 * std::sqrt(96.0 / kDraws) + 0.01);
}

const auto kByTable = [](auto& bits, int m) { return sample_rounded_gaussian(GaussianTable::get(), bits, m); };
const auto kByRejection = [](auto& bits, int m) { return sample_rounded_gaussian_karney(bits, m); };

TEST(RoundedGaussianTest, HasTheExactLawOnSecureBits) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  for (const int m : {2, 8}) {
    expect_the_exact_law(bits, m, kByTable);
    expect_the_exact_law(bits, m, kByRejection);
  }
}

TEST(RoundedGaussianTest, HasTheExactLawOnTestBits) {
  crypto::TestBits bits(1, "law", crypto::InsecureForTestsOnly{});
  for (const int m : {0, 4}) {
    expect_the_exact_law(bits, m, kByTable);
    expect_the_exact_law(bits, m, kByRejection);
  }
}

TEST(RoundedGaussianTest, IsAFunctionOfTheTestBits) {
  const auto draw = [](const char* purpose) {
    crypto::TestBits bits(7, purpose, crypto::InsecureForTestsOnly{});
    std::vector<std::int64_t> out(64);
    fill_rounded_gaussian(bits, 20, out);
    return out;
  };
  EXPECT_EQ(draw("a"), draw("a"));
  EXPECT_NE(draw("a"), draw("b"));
}

TEST(SecureBitsTest, NoTwoGeneratorsAndNoTwoRefillsAgree) {
  crypto::SecureBits one = crypto::SecureBits::from_os();
  crypto::SecureBits two = crypto::SecureBits::from_os();
  std::vector<std::uint64_t> seen;
  for (int i = 0; i < 20'000; ++i) {
    seen.push_back(one.word());
    seen.push_back(two.word());
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(SecureBitsTest, AForkedChildAndEveryThreadHaveWordsOfTheirOwn) {
  constexpr std::size_t kWords = 64;
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  (void)bits.word();  // the buffer that a child inherits is half used
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::array<std::uint64_t, kWords> own{};
    for (std::uint64_t& word : own) word = bits.word();
    const bool told = ::write(ends[1], own.data(), sizeof own) == static_cast<ssize_t>(sizeof own);
    ::_exit(told ? 0 : 1);
  }
  std::array<std::uint64_t, kWords> of_child{};
  ASSERT_EQ(::read(ends[0], of_child.data(), sizeof of_child), static_cast<ssize_t>(sizeof of_child));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(ends[0]);
  ::close(ends[1]);
  std::vector<std::uint64_t> seen(of_child.begin(), of_child.end());
  for (std::size_t i = 0; i < kWords; ++i) seen.push_back(bits.word());
  std::array<std::vector<std::uint64_t>, 4> of_threads;
  std::vector<std::thread> threads;
  threads.reserve(of_threads.size());
  for (std::vector<std::uint64_t>& own : of_threads) {
    threads.emplace_back([&own] {
      crypto::SecureBits fresh = crypto::SecureBits::from_os();
      for (std::size_t i = 0; i < kWords; ++i) own.push_back(fresh.word());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<std::uint64_t>& own : of_threads) seen.insert(seen.end(), own.begin(), own.end());
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(SecureBitsTest, EveryBitIsFair) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  std::array<int, 64> ones{};
  constexpr int kWords = 200'000;
  for (int i = 0; i < kWords; ++i) {
    const std::uint64_t word = bits.word();
    for (std::size_t b = 0; b < 64; ++b) ones[b] += static_cast<int>((word >> b) & 1U);
  }
  for (const int count : ones) EXPECT_NEAR(count, 0.5 * kWords, 6.5 * std::sqrt(kWords) / 2.0);
}

TEST(SampleWithoutReplacementTest, EverySubsetIsEquallyLikely) {
  crypto::TestBits bits(3, "subsets", crypto::InsecureForTestsOnly{});
  std::map<std::vector<std::int64_t>, int> counts;
  constexpr int kDraws = 60'000;
  for (int i = 0; i < kDraws; ++i) ++counts[sample_without_replacement(bits, 5, 2)];
  ASSERT_EQ(counts.size(), 10U);  // C(5, 2)
  for (const auto& [subset, count] : counts) EXPECT_NEAR(count, 0.1 * kDraws, 6.0 * std::sqrt(kDraws * 0.09));
}

TEST(SampleWithoutReplacementTest, TakesAllOrNothingWhereAsked) {
  crypto::TestBits bits(3, "ends", crypto::InsecureForTestsOnly{});
  EXPECT_EQ(sample_without_replacement(bits, 3, 3), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(sample_without_replacement(bits, 3, 0).empty());
}

TEST(UniformBelowTest, IsUniformForABoundThatDividesNothing) {
  crypto::TestBits bits(5, "uniform", crypto::InsecureForTestsOnly{});
  std::array<int, 7> counts{};
  constexpr int kDraws = 70'000;
  for (int i = 0; i < kDraws; ++i) ++counts[crypto::uniform_below(bits, 7)];
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 7.0, 6.0 * std::sqrt(kDraws * 6.0 / 49.0));
}

}  // namespace
}  // namespace undertone::noise
