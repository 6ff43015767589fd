#pragma once

#include "shared/config/json_section.hpp"
#include "shared/data/schema.hpp"

namespace undertone::config {

/// Reads {"label": {...}, "features": [{"column", "min", "max"}, ...]}.
[[nodiscard]] data::Schema parse_schema(Section section);

}  // namespace undertone::config
