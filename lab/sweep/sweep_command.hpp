#pragma once

#include <cstddef>
#include <filesystem>

namespace undertone::lab {

/// What `undertone sweep` was asked.
struct SweepRequest {
  std::filesystem::path file;
  std::filesystem::path out;  // folder for sweep.jsonl, sweep.csv and, where the split varies, splits.csv
  std::size_t threads = 0;    // runs at a time; 0: as many as there are processors
};

/// Runs what is not in sweep.jsonl yet, a line for each run in their order, and writes the tables. @return the exit
/// code
[[nodiscard]] int run_sweep(const SweepRequest& request);

}  // namespace undertone::lab
