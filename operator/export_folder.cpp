#include "operator/export_folder.hpp"

#include <nlohmann/json.hpp>

#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"

namespace undertone::operators {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kExportedBytesMax = std::size_t{512} << 20U;

/// Makes the folder and those above it. @return the ones that were made, the deepest first
Result<std::vector<fs::path>> make_folders(const fs::path& folder) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = fs::absolute(folder).lexically_normal(); !at.empty() && !fs::exists(at, error);
       at = at.parent_path()) {
    if (at.has_filename()) missing.push_back(at);
  }
  fs::create_directories(folder, error);
  if (error) {
    for (const fs::path& made : missing) {
      std::error_code ignored;
      fs::remove(made, ignored);
    }
    return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", folder.string(), error.message())};
  }
  return missing;
}

}  // namespace

Status check_export_folder(const fs::path& folder, const std::string& run) {
  std::error_code ignored;
  const fs::path result = folder / "result.json";
  if (!fs::exists(result, ignored)) {
    for (const char* file : {"job.json", "model.json", "rounds.csv"}) {
      if (!fs::exists(folder / file, ignored)) continue;
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: is there without a result.json, so it may be another run's; export into a folder "
                               "of its own",
                               (folder / file).string())};
    }
    return {};
  }
  UNDERTONE_TRY(const std::string text, read_file(result, kExportedBytesMax));
  const nlohmann::json held = nlohmann::json::parse(text, nullptr, false);
  const std::string other =
      held.is_object() && held.contains("run") && held["run"].is_string() ? held["run"].get<std::string>() : "";
  if (other == run) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{}: is of {}; export into a folder of its own", result.string(),
                           other.size() == run.size() ? "another run, " + plain_text(other.substr(64, 12))
                                                      : "no run that can be named")};
}

Status write_export(const fs::path& folder, const std::vector<ExportedFile>& files) {
  UNDERTONE_TRY(std::vector<fs::path> to_remove, make_folders(folder));
  Status done;
  for (const auto& [name, content] : files) {
    const fs::path file = folder / name;
    std::error_code ignored;
    const bool is_new = !fs::exists(file, ignored);
    done = write_file_atomically(file, content);
    if (!done) break;
    if (is_new) to_remove.insert(to_remove.begin(), file);
  }
  if (done) return done;
  for (const fs::path& made : to_remove) {
    std::error_code ignored;
    fs::remove(made, ignored);
  }
  return done;
}

}  // namespace undertone::operators
