#include "shared/features/score_moments.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "shared/base/result.hpp"

namespace undertone::statistics {
namespace {

constexpr double kRootHalf = 1.0 / std::numbers::sqrt2;

/// [p, p] of the numbers of svec, divided by a factor.
Eigen::MatrixXd matrix_of(const Eigen::Ref<const Eigen::VectorXd>& numbers, Eigen::Index size, double factor) {
  Eigen::MatrixXd out(size, size);
  Eigen::Index at = 0;
  for (Eigen::Index j = 0; j < size; ++j) {
    for (Eigen::Index k = 0; k < j; ++k, ++at) out(j, k) = out(k, j) = numbers[at] * kRootHalf / factor;
    out(j, j) = numbers[at++] / factor;
  }
  return out;
}

}  // namespace

void score_moments(double residual, const Eigen::Ref<const Eigen::VectorXd>& covariates,
                   Eigen::Ref<Eigen::VectorXd> out) {
  const Eigen::Index p = covariates.size();
  UNDERTONE_CHECK(out.size() == score_numbers(p));
  const double length = covariates.stableNorm();
  if (!std::isfinite(length)) {
    out.setZero();
    return;
  }
  const double cut = length > 1.0 ? 1.0 / length : 1.0;
  const double r = std::isnan(residual) ? 0.0 : std::clamp(residual, -1.0, 1.0);
  const double of_meat = r * r * kRootHalf;
  const double of_information = kInformationFactor * std::abs(r) * (1.0 - std::abs(r));
  const Eigen::Index half = p * (p + 1) / 2;
  Eigen::Index at = p;
  for (Eigen::Index j = 0; j < p; ++j) {
    const double own = cut * covariates[j];
    out[j] = r * own;
    for (Eigen::Index k = 0; k <= j; ++k, ++at) {
      const double product = own * (cut * covariates[k]) * (k < j ? std::numbers::sqrt2 : 1.0);
      out[at] = of_meat * product;
      out[at + half] = of_information * product;
    }
  }
}

ScoreSums score_sums(const Eigen::Ref<const Eigen::VectorXd>& totals, Eigen::Index covariates) {
  UNDERTONE_CHECK(totals.size() == score_numbers(covariates));
  const Eigen::Index half = covariates * (covariates + 1) / 2;
  return {totals.head(covariates), matrix_of(totals.segment(covariates, half), covariates, kRootHalf),
          matrix_of(totals.tail(half), covariates, kInformationFactor)};
}

}  // namespace undertone::statistics
