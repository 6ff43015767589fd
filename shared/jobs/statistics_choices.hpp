#pragma once

#include <string>
#include <string_view>

#include "shared/algorithms/one_round/statistics.hpp"

namespace undertone::jobs {

// What is chosen of a job of statistics for its cohort, as bytes that stand beside the job's text: choosing takes time,
// and whoever chose before need not do it again.

/// @param settled nothing is left open
[[nodiscard]] std::string save_choices(const algorithms::StatisticsSettings& settled);

/// @param open as the job's text says them
/// @return the settings that were saved; an error where the bytes are damaged, or of other questions
[[nodiscard]] Result<algorithms::StatisticsSettings> read_choices(algorithms::StatisticsSettings open,
                                                                  std::string_view bytes);

}  // namespace undertone::jobs
