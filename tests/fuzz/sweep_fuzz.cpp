#include <nlohmann/json.hpp>

#include "lab/sweep/sweep_plan.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

/// A sweep's file, and what it would change in a job.
void sweep(std::string_view input) {
  static const nlohmann::json kJob = {{"name", "job"},
                                      {"algorithm", {{"step_size", 0.5}, {"stages", {{{"rounds", 4}}}}}},
                                      {"cohort", {{{"silo", "a"}, {"epsilon", 1}}, {{"silo", "b"}, {"epsilon", 2}}}}};
  const auto plan = lab::parse_sweep(input, "sweep.json");
  if (!plan) return;
  const std::size_t cells = plan->cells();
  UNDERTONE_CHECK(cells <= lab::SweepPlan::kCellsMax);
  if (cells == 0) return;
  for (const std::size_t index : {std::size_t{0}, cells - 1}) {
    const lab::SweepCell cell = lab::cell_of(*plan, index);
    UNDERTONE_CHECK(cell.values.size() == plan->axes.size());
    (void)lab::assignments_of(*plan, cell, kJob);
  }
}

const Target kTarget("sweep", sweep);

}  // namespace
}  // namespace undertone::fuzz
