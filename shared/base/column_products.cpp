#include "shared/base/column_products.hpp"

#include <array>

#include "shared/base/result.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace undertone {
namespace {

constexpr Eigen::Index kLanes = 8;

double product_portable(const double* x, const double* y, Eigen::Index size) {
  const Eigen::Index whole = size - size % kLanes;
  std::array<double, kLanes> lanes{};
  for (Eigen::Index j = 0; j < whole; j += kLanes) {
    for (Eigen::Index lane = 0; lane < kLanes; ++lane)
      lanes[static_cast<std::size_t>(lane)] += x[j + lane] * y[j + lane];
  }
  double sum = ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
  for (Eigen::Index j = whole; j < size; ++j) sum += x[j] * y[j];
  return sum;
}

using Products = void (*)(const Eigen::MatrixXd& columns, Eigen::Index size, std::span<const std::int64_t> positions,
                          const double* w, std::span<double> products, std::span<double> squares);

void products_portable(const Eigen::MatrixXd& columns, Eigen::Index size, std::span<const std::int64_t> positions,
                       const double* w, std::span<double> products, std::span<double> squares) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double* x = columns.col(positions[i]).data();
    products[i] = product_portable(x, w, size);
    squares[i] = product_portable(x, x, size);
  }
}

/// Inlined, so that no code without AVX is entered while the upper halves of its registers are in use.
[[gnu::always_inline]] inline void sum_from(std::size_t from, std::span<const double* const> columns,
                                            std::span<const double> weights, std::span<double> out) {
  for (std::size_t j = from; j < out.size(); ++j) {
    double sum = weights[0] * columns[0][j];
    for (std::size_t i = 1; i < columns.size(); ++i) sum += weights[i] * columns[i][j];
    out[j] = sum;
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void sum_avx2(std::span<const double* const> columns, std::span<const double> weights,
                                              std::span<double> out) {
  std::size_t j = 0;
  for (; j + kLanes <= out.size(); j += kLanes) {
    const __m256d first = _mm256_set1_pd(weights[0]);
    __m256d low = _mm256_mul_pd(first, _mm256_loadu_pd(columns[0] + j));
    __m256d high = _mm256_mul_pd(first, _mm256_loadu_pd(columns[0] + j + 4));
    for (std::size_t i = 1; i < columns.size(); ++i) {
      const __m256d weight = _mm256_set1_pd(weights[i]);
      low = _mm256_add_pd(low, _mm256_mul_pd(weight, _mm256_loadu_pd(columns[i] + j)));
      high = _mm256_add_pd(high, _mm256_mul_pd(weight, _mm256_loadu_pd(columns[i] + j + 4)));
    }
    _mm256_storeu_pd(out.data() + j, low);
    _mm256_storeu_pd(out.data() + j + 4, high);
  }
  for (; j + 2 <= out.size(); j += 2) {
    __m128d sum = _mm_mul_pd(_mm_set1_pd(weights[0]), _mm_loadu_pd(columns[0] + j));
    for (std::size_t i = 1; i < columns.size(); ++i)
      sum = _mm_add_pd(sum, _mm_mul_pd(_mm_set1_pd(weights[i]), _mm_loadu_pd(columns[i] + j)));
    _mm_storeu_pd(out.data() + j, sum);
  }
  sum_from(j, columns, weights, out);
}

__attribute__((target("avx2"))) double product_avx2(const double* x, const double* y, Eigen::Index size) {
  const Eigen::Index whole = size - size % kLanes;
  __m256d low = _mm256_setzero_pd();
  __m256d high = _mm256_setzero_pd();
  for (Eigen::Index j = 0; j < whole; j += kLanes) {
    low = _mm256_add_pd(low, _mm256_mul_pd(_mm256_loadu_pd(x + j), _mm256_loadu_pd(y + j)));
    high = _mm256_add_pd(high, _mm256_mul_pd(_mm256_loadu_pd(x + j + 4), _mm256_loadu_pd(y + j + 4)));
  }
  const __m256d lanes = _mm256_add_pd(low, high);
  double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  for (Eigen::Index j = whole; j < size; ++j) sum += x[j] * y[j];
  return sum;
}

__attribute__((target("avx2"))) void products_avx2(const Eigen::MatrixXd& columns, Eigen::Index size,
                                                   std::span<const std::int64_t> positions, const double* w,
                                                   std::span<double> products, std::span<double> squares) {
  const Eigen::Index whole = size - size % kLanes;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double* x = columns.data() + positions[i] * columns.rows();
    __m256d product_low = _mm256_setzero_pd();
    __m256d product_high = _mm256_setzero_pd();
    __m256d square_low = _mm256_setzero_pd();
    __m256d square_high = _mm256_setzero_pd();
    for (Eigen::Index j = 0; j < whole; j += kLanes) {
      const __m256d low = _mm256_loadu_pd(x + j);
      const __m256d high = _mm256_loadu_pd(x + j + 4);
      product_low = _mm256_add_pd(product_low, _mm256_mul_pd(low, _mm256_loadu_pd(w + j)));
      product_high = _mm256_add_pd(product_high, _mm256_mul_pd(high, _mm256_loadu_pd(w + j + 4)));
      square_low = _mm256_add_pd(square_low, _mm256_mul_pd(low, low));
      square_high = _mm256_add_pd(square_high, _mm256_mul_pd(high, high));
    }
    const __m256d product_lanes = _mm256_add_pd(product_low, product_high);
    const __m256d square_lanes = _mm256_add_pd(square_low, square_high);
    double product = (product_lanes[0] + product_lanes[1]) + (product_lanes[2] + product_lanes[3]);
    double square = (square_lanes[0] + square_lanes[1]) + (square_lanes[2] + square_lanes[3]);
    for (Eigen::Index j = whole; j < size; ++j) {
      product += x[j] * w[j];
      square += x[j] * x[j];
    }
    products[i] = product;
    squares[i] = square;
  }
}
#endif

Products products_by([[maybe_unused]] VectorUnits units) {
#if defined(__x86_64__)
  if (may_use_avx2(units)) return products_avx2;
#endif
  return products_portable;
}

}  // namespace

void column_products(const Eigen::MatrixXd& columns, std::span<const std::int64_t> positions,
                     const Eigen::Ref<const Eigen::VectorXd>& w, std::span<double> products, std::span<double> squares,
                     VectorUnits units) {
  UNDERTONE_CHECK(w.size() <= columns.rows());
  UNDERTONE_CHECK(products.size() == positions.size() && squares.size() == positions.size());
  products_by(units)(columns, w.size(), positions, w.data(), products, squares);
}

void weighted_sum(std::span<const double* const> columns, std::span<const double> weights, std::span<double> out,
                  [[maybe_unused]] VectorUnits units) {
  UNDERTONE_CHECK(!columns.empty() && columns.size() == weights.size());
#if defined(__x86_64__)
  if (may_use_avx2(units)) return sum_avx2(columns, weights, out);
#endif
  sum_from(0, columns, weights, out);
}

double inner_product(std::span<const double> x, std::span<const double> y, [[maybe_unused]] VectorUnits units) {
  UNDERTONE_CHECK(x.size() == y.size());
  const auto size = static_cast<Eigen::Index>(x.size());
#if defined(__x86_64__)
  if (may_use_avx2(units)) return product_avx2(x.data(), y.data(), size);
#endif
  return product_portable(x.data(), y.data(), size);
}

}  // namespace undertone
