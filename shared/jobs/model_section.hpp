#pragma once

#include <nlohmann/json.hpp>

#include "shared/config/json_section.hpp"
#include "shared/data/schema.hpp"
#include "shared/models/model.hpp"

namespace undertone::jobs {

/// Losses by the names that jobs and models give them.
inline constexpr std::initializer_list<std::pair<const char*, models::Loss>> kLosses = {
    {"logistic", models::Loss::Logistic}, {"least_squares", models::Loss::LeastSquares}, {"hinge", models::Loss::Hinge},
    {"absolute", models::Loss::Absolute}, {"quantile", models::Loss::Quantile},          {"huber", models::Loss::Huber},
    {"poisson", models::Loss::Poisson}};

/// What jobs and policies may call a model.
[[nodiscard]] std::vector<std::string_view> model_names();

struct ModelChoice {
  models::Model model;
  std::uint64_t seed = 0;  // of a network's starting weights
};

/// A job's "model". @param schema of the records; a label that the model has no use for is a problem
/// @param features that the model reads
[[nodiscard]] ModelChoice parse_model(config::Section section, const data::Schema& schema, Eigen::Index features);

/// A network's layers as jobs and models write them: "image" where there is one, "hidden".
[[nodiscard]] models::NetworkShape parse_network(config::Section& section, Eigen::Index features, Eigen::Index classes);
/// A network that a job may train and a model file may hold: its weights, and what a pass over a record holds and
/// multiplies, are bounded. @return an error that says which bound it leaves
[[nodiscard]] Result<models::Network> bounded_network(const models::NetworkShape& shape);
[[nodiscard]] nlohmann::ordered_json to_json(const models::NetworkShape& shape);

}  // namespace undertone::jobs
