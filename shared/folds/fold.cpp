#include "shared/folds/fold.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/large_memory.hpp"

namespace undertone::folds {

namespace {

constexpr std::uint64_t kNarrowWeights = std::uint64_t{1} << 31;  // times 2^31 stays below 2^63

}  // namespace

double noise_stddev_of_mean(std::vector<NoisePart> parts) {
  double weights = 0.0;
  for (const NoisePart& part : parts) weights += part.weight;  // whole numbers
  std::vector<double> squares;
  for (const NoisePart& part : parts) squares.push_back(part.weight * part.stddev * part.weight * part.stddev);
  std::sort(squares.begin(), squares.end());
  double variance = 0.0;
  for (const double square : squares) variance += square;
  return weights > 0.0 ? std::sqrt(variance) / weights : 0.0;
}

LatticeFold::LatticeFold(Eigen::Index dimension, int step_log2, queries::ReplyType type)
    : dimension_(dimension), step_log2_(step_log2) {
  const auto size = static_cast<std::size_t>(dimension);
  if (type == queries::ReplyType::I32) {
    narrow_.reserve(size);
    expect_much(narrow_.data(), size * sizeof narrow_[0]);
    narrow_.assign(size, 0);
  } else {
    wide_.reserve(size);
    expect_much(wide_.data(), size * sizeof wide_[0]);
    wide_.assign(size, 0);
  }
}

void LatticeFold::widen() {
  wide_.assign(narrow_.begin(), narrow_.end());
  narrow_ = {};
}

void LatticeFold::add(const std::vector<std::int64_t>& values, std::uint64_t weight) {
  UNDERTONE_CHECK(static_cast<Eigen::Index>(values.size()) == dimension_);
  UNDERTONE_CHECK(weight >= 1 && weight <= kWeightMax);
  // 2^62 * 2^32 * 2^20 replies stays below 2^127.
  UNDERTONE_CHECK(replies_ < (Eigen::Index{1} << 20));
  weight_total_ += weight;
  ++replies_;
  if (wide_.empty() && weight_total_ > kNarrowWeights) widen();
  if (wide_.empty()) {
    for (std::size_t j = 0; j < values.size(); ++j) narrow_[j] += values[j] * static_cast<std::int64_t>(weight);
    return;
  }
  for (std::size_t j = 0; j < values.size(); ++j)
    wide_[j] += static_cast<releases::Int128>(values[j]) * static_cast<releases::Int128>(weight);
}

Eigen::VectorXd LatticeFold::mean() const { return over(weight_total_); }

Eigen::VectorXd LatticeFold::scaled_mean(const WholeCohort& cohort) const {
  UNDERTONE_CHECK(static_cast<std::uint64_t>(replies_) <= cohort.silos && weight_total_ <= cohort.weights);
  Eigen::VectorXd out = over(cohort.weights);
  out *= static_cast<double>(cohort.silos) / static_cast<double>(replies_);  // exactly 1 where all answered
  return out;
}

Eigen::VectorXd LatticeFold::over(std::uint64_t weights) const {
  UNDERTONE_CHECK(replies_ > 0);
  Eigen::VectorXd out(dimension());
  expect_much(out.data(), static_cast<std::size_t>(out.size()) * sizeof(double));
  const double step = std::ldexp(1.0, step_log2_);  // a power of two: the product is exact
  const auto total = static_cast<double>(weights);
  for (std::size_t j = 0; j < narrow_.size(); ++j)
    out[static_cast<Eigen::Index>(j)] = static_cast<double>(narrow_[j]) / total * step;
  for (std::size_t j = 0; j < wide_.size(); ++j)
    out[static_cast<Eigen::Index>(j)] = static_cast<double>(wide_[j]) / total * step;
  return out;
}

}  // namespace undertone::folds
