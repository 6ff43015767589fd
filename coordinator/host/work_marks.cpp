#include "coordinator/host/work_marks.hpp"

#include <fstream>
#include <spdlog/spdlog.h>
#include <vector>

namespace undertone::coordinator {

WorkMarks::WorkMarks(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error))
    files.push_back(entry->path());
  if (error) spdlog::warn("work_marks_not_read folder=\"{}\" reason=\"{}\"", folder_.string(), error.message());
  for (const std::filesystem::path& file : files) {
    const Result<RunId> run = RunId::from_hex(file.filename().string());
    std::ifstream in(file);
    Mark mark;
    if (!run || !(in >> mark.step.value >> mark.deaths)) continue;
    ++mark.deaths;
    known_[*run] = mark;
    write(*run, mark);
  }
}

std::map<RunId, RoundIndex> WorkMarks::set_aside() const {
  std::map<RunId, RoundIndex> out;
  for (const auto& [run, mark] : known_)
    if (mark.deaths >= kDeathsMax) out.emplace(run, mark.step);
  return out;
}

void WorkMarks::begin(const RunId& run, RoundIndex step) {
  Mark& mark = known_[run];
  if (mark.step != step) mark = {step, 0};
  write(run, mark);
}

void WorkMarks::end(const RunId& run) {
  known_.erase(run);
  std::error_code ignored;
  std::filesystem::remove(file_of(run), ignored);
}

void WorkMarks::forget_all() {
  while (!known_.empty()) end(RunId(known_.begin()->first));
}

std::filesystem::path WorkMarks::file_of(const RunId& run) const { return folder_ / run.hex(); }

void WorkMarks::write(const RunId& run, const Mark& mark) const {
  // Without it a run that kills the process is only not set aside.
  std::ofstream(file_of(run), std::ios::trunc) << mark.step.value << ' ' << mark.deaths << '\n';
}

}  // namespace undertone::coordinator
