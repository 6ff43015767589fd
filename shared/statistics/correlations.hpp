#pragma once

#include <Eigen/Core>

#include "shared/statistics/stated.hpp"
#include "shared/statistics/vector_moments.hpp"

namespace undertone::statistics {

/// C_jk = M_jk - m_j m_k, plus the noise variance of a mean on the diagonal: unbiased, reported as it is where it is
/// indefinite. [d, d]
[[nodiscard]] Eigen::MatrixXd covariance(const VectorMoments& moments);
/// The standard deviation of its noise, to first order, at the noised moments: [d, d]
[[nodiscard]] Eigen::MatrixXd covariance_noise(const VectorMoments& moments);
/// A covariance with its noise interval; there is none for the population (fourth moments were not asked for).
[[nodiscard]] Stated state_covariance(const VectorMoments& moments, Eigen::Index j, Eigen::Index k,
                                      Confidence confidence);

/// Whether everybody declared the columns to be near-normal: the interval for the population assumes a bivariate normal
/// law and covers 0.82 of the time where ties or skewness are strong.
enum class Shape : std::uint8_t { Unknown, NearNormal };
/// The correlation of two coordinates. Refused unless both variances are above three standard deviations of their
/// noise.
/// @pre j != k, both below d
/// Source: spec statistics 8.
[[nodiscard]] Stated state_correlation(const VectorMoments& moments, Eigen::Index j, Eigen::Index k,
                                       Confidence confidence, Shape shape);
/// The nearest positive semi-definite matrix in Frobenius norm, for reports alone. @param symmetric [d, d]
[[nodiscard]] Eigen::MatrixXd nearest_semidefinite(const Eigen::MatrixXd& symmetric);

}  // namespace undertone::statistics
