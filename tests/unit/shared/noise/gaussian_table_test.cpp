#include "shared/noise/gaussian_table.hpp"

#include <array>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <optional>

#include "shared/crypto/test_bits.hpp"
#include "shared/noise/rounded_gaussian.hpp"

namespace undertone::noise {
namespace {

using Exact = boost::multiprecision::cpp_bin_float_100;

Exact curve(const Exact& x) { return exp(Exact(-x * x / 2)); }
Exact width_of(const GaussianTable& table, std::size_t layer) {
  return ldexp(Exact(table.layers()[layer].width), -GaussianTable::kUnitLog2);
}

TEST(GaussianTableTest, TheLayersCoverTheCurveAndTheirInsidesAreUnderIt) {
  const GaussianTable& table = GaussianTable::get();
  const Exact area = ldexp(Exact(table.area()), -GaussianTable::kAreaLog2);
  Exact top = 0;
  for (std::size_t i = 0; i < GaussianTable::kLayers; ++i) {
    SCOPED_TRACE(i);
    const Exact width = width_of(table, i);
    if (i > 0) {
      EXPECT_TRUE(width < width_of(table, i - 1));
      EXPECT_TRUE(curve(width) <= top);  // right of this layer the ones below reach up to the curve
    }
    top += area / width;
    const Exact inside = width * ldexp(Exact(table.layers()[i].inside), -GaussianTable::kUniformBits);
    EXPECT_TRUE(table.layers()[i].inside == 0 || curve(inside) >= top);
  }
  EXPECT_TRUE(top >= 1);
  // 256 layers of this area hold sqrt(pi/2) = 1.2533: 0.989 of what is drawn is kept.
  EXPECT_GT(1.2533141373155 / (256.0 * static_cast<double>(area)), 0.98);
}

TEST(GaussianTableTest, BothPrecisionsAgreeOnTheSide) {
  const GaussianTable& table = GaussianTable::get();
  crypto::TestBits bits(3, "sides", crypto::InsecureForTestsOnly{});
  for (int i = 0; i < 3000; ++i) {
    const auto layer = static_cast<std::size_t>(crypto::uniform_below(bits, GaussianTable::kLayers));
    const std::uint64_t place = bits.word() >> 9U;
    const std::uint64_t height = bits.word();
    const std::uint64_t more[] = {bits.word()};
    const GaussianTable::Side coarse = table.side(layer, place, height);
    ASSERT_NE(coarse, GaussianTable::Side::Open);
    ASSERT_EQ(coarse, table.side(layer, place, more, height, more));
  }
}

/// A word and a height, then nothing.
class TwoWords {
 public:
  using ScriptedForTests = void;
  struct OutOfBits {};
  TwoWords(std::uint64_t first, std::uint64_t second) : words_{first, second} {}
  std::uint64_t word() {
    if (next_ == 2) throw OutOfBits{};
    return words_[next_++];
  }

