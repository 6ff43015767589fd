#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <limits>
#include <string_view>

#include "shared/features/score_moments.hpp"
#include "shared/statistics/regression.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// Noised sums of a regression's score moments at a point.
struct ScoresAt {
  Eigen::VectorXd point;  // theta, in units of x: the coefficients times the record norm, [p], the constant last
  ScoreSums sums;
  double stddev = 0.0;       // sigma >= 0 of each number of the sums
  double record_norm = 1.0;  // X
  /// How long the step to this point was: from it follows how much the next one leaves. Infinite: there was none.
  double moved_before = std::numeric_limits<double>::infinity();
  ScoreLink link = ScoreLink::Logistic;
};

/// Where the next question is asked: a Newton step with a ridge that keeps the smallest eigenvalue of the information
/// above .7 sigma, no longer than 1.75 X, and the point within 4.6 X. These bounds are of the iteration alone. The
/// source has 3 and 8 in units of theta, for records of norm sqrt(3): here they grow with X, as theta does. [p]
[[nodiscard]] Eigen::VectorXd next_score_point(const ScoresAt& at);
/// Whether the point stands on the iteration's bound, where a fit is refused.
[[nodiscard]] bool on_score_bound(const Eigen::Ref<const Eigen::VectorXd>& point, double record_norm);

/// Why a fit states nothing.
enum class ScoreRefusal : std::uint8_t {
  None,
  Information,  // rho is too small
  Bound,        // the point stands on the iteration's bound
  Convergence   // the last step leaves more than its own error
};

/// theta + H^-1 g by the last sums, without a ridge, and what is known of its errors, first order in noise and records.
/// Newton's method squares the error at each step, so that after steps of the lengths m and then v about v (v / m)^2 is
/// left: every interval is wider by that. The source widens the constant's alone, and with strong effects its slopes
/// cover .57 to .81 (coefficients 4 and -2, 10,000 records, epsilon 4; measured).
struct ScoreFit {
  ScoreRefusal refusal = ScoreRefusal::None;
  Carries carries = Carries::Nothing;
  double rho = 0.0;              // smallest eigenvalue of H over (s2 sqrt(2 p)); infinite without noise
  Eigen::VectorXd coefficients;  // in units of x: [p]
  Eigen::MatrixXd inverse;       // H^-1: [p, p], the model's covariance
  Eigen::MatrixXd score_noise;   // K: of the noise in g and, as far as the last step was long, in H: [p, p]
  Eigen::MatrixXd meat;          // M: [p, p]
  double stddev = 0.0;           // sigma, of M's numbers, too
  double widening = 0.0;         // of the constant's interval, for the curvature that the last step left
  Eigen::VectorXd moved;         // H^-1 g, the last step: [p]
  double left = 0.0;             // this part of it is about what a further step would be, in [0, 1]

  /// This is the variance of a'theta by the noise: a' H^-1 K H^-1 a. @param a [p]
  [[nodiscard]] double noise_variance(const Eigen::Ref<const Eigen::VectorXd>& a) const;
  /// This is its variance by the records: that of the sandwich H^-1 M H^-1, raised by one deviation of its noise, and
  /// at least 0.
  [[nodiscard]] double robust_variance(const Eigen::Ref<const Eigen::VectorXd>& a) const;
  /// An interval of a'theta is so much wider on either side, for what the last step leaves.
  [[nodiscard]] double remainder(const Eigen::Ref<const Eigen::VectorXd>& a) const;
};
/// Nothing is carried where rho < 3, where H is singular, where the point stands on the iteration's bound, or where the
/// remainder of a coefficient is more than three times its half-width without it, as of covariates that separate the
/// label; barely below a rho of 6. @param positive_share the noised share of records with y = 1; the
/// log link does not look at it
/// Source: spec survival 6.3, rows 36 to 38; the remainder is our own.
[[nodiscard]] ScoreFit fit_scores(const ScoresAt& at, double positive_share);

/// Why nothing is stated, for people; empty where something is.
[[nodiscard]] std::string_view to_string(ScoreRefusal refusal) noexcept;
/// a'theta with both intervals: that for these records has the noise alone. @param a [p]
[[nodiscard]] Stated state_combination(const ScoreFit& fit, const Eigen::Ref<const Eigen::VectorXd>& a,
                                       Confidence confidence);

}  // namespace undertone::statistics
