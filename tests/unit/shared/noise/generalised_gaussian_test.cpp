#include "shared/noise/generalised_gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "shared/crypto/secure_bits.hpp"
#include "shared/crypto/test_bits.hpp"
#include "shared/geometry/regular_norm.hpp"
#include "tests/support/repetitions.hpp"

namespace undertone::noise {
namespace {

constexpr double kScale = 0x1p20;

struct Moments {
  double sum = 0.0;
  double squares = 0.0;
  double count = 0.0;
  void add(double x) {
    sum += x;
    squares += x * x;
    ++count;
  }
  double mean() const { return sum / count; }
  double standard_error() const { return std::sqrt((squares / count - mean() * mean()) / count); }
};

/// ||z||_p / scale, and |z_1|^p / ||z||_p^p.
std::pair<double, double> radius_and_share(const GeneralisedGaussian& noise, const std::vector<std::int64_t>& z) {
  double largest = 1.0;
  for (const std::int64_t one : z) largest = std::max(largest, std::abs(static_cast<double>(one)));
  double sum = 0.0;
  for (const std::int64_t one : z) sum += std::pow(std::abs(static_cast<double>(one)) / largest, noise.norm());
  const double first = std::pow(std::abs(static_cast<double>(z.front())) / largest, noise.norm()) / sum;
  return {largest * std::pow(sum, 1.0 / noise.norm()) / noise.scale(), first};
}

TEST(GeneralisedGaussianTest, RadiusAndDirectionHaveTheirLaws) {
  // 6.2 standard errors: false alarm 6e-10 each. With 1,500 vectors a radius of d - 1 degrees of freedom or an l2
  // instead of a p-norm is more than ten standard errors away: of d = 7, 1/7 of a mean with deviation sqrt(2/7).
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  for (const double norm : {2.0, 3.0, 7.6, 40.0}) {
    for (const std::size_t d : {std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
      SCOPED_TRACE(fmt::format("p {} d {}", norm, d));
      const GeneralisedGaussian noise = GeneralisedGaussian::create(norm, kScale).value();
      std::vector<std::int64_t> z(d);
      Moments radius_itself;
      Moments square;
      Moments fourth;
      Moments share;
      Moments share_square;
      Moments sign;
      Moments together;
      Moments coordinate;
      for (int i = 0; i < 1'500; ++i) {
        noise.fill(bits, z);
        const auto [radius, first] = radius_and_share(noise, z);
        radius_itself.add(radius);
        square.add(radius * radius);
        fourth.add(std::pow(radius, 4.0));
        share.add(first);
        share_square.add(first * first);
        sign.add(z.front() > 0 ? 1.0 : -1.0);
        together.add((radius * radius - static_cast<double>(d)) * (first - 1.0 / static_cast<double>(d)));
        coordinate.add(std::pow(static_cast<double>(z.back()) / kScale, 2.0));
      }
      // Of spec C10: E ||z|| = sqrt 2 Gamma((d+1)/2)/Gamma(d/2), E ||z||^2 = d, E ||z||^4 = 4 (d/2)(d/2 + 1).
      const auto size = static_cast<double>(d);
      EXPECT_NEAR(radius_itself.mean(), std::sqrt(2.0) * std::tgamma(0.5 * size + 0.5) / std::tgamma(0.5 * size),
                  6.2 * radius_itself.standard_error());
      EXPECT_NEAR(square.mean(), size, 6.2 * square.standard_error());
      EXPECT_NEAR(fourth.mean(), size * (size + 2.0), 6.2 * fourth.standard_error());
      EXPECT_NEAR(sign.mean(), 0.0, 6.2 * sign.standard_error());
      EXPECT_NEAR(coordinate.mean(), size * geometry::coordinate_share(norm, static_cast<Eigen::Index>(d)),
                  6.2 * coordinate.standard_error());
      if (d == 1) continue;
      // Cone measure: the share is Beta(1/p, (d-1)/p).
      const double a = 1.0 / norm;
      const double whole = size / norm;
      EXPECT_NEAR(share.mean(), a / whole, 6.2 * share.standard_error());
      EXPECT_NEAR(share_square.mean(), a * (a + 1.0) / (whole * (whole + 1.0)), 6.2 * share_square.standard_error());
      EXPECT_NEAR(together.mean(), 0.0, 6.2 * together.standard_error());
    }
  }
}

TEST(GeneralisedGaussianTest, BoxesHaveTheirProbabilities) {
  // Spec C10, by quadrature of the density over the plane, r = 5. With the surface measure in the cone measure's place
  // the first would be .1318, which is 4.4 standard errors of 40,000 draws; the shares above show it better. 6.2
  // standard errors.
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  const GeneralisedGaussian noise = GeneralisedGaussian::create(5.0, kScale).value();
  Moments narrow;
  Moments flat;
  Moments wide;
  std::vector<std::int64_t> z(2);
  const int draws = tests::repetitions(12'000, 40'000);
  for (int i = 0; i < draws; ++i) {
    noise.fill(bits, z);
    const double x = std::abs(static_cast<double>(z[0])) / kScale;
    const double y = std::abs(static_cast<double>(z[1])) / kScale;
    narrow.add(x < 0.3 && y < 0.9 ? 1.0 : 0.0);
    flat.add(x < 0.8 && y < 0.2 ? 1.0 : 0.0);
    wide.add(x < 1.5 && y < 1.4 ? 1.0 : 0.0);
  }
  EXPECT_NEAR(narrow.mean(), 0.12456, 6.2 * narrow.standard_error());
  EXPECT_NEAR(flat.mean(), 0.07592, 6.2 * flat.standard_error());
  EXPECT_NEAR(wide.mean(), 0.66697, 6.2 * wide.standard_error());
}

TEST(GeneralisedGaussianTest, HalfTheSquaredRadiusIsGammaDistributed) {
  // Kolmogorov and Smirnov's distance of 4,000 draws of d = 4 from Gamma(2): 1 - e^-t (1 + t). P[sqrt(n) D > 3.3] <
  // 2 e^(-2 3.3^2) = 7e-10.
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  const GeneralisedGaussian noise = GeneralisedGaussian::create(8.0, kScale).value();
  std::vector<std::int64_t> z(4);
  std::vector<double> seen(4'000);
  for (double& one : seen) {
    noise.fill(bits, z);
    one = 0.5 * std::pow(radius_and_share(noise, z).first, 2.0);
  }
  std::sort(seen.begin(), seen.end());
  double distance = 0.0;
  const auto n = static_cast<double>(seen.size());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double exact = -std::expm1(-seen[i]) - seen[i] * std::exp(-seen[i]);
    distance = std::max({distance, exact - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - exact});
  }
  EXPECT_LT(std::sqrt(n) * distance, 3.3);
}

TEST(GeneralisedGaussianTest, WithTwoItIsTheGaussian) {
  crypto::TestBits bits(1, "generalised", crypto::InsecureForTestsOnly{});
  const GeneralisedGaussian noise = GeneralisedGaussian::create(2.0, kScale).value();
  std::vector<std::int64_t> z(3);
  Moments square;
  Moments fourth;
  Moments below;
  const int draws = tests::repetitions(6'000, 20'000);
  for (int i = 0; i < draws; ++i) {
    noise.fill(bits, z);
    const double x = static_cast<double>(z[1]) / kScale;
    square.add(x * x);
    fourth.add(x * x * x * x);
    below.add(x < -1.0 ? 1.0 : 0.0);
  }
  EXPECT_NEAR(square.mean(), 1.0, 6.2 * square.standard_error());
  EXPECT_NEAR(fourth.mean(), 3.0, 6.2 * fourth.standard_error());
  EXPECT_NEAR(below.mean(), 0.158655254, 6.2 * below.standard_error());  // Phi(-1)
}

TEST(GeneralisedGaussianTest, OfOneSeedItIsOneVectorOnEveryProcessor) {
  // Integer arithmetic throughout: pinned, so that a library or a flag that changes a bit is seen.
  crypto::TestBits bits(7, "pinned", crypto::InsecureForTestsOnly{});
  const GeneralisedGaussian noise = GeneralisedGaussian::create(7.5, 0x1p30).value();
  std::vector<std::int64_t> z(4);
  noise.fill(bits, z);
  EXPECT_EQ(z, (std::vector<std::int64_t>{-461900098, -1639762433, -742886046, 294284395}));
}

TEST(GeneralisedGaussianTest, RefusesWhatIsOutOfRange) {
  for (const double norm : {1.9, 0.0, -2.0, 1e7, std::nan(""), static_cast<double>(INFINITY)})
    EXPECT_FALSE(GeneralisedGaussian::create(norm, kScale)) << norm;
  for (const double scale : {0.0, -1.0, 1023.0, 0x1p41, std::nan(""), static_cast<double>(INFINITY)})
    EXPECT_FALSE(GeneralisedGaussian::create(2.0, scale)) << scale;
}

}  // namespace
}  // namespace undertone::noise
