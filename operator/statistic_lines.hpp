#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace undertone::operators {

inline constexpr std::size_t kResultBytesMax = std::size_t{64} << 20U;

inline constexpr std::size_t kEstimatesShown = 12;

/// A line a statistic for a terminal; of one with several estimates the first of them, each with its interval.
/// @param statistics those of a result.json that this program wrote @param shown how many estimates of each at most
[[nodiscard]] std::string statistic_lines(const nlohmann::ordered_json& statistics,
                                          std::size_t shown = kEstimatesShown);

}  // namespace undertone::operators
