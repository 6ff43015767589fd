#include "lab/report/report_command.hpp"

#include "lab/report/reported_sweep.hpp"
#include "shared/base/files.hpp"
#include "shared/report/report_page.hpp"
#include "shared/service/exit_code.hpp"

namespace undertone::report {

int run_report(const ReportRequest& request) {
  const std::filesystem::path out = request.out.empty() ? request.folder / "report.html" : request.out;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(std::filesystem::symlink_status(request.folder / "sweep.jsonl", ignored))) {
    const Result<ReportedSweep> sweep = load_sweep(request.folder);
    if (!sweep) return service::fail(sweep.error());
    const std::string name = std::filesystem::absolute(request.folder).lexically_normal().filename().string();
    if (Status written = write_file_atomically(out, sweep_page(*sweep, name)); !written)
      return service::fail(written.error());
    fmt::print("report {} of a sweep of {} settings\n", out.string(), sweep->settings.size());
    return service::kDone;
  }
  const Result<std::vector<ReportedRun>> runs = load_runs(request.folder);
  if (!runs) return service::fail(runs.error());
  if (Status written = write_file_atomically(out, report_page(*runs)); !written) return service::fail(written.error());
  fmt::print("report {} of {} run{}\n", out.string(), runs->size(), runs->size() == 1 ? "" : "s");
  return service::kDone;
}

}  // namespace undertone::report
