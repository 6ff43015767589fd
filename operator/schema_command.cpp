#include "operator/schema_command.hpp"

#include <algorithm>
#include <cstdio>

#include "shared/service/exit_code.hpp"

namespace undertone::operators {

std::vector<std::string> schema_kinds() {
  std::vector<std::string> out;
  for (const SchemaText& schema : schema_texts()) out.emplace_back(schema.kind);
  return out;
}

int print_schema(std::string_view kind) {
  const std::vector<SchemaText>& all = schema_texts();
  const auto found = std::find_if(all.begin(), all.end(), [&](const SchemaText& one) { return one.kind == kind; });
  if (found == all.end()) return service::fail({ErrorCode::InvalidArgument, fmt::format("no file is a \"{}\"", kind)});
  fmt::print("{}", found->text);
  return service::kDone;
}

}  // namespace undertone::operators
