#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/algorithms/one_round/statistic_asked.hpp"
#include "shared/config/section.hpp"
#include "shared/jobs/statistic_columns.hpp"

namespace undertone::jobs {

inline constexpr std::size_t kExitsIntervalsMax = 512;
inline constexpr std::size_t kExitsGroupsMax = 16;                    // hazard ratios of more have few records each
inline constexpr std::size_t kExitsCellsMax = std::size_t{1} << 12U;  // of all groups
inline constexpr std::size_t kExitsQuantilesMax = 9;

/// What a question for survival says, taken whole before any of it is looked at.
struct WrittenSurvival {
  std::string time;
  std::string event;
  std::vector<std::string> events;
  bool competing = false;
  std::vector<double> grid;
  std::vector<std::string> by;
  std::vector<double> at;
  bool on_grid = false;
  bool pooled = false;
  bool gehan = false;
  statistics::SurvivalGuess guess;
};
[[nodiscard]] WrittenSurvival read_survival(config::Section& section);

/// @param probabilities of quantiles of the time; empty: of the median alone
/// @return nothing where a problem was noted
[[nodiscard]] std::optional<algorithms::StatisticAsked> parse_survival(config::Section& section,
                                                                       const WrittenSurvival& written,
                                                                       const std::vector<double>& probabilities,
                                                                       const ColumnIndex& known);

}  // namespace undertone::jobs
