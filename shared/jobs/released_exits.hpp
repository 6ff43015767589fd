#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/config/section.hpp"
#include "shared/jobs/stated_survival.hpp"
#include "shared/jobs/survival_question.hpp"

namespace undertone::jobs {

inline constexpr std::size_t kExitsSilosMax = 10'000;

/// This is what a run released of a question for survival: every silo has a noised table of exits. Whatever is asked of
/// it afterwards is post-processing.
struct ReleasedExits {
  algorithms::SurvivalAsked asked;  // its cells are of no columns any more: only how many there are is known
  bool sampling = false;            // intervals for the population are wanted, too
  std::string counted;              // how units that are not records were counted; empty of records
  std::vector<ToldExits> silos;     // one or more
};

/// @param silos one or more
/// @return an error where a silo's totals are not of the question
[[nodiscard]] Result<ReleasedExits> release_exits(const algorithms::SurvivalAsked& asked, bool sampling,
                                                  const std::vector<SiloTotals>& silos);

/// This writes them as a result's "exits", and the inverse reads them: what is wrong with a file goes to the section's
/// problems.
[[nodiscard]] nlohmann::ordered_json to_json(const ReleasedExits& exits);
[[nodiscard]] ReleasedExits parse_released_exits(config::Section section);

/// A question may be changed to this once its table is there. What is left out stays as the job asked for it.
struct LaterExits {
  std::vector<double> times;          // edges of the grid after its first one
  std::vector<double> probabilities;  // of quantiles of the time, each in (0, 1)
  std::string against;                // the group that others are compared with: "arm=new, sex=f"
  std::optional<bool> gehan;
};
/// The same statements as the run's, of other times, quantiles and groups to compare with. Each interval holds for
/// itself, whoever chose it by what the table says.
/// @return an error that says what the table knows
[[nodiscard]] Result<StatedQuestion> state_later(const ReleasedExits& exits, const LaterExits& later,
                                                 statistics::Confidence confidence);

}  // namespace undertone::jobs
