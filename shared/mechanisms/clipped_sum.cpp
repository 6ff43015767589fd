#include "shared/mechanisms/clipped_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "shared/base/result.hpp"

namespace undertone::mechanisms {
namespace {

constexpr std::size_t kTogether = 16;  // records, so that none waits for the one before it
constexpr Eigen::Index kDimensionMax = Eigen::Index{1} << 30;
constexpr Eigen::Index kLanes = 8;
using Numbers = std::array<double, kTogether>;

/// One record of a few.
struct Scaled {
  double scale = 0.0;
  const double* x = nullptr;  // [size], of numbers with |scale x_j| < 2^52
  double* block = nullptr;    // [size]
};
using ScaledRecords = std::array<Scaled, kTogether>;

/// Adds trunc(scale_i x_i) to its block; squares_i = the computed sum of their squares, in whatever order. The work is
/// the same for all numbers.
using Quantise = void (*)(std::span<const Scaled> records, Eigen::Index size, Numbers& squares);

void quantise_portable(std::span<const Scaled> records, Eigen::Index size, Numbers& squares) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& [scale, x, block] = records[i];
    double sum = 0.0;
    for (Eigen::Index j = 0; j < size; ++j) {
      const auto number = static_cast<double>(static_cast<std::int64_t>(scale * x[j]));
      block[j] += number;
      sum += number * number;
    }
    squares[i] = sum;
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void quantise_avx2(std::span<const Scaled> records, Eigen::Index size,
                                                   Numbers& squares) {
  constexpr int kTowardsZero = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
  const Eigen::Index whole = size - size % kLanes;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const double* const x = records[i].x;
    double* const block = records[i].block;
    const __m256d scale = _mm256_set1_pd(records[i].scale);
    __m256d even = _mm256_setzero_pd();
    __m256d odd = _mm256_setzero_pd();
    for (Eigen::Index j = 0; j < whole; j += kLanes) {
      const __m256d first = _mm256_round_pd(_mm256_mul_pd(scale, _mm256_loadu_pd(x + j)), kTowardsZero);
      const __m256d second = _mm256_round_pd(_mm256_mul_pd(scale, _mm256_loadu_pd(x + j + 4)), kTowardsZero);
      _mm256_storeu_pd(block + j, _mm256_add_pd(_mm256_loadu_pd(block + j), first));
      _mm256_storeu_pd(block + j + 4, _mm256_add_pd(_mm256_loadu_pd(block + j + 4), second));
      even = _mm256_add_pd(even, _mm256_mul_pd(first, first));
      odd = _mm256_add_pd(odd, _mm256_mul_pd(second, second));
    }
    const __m256d both = _mm256_add_pd(even, odd);
    double sum = (both[0] + both[1]) + (both[2] + both[3]);
    for (Eigen::Index j = whole; j < size; ++j) {
      const __m128d number = _mm_set_sd(records[i].scale * x[j]);
      const double whole_number = _mm_cvtsd_f64(_mm_round_sd(number, number, kTowardsZero));
      block[j] += whole_number;
      sum += whole_number * whole_number;
    }
    squares[i] = sum;
  }
}
#endif

Quantise quantise_by([[maybe_unused]] VectorUnits units) {
#if defined(__x86_64__)
  if (may_use_avx2(units)) return quantise_avx2;
#endif
  return quantise_portable;
}

}  // namespace

ClippedSum::ClippedSum(const Lattice& lattice, Eigen::Index dimension, VectorUnits units)
    : vector_units_(units),
      vector_(dimension),
      zeros_(Eigen::VectorXd::Zero(dimension)),
      block_(dimension),
      sum_(static_cast<std::size_t>(dimension), 0) {
  UNDERTONE_CHECK(dimension < kDimensionMax);
  restart(lattice);
}

void ClippedSum::restart(const Lattice& lattice) {
  UNDERTONE_CHECK(lattice.clip > 0 && lattice.clip < (std::int64_t{1} << 50));
  lattice_ = lattice;
  const auto clip = static_cast<double>(lattice.clip);
  // A sum of d computed squares is too small by a factor of at most 1 + (d + 1) 2^-53 per rounding in any order, and
  // clip^2 is rounded once: below this value the true sum is at most clip^2. Records are scaled to a norm of clip (1 -
  // 2^-20), as computed, so that none of fewer than 2^30 numbers is above it.
  square_max_ = clip * clip * (1.0 - (static_cast<double>(vector_.size()) + 8.0) * 0x1p-52);
  per_unit_ = 1.0 / lattice.step;
  clip_asked_ = clip * (1.0 - 0x1p-20);
  records_max_ = std::max<std::int64_t>(1, (std::int64_t{1} << 52) / lattice.clip);
  records_ = 0;
  block_.setZero();
  std::fill(sum_.begin(), sum_.end(), 0);
  spare_block_.setZero();
  std::fill(spare_sum_.begin(), spare_sum_.end(), 0);
}

