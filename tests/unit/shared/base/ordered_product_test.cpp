#include "shared/base/ordered_product.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "shared/base/column_products.hpp"
#include "shared/base/random_source.hpp"

namespace undertone {
namespace {

/// Numbers whose sums depend on the order in which they are added up: 2^60 and -2^60 cancel beside small ones.
double awkward(RandomSource& random) {
  switch (random.below(4)) {
    case 0:
      return 0x1p60;
    case 1:
      return -0x1p60;
    default:
      return 60.0 * (2.0 * random.unit() - 1.0);
  }
}

Eigen::MatrixXd awkward_matrix(RandomSource& random, Eigen::Index rows, Eigen::Index columns) {
  Eigen::MatrixXd out(rows, columns);
  for (Eigen::Index j = 0; j < columns; ++j)
    for (Eigen::Index i = 0; i < rows; ++i) out(i, j) = awkward(random);
  return out;
}

/// As the docstring has it: one product after the other.
Eigen::MatrixXd by_loops(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, const Eigen::MatrixXd& begin) {
  Eigen::MatrixXd out = begin;
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    for (Eigen::Index j = 0; j < b.cols(); ++j)
      for (Eigen::Index k = 0; k < a.cols(); ++k) out(i, j) += a(i, k) * b(k, j);
  return out;
}

void expect_same_bits(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  ASSERT_EQ(a.size(), b.size());
  for (Eigen::Index j = 0; j < a.cols(); ++j) {
    for (Eigen::Index i = 0; i < a.rows(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(a(i, j)), std::bit_cast<std::uint64_t>(b(i, j))) << i << ' ' << j;
  }
}

TEST(OrderedProductTest, AddsOneProductAfterTheOtherWhateverTheShapeAndTheVectorUnits) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const auto size = [&](std::uint64_t most) { return static_cast<Eigen::Index>(1 + random.below(most)); };
    const Eigen::Index rows = size(seed % 5 == 0 ? 3 : 40);
    const Eigen::Index inner = size(seed % 7 == 0 ? 300 : 20);  // more than one depth
    const Eigen::Index columns = size(seed % 11 == 0 ? 150 : 20);
    const Eigen::MatrixXd a = awkward_matrix(random, rows, inner);
    const Eigen::MatrixXd b = awkward_matrix(random, inner, columns);
    const Eigen::MatrixXd begin = awkward_matrix(random, rows, columns);
    const Eigen::MatrixXd a_transposed = a.transpose();
    const Eigen::MatrixXd b_transposed = b.transpose();
    for (const VectorUnits units : {VectorUnits::Widest, VectorUnits::None}) {
      Eigen::MatrixXd out = begin;
      add_ordered_product(MatrixView(a), MatrixView(b), MatrixTarget(out), units);
      expect_same_bits(out, by_loops(a, b, begin));
      ordered_product(MatrixView(a_transposed).transposed(), MatrixView(b_transposed.transpose()), MatrixTarget(out),
                      units);
      expect_same_bits(out, by_loops(a, b, Eigen::MatrixXd::Zero(rows, columns)));
    }
  }
}

TEST(OrderedProductTest, WritesABlockAndNothingBesideIt) {
  RandomSource random(1);
  const Eigen::MatrixXd a = awkward_matrix(random, 11, 9);
  const Eigen::MatrixXd b = awkward_matrix(random, 9, 7);
  Eigen::MatrixXd whole = Eigen::MatrixXd::Constant(20, 12, 5.0);
  auto block = whole.block(3, 2, 11, 7);
  ordered_product(MatrixView(a), MatrixView(b), MatrixTarget(block));
  Eigen::MatrixXd expected = Eigen::MatrixXd::Constant(20, 12, 5.0);
  expected.block(3, 2, 11, 7) = by_loops(a, b, Eigen::MatrixXd::Zero(11, 7));
  expect_same_bits(whole, expected);
}

TEST(OrderedProductTest, WhatIsNotFiniteStaysInItsRowAndColumn) {
  Eigen::MatrixXd a = Eigen::MatrixXd::Ones(9, 5);
  Eigen::MatrixXd b = Eigen::MatrixXd::Ones(5, 6);
  a(4, 1) = std::numeric_limits<double>::quiet_NaN();
  b(2, 3) = std::numeric_limits<double>::infinity();
  Eigen::MatrixXd out(9, 6);
  ordered_product(MatrixView(a), MatrixView(b), MatrixTarget(out));
  for (Eigen::Index i = 0; i < 9; ++i) {
    for (Eigen::Index j = 0; j < 6; ++j) {
      if (i == 4) {
        EXPECT_TRUE(std::isnan(out(i, j)));
      } else {
        EXPECT_EQ(out(i, j), j == 3 ? std::numeric_limits<double>::infinity() : 5.0);
      }
    }
  }
}

TEST(OrderedProductTest, NothingInsideIsZero) {
  const Eigen::MatrixXd a(3, 0);
  const Eigen::MatrixXd b(0, 2);
  Eigen::MatrixXd out = Eigen::MatrixXd::Constant(3, 2, 7.0);
  ordered_product(MatrixView(a), MatrixView(b), MatrixTarget(out));
  EXPECT_EQ(out, Eigen::MatrixXd::Zero(3, 2));
}

TEST(InnerProductTest, IsOneNumberWhereverItsVectorsLieAndWhateverTheVectorUnits) {
  RandomSource random(3);
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<double> x(size + 9);
    std::vector<double> y(size + 9);
    std::vector<double> first;
    for (std::size_t i = 0; i < size; ++i) first.push_back(awkward(random));
    std::optional<double> seen;
    for (std::size_t at = 0; at < 8; ++at) {  // every alignment
      std::copy(first.begin(), first.end(), x.begin() + static_cast<std::ptrdiff_t>(at));
      std::copy(first.begin(), first.end(), y.begin() + static_cast<std::ptrdiff_t>(7 - at));
      for (const VectorUnits units : {VectorUnits::Widest, VectorUnits::None}) {
        const double product = inner_product(std::span(x).subspan(at, size), std::span(y).subspan(7 - at, size), units);
        if (!seen) seen = product;
        ASSERT_EQ(std::bit_cast<std::uint64_t>(product), std::bit_cast<std::uint64_t>(*seen)) << size << ' ' << at;
      }
    }
  }
}