 private:
  std::uint64_t words_[2];
  std::size_t next_ = 0;
};

/// What the sampler makes of a layer, a place in it (55 bits) and a height: a number, or a point that is thrown away.
std::optional<std::int64_t> outcome(std::uint64_t layer, std::uint64_t place, std::uint64_t height, int m) {
  TwoWords bits((layer << 56U) | place, height);
  try {
    return sample_rounded_gaussian(GaussianTable::get(), bits, m);
  } catch (const TwoWords::OutOfBits&) {
    return std::nullopt;
  }
}

struct Masses {
  std::map<std::int64_t, double> of;
  double open = 0.0;
};

/// All points of a box: what is kept is a lower left part of it, and the number rises with the place, so two corners
/// that agree speak for everything between. Boxes whose corners differ are halved down to `depth`.
void enumerate(std::uint64_t layer, std::uint64_t place, int place_bits, std::uint64_t height, int height_bits,
               int depth, int m, Masses& masses) {
  const double mass = std::ldexp(1.0, -8 - place_bits - height_bits);
  const std::uint64_t place_last = place + (std::uint64_t{1} << (55 - place_bits)) - 1;
  const std::uint64_t height_last =
      height_bits == 0 ? ~std::uint64_t{0} : height + (std::uint64_t{1} << (64 - height_bits)) - 1;
  const std::optional<std::int64_t> low = outcome(layer, place, height, m);
  if (!low) return;  // the best corner is thrown away, and so is all of the box
  const std::optional<std::int64_t> high = outcome(layer, place_last, height_last, m);
  if (low == high) {
    masses.of[*low] += mass;
    return;
  }
  if (depth == 0) {
    masses.open += mass;
    return;
  }
  const bool split_place = place_bits <= height_bits || outcome(layer, place_last, height, m) != low;
  if (split_place && place_bits < 50) {
    enumerate(layer, place, place_bits + 1, height, height_bits, depth - 1, m, masses);
    enumerate(layer, place + (std::uint64_t{1} << (54 - place_bits)), place_bits + 1, height, height_bits, depth - 1, m,
              masses);
  } else {
    enumerate(layer, place, place_bits, height, height_bits + 1, depth - 1, m, masses);
    enumerate(layer, place, place_bits, height + (std::uint64_t{1} << (63 - height_bits)), height_bits + 1, depth - 1,
              m, masses);
  }
}

TEST(GaussianTableTest, EveryNumberHasItsExactProbabilityByEnumeration) {
  for (const int m : {0, 1, 2}) {
    SCOPED_TRACE(m);
    Masses masses;
    for (std::uint64_t layer = 0; layer < GaussianTable::kLayers; ++layer) enumerate(layer, 0, 0, 0, 0, 22, m, masses);
    double kept = 0.0;
    for (const auto& [z, mass] : masses.of) kept += mass;
    EXPECT_LT(masses.open, 2e-4);
    for (const auto& [z, mass] : masses.of) {
      SCOPED_TRACE(z);
      const double scale = std::ldexp(std::sqrt(2.0), m);
      const auto k = static_cast<double>(z);
      const double exact = z == 0 ? std::erf(0.5 / scale) : std::erfc((k - 0.5) / scale) - std::erfc((k + 0.5) / scale);
      EXPECT_GE(exact, mass / (kept + masses.open) * (1.0 - 1e-12));
      EXPECT_LE(exact, (mass + masses.open) / kept * (1.0 + 1e-12));
    }
  }
}

TEST(GaussianTableTest, TailsHaveTheirMass) {
  // 2^25 numbers; P[|Y| > 4.8916] = 1e-6 gives 34 beyond. Six standard errors of a Poisson count: false alarm below
  // 1e-8 each. A bottom layer that is cut at 4.4, or one drawn too often by 1 in 256, is off by more.
  constexpr int kDraws = 1 << 25;
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  std::vector<std::int64_t> block(1 << 16);
  constexpr std::array<double, 6> kEdges{2.0, 3.0, 3.5, 4.0, 4.4, 4.8916};
  std::array<int, kEdges.size()> beyond{};
  for (int i = 0; i < kDraws; i += static_cast<int>(block.size())) {
    fill_rounded_gaussian(bits, 24, block);
    for (const std::int64_t z : block) {
      const double y = std::abs(static_cast<double>(z)) * 0x1p-24;
      if (y <= kEdges.front()) continue;
      for (std::size_t edge = 0; edge < kEdges.size(); ++edge) beyond[edge] += y > kEdges[edge] ? 1 : 0;
    }
  }
  for (std::size_t edge = 0; edge < kEdges.size(); ++edge) {
    SCOPED_TRACE(kEdges[edge]);
    const double expected = kDraws * std::erfc(kEdges[edge] / std::sqrt(2.0));
    EXPECT_NEAR(beyond[edge], expected, 6.0 * std::sqrt(expected) + 6.0);
  }
}

TEST(GaussianTableTest, RoundsByFurtherBitsWhereAPlaceLiesAcrossABoundary) {
  // A place whose first bits leave two integers open at m = 40: further words decide, the lowest down, the highest up.
  struct Continued {
    using ScriptedForTests = void;
    std::uint64_t rest;
    std::uint64_t word() { return rest; }
  };
  const std::uint64_t width = GaussianTable::get().layers()[100].width;
  int open = 0;
  for (std::uint64_t place = 1; place < 2'000'000; ++place) {
    const releases::UInt128 half = releases::UInt128{1} << 54U;
    const releases::UInt128 product = releases::UInt128{width} * place + half;
    if ((product >> 55U) == ((product + width - 1) >> 55U)) continue;
    ++open;
    Continued zeros{0};
    Continued ones{~std::uint64_t{0}};
    detail::LazyPlace<Continued> lazy{place, {}};
    detail::LazyPlace<Continued> other{place, {}};
    const std::int64_t low = detail::round_place(width, lazy, 40, zeros);
    EXPECT_EQ(low, static_cast<std::int64_t>(product >> 55U));
    EXPECT_EQ(detail::round_place(width, other, 40, ones), low + 1);
    if (open == 5) break;
  }
  EXPECT_GT(open, 0);
}

}  // namespace
}  // namespace undertone::noise
