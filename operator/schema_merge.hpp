#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::operators {

/// A party proposes this as the schema of everybody. A draft or a job has it as its "data".
struct ProposedSchema {
  std::string name;             // of its file, for people
  nlohmann::ordered_json data;  // with nulls where a draft left bounds blank
};

/// This is made of several proposals.
struct MergedSchemas {
  nlohmann::ordered_json data;
  std::vector<std::string> differences;  // a sentence each: who has what, and what the merged one has
  std::vector<std::string> conflicts;    // nobody but the parties can settle these: the columns are left out
};

/// @return an error where the file has no schema
[[nodiscard]] Result<ProposedSchema> proposed_schema(const std::string& name, const nlohmann::ordered_json& document);

/// Makes one schema of several: columns that all have, lists united, bounds widened. A bound that one left blank is
/// what others say. It looks at no data.
/// @param proposals two or more
/// @return without "label" where the parties mean different ones, which nothing can merge
[[nodiscard]] MergedSchemas merge_schemas(const std::vector<ProposedSchema>& proposals);

}  // namespace undertone::operators
