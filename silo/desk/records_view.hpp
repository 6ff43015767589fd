#pragma once

#include <nlohmann/json.hpp>

#include "silo/owner/institution.hpp"

namespace undertone::silo {

/// What a data set's columns hold, for its owner's page on this machine and nowhere else: counts, ranges, and of
/// numbers how many stand in each of `kBins` parts of their bounds. A value that stands for a missing one is in no part
/// where the schema has an indicator of it.
inline constexpr std::size_t kBins = 24;
/// Of so many columns at most.
inline constexpr std::size_t kColumnsShown = 300;
[[nodiscard]] nlohmann::ordered_json records_json(const DatasetConfig& config, const LoadedDataset& loaded);

}  // namespace undertone::silo
