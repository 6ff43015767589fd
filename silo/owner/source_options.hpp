#pragma once

#include <nlohmann/json.hpp>

#include "shared/data/csv_survey.hpp"
#include "silo/owner/owner_commands.hpp"
#include "silo/sources/source.hpp"

namespace undertone::silo {

/// A source that options name, and what silo.json says of it.
struct SourceEntry {
  Source source;
  nlohmann::ordered_json entry;  // "csv", "parquet" or "sql", with paths relative to the folder
};

/// @param folder of silo.json @return an error where the options are of no source, or of several
[[nodiscard]] Result<SourceEntry> source_of(const SourceOptions& options, const std::filesystem::path& folder);

/// Says what the source's columns look like. @param dialect of a CSV file, as far as it is known
[[nodiscard]] Result<data::CsvSurvey> survey_of(const Source& source, const data::DialectOptions& dialect);

}  // namespace undertone::silo
