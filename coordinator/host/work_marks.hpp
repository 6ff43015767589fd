#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

#include "shared/base/ids.hpp"

namespace undertone::coordinator {

/// Remembers which runs a process was working on when it died, and how often it died at the same step: a run that
/// brings the process down is set aside, and the service serves on. A mark is a small file, written before the work and
/// removed after it, and not synced: a process that dies leaves what it wrote, and a machine that dies is nobody's
/// fault.
class WorkMarks {
 public:
  static constexpr std::uint64_t kDeathsMax = 3;

  /// @param folder is made where it is missing; marks of an earlier process in it count as deaths
  explicit WorkMarks(std::filesystem::path folder);

  /// Runs that a process has died over so often, with the step.
  [[nodiscard]] std::map<RunId, RoundIndex> set_aside() const;
  void begin(const RunId& run, RoundIndex step);
  void end(const RunId& run);
  /// The process stops in order: what was begun is given up, and nobody died of it.
  void forget_all();

 private:
  struct Mark {
    RoundIndex step;
    std::uint64_t deaths = 0;
  };
  [[nodiscard]] std::filesystem::path file_of(const RunId& run) const;
  void write(const RunId& run, const Mark& mark) const;

  std::filesystem::path folder_;
  std::map<RunId, Mark> known_;  // of this process's life and of earlier ones
};

}  // namespace undertone::coordinator
