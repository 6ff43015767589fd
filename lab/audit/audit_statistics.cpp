#include "lab/audit/audit_statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

namespace undertone::lab {
namespace {

constexpr double kEpsilonMax = 100.0;

/// ln((high - delta) / low) where it is positive.
double ratio(double high, double low, double delta) {
  if (!(high - delta > low) || !(low > 0.0)) return 0.0;
  return std::log((high - delta) / low);
}

}  // namespace

double clopper_pearson_lower(std::int64_t hits, std::int64_t trials, double error) {
  UNDERTONE_CHECK(hits >= 0 && hits <= trials && trials > 0 && error > 0.0 && error < 1.0);
  if (hits == 0) return 0.0;
  return boost::math::ibeta_inv(static_cast<double>(hits), static_cast<double>(trials - hits + 1), error);
}

double clopper_pearson_upper(std::int64_t hits, std::int64_t trials, double error) {
  UNDERTONE_CHECK(hits >= 0 && hits <= trials && trials > 0 && error > 0.0 && error < 1.0);
  if (hits == trials) return 1.0;
  return boost::math::ibetac_inv(static_cast<double>(hits + 1), static_cast<double>(trials - hits), error);
}

double epsilon_lower_bound(const TestCounts& counts, double delta, double error) {
  const double each = 0.25 * error;  // two bounds for the event, two for its complement
  const double tpr_low = clopper_pearson_lower(counts.true_positives, counts.positives, each);
  const double tpr_high = clopper_pearson_upper(counts.true_positives, counts.positives, each);
  const double fpr_low = clopper_pearson_lower(counts.false_positives, counts.negatives, each);
  const double fpr_high = clopper_pearson_upper(counts.false_positives, counts.negatives, each);
  return std::max(ratio(tpr_low, fpr_high, delta), ratio(1.0 - fpr_high, 1.0 - tpr_low, delta) * (tpr_high > fpr_low));
}

double one_run_p_value(std::int64_t canaries, std::int64_t guesses, std::int64_t correct, double epsilon,
                       double delta) {
  UNDERTONE_CHECK(correct >= 0 && correct <= guesses && guesses <= canaries && canaries > 0);
  if (correct == 0) return 1.0;
  const boost::math::binomial_distribution<double> hits(static_cast<double>(guesses), 1.0 / (1.0 + std::exp(-epsilon)));
  const double beta = boost::math::cdf(boost::math::complement(hits, static_cast<double>(correct - 1)));
  double alpha = 0.0;
  double sum = 0.0;  // P[correct - i <= hits < correct]
  for (std::int64_t i = 1; i <= correct; ++i) {
    sum += boost::math::pdf(hits, static_cast<double>(correct - i));
    alpha = std::max(alpha, sum / static_cast<double>(i));
  }
  return std::min(1.0, beta + 2.0 * static_cast<double>(canaries) * delta * alpha);
}

double one_run_epsilon(std::int64_t canaries, std::int64_t guesses, std::int64_t correct, double delta, double error) {
  if (one_run_p_value(canaries, guesses, correct, 0.0, delta) >= error) return 0.0;
  double low = 0.0;
  double high = kEpsilonMax;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (one_run_p_value(canaries, guesses, correct, middle, delta) < error ? low : high) = middle;
  }
  return low;
}

}  // namespace undertone::lab
