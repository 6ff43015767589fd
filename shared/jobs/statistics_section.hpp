#pragma once

#include "shared/algorithms/one_round/statistics.hpp"
#include "shared/config/section.hpp"
#include "shared/data/schema.hpp"

namespace undertone::jobs {

/// A job's "statistics": questions about the columns of its schema, by their names. Where a problem was noted, the
/// settings may lack questions.
[[nodiscard]] algorithms::StatisticsSettings parse_statistics(config::Section section, const data::Schema& schema);

}  // namespace undertone::jobs
