#include "silo/oracles/record_reports.hpp"

#include <cstddef>
#include <numeric>
#include <vector>

#include "silo/oracles/statistic.hpp"

namespace undertone::silo {

queries::Reports record_reports(const planning::Release& release, const models::Records& block, ReleaseStream& stream) {
  const auto* reports = std::get_if<mechanisms::LocalReports>(&release.mechanism);
  const auto* range = std::get_if<releases::RangeBound>(&release.ask.bound);
  UNDERTONE_CHECK(reports != nullptr && range != nullptr);
  UNDERTONE_CHECK(release.ask.reports() != nullptr && release.ask.reports()->randomiser == reports->kind());
  // Every record is in one report and no record in two.
  UNDERTONE_CHECK(!release.sampled() && !release.ask.records.slice && release.records_drawn == block.count());
  const std::vector<std::int64_t> slots = stream.order(block.count());
  std::vector<std::int64_t> positions(slots.size());
  std::iota(positions.begin(), positions.end(), std::int64_t{0});
  std::vector<std::int64_t> own;
  if (const auto* statistic = std::get_if<releases::StatisticMap>(&release.ask.map)) {
    own = statistic_numbers(*statistic, *range, reports->lattice, {block, positions}, slots);
  } else {
    own = feature_numbers(std::get<releases::FeaturesMap>(release.ask.map).features, reports->lattice,
                          {block, positions}, slots);
  }
  stream.randomise(*reports, own, slots);
  queries::Reports out{std::vector<std::int64_t>(slots.size())};
  for (std::size_t i = 0; i < slots.size(); ++i) out.values[static_cast<std::size_t>(slots[i])] = own[i];
  return out;
}

}  // namespace undertone::silo
