#pragma once

#include "shared/config/json_section.hpp"
#include "shared/data/projection.hpp"

namespace undertone::jobs {

/// {"origin", "directions"}: what jobs and models write. @param features d, of the records
[[nodiscard]] data::Projection parse_projection(config::Section section, std::size_t features);

/// The inverse of `parse_projection`.
[[nodiscard]] nlohmann::ordered_json to_json(const data::Projection& projection);

/// "component 1", "component 2", ...
/// A job's "standardisation": every encoded feature less an origin, over a scale, as a projection onto as many numbers.
/// @param features encoded ones, at most kStandardisedMax
[[nodiscard]] data::Projection parse_standardisation(config::Section section, std::size_t features);
/// Its inverse. @param projection of `parse_standardisation`
[[nodiscard]] nlohmann::ordered_json standardisation_to_json(const data::Projection& projection);
inline constexpr std::size_t kStandardisedMax = 1024;

[[nodiscard]] std::vector<std::string> component_names(Eigen::Index count);

}  // namespace undertone::jobs
