#include "lab/sweep/sweep_command.hpp"

#include <algorithm>

#include "lab/sweep/sweep_runs.hpp"
#include "shared/base/files.hpp"
#include "shared/service/exit_code.hpp"
#include "simulation/resumable_lines.hpp"

namespace undertone::lab {

int run_sweep(const SweepRequest& request) {
  const Result<SweepRuns> runs = SweepRuns::open(request.file);
  if (!runs) return service::fail(runs.error());
  const std::filesystem::path lines = request.out / "sweep.jsonl";
  if (Status made = make_folder_for(lines); !made) return service::fail(made.error());
  const Result<std::unique_ptr<simulation::ResumableLines>> file =
      simulation::ResumableLines::open(lines, runs->header(), runs->total());
  if (!file) return service::fail(file.error());
  if (const Status made = (*file)->make(request.threads, [&](std::size_t run) { return runs->line(run); }); !made)
    return service::fail(made.error());
  const Result<std::vector<std::string>> said = runs->finish(request.out);
  if (!said) return service::fail(said.error());
  for (const std::string& one : *said) fmt::print("{}\n", one);
  const std::size_t total = runs->total();
  fmt::print("{} runs, {} of them new: {}, {}\n{}\n", total, total - std::min(total, (*file)->kept()), lines.string(),
             (request.out / "sweep.csv").string(), runs->warning());
  return service::kDone;
}

}  // namespace undertone::lab
