#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "shared/algorithms/one_round/statistic_asked.hpp"
#include "shared/jobs/stated_statistics.hpp"
#include "shared/statistics/noise_law.hpp"

namespace undertone::jobs {

/// One silo's table of exits.
struct ToldExits {
  std::int64_t records = 0;    // n_i, public
  Eigen::VectorXd cells;       // of all groups, in records
  statistics::NoiseLaw noise;  // on each cell
};

/// The layout of a question's cells.
[[nodiscard]] statistics::ExitLayout layout_of(const algorithms::SurvivalAsked& asked);
/// The groups' names, "arm=a, sex=f"; one empty name where there is one group.
[[nodiscard]] std::vector<std::string> group_names(const algorithms::SurvivalAsked& asked);
/// One row for each group: indicators of every value of its columns but the first.
struct GroupDesigns {
  std::vector<std::string> names;  // [p] "arm=b"
  Eigen::MatrixXd rows;            // [G, p]
};
[[nodiscard]] GroupDesigns group_designs(const std::vector<algorithms::TableAxis>& by);

/// How many estimates are of one group. They stand group by group, before all others: its curve at every edge that is
/// stated, who is at risk after these edges, and the rest.
[[nodiscard]] std::size_t estimates_of_group(const algorithms::SurvivalAsked& asked);

/// Curves, numbers at risk, hazards, restricted means, incidences and quantiles of every group; their differences from
/// the first group; the test between groups and hazard ratios. All are post-processing of the one table.
/// @param silos one or more @param together of all silos: groups are compared; else it is what one silo's own table
/// says Source: spec survival 2 to 4.
[[nodiscard]] StatedQuestion state_survival(const algorithms::SurvivalAsked& asked, const std::vector<ToldExits>& silos,
                                            statistics::Confidence confidence, bool sampling, bool together);

}  // namespace undertone::jobs
