#include "shared/data/projection.hpp"

namespace undertone::data {

void Projection::project(const Eigen::Ref<const Eigen::MatrixXd>& features, Eigen::Ref<Eigen::MatrixXd> scores) const {
  UNDERTONE_CHECK(features.rows() == origin.size() && scores.rows() == directions.cols() &&
                  scores.cols() == features.cols());
  const Eigen::VectorXd offset = directions.transpose() * origin;
  scores.noalias() = directions.transpose() * features;
  scores.colwise() -= offset;
}

Dataset Projection::project(const Dataset& dataset) const {
  const auto projected = [own = *this](const models::Records& records) {
    models::Records out{Eigen::MatrixXd(own.directions.cols(), records.rows()), records.targets, records.starts,
                        records.groups};
    if (records.rows() > 0) own.project(records.features, out.features);
    return out;
  };
  return {projected(dataset.training), projected(dataset.holdout), projected(dataset.public_records),
          changed(dataset.training_source, directions.cols(), projected),
          changed(dataset.holdout_source, directions.cols(), projected)};
}

void Projection::reconstruct(const Eigen::Ref<const Eigen::MatrixXd>& scores,
                             Eigen::Ref<Eigen::MatrixXd> features) const {
  UNDERTONE_CHECK(features.rows() == origin.size() && scores.rows() == directions.cols() &&
                  scores.cols() == features.cols());
  features.noalias() = directions * scores;
  features.colwise() += origin;
}

}  // namespace undertone::data
