#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "silo/ledger/ledger.hpp"
#include "silo/owner/silo_config.hpp"

namespace undertone::silo {

/// Something that `check` tells of a configuration that can be read.
struct Finding {
  bool stops = false;    // `run` would not start, or every job would be refused
  std::string sentence;  // file: field: expected ..., found ...
};

/// What `run` would find before it looks at records: certificates and keys, folders, and a policy that cannot be met.
/// Nothing is made and nothing is written.
/// @param file of the configuration, for sentences
[[nodiscard]] std::vector<Finding> start_findings(const std::filesystem::path& file, const SiloConfig& config);

/// Whether a data set is what its ledger was opened for. @param recorded in the ledger
[[nodiscard]] std::vector<Finding> content_findings(const DatasetIdentity& recorded, const DatasetIdentity& found);

/// Whether the policy lets a data set of so many training records take part in anything.
[[nodiscard]] std::vector<Finding> count_findings(const std::filesystem::path& file, const SiloConfig& config,
                                                  const std::string& dataset, std::int64_t records);

}  // namespace undertone::silo