TEST(WeightedSumTest, AddsUpInOrderWhateverTheVectorUnitsAndWhateverTheNumbersAre) {
  RandomSource random(4);
  for (std::size_t size = 0; size < 40; ++size) {
    for (const std::size_t count : std::vector<std::size_t>{1, 2, 4, 7, 64}) {
      std::vector<std::vector<double>> columns(count);
      std::vector<const double*> places;
      std::vector<double> weights;
      for (std::vector<double>& column : columns) {
        const std::size_t at = random.below(4);  // wherever they lie
        column.resize(size + 4);
        for (double& number : column) number = awkward(random);
        places.push_back(column.data() + at);
        weights.push_back(awkward(random));
      }
      for (const VectorUnits units : {VectorUnits::Widest, VectorUnits::None}) {
        std::vector<double> out(size, 5.0);
        weighted_sum(places, weights, out, units);
        for (std::size_t j = 0; j < size; ++j) {
          double sum = weights[0] * places[0][j];
          for (std::size_t i = 1; i < count; ++i) sum += weights[i] * places[i][j];
          if (std::isnan(sum)) {
            ASSERT_TRUE(std::isnan(out[j]));
          } else {
            ASSERT_EQ(std::bit_cast<std::uint64_t>(out[j]), std::bit_cast<std::uint64_t>(sum)) << size << ' ' << j;
          }
        }
      }
    }
  }
}

/// It looks at the first numbers of longer columns, and at nothing behind them.
TEST(InnerProductTest, LooksAtTheFirstRowsOfColumnsAlone) {
  RandomSource random(5);
  for (Eigen::Index size = 1; size < 30; ++size) {
    Eigen::MatrixXd wide(size + 2, 3);
    for (double& number : wide.reshaped()) number = awkward(random);
    const Eigen::MatrixXd narrow = wide.topRows(size);
    wide.bottomRows(2).setConstant(std::numeric_limits<double>::quiet_NaN());
    const Eigen::VectorXd w = Eigen::VectorXd::LinSpaced(size, -1.0, 1.0);
    const std::vector<std::int64_t> all = {2, 0, 1};
    for (const VectorUnits units : {VectorUnits::Widest, VectorUnits::None}) {
      std::array<std::array<double, 3>, 4> said{};
      column_products(wide, all, w, said[0], said[1], units);
      column_products(narrow, all, w, said[2], said[3], units);
      for (std::size_t i = 0; i < 3; ++i) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(said[0][i]), std::bit_cast<std::uint64_t>(said[2][i]));
        ASSERT_EQ(std::bit_cast<std::uint64_t>(said[1][i]), std::bit_cast<std::uint64_t>(said[3][i]));
      }
    }
  }
}

}  // namespace
}  // namespace undertone
