#pragma once

#include <Eigen/Core>

#include "shared/features/score_moments.hpp"
#include "shared/statistics/regression.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// Noised sums of a logistic regression's score moments at a point.
struct ScoresAt {
  Eigen::VectorXd point;  // theta, in units of x: the coefficients times the record norm, [p], the constant last
  ScoreSums sums;
  double stddev = 0.0;       // sigma >= 0 of each number of the sums
  double record_norm = 1.0;  // X
};

/// Where the next question is asked: a Newton step with a ridge that keeps the smallest eigenvalue of the information
/// above .7 sigma, no longer than 1.75 X, and the point within 4.6 X. These bounds are of the iteration alone; the
/// source has 3 and 8 for records of norm sqrt(3). [p]
[[nodiscard]] Eigen::VectorXd next_score_point(const ScoresAt& at);
/// Whether the point stands on the iteration's bound, where a fit is refused.
[[nodiscard]] bool on_score_bound(const Eigen::Ref<const Eigen::VectorXd>& point, double record_norm);

/// theta + H^-1 g by the last sums, without a ridge, and what is known of its errors, first order in noise and records.
struct ScoreFit {
  Carries carries = Carries::Nothing;
  double rho = 0.0;                 // smallest eigenvalue of H over (s2 sqrt(2 p)); infinite without noise
  Eigen::VectorXd coefficients;     // in units of x: [p]
  Eigen::MatrixXd inverse;          // H^-1: [p, p], the model's covariance
  Eigen::MatrixXd score_noise;      // K: of the noise in g and, as far as the last step was long, in H: [p, p]
  Eigen::MatrixXd meat;             // M: [p, p]
  double stddev = 0.0;              // sigma, of M's numbers, too
  double widening = 0.0;            // of the constant's interval, for the curvature that the last step left

  /// Of a'theta, by the noise: a' H^-1 K H^-1 a. @param a [p]
  [[nodiscard]] double noise_variance(const Eigen::Ref<const Eigen::VectorXd>& a) const;
  /// The same by the records: that of the sandwich H^-1 M H^-1, raised by one deviation of its noise, and at least 0.
  [[nodiscard]] double robust_variance(const Eigen::Ref<const Eigen::VectorXd>& a) const;
};
/// Nothing is carried where rho < 3, where H is singular, or where the point stands on the iteration's bound; barely
/// below 6. @param positive_share the noised share of records with y = 1
/// Source: spec survival 6.3, rows 36 to 38.
[[nodiscard]] ScoreFit fit_scores(const ScoresAt& at, double positive_share);

/// a'theta with both intervals: that for these records has the noise alone. @param a [p]
[[nodiscard]] Stated state_combination(const ScoreFit& fit, const Eigen::Ref<const Eigen::VectorXd>& a,
                                       Confidence confidence);

}  // namespace undertone::statistics
