#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "shared/base/signing_key.hpp"
#include "shared/data/persons.hpp"
#include "silo/owner/silo_config.hpp"

namespace undertone::silo {

/// A data set's rows as its source gave them, in a file of their own.
struct Frozen {
  std::filesystem::path file;
  std::int64_t rows = 0;
  /// @see LoadedDataset::near_ids. Afterwards nobody can count them: the ids themselves are not kept.
  std::int64_t near_ids = 0;
};

/// Reads the source and writes what the schema, the person column and the mark of public records name into a snapshot
/// of its own name beside those that are there. Persons' ids are kept as their keys. The file is whole before it has
/// its name, and survives a loss of power.
/// @pre the data set has a folder of snapshots, and its ledger's lock is held
/// @param key of its ledger
[[nodiscard]] Result<Frozen> freeze(const DatasetConfig& config, const SigningKey& key, const SourceProgress& progress);

/// The data set's snapshots: one, or several where an amendment was interrupted.
[[nodiscard]] std::vector<std::filesystem::path> snapshots_of(const DatasetConfig& config);

/// Removes the data set's other snapshots, which nothing stands for any more.
void remove_other_snapshots(const DatasetConfig& config, const std::filesystem::path& served);

/// What an id becomes in memory. The data set's name is in it, so that one person in two data sets is not one key.
[[nodiscard]] data::PersonKey person_key(const SigningKey& key, const std::string& dataset, std::string_view id);
/// The key that stands in a snapshot in place of the id. @return zero where the text is none
[[nodiscard]] data::PersonKey frozen_person_key(std::string_view text);

}  // namespace undertone::silo
