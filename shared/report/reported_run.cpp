#include "shared/report/reported_run.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "shared/base/files.hpp"
#include "shared/base/ids.hpp"
#include "shared/jobs/job.hpp"
#include "shared/report/counting_order.hpp"
#include "shared/report/epsilon_spent.hpp"

namespace undertone::report {
namespace {

namespace fs = std::filesystem;

constexpr int kDepthMax = 4;
constexpr std::size_t kEntriesMax = 1'000'000;
constexpr std::uint64_t kAccountingMsMax = 120'000;
constexpr std::size_t kStatementBytesMax = std::size_t{1} << 20U;

/// What lies below a folder.
struct Found {
  std::vector<fs::path> runs;        // folders that hold a result.json
  std::vector<fs::path> statements;  // RUN.txt
};

bool is_statement(const fs::path& file) {
  return file.extension() == ".txt" && RunId::from_hex(file.stem().string()).has_value();
}

Result<Found> look_below(const fs::path& folder) {
  Found found;
  std::size_t entries = 0;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (++entries > kEntriesMax) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("{}: more than {} files, expected a folder of results", folder.string(), kEntriesMax)};
    }
    std::error_code unreadable;  // what cannot be looked at is not a result
    if (entry->is_symlink(unreadable) || (entry.depth() >= kDepthMax && entry->is_directory(unreadable))) {
      entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file(unreadable)) continue;
    if (entry->path().filename() == "result.json") found.runs.push_back(entry->path().parent_path());
    if (is_statement(entry->path())) found.statements.push_back(entry->path());
  }
  if (error) return Error{ErrorCode::InvalidConfig, fmt::format("{}: {}", folder.string(), error.message())};
  std::sort(found.runs.begin(), found.runs.end(),
            [](const fs::path& a, const fs::path& b) { return counts_before(a.string(), b.string()); });
  std::sort(found.statements.begin(), found.statements.end());
  return found;
}

/// @return an error where the folder's model.json is another run's: two runs were written into it
Status check_model(const ReportedRun& run, const fs::path& folder) {
  const fs::path file = folder / "model.json";
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) > kResultBytesMax) return {};
  UNDERTONE_TRY(const std::string text, read_file(file, kResultBytesMax));
  const nlohmann::json model = nlohmann::json::parse(text, nullptr, false);
  if (!model.is_object() || !model.contains("run") || model["run"] == run.result.run) return {};
  return Error{ErrorCode::InvalidData,
               fmt::format("{}: is of another run than result.json beside it; keep each run in a folder of its own",
                           file.string())};
}

/// Adds the job and what follows from it. Without it the report is the poorer and says why.
/// @param ms_left what may still be spent on recomputing what rounds have spent
/// @return an error where the job is another one than was run: two runs were written into the folder
Status add_job(ReportedRun& run, const fs::path& folder, std::uint64_t& ms_left) {
  const fs::path file = folder / "job.json";
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(file, ignored))) {
    run.job_note = "epsilon by round is not known: there is no job.json beside result.json";
    return {};
  }
  Result<std::string> bytes = read_file(file, jobs::kJobBytesMax);
  if (!bytes) {
    run.job_note = bytes.error().message;
    return {};
  }
  if (to_hex(sha256(*bytes)) != run.result.job_sha256) {
    return Error{
        ErrorCode::InvalidData,
        fmt::format("{}: is another job than result.json beside it is of; keep each run in a folder of its own",
                    file.string())};
  }
  run.job = *std::move(bytes);
  const Result<jobs::Job> job = jobs::parse_job(run.job, file.string());
  if (!job) {
    run.job_note = "epsilon by round is not known: " + job.error().message;
    return {};
  }
  const std::uint64_t ms = accounting_ms(run.result, *job);
  if (ms > ms_left) {
    run.job_note = "epsilon by round was not computed: it would take too long; report on the run alone";
    return {};
  }
  ms_left -= ms;
  if (const Status added = add_epsilon_spent(run.result, *job); !added)
    run.job_note = "epsilon by round is not known: " + added.error().message;
  return {};
}

Status add_statements(std::vector<ReportedRun>& runs, const std::vector<fs::path>& files, const fs::path& folder) {
  for (const fs::path& file : files) {
    Result<std::string> text = std::string();
    for (ReportedRun& run : runs) {
      if (run.result.run != file.stem().string()) continue;
      if (text->empty()) text = read_file(file, kStatementBytesMax);
      if (!text) return text.error();
      run.statements.push_back({file.lexically_relative(folder).string(), *text});
    }
  }
  return {};
}

}  // namespace

bool ReportedRun::is_void() const {
  return result.is_void() || std::any_of(statements.begin(), statements.end(), [](const StatementText& statement) {
           return statement.text.starts_with("VOID");
         });
}

Result<std::vector<ReportedRun>> load_runs(const fs::path& folder) {
  UNDERTONE_TRY(Found found, look_below(folder));
  std::error_code ignored;
  const bool single = fs::is_regular_file(
      fs::symlink_status(folder / "result.json", ignored));  // a pipe would be waited for, a link leads elsewhere
  if (single) found.runs = {folder};
  if (found.runs.empty())
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: no result.json in it or below it", folder.string())};
  if (found.runs.size() > kRunsMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{}: {} runs, a report holds at most {}", folder.string(), found.runs.size(), kRunsMax)};
  }
  std::vector<ReportedRun> runs;
  std::size_t bytes = 0;
  std::uint64_t ms_left = kAccountingMsMax;
  for (const fs::path& run : found.runs) {
    const fs::path file = run / "result.json";
    UNDERTONE_TRY(const std::string text, read_file(file, kResultBytesMax));
    bytes += text.size();
    if (bytes > kAllResultsBytesMax) {
      return Error{ErrorCode::LimitExceeded,
                   fmt::format("{}: with this one, results of more than {} bytes", file.string(), kAllResultsBytesMax)};
    }
    UNDERTONE_TRY(RunResult result, parse_run_result(text, file.string()));
    ReportedRun& reported = runs.emplace_back();
    reported.name = found.runs.size() == 1 ? result.job : run.lexically_relative(folder).string();
    reported.result = std::move(result);
    if (Status sound = check_model(reported, run); !sound) return sound.error();
    if (Status added = add_job(reported, run, ms_left); !added) return added.error();
  }
  if (Status added = add_statements(runs, found.statements, folder); !added) return added.error();
  return runs;
}

}  // namespace undertone::report
