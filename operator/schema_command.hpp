#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// JSON Schemas of the files that people write: docs/schemas, in the program.
namespace undertone::operators {

struct SchemaText {
  std::string_view kind;  // "job"
  std::string_view text;
};
[[nodiscard]] const std::vector<SchemaText>& schema_texts();
[[nodiscard]] std::vector<std::string> schema_kinds();

/// Prints the schema of a kind of file. @return the exit code
[[nodiscard]] int print_schema(std::string_view kind);

/// Prints in what the parties' schemas, drafts or jobs differ. @return 1 where they do
[[nodiscard]] int compare_schemas(const std::vector<std::filesystem::path>& files);
/// Writes one schema made of several, and prints what was widened, united or left out.
/// @param out empty: standard output @return 1 where something was left out
[[nodiscard]] int merge_schemas(const std::vector<std::filesystem::path>& files, const std::filesystem::path& out);

}  // namespace undertone::operators
