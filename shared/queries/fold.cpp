#include "shared/queries/fold.hpp"

#include <cmath>

namespace undertone::queries {

namespace {

constexpr std::uint64_t kNarrowWeights = std::uint64_t{1} << 31;  // times 2^31 stays below 2^63

}  // namespace

LatticeFold::LatticeFold(Eigen::Index dimension, int step_log2, ReplyType type)
    : dimension_(dimension), step_log2_(step_log2) {
  if (type == ReplyType::I32) {
    narrow_.assign(static_cast<std::size_t>(dimension), 0);
  } else {
    wide_.assign(static_cast<std::size_t>(dimension), 0);
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
    wide_[j] += static_cast<privacy::Int128>(values[j]) * static_cast<privacy::Int128>(weight);
}

Eigen::VectorXd LatticeFold::mean() const {
  UNDERTONE_CHECK(replies_ > 0);
  Eigen::VectorXd out(dimension());
  for (Eigen::Index j = 0; j < dimension_; ++j) {
    const auto i = static_cast<std::size_t>(j);
    const double sum = wide_.empty() ? static_cast<double>(narrow_[i]) : static_cast<double>(wide_[i]);
    out[j] = std::ldexp(sum / static_cast<double>(weight_total_), step_log2_);
  }
  return out;
}

}  // namespace undertone::queries
