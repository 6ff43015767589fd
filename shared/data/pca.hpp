#pragma once

#include <Eigen/Core>

#include "shared/base/result.hpp"
#include "shared/data/projection.hpp"

namespace undertone::data {

/// The larger matrices of moments are refused: their decomposition takes minutes.
inline constexpr Eigen::Index kPcaFeaturesMax = 4096;

/// Leading directions of a table. Computed from private records they are a RELEASE of those records, mean, directions
/// and variances all: take public ones, or `noised_pca` of moments whose noise the ledger was charged for.
/// The origin is the mean, the directions are orthonormal; of each, the first of the largest entries is positive.
struct PrincipalComponents : Projection {
  Eigen::VectorXd variances;  // [k], along the directions, descending; of noised moments they may be negative
};

/// The first principal components of PUBLIC records: mean, and eigenvectors of the covariance (divided by n).
/// @param features [d, n], finite
/// @param components 1 to min(d, n - 1)
[[nodiscard]] Result<PrincipalComponents> public_pca(const Eigen::Ref<const Eigen::MatrixXd>& features,
                                                     Eigen::Index components);

/// The same from moments that are already noised and charged; what is done here is post-processing of that release.
/// Noise of the size of a gap between variances turns the directions beyond it.
/// @param second_moment [d, d], the mean of x x^T with noise, exactly symmetric: symmetrise it first
/// @param mean [d], the mean of x with noise
/// @param components 1 to d
[[nodiscard]] Result<PrincipalComponents> noised_pca(const Eigen::Ref<const Eigen::MatrixXd>& second_moment,
                                                     const Eigen::Ref<const Eigen::VectorXd>& mean,
                                                     Eigen::Index components);

}  // namespace undertone::data
