#pragma once

#include <filesystem>
#include <optional>

#include "shared/base/result.hpp"
#include "shared/data/projection.hpp"
#include "shared/data/schema.hpp"
#include "shared/features/score_moments.hpp"
#include "shared/models/model.hpp"

namespace undertone::operators {

/// A model.json, of one kind of three.
struct SavedModel {
  data::Schema schema;
  std::optional<data::Projection> projection;  // of the encoded features, to what the model reads
  bool standardised = false;                   // the projection is each feature's own shift and scale
  std::optional<models::LinearLoss> loss;      // of a linear model
  std::optional<models::Network> network;
  std::optional<models::MomentsModel> moments;
  Eigen::VectorXd weights;
  double intercept = 0.0;
  std::optional<statistics::ExposureFeature> exposure;  // of a poisson model: a mean is proportional to it

  /// @return what is added to a record's score for its exposure. @param features encoded, of one record
  [[nodiscard]] double offset(const Eigen::Ref<const Eigen::VectorXd>& features) const;
};

[[nodiscard]] Result<SavedModel> load_model(const std::filesystem::path& file);

}  // namespace undertone::operators
