#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/statistics/stated.hpp"
#include "shared/statistics/vector_moments.hpp"

namespace undertone::statistics {

/// Noised sums of a linear regression of y on (1, x): A = [n, sum x'; sum x, sum x x'], b = (sum y, sum x y).
struct RegressionMoments {
  std::int64_t records = 0;
  Eigen::MatrixXd gram;        // A [p, p], p = d + 1
  Eigen::VectorXd right;       // b [p]
  double response_square = 0;  // sum y^2
  double first_stddev = 0.0;   // s1, of sums of x and y
  double cross_stddev = 0.0;   // s2, of cross products; sqrt(2) s2 of squares
};
/// @param predictors distinct coordinates, at least one @param response another one
/// @return an error where the coordinates are not so, or there are not more records than coefficients
[[nodiscard]] Result<RegressionMoments> regression_moments(const VectorMoments& moments,
                                                           const std::vector<Eigen::Index>& predictors,
                                                           Eigen::Index response);

/// What a noised moment matrix carries. rho = smallest eigenvalue of the centred Gram matrix / (s2 sqrt(2 d)).
enum class Carries : std::uint8_t {
  Nothing,  // rho < 2: no coefficient is stated
  Barely,   // 2 <= rho < 4: stated and flagged
  Enough
};
struct Regression {
  Carries carries = Carries::Nothing;
  double rho = 0.0;
  Eigen::VectorXd coefficients;      // [p], intercept first; empty where nothing is carried, with the covariances
  Eigen::MatrixXd noise_covariance;  // A^-1 K A^-1 [p, p]
  Eigen::MatrixXd covariance;        // A^-1 K A^-1 + tau^2 A^-1 [p, p]
  double residual_variance = 0.0;    // unraised; may be negative
  double raised_variance = 0.0;      // tau^2: plus one sd of its noise, floored at 0
};
/// beta = A^-1 b, first order in the noise. Strong heteroscedasticity is outside the standard errors.
/// Source: spec statistics 9.
[[nodiscard]] Regression regress(const RegressionMoments& moments);
/// A column's affine map to [-1, 1]: u = (x - centre) / half_range.
struct Scaling {
  double centre = 0.0;
  double half_range = 1.0;  // > 0
};
/// The same coefficients for numbers in the units of their columns. @param predictors [p - 1]
[[nodiscard]] Regression in_column_units(Regression regression, const std::vector<Scaling>& predictors,
                                         Scaling response);
/// The coefficients with both intervals, intercept first: [p], refused ones without a value.
/// @param coefficients how many there would be: p
[[nodiscard]] std::vector<Stated> state_coefficients(const Regression& regression, Eigen::Index coefficients,
                                                     Confidence confidence);

/// Anderson and Rubin's statistic of the hypothesis that these are the coefficients: chi-square with p degrees of
/// freedom, honest at every rho. @param coefficients [p]
[[nodiscard]] double anderson_rubin(const RegressionMoments& moments, const Eigen::VectorXd& coefficients);
/// Whether a confidence region holds these coefficients: the statistic is at most the chi-square quantile.
[[nodiscard]] bool region_holds(const RegressionMoments& moments, const Eigen::VectorXd& coefficients,
                                Confidence confidence);
/// Coefficients for prediction alone, without intervals, where rho < 4: a ridge of (2 s2 sqrt(2 d) - smallest
/// eigenvalue)+ on the centred Gram matrix. [p]
[[nodiscard]] Eigen::VectorXd ridge_for_prediction(const RegressionMoments& moments);

}  // namespace undertone::statistics
