#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::lab {

/// Passes over a silo's records in t parts, or as many rounds of draws that read a t-th of them.
struct AllocationQuestion {
  std::uint64_t parts = 0;                       // t, at most 100,000
  std::uint64_t epochs = 1;                      // passes with a draw of their own: t rounds each
  std::optional<std::int64_t> records;           // of the silo; a multiple of t. Without it two ways are not compared
  std::optional<releases::GaussianShift> shift;  // of one release: then epsilon is looked for
  std::optional<releases::Epsilon> epsilon;      // else the noise multiplier
  releases::Delta delta;
};

/// One way to choose the records that a round reads.
struct AllocationWay {
  std::string name;
  std::optional<double> value;  // epsilon, or noise standard deviation / sensitivity; certified
  std::string note;             // what it needs, or why there is no value
};

/// Parallel composition, bins, fixed sizes with a slot that nobody reads, Poisson samples, subsets and draws with
/// replacement at equal noise or equal epsilon, all under replace-one. @return an error that names what is out of range
[[nodiscard]] Result<std::vector<AllocationWay>> compare_allocation(const AllocationQuestion& question);

}  // namespace undertone::lab
