#include "shared/geometry/regular_norm.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/base/random_source.hpp"
#include "shared/geometry/duality_map.hpp"
#include "tests/support/convex_sets.hpp"

namespace undertone::geometry {
namespace {

constexpr double kMaxNorm = std::numeric_limits<double>::infinity();

double regularity_at(double r, double q, Eigen::Index dimension) {
  return (r - 1.0) * std::pow(static_cast<double>(dimension), 2.0 * (1.0 / r - 1.0 / q));
}

TEST(RegularNormTest, OfTheMaximumNormByHand) {
  // d = 64: ln d = 4.158883, sqrt(17.296309 - 8.317766) = 2.996422; kappa = 6.155305 e^(8.317766/7.155305).
  const RegularNorm small = regular_norm(kMaxNorm, 64);
  EXPECT_NEAR(small.exponent, 7.155305, 1e-6);
  EXPECT_EQ(small.smoothness, small.exponent - 1.0);
  EXPECT_NEAR(small.regularity, 19.683402, 1e-6);
  EXPECT_NEAR(small.dual_exponent(), 7.155305 / 6.155305, 1e-6);
  // d = 1024: 6.931472 + sqrt(48.045302 - 13.862944) = 12.778040; 11.778040 e^(13.862944/12.778040).
  const RegularNorm large = regular_norm(kMaxNorm, 1024);
  EXPECT_NEAR(large.exponent, 12.778040, 1e-6);
  EXPECT_NEAR(large.regularity, 34.853046, 1e-6);
}

TEST(RegularNormTest, OfOneThatIsRegularItselfItIsThatVeryNorm) {
  for (const Eigen::Index d : {10, 64, 1024, 1'000'000}) {
    const RegularNorm norm = regular_norm(3.0, d);
    EXPECT_EQ(norm.exponent, 3.0);
    EXPECT_EQ(norm.smoothness, 2.0);
    EXPECT_EQ(norm.regularity, 2.0);
    EXPECT_EQ(norm.dual_exponent(), 1.5);
  }
}

TEST(RegularNormTest, OfFewNumbersItIsTheEuclideanOne) {
  // Up to d = 7, ln 7 = 1.95: kappa = d^(1 - 2/q).
  for (const Eigen::Index d : {1, 2, 7}) {
    EXPECT_EQ(regular_norm(kMaxNorm, d).exponent, 2.0);
    EXPECT_DOUBLE_EQ(regular_norm(kMaxNorm, d).regularity, static_cast<double>(d));
    EXPECT_DOUBLE_EQ(regular_norm(3.0, d).regularity, std::cbrt(static_cast<double>(d)));
  }
  EXPECT_GT(regular_norm(kMaxNorm, 8).exponent, 2.0);
  EXPECT_EQ(regular_norm(2.0, 1000).exponent, 2.0);
  EXPECT_EQ(regular_norm(2.0, 1000).regularity, 1.0);
}

TEST(RegularNormTest, NoOtherExponentHasALowerRegularity) {
  for (const Eigen::Index d : {1, 3, 7, 8, 9, 50, 4096, 1'000'000}) {
    for (const double q : {2.0, 2.2, 3.0, 6.0, 40.0, kMaxNorm}) {
      SCOPED_TRACE(testing::Message() << d << ' ' << q);
      const RegularNorm norm = regular_norm(q, d);
      EXPECT_NEAR(norm.regularity, regularity_at(norm.exponent, q, d), 1e-12 * norm.regularity);
      for (double r = 2.0; r <= std::min(q, 60.0); r += 0.01)
        EXPECT_GE(regularity_at(r, q, d), norm.regularity * (1.0 - 1e-12)) << r;
    }
  }
}

TEST(RegularNormTest, ItsSquareIsAsSmoothAsItSays) {
  // ||x + y||_r^2 <= ||x||_r^2 + <2 J_r(x), y> + kappa_+ ||y||_r^2, and ||x||_q^2 <= ||x||_r^2 <= d^(..) ||x||_q^2.
  for (const Eigen::Index d : {9, 64}) {
    const RegularNorm norm = regular_norm(kMaxNorm, d);
    RandomSource random(static_cast<std::uint64_t>(d));
    for (int i = 0; i < 500; ++i) {
      SCOPED_TRACE(i);
      const Eigen::VectorXd x = test::random_point(random, d, 2.0);
      const Eigen::VectorXd y = test::random_point(random, d, i % 2 == 0 ? 2.0 : 0.1);
      const auto squared = [&](const Eigen::VectorXd& v) { return std::pow(lp_norm(v, norm.exponent), 2.0); };
      Eigen::VectorXd slope = x;
      apply_duality_map(norm.exponent, slope);
      EXPECT_LE(squared(x + y), squared(x) + 2.0 * slope.dot(y) + norm.smoothness * squared(y) + 1e-12);
      const double largest = std::pow(x.lpNorm<Eigen::Infinity>(), 2.0);
      EXPECT_GE(squared(x), largest * (1.0 - 1e-12));
      EXPECT_LE(squared(x), largest * norm.regularity / norm.smoothness * (1.0 + 1e-12));
    }
  }
}

TEST(RegularNormTest, SumsGrowAsTheirNumberAtFirstAndThenBySmoothness) {
  // kappa_+ = 6.155305: min{N, 6.155305 - 5.155305/N}; the two meet at N = 1 and N = 5.155305.
  const RegularNorm norm = regular_norm(kMaxNorm, 64);
  EXPECT_EQ(norm.sum_growth(1.0), 1.0);
  EXPECT_EQ(norm.sum_growth(2.0), 2.0);
  EXPECT_EQ(norm.sum_growth(5.0), 5.0);
  EXPECT_NEAR(norm.sum_growth(100.0), 6.155305 - 0.05155305, 1e-6);
  EXPECT_EQ(RegularNorm{}.sum_growth(100.0), 1.0);  // of l2, where squares add up
  for (double count = 1.0; count < 50.0; ++count)
    EXPECT_LE(norm.sum_growth(count + 1.0) / (count + 1.0), norm.sum_growth(count) / count * (1.0 + 1e-15)) << count;
}

TEST(RegularNormTest, ACoordinatesShareIsItsBetaMoment) {
  // l_2: 1/d. r = 4, d = 2: Gamma(3/4) Gamma(1/2)/(Gamma(1/4) Gamma(1)) = 1.2254167 1.7724539/3.6256099.
  for (const Eigen::Index d : {1, 5, 1'000'000})
    EXPECT_NEAR(coordinate_share(2.0, d) * static_cast<double>(d), 1.0, 1e-10);
  EXPECT_NEAR(coordinate_share(4.0, 2), 0.5990701, 1e-7);
  EXPECT_NEAR(coordinate_share(7.155305, 64), 0.1729611, 1e-7);
  EXPECT_NEAR(coordinate_share(12.778040, 1024), 0.1590913, 1e-7);
  EXPECT_NEAR(coordinate_share(30.0, 1), 1.0, 1e-12);  // the one coordinate is the whole vector
}

}  // namespace
}  // namespace undertone::geometry
