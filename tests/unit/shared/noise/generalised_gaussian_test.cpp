#include "shared/noise/generalised_gaussian.hpp"

#include <gtest/gtest.h>

#include "shared/crypto/secure_bits.hpp"
#include "shared/crypto/test_bits.hpp"

namespace undertone::noise {
namespace {

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
  return {largest * std::pow(sum, 1.0 / noise.norm()) * noise.step() / noise.scale(), first};
}

TEST(GeneralisedGaussianTest, RadiusAndDirectionHaveTheirLaws) {
  // 6.2 standard errors: false alarm 6e-10 each. With 40,000 vectors a radius of d - 1 degrees of freedom, an l2
  // instead of a p-norm or a shape off by 2 % is more than ten standard errors away.
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  for (const double norm : {2.0, 3.0, 8.0}) {
    for (const std::size_t d : {std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
      SCOPED_TRACE(fmt::format("p {} d {}", norm, d));
      const GeneralisedGaussian noise = GeneralisedGaussian::create(norm, 3.7).value();
      std::vector<std::int64_t> z(d);
      Moments square;
      Moments share;
      Moments share_square;
      Moments sign;
      Moments together;
      for (int i = 0; i < 40'000; ++i) {
        noise.fill(bits, z);
        const auto [radius, first] = radius_and_share(noise, z);
        square.add(radius * radius);
        share.add(first);
        share_square.add(first * first);
        sign.add(z.front() > 0 ? 1.0 : -1.0);
        together.add((radius * radius - static_cast<double>(d)) * (first - 1.0 / static_cast<double>(d)));
      }
      // chi-square of d degrees: mean d. Cone measure: the share is Beta(1/p, (d-1)/p).
      const double a = 1.0 / norm;
      const double whole = static_cast<double>(d) / norm;
      EXPECT_NEAR(square.mean(), static_cast<double>(d), 6.2 * square.standard_error());
      EXPECT_NEAR(sign.mean(), 0.0, 6.2 * sign.standard_error());
      if (d == 1) continue;
      EXPECT_NEAR(share.mean(), a / whole, 6.2 * share.standard_error());
      EXPECT_NEAR(share_square.mean(), a * (a + 1.0) / (whole * (whole + 1.0)), 6.2 * share_square.standard_error());
      EXPECT_NEAR(together.mean(), 0.0, 6.2 * together.standard_error());
    }
  }
}

TEST(GeneralisedGaussianTest, WithTwoItIsTheGaussian) {
  crypto::TestBits bits(1, "generalised", crypto::InsecureForTestsOnly{});
  const GeneralisedGaussian noise = GeneralisedGaussian::create(2.0, 1.0).value();
  std::vector<std::int64_t> z(3);
  Moments square;
  Moments fourth;
  Moments below;
  for (int i = 0; i < 100'000; ++i) {
    noise.fill(bits, z);
    const double x = static_cast<double>(z[1]) * noise.step();
    square.add(x * x);
    fourth.add(x * x * x * x);
    below.add(x < -1.0 ? 1.0 : 0.0);
  }
  EXPECT_NEAR(square.mean(), 1.0, 6.2 * square.standard_error());
  EXPECT_NEAR(fourth.mean(), 3.0, 6.2 * fourth.standard_error());
  EXPECT_NEAR(below.mean(), 0.158655254, 6.2 * below.standard_error());  // Phi(-1)
}

TEST(GeneralisedGaussianTest, ItsStepIsAPowerOfTwoAndItsCostKappaTimesTheGaussians) {
  const GeneralisedGaussian noise = GeneralisedGaussian::create(4.0, 3.0).value();
  EXPECT_EQ(noise.step(), 0x1p-18);  // 3 has exponent 1
  EXPECT_NEAR(noise.rho(1.5).value().value(), 0.5 * 3.0 * 0.25, 1e-12);
  EXPECT_NEAR(GeneralisedGaussian::create(2.0, 3.0)->rho(1.5).value().value(), 0.5 * 0.25, 1e-12);
}

TEST(GeneralisedGaussianTest, RefusesWhatIsOutOfRange) {
  for (const double norm : {1.9, 0.0, -2.0, 1e7, std::nan(""), static_cast<double>(INFINITY)})
    EXPECT_FALSE(GeneralisedGaussian::create(norm, 1.0)) << norm;
  for (const double scale : {0.0, -1.0, std::nan(""), static_cast<double>(INFINITY)})
    EXPECT_FALSE(GeneralisedGaussian::create(2.0, scale)) << scale;
  EXPECT_FALSE(GeneralisedGaussian::create(2.0, 1.0)->rho(0.0));
  EXPECT_FALSE(GeneralisedGaussian::create(2.0, 1.0)->rho(std::nan("")));
}

}  // namespace
}  // namespace undertone::noise
