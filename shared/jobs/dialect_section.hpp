#pragma once

#include "shared/config/section.hpp"
#include "shared/data/csv_dialect.hpp"

namespace undertone::jobs {

/// {"separator", "decimal", "grouped", "encoding"}: how a file of records is written. Each key may be missing.
[[nodiscard]] data::CsvDialect parse_dialect(config::Section section);

}  // namespace undertone::jobs
