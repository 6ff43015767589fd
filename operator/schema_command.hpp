#pragma once

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

}  // namespace undertone::operators
