#pragma once

#include "shared/config/json_section.hpp"
#include "shared/data/projection.hpp"

namespace undertone::jobs {

/// {"origin", "directions"}: what jobs and models write. @param features d, of the records
[[nodiscard]] data::Projection parse_projection(config::Section section, std::size_t features);

/// The inverse of `parse_projection`.
[[nodiscard]] nlohmann::ordered_json to_json(const data::Projection& projection);

/// "component 1", "component 2", ...
[[nodiscard]] std::vector<std::string> component_names(Eigen::Index count);

}  // namespace undertone::jobs
