#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "shared/statistics/bernstein.hpp"
#include "shared/statistics/cosine_series.hpp"
#include "shared/statistics/count_polynomial.hpp"

namespace undertone::statistics {
namespace {

double curve(double x) { return std::log1p(std::exp(-3.0 * (x - 0.2))); }

Eigen::VectorXd on_knots(std::size_t degree) {
  Eigen::VectorXd out(static_cast<Eigen::Index>(degree) + 1);
  for (Eigen::Index v = 0; v < out.size(); ++v) out[v] = curve(static_cast<double>(v) / static_cast<double>(degree));
  return out;
}

double largest_error(std::size_t degree, std::size_t order) {
  const BernsteinPolynomial polynomial = BernsteinPolynomial::create(on_knots(degree), 1, degree, order).value();
  double most = 0.0;
  for (int i = 0; i <= 1000; ++i) {
    const double x = i / 1000.0;
    most = std::max(most, std::abs(polynomial.value(Eigen::VectorXd::Constant(1, x)) - curve(x)));
  }
  return most;
}

TEST(BernsteinTest, ErrorsFallWithTheOrderAsTheSpecMeasured) {
  // Spec noninteractive-ldp 2.2, measured to three digits.
  EXPECT_NEAR(largest_error(16, 1), 1.52e-2, 0.01e-2);
  EXPECT_NEAR(largest_error(64, 1), 3.85e-3, 0.01e-3);
  EXPECT_NEAR(largest_error(16, 2), 1.37e-3, 0.01e-3);
  EXPECT_NEAR(largest_error(64, 2), 9.4e-5, 0.1e-5);
  EXPECT_NEAR(largest_error(16, 3), 2.2e-4, 0.1e-4);
  EXPECT_NEAR(largest_error(64, 3), 4.9e-6, 0.1e-6);
  EXPECT_NEAR(largest_error(16, 4), 6.5e-5, 0.1e-5);
  EXPECT_NEAR(largest_error(64, 4), 5.6e-7, 0.1e-7);
  const auto slope = [](std::size_t order) {
    return std::log(largest_error(64, order) / largest_error(8, order)) / std::log(8.0);
  };
  EXPECT_NEAR(slope(1), -1.0, 0.15);
  EXPECT_NEAR(slope(2), -2.0, 0.15);
  EXPECT_LT(slope(3), -2.3);
  EXPECT_GT(slope(3), -3.1);
}

/// b^(h)_v = sum_i C(h, i) (-1)^(i-1) B_k^(i-1)(b_v): the source's form.
TEST(BernsteinTest, TheCoefficientsAreTheBasisForm) {
  const std::size_t k = 6;
  const std::size_t h = 4;
  const auto basis = [&](std::size_t u, double x) {
    double choose = 1.0;
    for (std::size_t i = 0; i < u; ++i) choose = choose * static_cast<double>(k - i) / static_cast<double>(i + 1);
    return choose * std::pow(x, static_cast<double>(u)) * std::pow(1.0 - x, static_cast<double>(k - u));
  };
  Eigen::MatrixXd knots(k + 1, k + 1);
  for (std::size_t v = 0; v <= k; ++v)
    for (std::size_t u = 0; u <= k; ++u)
      knots(static_cast<Eigen::Index>(v), static_cast<Eigen::Index>(u)) = basis(u, static_cast<double>(v) / k);
  for (const double x : {0.0, 0.1, 0.37, 0.5, 0.93, 1.0}) {
    Eigen::RowVectorXd at(k + 1);
    for (std::size_t u = 0; u <= k; ++u) at[static_cast<Eigen::Index>(u)] = basis(u, x);
    const std::vector<double> binomial{4.0, 6.0, 4.0, 1.0};
    Eigen::RowVectorXd expected = Eigen::RowVectorXd::Zero(k + 1);
    Eigen::RowVectorXd iterated = at;  // B^(i-1) of the basis at x, in terms of the values
    for (std::size_t i = 0; i < h; ++i) {
      expected += (i % 2 == 0 ? 1.0 : -1.0) * binomial[i] * iterated;
      iterated = iterated * knots;
    }
    EXPECT_LT((bernstein_weights(k, h, x).transpose() - expected).lpNorm<Eigen::Infinity>(), 1e-12);
  }
}

TEST(BernsteinTest, NoiseGrowsAsTheSpecMeasuredAndFarLessThanItsBound) {
  const std::vector<double> measured{1.00, 1.17, 1.25, 1.27, 1.30, 1.38};
  for (std::size_t h = 1; h <= 6; ++h) {
    const double found = bernstein_amplification(32, h);
    EXPECT_LE(found, std::exp2(static_cast<double>(h)) - 1.0 + 1e-9);
    EXPECT_LE(found, 1.45);
    EXPECT_NEAR(found, measured[h - 1], 0.09) << h;
  }
}

TEST(BernsteinTest, SeveralVariablesAreProductsWithTheFirstFastest) {
  // f(x, y) = x^2 + 3 x y - y, of degree 2 in each variable: the operator of order 6 is near interpolation, of order 1
  // not. At the corners every order has the values.
  const auto f = [](double x, double y) { return x * x + 3.0 * x * y - y; };
  Eigen::VectorXd grid(25);
  for (int w = 0; w < 5; ++w)
    for (int v = 0; v < 5; ++v) grid[v + 5 * w] = f(v / 4.0, w / 4.0);
  const BernsteinPolynomial polynomial = BernsteinPolynomial::create(grid, 2, 4, 6).value();
  for (const double x : {0.0, 1.0})
    for (const double y : {0.0, 1.0}) EXPECT_NEAR(polynomial.value(Eigen::Vector2d(x, y)), f(x, y), 1e-12);
  // B_4 x^2 = x^2 + x (1 - x) / 4: each further order multiplies what is missing by 1/4.
  for (const double x : {0.3, 0.6}) {
    for (const double y : {0.2, 0.9}) {
      EXPECT_NEAR(polynomial.value(Eigen::Vector2d(x, y)), f(x, y) + x * (1.0 - x) * std::pow(0.25, 6), 1e-12);
      const Eigen::VectorXd slope = polynomial.gradient(Eigen::Vector2d(x, y));
      EXPECT_NEAR(slope[0], 2.0 * x + 3.0 * y + (1.0 - 2.0 * x) * std::pow(0.25, 6), 1e-11);
      EXPECT_NEAR(slope[1], 3.0 * x - 1.0, 1e-11);
    }
  }
}

TEST(BernsteinTest, FindsTheLeastOfSeveralValleys) {
  // Two valleys, at about 0.2 and 0.8, the second deeper.
  Eigen::VectorXd grid(41);
  for (int v = 0; v <= 40; ++v) {
    const double x = v / 40.0;
    grid[v] = std::cos(4.0 * 3.14159265358979 * (x - 0.05)) - 0.5 * x;
  }
  const BernsteinPolynomial polynomial = BernsteinPolynomial::create(grid, 1, 40, 4).value();
  const BernsteinPolynomial::Minimum found = polynomial.minimum();
  for (int i = 0; i <= 1000; ++i)
    EXPECT_LE(found.value, polynomial.value(Eigen::VectorXd::Constant(1, i / 1000.0)) + 1e-7);
  EXPECT_NEAR(found.point[0], 0.8, 0.05);
}

TEST(BernsteinTest, RefusesWhatIsNoGrid) {
  EXPECT_FALSE(BernsteinPolynomial::create(Eigen::VectorXd::Zero(5), 1, 3, 1));
  EXPECT_FALSE(BernsteinPolynomial::create(Eigen::VectorXd::Zero(4), 1, 3, 7));
  EXPECT_FALSE(BernsteinPolynomial::create(Eigen::VectorXd::Zero(4), 1, 3, 0));
  EXPECT_FALSE(BernsteinPolynomial::create(Eigen::VectorXd::Zero(256), 4, 3, 1));
  EXPECT_FALSE(BernsteinPolynomial::create(Eigen::VectorXd::Constant(4, NAN), 1, 3, 1));
}

double at(const CountPolynomial& polynomial, std::size_t held) {
  double out = 0.0;
  for (std::size_t m = 0; m <= polynomial.degree; ++m) {
    double choose = m > held ? 0.0 : 1.0;
    for (std::size_t i = 0; i < m && m <= held; ++i)
      choose = choose * static_cast<double>(held - i) / static_cast<double>(i + 1);
    out += polynomial.newton[m] * choose;
  }
  return out;
}

TEST(CountPolynomialTest, IsWithinItsErrorOfTheQuestionForEveryRecord) {
  for (const std::size_t width : {1U, 2U, 3U, 5U, 8U, 16U, 32U}) {
    for (std::size_t degree = 1; degree <= std::min<std::size_t>(width, 12); ++degree) {
      SCOPED_TRACE(testing::Message() << degree << " of " << width);
      const CountPolynomial any = count_polynomial(Quantifier::Any, width, degree);
      const CountPolynomial all = count_polynomial(Quantifier::All, width, degree);
      EXPECT_EQ(any.error == 0.0, degree == width);
      // Of all literals the polynomial is taken far from the values that Newton's numbers are differences of: what is
      // lost grows with C(k, t), 2e8 at the largest, and stays far below the errors.
      EXPECT_NEAR(at(any, 0), 0.0, 1e-12);
      EXPECT_NEAR(at(all, width), 1.0, 1e-7);
      for (std::size_t held = 0; held <= width; ++held) {
        EXPECT_LE(std::abs(at(any, held) - (held > 0 ? 1.0 : 0.0)), any.error + 1e-7);
        EXPECT_LE(std::abs(at(all, held) - (held == width ? 1.0 : 0.0)), all.error + 1e-7);
      }
    }
  }
}

TEST(CountPolynomialTest, TakesTheDegreesAndTheNoiseThatTheSpecMeasured) {
  // k, degree, error, |a|; spec noninteractive-ldp 2.7. The exact one's norm is sqrt(2^k - 1).
  struct Row {
    std::size_t width, degree;
    double error, norm;
  };
  for (const Row& row : {Row{3, 2, 0.143, 1.8}, Row{6, 3, 0.148, 3.2}, Row{8, 5, 0.050, 8.5}, Row{16, 6, 0.093, 17.6},
                         Row{32, 9, 0.080, 103.0}}) {
    const CountPolynomial any = count_polynomial(Quantifier::Any, row.width, row.degree);
    EXPECT_NEAR(any.error, row.error, 0.0006) << row.width;
    EXPECT_NEAR(any.amplification, row.norm, 0.01 * row.norm + 0.05) << row.width;
  }
  for (const std::size_t width : {2U, 3U, 6U, 8U}) {
    EXPECT_NEAR(count_polynomial(Quantifier::Any, width, width).amplification,
                std::sqrt(std::exp2(static_cast<double>(width)) - 1.0), 1e-9);
    EXPECT_DOUBLE_EQ(count_polynomial(Quantifier::All, width, width).amplification, 1.0);
  }
}

TEST(CosineSeriesTest, HasTheCoefficientsOfWhatIsASeries) {
  // T_3(u) / 2 + 1/4 and -T_2(v).
  const std::vector<CosineSeries> factors{
      cosine_series([](double u) { return 0.25 + 0.5 * (4.0 * u * u * u - 3.0 * u); }, 4.5, 4),
      cosine_series([](double v) { return 1.0 - 2.0 * v * v; }, 4.0, 4)};
  const CosineSeries product = product_of(factors);
  ASSERT_EQ(product.coefficients.size(), 16);
  for (Eigen::Index place = 0; place < 16; ++place) {
    const double expected = place == 11 ? -0.5 : place == 8 ? -0.25 : 0.0;
    EXPECT_NEAR(product.coefficients[place], expected, 1e-13) << place;
  }
  EXPECT_LT(product.error, 1e-3);  // what the Lipschitz constants leave between points of the grid
}

/// Errors of products of Gaussian kernels, found on a grid of its own.
TEST(CosineSeriesTest, NoPointIsFartherThanIsSaid) {
  for (const double width : {1.0, 0.3, 0.05, 0.01, 1e-3, 1e-5}) {
    for (const double centre : {0.0, 0.6, -0.99, 1.0, 0.1234567}) {
      for (const std::size_t terms : {2U, 5U, 16U, 64U}) {
        SCOPED_TRACE(testing::Message() << width << " " << centre << " " << terms);
        const auto kernel = [&](double u) { return std::exp(-0.5 * std::pow((u - centre) / width, 2)); };
        const CosineSeries series = gaussian_series(centre, width, terms);
        double worst = 0.0;
        std::vector<double> places{centre};
        for (int i = -500; i <= 500; ++i) places.push_back(std::clamp(centre + 0.01 * width * i, -1.0, 1.0));
        for (int i = 0; i <= 300; ++i) places.push_back(std::cos(0.01047 * i));
        for (const double u : places) {
          double sum = 0.0;
          for (Eigen::Index v = 0; v < series.coefficients.size(); ++v)
            sum += series.coefficients[v] * std::cos(static_cast<double>(v) * std::acos(u));
          worst = std::max(worst, std::abs(sum - kernel(u)));
        }
        EXPECT_LE(worst, series.error);
        if (width >= 0.01) {
          EXPECT_GE(worst + 1e-2, 0.9 * series.error);  // nor is it much nearer
        }
      }
    }
  }
}

TEST(CosineSeriesTest, ErrorsOfKernelsFallWithTheTerms) {
  double before = 1.0;
  for (const std::size_t terms : {2U, 4U, 6U, 8U}) {
    std::vector<CosineSeries> factors;
    for (const double centre : {0.5, -0.5}) factors.push_back(gaussian_series(centre, 0.7, terms));
    const double error = product_of(factors).error;
    EXPECT_LT(error, 0.6 * before) << terms;
    before = error;
  }
  EXPECT_LT(before, 3e-3);
}

}  // namespace
}  // namespace undertone::statistics
