#include "shared/mechanisms/selection/clamped_sum.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::mechanisms {
namespace {

constexpr double kClampBoundMax = 1e100;
constexpr std::int64_t kClampedScoreMax = std::int64_t{1} << 60U;
/// What is added to a number of magnitude below 2^51 and subtracted again leaves the nearest integer.
constexpr double kToInteger = 0x1.8p52;
/// Records whose sums stay exact in a double, at 2^30 levels.
constexpr std::int64_t kTogetherMax = std::int64_t{1} << 22U;

}  // namespace

ClampLattice::ClampLattice(double bound, int log2_levels, std::int64_t records) noexcept
    : bound_(bound), per_unit_(std::ldexp(1.0 / bound, log2_levels)), log2_levels_(log2_levels), records_(records) {}

Result<ClampLattice> ClampLattice::create(double bound, int log2_levels, std::int64_t records) {
  if (!(bound >= 1.0 / kClampBoundMax && bound <= kClampBoundMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the bound that coordinates are clamped to must be in [{}, {}], got {}",
                             1.0 / kClampBoundMax, kClampBoundMax, bound)};
  }
  if (log2_levels < kLog2LevelsMin || log2_levels > kLog2LevelsMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("a clamp's lattice has 2^{} to 2^{} levels, got 2^{}",
                                                         kLog2LevelsMin, kLog2LevelsMax, log2_levels)};
  }
  if (records < 1 || records > kRecordsMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("from 1 to {} records may be added up, got {}", kRecordsMax, records)};
  }
  return ClampLattice(bound, log2_levels, records);
}

Result<ClampLattice> ClampLattice::finest(double bound, std::int64_t records, std::int64_t score_factor) {
  if (score_factor < 1) {
    return Error{ErrorCode::InvalidArgument, fmt::format("a score factor must be at least 1, got {}", score_factor)};
  }
  const std::int64_t levels_max = kClampedScoreMax / score_factor / std::max<std::int64_t>(records, 1);
  int log2_levels = kLog2LevelsMax;
  while (log2_levels >= kLog2LevelsMin && (std::int64_t{1} << static_cast<unsigned>(log2_levels)) > levels_max) {
    --log2_levels;
  }
  if (log2_levels < kLog2LevelsMin) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("scores of {} records with vertices of {} units leave 60 bits on every lattice", records,
                             score_factor)};
  }
  return create(bound, log2_levels, records);
}

double ClampLattice::step() const noexcept { return std::ldexp(bound_, -log2_levels_); }

ClampUnits ClampLattice::units() const noexcept { return {per_unit_, levels(), records_}; }

ClampedSum::ClampedSum(const ClampUnits& units, Eigen::Index dimension)
    : units_(units),
      vector_(dimension),
      block_(Eigen::ArrayXd::Zero(dimension)),
      sum_(static_cast<std::size_t>(dimension), 0) {
  UNDERTONE_CHECK(dimension >= 1 && units.per_unit > 0.0 && units.levels >= 1 &&
                  units.levels <= std::int64_t{1} << 30U);
}

void ClampedSum::add(const Eigen::Ref<const Eigen::VectorXd>& vector) {
  UNDERTONE_CHECK(static_cast<std::size_t>(vector.size()) == sum_.size());
  ++records_;
  UNDERTONE_CHECK(records_ <= units_.records);
  if ((vector.array() * 0.0).sum() != 0.0) return;  // NaN where some coordinate is not finite
  // A quotient that leaves the range of a double is clamped like any other.
  const auto most = static_cast<double>(units_.levels);
  block_ += (vector.array() * units_.per_unit).min(most).max(-most) + kToInteger - kToInteger;
  if (++together_ == kTogetherMax) flush();
}

void ClampedSum::flush() {
  for (std::size_t i = 0; i < sum_.size(); ++i)
    sum_[i] += static_cast<std::int64_t>(block_[static_cast<Eigen::Index>(i)]);
  block_.setZero();
  together_ = 0;
}

void ClampedSum::add_block(const Eigen::Ref<const Eigen::MatrixXd>& vectors) {
  for (Eigen::Index j = 0; j < vectors.cols(); ++j) add(vectors.col(j));
}

void ClampedSum::add_linear(std::span<const double> factors, const Eigen::MatrixXd& features,
                            std::span<const std::int64_t> positions) {
  UNDERTONE_CHECK(factors.size() == positions.size());
  UNDERTONE_CHECK(features.rows() == vector_.size() || features.rows() + 1 == vector_.size());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (features.rows() < vector_.size()) vector_[features.rows()] = factors[i];
    vector_.head(features.rows()) = factors[i] * features.col(positions[i]);
    add(vector_);
  }
}

void ClampedSum::take(std::span<std::int64_t> out) {
  std::fill(out.begin(), out.end(), 0);
  take_onto(out);
}

void ClampedSum::take_onto(std::span<std::int64_t> sum) {
  UNDERTONE_CHECK(sum.size() == sum_.size());
  flush();
  for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += sum_[j];
  std::fill(sum_.begin(), sum_.end(), 0);
  records_ = 0;
}

}  // namespace undertone::mechanisms
