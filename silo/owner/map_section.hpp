#pragma once

#include <vector>

#include "shared/config/section.hpp"
#include "silo/sources/mapped_table.hpp"

namespace undertone::silo {

/// Reads "map" of a data set: how the columns of this silo's table become the schema's.
[[nodiscard]] std::vector<ColumnMapping> parse_map(config::Section& dataset);

}  // namespace undertone::silo
