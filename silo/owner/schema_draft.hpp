#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/csv_survey.hpp"

namespace undertone::silo {

/// What a file's columns suggest for a data set's schema, for its owner to finish.
struct SchemaDraft {
  /// {"note", "file", "data": {"label", "features"}}: "file" and "data" as a silo's configuration has them. Bounds are
  /// null, which no parser takes: they are the owner's to say.
  nlohmann::ordered_json document;
  std::vector<std::string> remarks;  // what was guessed or left out, a sentence each; name columns and private values
};

/// Categories and classes that fewer records have are left out of a list: it is public, and would tell of these people.
inline constexpr std::int64_t kCategoryRecordsMin = 10;

/// @param label the target's column; empty: left for the owner to name
/// @return an error where the file has no such column, or it holds one value alone
[[nodiscard]] Result<SchemaDraft> draft_schema(const data::CsvSurvey& survey, const std::string& label);

}  // namespace undertone::silo
