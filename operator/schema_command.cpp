#include "operator/schema_command.hpp"

#include <algorithm>
#include <cstdio>

#include "operator/schema_merge.hpp"
#include "shared/base/files.hpp"
#include "shared/config/json_section.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::operators {
namespace {

constexpr std::size_t kSchemaBytesMax = std::size_t{4} << 20U;

Result<std::vector<ProposedSchema>> read_proposals(const std::vector<std::filesystem::path>& files) {
  if (files.size() < 2) return Error{ErrorCode::InvalidArgument, "expected two files or more"};
  std::vector<ProposedSchema> out;
  for (const std::filesystem::path& file : files) {
    UNDERTONE_TRY(config::load_json(file, kSchemaBytesMax));
    UNDERTONE_TRY(const std::string text, read_file(file, kSchemaBytesMax));
    // Again, in the order of the file.
    UNDERTONE_TRY(ProposedSchema one,
                  proposed_schema(file.string(), nlohmann::ordered_json::parse(text, nullptr, false)));
    out.push_back(std::move(one));
  }
  return out;
}

/// Prints a line for each difference and each conflict.
void print_findings(const MergedSchemas& merged, std::FILE* to) {
  for (const std::string& difference : merged.differences) fmt::print(to, "{}\n", difference);
  for (const std::string& conflict : merged.conflicts) fmt::print(to, "CONFLICT {}\n", conflict);
}

}  // namespace

std::vector<std::string> schema_kinds() {
  std::vector<std::string> out;
  for (const SchemaText& schema : schema_texts()) out.emplace_back(schema.kind);
  return out;
}

int print_schema(std::string_view kind) {
  const std::vector<SchemaText>& all = schema_texts();
  const auto found = std::find_if(all.begin(), all.end(), [&](const SchemaText& one) { return one.kind == kind; });
  if (kind.empty()) {
    (void)service::fail({ErrorCode::InvalidArgument, "expected a kind of file, such as job, or compare, or merge"});
    return service::kUsage;
  }
  if (found == all.end()) return service::fail({ErrorCode::InvalidArgument, fmt::format("no file is a \"{}\"", kind)});
  fmt::print("{}", found->text);
  return service::kDone;
}

int compare_schemas(const std::vector<std::filesystem::path>& files) {
  const Result<std::vector<ProposedSchema>> proposals = read_proposals(files);
  if (!proposals) return service::fail(proposals.error());
  const MergedSchemas merged = merge_schemas(*proposals);
  print_findings(merged, stdout);
  const std::size_t all = merged.differences.size() + merged.conflicts.size();
  if (all == 0) fmt::print("{} schemas, and all are alike\n", proposals->size());
  return all == 0 ? service::kDone : service::kFailed;
}

int merge_schemas(const std::vector<std::filesystem::path>& files, const std::filesystem::path& out) {
  const Result<std::vector<ProposedSchema>> proposals = read_proposals(files);
  if (!proposals) return service::fail(proposals.error());
  const MergedSchemas merged = merge_schemas(*proposals);
  if (!merged.data.contains("label")) {
    print_findings(merged, stderr);
    return service::fail({ErrorCode::InvalidConfig, "nothing was written: the parties do not agree on the label"});
  }
  const std::string text = merged.data.dump(2) + "\n";
  if (out.empty()) {
    fmt::print("{}", text);
  } else if (const Status written = write_file_atomically(out, text); !written) {
    return service::fail(written.error());
  }
  print_findings(merged, stderr);
  if (!out.empty())
    fmt::print(stderr, "{}: {} features; {} differences were settled, and {} conflicts left columns out\n",
               out.string(), merged.data.at("features").size(), merged.differences.size(), merged.conflicts.size());
  return merged.conflicts.empty() ? service::kDone : service::kFailed;
}

}  // namespace undertone::operators
