#include "shared/data/pca.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>

namespace undertone::data {
namespace {

constexpr Eigen::Index kBlockRecords = 512;

Error refused(const std::string& what) { return {ErrorCode::InvalidArgument, "principal components: " + what}; }

/// Entries that are equal but for rounding count as equal, or rounding would choose the sign.
void fix_sign(Eigen::Ref<Eigen::VectorXd> direction) {
  const double large = (1.0 - 1e-9) * direction.cwiseAbs().maxCoeff();
  const auto* first = std::find_if(direction.data(), direction.data() + direction.size(),
                                   [large](double entry) { return std::abs(entry) >= large; });
  if (*first < 0.0) direction = -direction;
}

/// @param covariance [d, d], of which the lower half is read
Result<PrincipalComponents> decompose(const Eigen::MatrixXd& covariance, const Eigen::Ref<const Eigen::VectorXd>& mean,
                                      Eigen::Index components) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  if (solver.info() != Eigen::Success) return refused("the eigenvalue iteration did not converge");
  PrincipalComponents out{{mean, solver.eigenvectors().rightCols(components).rowwise().reverse()},
                          solver.eigenvalues().tail(components).reverse()};
  for (Eigen::Index j = 0; j < components; ++j) fix_sign(out.directions.col(j));
  return out;
}

Status check_sizes(Eigen::Index features, Eigen::Index components, Eigen::Index components_max) {
  if (features > kPcaFeaturesMax) {
    return Error{ErrorCode::LimitExceeded, fmt::format("principal components: expected at most {} features, found {}",
                                                       kPcaFeaturesMax, features)};
  }
  if (components < 1 || components > components_max)
    return refused(fmt::format("expected 1 to {}, found {} asked for", components_max, components));
  return {};
}

}  // namespace

Result<PrincipalComponents> public_pca(const Eigen::Ref<const Eigen::MatrixXd>& features, Eigen::Index components) {
  const Eigen::Index records = features.cols();
  UNDERTONE_TRY(check_sizes(features.rows(), components, std::min(features.rows(), records - 1)));
  if (!features.allFinite()) return refused("expected finite features");
  const Eigen::VectorXd mean = features.rowwise().mean();
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(features.rows(), features.rows());
  Eigen::MatrixXd centred;
  for (Eigen::Index begin = 0; begin < records; begin += kBlockRecords) {
    centred = features.middleCols(begin, std::min(kBlockRecords, records - begin)).colwise() - mean;
    covariance.selfadjointView<Eigen::Lower>().rankUpdate(centred);
  }
  covariance /= static_cast<double>(records);
  return decompose(covariance, mean, components);
}

Result<PrincipalComponents> noised_pca(const Eigen::Ref<const Eigen::MatrixXd>& second_moment,
                                       const Eigen::Ref<const Eigen::VectorXd>& mean, Eigen::Index components) {
  if (second_moment.rows() != mean.size() || second_moment.cols() != mean.size()) {
    return refused(fmt::format("expected a second moment of {} x {} as the mean has entries, found {} x {}",
                               mean.size(), mean.size(), second_moment.rows(), second_moment.cols()));
  }
  UNDERTONE_TRY(check_sizes(mean.size(), components, mean.size()));
  if (!second_moment.allFinite() || !mean.allFinite()) return refused("expected finite moments");
  if (second_moment != second_moment.transpose()) return refused("expected a symmetric second moment");
  Eigen::MatrixXd covariance = second_moment;
  covariance.noalias() -= mean * mean.transpose();
  return decompose(covariance, mean, components);
}

}  // namespace undertone::data
