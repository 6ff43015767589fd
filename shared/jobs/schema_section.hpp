#pragma once

#include "shared/config/json_section.hpp"
#include "shared/data/schema.hpp"

namespace undertone::jobs {

/// {"label", "features"}: what a job and a silo's data set both say.
[[nodiscard]] data::Schema parse_schema(config::Section section);

/// The inverse of `parse_schema`.
[[nodiscard]] nlohmann::ordered_json to_json(const data::Schema& schema);

}  // namespace undertone::jobs
