#pragma once

#include <vector>

#include "shared/jobs/stated_statistics.hpp"
#include "shared/statistics/reported_means.hpp"

namespace undertone::jobs {

/// What the records of a silo report on one number of a question, as far as a mean depends on it.
/// @param release of form reports @param total of the reports on the coordinate, in units of the round's lattice;
/// nothing: as it is expected where the mean is in the middle of the range
[[nodiscard]] statistics::ReportedTotal reported_total(const planning::Release& release, Eigen::Index coordinate,
                                                       std::optional<std::int64_t> total);
/// Whose mean such reports are. @param records of the silos, in the order of the totals
[[nodiscard]] statistics::Reporting reporting_of(const std::vector<statistics::ReportedTotal>& totals,
                                                 const std::vector<std::int64_t>& records, Eigen::Index coordinates);
/// From a share of the range to the unit of the column, of an indicator the share itself or what it leaves.
[[nodiscard]] statistics::Stated in_column_unit(statistics::Stated stated, const algorithms::ReportsAsked& what,
                                                Eigen::Index coordinate);

/// @see state_question
[[nodiscard]] Result<StatedQuestion> state_reports(const algorithms::ReportsAsked& what,
                                                   const algorithms::StatisticsSettings& settings,
                                                   const std::vector<SiloTotals>& silos);

}  // namespace undertone::jobs
