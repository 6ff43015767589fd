#pragma once

#include <cstdint>

namespace undertone::models {

/// What an evaluation adds up of each record: basic metrics, or also what a confusion table, an AUC, an RMSE, an R^2
/// and the spread of predictions follow from. More numbers in one noised answer take more noise on each, where a
/// holdout is private.
enum class MetricDetail : std::uint8_t { Basic, Detailed };

}  // namespace undertone::models
