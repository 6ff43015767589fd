#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace undertone::bench {

struct DearestSearch {
  int silos = 200;     // of a job at most: it has as many as are legal
  int tries = 40;      // changes of a job that are tried
  std::size_t of = 1;  // takes every so many-th kind of job
  std::uint64_t operations_max = std::uint64_t{1}
                                 << 26U;  // of a job's settling and planning; dearer ones are passed over
};

struct DearJob {
  std::string name;
  std::string text;
  std::uint64_t operations = 0;  // of a WorkMeter
};

/// For every job of `tests::every_job`, the dearest legal one that changes of its numbers and of its cohort lead to:
/// what an enemy would send who knows the program. The search is a function of its size alone.
[[nodiscard]] std::vector<DearJob> dearest_jobs(const DearestSearch& search);

}  // namespace undertone::bench
