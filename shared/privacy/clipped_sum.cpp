#include "shared/privacy/clipped_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace undertone::privacy {
namespace {

/// out_j = trunc(scale x_j), added to block_j, while `next` is fetched. @return the computed sum of their squares, in
/// whatever order @pre |scale x_j| < 2^52
using Quantise = double (*)(double scale, const double* x, Eigen::Index size, double* out, double* block,
                            const double* next);

double quantise_portable(double scale, const double* x, Eigen::Index size, double* out, double* block,
                         const double* /*next*/) {
  double squares = 0.0;
  for (Eigen::Index j = 0; j < size; ++j) {
    out[j] = static_cast<double>(static_cast<std::int64_t>(scale * x[j]));
    block[j] += out[j];
    squares += out[j] * out[j];
  }
  return squares;
}

constexpr Eigen::Index kLanes = 8;

/// The sum of squares in kLanes interleaved sums, so that it is one number for every vector unit.
using SquaredNorm = double (*)(const double* x, Eigen::Index size);

double of_lanes(const std::array<double, kLanes>& lanes, const double* x, Eigen::Index from, Eigen::Index size) {
  double sum = ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
  for (Eigen::Index j = from; j < size; ++j) sum += x[j] * x[j];
  return sum;
}

double squared_norm_portable(const double* x, Eigen::Index size) {
  std::array<double, kLanes> lanes{};
  const Eigen::Index whole = size - size % kLanes;
  for (Eigen::Index j = 0; j < whole; j += kLanes) {
    for (Eigen::Index lane = 0; lane < kLanes; ++lane)
      lanes[static_cast<std::size_t>(lane)] += x[j + lane] * x[j + lane];
  }
  return of_lanes(lanes, x, whole, size);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) double squared_norm_avx2(const double* x, Eigen::Index size) {
  __m256d low = _mm256_setzero_pd();
  __m256d high = _mm256_setzero_pd();
  const Eigen::Index whole = size - size % kLanes;
  for (Eigen::Index j = 0; j < whole; j += kLanes) {
    const __m256d first = _mm256_loadu_pd(x + j);
    const __m256d second = _mm256_loadu_pd(x + j + 4);
    low = _mm256_add_pd(low, _mm256_mul_pd(first, first));
    high = _mm256_add_pd(high, _mm256_mul_pd(second, second));
  }
  std::array<double, kLanes> lanes{};
  _mm256_storeu_pd(lanes.data(), low);
  _mm256_storeu_pd(lanes.data() + 4, high);
  return of_lanes(lanes, x, whole, size);
}

__attribute__((target("avx2"))) double quantise_avx2(double scale, const double* x, Eigen::Index size, double* out,
                                                     double* block, const double* next) {
  const __m256d factor = _mm256_set1_pd(scale);
  __m256d even = _mm256_setzero_pd();
  __m256d odd = _mm256_setzero_pd();
  Eigen::Index j = 0;
  for (; j + 8 <= size; j += 8) {
    if (next != nullptr) _mm_prefetch(next + j, _MM_HINT_T0);
    const __m256d first =
        _mm256_round_pd(_mm256_mul_pd(factor, _mm256_loadu_pd(x + j)), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m256d second =
        _mm256_round_pd(_mm256_mul_pd(factor, _mm256_loadu_pd(x + j + 4)), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    _mm256_storeu_pd(out + j, first);
    _mm256_storeu_pd(out + j + 4, second);
    _mm256_storeu_pd(block + j, _mm256_add_pd(_mm256_loadu_pd(block + j), first));
    _mm256_storeu_pd(block + j + 4, _mm256_add_pd(_mm256_loadu_pd(block + j + 4), second));
    even = _mm256_add_pd(even, _mm256_mul_pd(first, first));
    odd = _mm256_add_pd(odd, _mm256_mul_pd(second, second));
  }
  const __m256d both = _mm256_add_pd(even, odd);
  const double squares = both[0] + both[1] + both[2] + both[3];
  return squares + quantise_portable(scale, x + j, size - j, out + j, block + j, nullptr);
}
#endif

struct Kernels {
  SquaredNorm squared_norm = squared_norm_portable;
  Quantise quantise = quantise_portable;
};

Kernels fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) return {squared_norm_avx2, quantise_avx2};
#endif
  return {};
}

}  // namespace

ClippedSum::ClippedSum(const Lattice& lattice, Eigen::Index dimension)
    : vector_(dimension), block_(dimension), sum_(static_cast<std::size_t>(dimension), 0) {
  restart(lattice);
}

void ClippedSum::restart(const Lattice& lattice) {
  UNDERTONE_CHECK(lattice.clip > 0 && lattice.clip < (std::int64_t{1} << 50));
  lattice_ = lattice;
  const auto clip = static_cast<double>(lattice.clip);
  // A sum of d computed squares is too small by a factor of at most 1 + (d + 1) 2^-53 per rounding in any order, and
  // clip^2 is rounded once: below this value the true sum is at most clip^2.
  square_max_ = clip * clip * (1.0 - (static_cast<double>(vector_.size()) + 8.0) * 0x1p-52);
  records_max_ = std::max<std::int64_t>(1, (std::int64_t{1} << 52) / lattice.clip);
  records_ = 0;
  block_.setZero();
  std::fill(sum_.begin(), sum_.end(), 0);
}

void ClippedSum::add(double a, const Eigen::Ref<const Eigen::VectorXd>& x, const double* next) {
  static const Kernels kernels = fastest();
  const Eigen::Index size = x.size();
  const bool constant = size + 1 == vector_.size();
  UNDERTONE_CHECK(constant || size == vector_.size());
  const double norm = std::sqrt(kernels.squared_norm(x.data(), size) + (constant ? 1.0 : 0.0));
  const double clip_units = static_cast<double>(lattice_.clip) * (1.0 - 0x1p-20);
  const double wanted = std::abs(a) / lattice_.step;
  // An x whose squares leave the range of a double goes the slow way, which scales it first.
  bool proven = std::isfinite(wanted) && norm > 0x1p-400 && norm < 0x1p400;
  if (proven) {
    const double scale = std::copysign(wanted * norm <= clip_units ? wanted : clip_units / norm, a);
    double squares = kernels.quantise(scale, x.data(), size, vector_.data(), block_.data(), next);
    if (constant) {
      vector_[size] = std::trunc(scale);
      block_[size] += vector_[size];
      squares += vector_[size] * vector_[size];
    }
    proven = squares <= square_max_;
    if (!proven) block_ -= vector_;  // exactly: all are integers below 2^53
  }
  if (!proven) {
    if (constant) vector_[size] = a;
    vector_.head(size) = a * x;
    flush();
    add_clipped(vector_, lattice_, sum_);
    return;
  }
  if (++records_ == records_max_) flush();
}

void ClippedSum::flush() {
  for (std::size_t j = 0; j < sum_.size(); ++j) {
    sum_[j] += static_cast<std::int64_t>(block_[static_cast<Eigen::Index>(j)]);
  }
  block_.setZero();
  records_ = 0;
}

void ClippedSum::take(std::span<std::int64_t> out) {
  UNDERTONE_CHECK(out.size() == sum_.size());
  flush();
  std::copy(sum_.begin(), sum_.end(), out.begin());
  std::fill(sum_.begin(), sum_.end(), 0);
}

}  // namespace undertone::privacy
