#include "shared/jobs/stated_reports.hpp"

#include <cmath>
#include <utility>

#include "shared/base/overloaded.hpp"
#include "shared/folds/reports_fold.hpp"

namespace undertone::jobs {

statistics::ReportedTotal reported_total(const planning::Release& release, Eigen::Index coordinate,
                                         std::optional<std::int64_t> total) {
  const auto* reports = std::get_if<mechanisms::LocalReports>(&release.mechanism);
  UNDERTONE_CHECK(reports != nullptr);
  const std::int64_t slots = folds::ReportShape(release.ask).slots(release.records_drawn, coordinate);
  const auto range = static_cast<double>(reports->high - reports->low);  // in units
  return std::visit(Overloaded{[&](const mechanisms::OneBit& bit) -> statistics::ReportedTotal {
                                 return statistics::ReportedBits{slots, total.value_or(slots / 2), bit.contrast()};
                               },
                               [&](const mechanisms::LaplaceSum& noise) -> statistics::ReportedTotal {
                                 const auto scale = static_cast<double>(noise.scale().numerator) /
                                                    static_cast<double>(noise.scale().denominator);
                                 // An integer below 2^62, whatever was sent.
                                 const double above = total ? static_cast<double>(*total - slots * reports->low) / range
                                                            : 0.5 * static_cast<double>(slots);
                                 return statistics::ReportedNumbers{slots, above, {scale, 1.0 / range}};
                               },
                               // Of functions alone, which are read otherwise.
                               [](const auto& /*strings*/) -> statistics::ReportedTotal { UNDERTONE_CHECK(false); }},
                    reports->randomiser);
}

statistics::Reporting reporting_of(const std::vector<statistics::ReportedTotal>& totals,
                                   const std::vector<std::int64_t>& records, Eigen::Index coordinates) {
  UNDERTONE_CHECK(totals.size() == records.size());
  if (coordinates == 1) return {};
  const auto reports_of = [&](std::size_t i) {
    return static_cast<double>(std::visit([](const auto& own) { return own.reports; }, totals[i]));
  };
  double reports = 0.0;
  double all = 0.0;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    reports += reports_of(i);
    all += static_cast<double>(records[i]);
  }
  statistics::Reporting out{true, 0.0};
  for (std::size_t i = 0; i < totals.size(); ++i)
    out.weights_apart += 0.5 * std::abs(reports_of(i) / reports - static_cast<double>(records[i]) / all);
  return out;
}

statistics::Stated in_column_unit(statistics::Stated stated, const algorithms::ReportsAsked& what,
                                  Eigen::Index coordinate) {
  if (what.complement) return statistics::in_units(std::move(stated), 1.0, -1.0);
  const algorithms::NumberColumn& column = what.columns[static_cast<std::size_t>(coordinate)];
  return statistics::in_units(std::move(stated), column.low, column.high - column.low);
}

Result<StatedQuestion> state_reports(const algorithms::ReportsAsked& what,
                                     const algorithms::StatisticsSettings& settings,
                                     const std::vector<SiloTotals>& silos) {
  UNDERTONE_TRY(const statistics::Confidence confidence, statistics::Confidence::create(settings.confidence));
  const auto coordinates = static_cast<Eigen::Index>(what.columns.size());
  StatedQuestion out;
  for (Eigen::Index j = 0; j < coordinates; ++j) {
    std::vector<statistics::ReportedTotal> totals;
    std::vector<std::int64_t> records;
    for (const SiloTotals& silo : silos) {
      totals.push_back(reported_total(*silo.release, j, (*silo.totals)[static_cast<std::size_t>(j)]));
      records.push_back(silo.records);
    }
    UNDERTONE_TRY(statistics::Stated stated,
                  statistics::state_reported_mean(totals, reporting_of(totals, records, coordinates), confidence,
                                                  settings.sampling));
    const std::string& column = what.columns[static_cast<std::size_t>(j)].name;
    std::string name = what.indicator ? "share" : coordinates == 1 ? "mean" : fmt::format("mean({})", column);
    out.estimates.push_back({std::move(name), in_column_unit(std::move(stated), what, j)});
  }
  return out;
}

}  // namespace undertone::jobs
