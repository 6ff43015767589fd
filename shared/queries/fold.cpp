#include "shared/queries/fold.hpp"

#include <cmath>

namespace undertone::queries {

void LatticeFold::add(const std::vector<std::int64_t>& values, std::uint64_t weight) {
  UNDERTONE_CHECK(values.size() == sums_.size());
  UNDERTONE_CHECK(weight >= 1 && weight <= kWeightMax);
  // 2^62 * 2^32 * 2^20 replies stays below 2^127.
  UNDERTONE_CHECK(replies_ < (Eigen::Index{1} << 20));
  for (std::size_t j = 0; j < values.size(); ++j)
    sums_[j] += static_cast<privacy::Int128>(values[j]) * static_cast<privacy::Int128>(weight);
  weight_total_ += weight;
  ++replies_;
}

Eigen::VectorXd LatticeFold::mean() const {
  UNDERTONE_CHECK(replies_ > 0);
  Eigen::VectorXd out(dimension());
  for (std::size_t j = 0; j < sums_.size(); ++j) {
    out[static_cast<Eigen::Index>(j)] =
        std::ldexp(static_cast<double>(sums_[j]) / static_cast<double>(weight_total_), step_log2_);
  }
  return out;
}

}  // namespace undertone::queries