void ClippedSum::add(std::span<const double> factors, std::span<const double> norms_squared,
                     const Eigen::MatrixXd& features, std::span<const std::int64_t> positions) {
  add_some(factors.size(), factors, norms_squared, features, positions);
}

void ClippedSum::add_first(std::size_t counted, std::span<const double> factors, std::span<const double> norms_squared,
                           const Eigen::MatrixXd& features, std::span<const std::int64_t> positions) {
  UNDERTONE_CHECK(counted <= factors.size());
  if (spare_block_.size() == 0) {
    spare_block_ = Eigen::VectorXd::Zero(block_.size());
    spare_sum_.assign(sum_.size(), 0);
  }
  add_some(counted, factors, norms_squared, features, positions);
}

void ClippedSum::add_some(std::size_t counted, std::span<const double> factors, std::span<const double> norms_squared,
                          const Eigen::MatrixXd& features, std::span<const std::int64_t> positions) {
  UNDERTONE_CHECK(factors.size() == positions.size() && norms_squared.size() == positions.size());
  UNDERTONE_CHECK(features.rows() == vector_.size() || features.rows() + 1 == vector_.size());
  while (!factors.empty()) {
    const std::size_t count = std::min({kTogether, factors.size(), static_cast<std::size_t>(records_max_ - records_)});
    add_together(std::min(count, counted), factors.first(count), norms_squared.first(count), features,
                 positions.first(count));
    factors = factors.subspan(count);
    norms_squared = norms_squared.subspan(count);
    positions = positions.subspan(count);
    counted -= std::min(count, counted);
  }
}

void ClippedSum::add_together(std::size_t counted, std::span<const double> factors,
                              std::span<const double> norms_squared, const Eigen::MatrixXd& features,
                              std::span<const std::int64_t> positions) {
  const Eigen::Index size = features.rows();
  const bool constant = size + 1 == vector_.size();
  Numbers squares{};
  ScaledRecords records{};
  std::array<bool, kTogether> in_range{};
  for (std::size_t i = 0; i < factors.size(); ++i) {
    // Zeros stand in for what is not looked at: its numbers may be anything.
    records[i] = {0.0, zeros_.data(), i < counted ? block_.data() : spare_block_.data()};
    const double square = norms_squared[i];
    const double wanted = std::abs(factors[i]) * per_unit_;
    // An x whose squares leave the range of a double goes the slow way, which scales it first.
    in_range[i] = wanted < 0x1p400 && square > 0x1p-400 && square < 0x1p400;
    if (!in_range[i] || wanted == 0.0) continue;
    const bool fits = wanted * wanted * square <= clip_asked_ * clip_asked_;
    records[i].scale = std::copysign(fits ? wanted : clip_asked_ / std::sqrt(square), factors[i]);
    records[i].x = features.col(positions[i]).data();
  }
  quantise_by(vector_units_)(std::span(records).first(factors.size()), size, squares);
  records_ += static_cast<std::int64_t>(factors.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double last = constant ? std::trunc(records[i].scale) : 0.0;
    if (constant) records[i].block[size] += last;
    UNDERTONE_CHECK(squares[i] + last * last <= square_max_);
    if (!in_range[i]) add_slowly(factors[i], features.col(positions[i]), i < counted ? sum_ : spare_sum_);
  }
  if (records_ == records_max_) flush();
}

void ClippedSum::add_slowly(double a, const Eigen::Ref<const Eigen::VectorXd>& x, std::vector<std::int64_t>& sum) {
  if (x.size() != vector_.size()) vector_[x.size()] = a;
  vector_.head(x.size()) = a * x;
  add_clipped(vector_, lattice_, sum);
}

void ClippedSum::flush() {
  for (std::size_t j = 0; j < sum_.size(); ++j) {
    sum_[j] += static_cast<std::int64_t>(block_[static_cast<Eigen::Index>(j)]);
  }
  block_.setZero();
  spare_block_.setZero();
  records_ = 0;
}

void ClippedSum::take(std::span<std::int64_t> out) {
  UNDERTONE_CHECK(out.size() == sum_.size());
  flush();
  std::copy(sum_.begin(), sum_.end(), out.begin());
  std::fill(sum_.begin(), sum_.end(), 0);
  std::fill(spare_sum_.begin(), spare_sum_.end(), 0);
}

}  // namespace undertone::mechanisms
