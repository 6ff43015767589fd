#include "shared/data/standardisation.hpp"

#include <cmath>

namespace undertone::data {

Result<Standardisation> Standardisation::create(const Eigen::VectorXd& mean, const Eigen::VectorXd& scale) {
  if (mean.size() != scale.size()) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("standardisation: expected as many scales as means, found {} and {}", scale.size(), mean.size())};
  }
  for (Eigen::Index i = 0; i < mean.size(); ++i) {
    if (!(std::isfinite(mean[i]) && std::isfinite(scale[i]) && scale[i] > 0.0)) {
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("standardisation: feature {}: expected a finite mean and a finite scale > 0, found {} and {}", i,
                      mean[i], scale[i])};
    }
  }
  return Standardisation(mean, scale);
}

void Standardisation::apply(Eigen::Ref<Eigen::MatrixXd> features) const {
  UNDERTONE_CHECK(features.rows() == mean_.size());
  features.colwise() -= mean_;
  features.array().colwise() /= scale_.array();
}

}  // namespace undertone::data
