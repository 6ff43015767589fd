#include "shared/features/score_moments.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

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

/// @param information of h = information x x' @param factor kappa_2
void put_moments(double residual, double information, double factor,
                 const Eigen::Ref<const Eigen::VectorXd>& covariates, Eigen::Ref<Eigen::VectorXd> out) {
  const Eigen::Index p = covariates.size();
  UNDERTONE_CHECK(out.size() == score_numbers(p));
  const double length = covariates.stableNorm();
  if (!covariates.allFinite() || !std::isfinite(length)) {  // a norm may lose what is no number
    out.setZero();
    return;
  }
  const double cut = length > 1.0 ? 1.0 / length : 1.0;
  const double of_meat = residual * residual * kRootHalf;
  const double of_information = factor * information;
  const Eigen::Index half = p * (p + 1) / 2;
  Eigen::Index at = p;
  for (Eigen::Index j = 0; j < p; ++j) {
    const double own = cut * covariates[j];
    out[j] = residual * own;
    for (Eigen::Index k = 0; k <= j; ++k, ++at) {
      const double product = own * (cut * covariates[k]) * (k < j ? std::numbers::sqrt2 : 1.0);
      out[at] = of_meat * product;
      out[at + half] = of_information * product;
    }
  }
}

}  // namespace

double ExposureFeature::of(double number) const noexcept {
  const double share = 0.5 * (number + 1.0);
  return share >= 0.0 ? least + (1.0 - least) * std::min(share, 1.0) : std::isnan(share) ? 0.0 : least;
}

double score_distance(ScoreLink link) noexcept { return std::sqrt(score_distance_squared(link)); }

void score_moments(double residual, const Eigen::Ref<const Eigen::VectorXd>& covariates,
                   Eigen::Ref<Eigen::VectorXd> out) {
  const double r = std::isnan(residual) ? 0.0 : std::clamp(residual, -1.0, 1.0);
  put_moments(r, std::abs(r) * (1.0 - std::abs(r)), information_factor(ScoreLink::Logistic), covariates,
              std::move(out));
}

void log_score_moments(double share, double mean, const Eigen::Ref<const Eigen::VectorXd>& covariates,
                       Eigen::Ref<Eigen::VectorXd> out) {
  if (std::isnan(share) || std::isnan(mean)) {
    out.setZero();
    return;
  }
  const double m = std::clamp(mean, 0.0, 1.0);
  put_moments(std::clamp(share, 0.0, 1.0) - m, m < 1.0 ? m : 0.0, information_factor(ScoreLink::Log), covariates,
              std::move(out));
}

ScoreSums score_sums(const Eigen::Ref<const Eigen::VectorXd>& totals, Eigen::Index covariates, ScoreLink link) {
  UNDERTONE_CHECK(totals.size() == score_numbers(covariates));
  const Eigen::Index half = covariates * (covariates + 1) / 2;
  return {totals.head(covariates), matrix_of(totals.segment(covariates, half), covariates, kRootHalf),
          matrix_of(totals.tail(half), covariates, information_factor(link))};
}

}  // namespace undertone::statistics
