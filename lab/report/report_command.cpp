#include "lab/report/report_command.hpp"

#include "lab/exit_code.hpp"
#include "lab/report/report_page.hpp"
#include "shared/base/files.hpp"

namespace undertone::lab {

int run_report(const ReportRequest& request) {
  const Result<std::vector<ReportedRun>> runs = load_runs(request.folder);
  if (!runs) return fail(runs.error());
  const std::filesystem::path out = request.out.empty() ? request.folder / "report.html" : request.out;
  if (Status written = write_file_atomically(out, report_page(*runs)); !written) return fail(written.error());
  fmt::print("report {} of {} run{}\n", out.string(), runs->size(), runs->size() == 1 ? "" : "s");
  return kDone;
}

}  // namespace undertone::lab
