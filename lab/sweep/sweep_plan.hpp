#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/sweep/private_selection.hpp"
#include "shared/base/result.hpp"
#include "shared/config/section.hpp"

namespace undertone::lab {

/// Tuning that is paid for: a random number of runs, each of a combination drawn uniformly, of which the best by a
/// metric that the silos noised alone is published. @see lab::RunsRule
struct SweepSelection {
  lab::RunsRule rule;
  std::string score;       // a metric of the model
  bool largest = false;    // whether more of it is better
  std::uint64_t seed = 0;  // of the number of runs and the combinations
};

/// A job with some of its values varied: every combination, for every seed, or those that a selection draws.
struct SweepPlan {
  struct Axis {
    std::string pointer;  // of the job; "*" stands for every element of an array
    std::vector<nlohmann::json> values;
    /// Whether it varies how the data are split, and so which records silos train on.
    [[nodiscard]] bool of_split() const;
  };
  [[nodiscard]] bool varies_split() const;
  std::filesystem::path job;
  std::vector<Axis> axes;
  std::vector<std::uint64_t> seeds;
  bool noiseless = false;
  std::size_t answering = 0;  // silos that answer a round; 0: all
  std::optional<SweepSelection> selection;

  static constexpr std::size_t kCellsMax = 1'000'000;
  [[nodiscard]] std::size_t cells() const;
};

/// One run of a sweep: seeds change fastest, then the last axis.
struct SweepCell {
  std::size_t index = 0;
  std::vector<nlohmann::json> values;  // one for each axis
  std::uint64_t seed = 0;
};
[[nodiscard]] SweepCell cell_of(const SweepPlan& plan, std::size_t index);

/// Reads a sweep file; the job's path in it is relative to it. @return every problem at once, or a refusal of more than
/// kCellsMax cells, or of an axis that would change which records a silo holds otherwise than by the seeds of the split
[[nodiscard]] Result<SweepPlan> parse_sweep(std::string_view bytes, const std::filesystem::path& file);
/// Without the bound on the cells. @param folder that the job's path starts from
[[nodiscard]] Result<SweepPlan> parse_sweep(const nlohmann::json& document, const std::filesystem::path& folder,
                                            config::Problems& problems);

/// The assignments "/json/pointer=value" that make a cell's job of the sweep's, "*" written out.
/// @param split_alone leaves out what does not vary the split
/// @return an error where the job has no such value
[[nodiscard]] Result<std::vector<std::string>> assignments_of(const SweepPlan& plan, const SweepCell& cell,
                                                              const nlohmann::json& job, bool split_alone = false);

}  // namespace undertone::lab
