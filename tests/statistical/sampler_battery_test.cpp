#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "shared/crypto/secure_bits.hpp"
#include "shared/noise/rounded_gaussian.hpp"

/// The production sampler in bulk, as a silo calls it, and a battery that is shown to reject what is nearly right.
/// Source: privacy-core B.7, 2 and 3.
namespace undertone::noise {
namespace {

constexpr int kLog2Stddev = 20;
constexpr std::size_t kBuffer = 4096;
constexpr std::size_t kBuffers = 12'000;  // 5e7 draws: the standard error of sigma is 1e-4 sigma
constexpr std::int64_t kCells = 64;
// 28 checks of at most 1.3e-10 each (6.4 standard errors, two-sided 1.6e-10): false alarm below 5e-9.
constexpr double kReach = 6.4;

using Fill = std::function<void(std::span<std::int64_t>)>;

/// @return the checks that failed
std::set<std::string> battery(const Fill& fill) {
  std::vector<std::int64_t> buffer(kBuffer);
  std::vector<std::int64_t> before(kBuffer, 0);
  std::array<double, 5> moments{};
  std::array<double, 16> bits{};
  std::vector<double> pairs(kCells * kCells, 0.0);
  double across_buffers = 0.0;
  for (std::size_t b = 0; b < kBuffers; ++b) {
    fill(buffer);
    std::array<double, 5> sums{};
    for (std::size_t i = 0; i < kBuffer; ++i) {
      const std::int64_t z = buffer[i];
      const double y = std::ldexp(static_cast<double>(z), -kLog2Stddev);
      const double square = y * y;
      sums[1] += y;
      sums[2] += square;
      sums[3] += square * y;
      sums[4] += square * square;
      across_buffers += y * std::ldexp(static_cast<double>(before[i]), -kLog2Stddev);
      if (i % 2 == 0) {  // disjoint neighbours, in eighths of a standard deviation
        const auto cell = [](std::int64_t value) {
          return std::clamp((value >> (kLog2Stddev - 3)) + kCells / 2, std::int64_t{0}, kCells - 1);
        };
        pairs[static_cast<std::size_t>(cell(z) * kCells + cell(buffer[i + 1]))] += 1.0;
        for (std::size_t bit = 0; bit < bits.size(); ++bit)
          bits[bit] += static_cast<double>((static_cast<std::uint64_t>(z) >> bit) & 1U);
      }
    }
    for (std::size_t k = 1; k < sums.size(); ++k) moments[k] += sums[k];
    before.swap(buffer);
  }
  const auto n = static_cast<double>(kBuffer * kBuffers);
  std::set<std::string> failed;
  const auto check = [&failed](const std::string& what, double found, double expected, double deviation) {
    if (!(std::abs(found - expected) <= kReach * deviation)) failed.insert(what);
  };
  // Rounding adds 1/12 of a unit squared to the variance: 2^-40/12, far below a standard error.
  check("mean", moments[1] / n, 0.0, 1.0 / std::sqrt(n));
  check("variance", moments[2] / n, 1.0, std::sqrt(2.0 / n));
  check("third moment", moments[3] / n, 0.0, std::sqrt(15.0 / n));
  check("fourth moment", moments[4] / n, 3.0, std::sqrt(96.0 / n));
  check("buffers", across_buffers / n, 0.0, 1.0 / std::sqrt(n));
  // The law of the low 16 bits of round(2^20 Y) is uniform up to exp(-2 pi^2 2^8).
  for (std::size_t bit = 0; bit < bits.size(); ++bit)
    check("bit " + std::to_string(bit), bits[bit] / (0.5 * n), 0.5, 0.5 / std::sqrt(0.5 * n));
  // Both the law of an eighth and independence of neighbours: chi-square against the product of the exact laws.
  std::vector<double> law;
  for (std::int64_t cell = 0; cell < kCells; ++cell) {
    const auto below = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
    const auto edge = [](std::int64_t at) {
      return (static_cast<double>(at) - 32.0) / 8.0 - std::ldexp(0.5, -kLog2Stddev);
    };
    law.push_back((cell == kCells - 1 ? 1.0 : below(edge(cell + 1))) - (cell == 0 ? 0.0 : below(edge(cell))));
  }
  double chi_square = 0.0;
  double cells = 0.0;
  for (std::size_t one = 0; one < kCells; ++one) {
    for (std::size_t other = 0; other < kCells; ++other) {
      const double expected = 0.5 * n * law[one] * law[other];
      if (expected < 50.0) continue;
      const double off = pairs[one * kCells + other] - expected;
      chi_square += off * off / expected;
      cells += 1.0;
    }
  }
  // Its law is a little skew; at 2,000 cells and more 7 standard deviations of the normal are beyond 1e-9.
  if (!(chi_square < cells + 7.0 * std::sqrt(2.0 * cells))) failed.insert("cells");
  return failed;
}

/// The production path.
Fill sound(crypto::SecureBits& bits) {
  return [&bits](std::span<std::int64_t> out) { fill_rounded_gaussian(bits, kLog2Stddev, out); };
}

TEST(SamplerBatteryTest, TheProductionSamplerPasses) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  const std::set<std::string> failed = battery(sound(bits));
  EXPECT_TRUE(failed.empty()) << *failed.begin();
}

TEST(SamplerBatteryTest, AThousandthLessNoiseIsRejected) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  const std::set<std::string> failed = battery([&](std::span<std::int64_t> out) {
    sound(bits)(out);
    for (std::int64_t& z : out) z = std::llround(0.999 * static_cast<double>(z));
  });
  EXPECT_TRUE(failed.contains("variance"));  // ten standard errors
}

TEST(SamplerBatteryTest, AStuckSignIsRejected) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  const std::set<std::string> failed = battery([&, turn = 0](std::span<std::int64_t> out) mutable {
    sound(bits)(out);
    if (++turn % 100 == 0)  // in one buffer of a hundred
      for (std::int64_t& z : out) z = std::abs(z);
  });
  EXPECT_TRUE(failed.contains("mean"));
}

TEST(SamplerBatteryTest, AReusedBufferIsRejected) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  const std::set<std::string> failed =
      battery([&, turn = 0, kept = std::vector<std::int64_t>(kBuffer)](std::span<std::int64_t> out) mutable {
        if (turn++ % 100 != 1) sound(bits)(kept);  // one of a hundred is handed out twice
        std::copy(kept.begin(), kept.end(), out.begin());
      });
  EXPECT_TRUE(failed.contains("buffers"));
}

TEST(SamplerBatteryTest, ANeighbourThatHelpsAlongIsRejected) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  const std::set<std::string> failed = battery([&](std::span<std::int64_t> out) {
    sound(bits)(out);
    for (std::size_t i = 1; i < out.size(); i += 2)  // magnitudes that agree one time in fifty
      if (out[i] % 50 == 0) out[i] = out[i] < 0 ? -std::abs(out[i - 1]) : std::abs(out[i - 1]);
  });
  EXPECT_TRUE(failed.contains("cells"));
}

TEST(SamplerBatteryTest, AnEvenLatticeIsRejected) {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  const std::set<std::string> failed = battery([&](std::span<std::int64_t> out) {
    sound(bits)(out);
    for (std::int64_t& z : out) z &= ~std::int64_t{1};
  });
  EXPECT_TRUE(failed.contains("bit 0"));
}

}  // namespace
}  // namespace undertone::noise
