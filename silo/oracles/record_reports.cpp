#include "silo/oracles/record_reports.hpp"

#include <cstddef>
#include <numeric>
#include <vector>

#include "silo/oracles/statistic.hpp"

namespace undertone::silo {
namespace {

/// Randomises the vector in a ball of each drawn record or person by itself, and puts it into its slot.
queries::Reports vector_reports(const planning::Release& release, const mechanisms::LocalReports& reports,
                                const RecordSums::Drawn& drawn, const std::vector<std::int64_t>& slots,
                                ReleaseStream& stream) {
  const auto& ball = std::get<statistics::BallMap>(std::get<releases::FeaturesMap>(release.ask.map).features);
  UNDERTONE_CHECK(ball.length() == release.ask.dimension);
  const auto size = static_cast<std::size_t>(release.ask.report_size());
  queries::Reports out{std::vector<std::int64_t>(slots.size() * size)};
  std::size_t i = 0;
  for_ball_vectors(ball, drawn, [&](const Eigen::VectorXd& vector) {
    stream.randomise_vector(reports, vector,
                            std::span(out.values).subspan(static_cast<std::size_t>(slots[i]) * size, size));
    ++i;
  });
  UNDERTONE_CHECK(i == slots.size());
  return out;
}

}  // namespace

queries::Reports record_reports(const planning::Release& release, const models::Records& block,
                                const PersonDraw* persons, ReleaseStream& stream) {
  const auto* reports = std::get_if<mechanisms::LocalReports>(&release.mechanism);
  UNDERTONE_CHECK(reports != nullptr);
  UNDERTONE_CHECK(release.ask.reports() != nullptr && release.ask.reports()->randomiser == reports->kind());
  UNDERTONE_CHECK(block.of_persons() == (persons != nullptr));
  // Every unit is in one report and no unit in two.
  UNDERTONE_CHECK(!release.sampled() && !release.ask.records.slice && release.records_drawn == block.count());
  const std::vector<std::int64_t> slots = stream.order(block.count());
  std::vector<std::int64_t> positions(slots.size());
  std::iota(positions.begin(), positions.end(), std::int64_t{0});
  const RecordSums::Drawn drawn{block, positions, std::nullopt, persons};
  if (releases::of_vectors(reports->kind())) return vector_reports(release, *reports, drawn, slots, stream);
  const auto* range = std::get_if<releases::RangeBound>(&release.ask.bound);
  UNDERTONE_CHECK(range != nullptr);
  std::vector<std::int64_t> own;
  if (const auto* statistic = std::get_if<releases::StatisticMap>(&release.ask.map)) {
    own = statistic_numbers(*statistic, *range, reports->lattice, drawn, slots);
  } else {
    own = feature_numbers(std::get<releases::FeaturesMap>(release.ask.map).features, reports->lattice, drawn, slots);
  }
  stream.randomise(*reports, own, slots);
  queries::Reports out{std::vector<std::int64_t>(slots.size())};
  for (std::size_t i = 0; i < slots.size(); ++i) out.values[static_cast<std::size_t>(slots[i])] = own[i];
  return out;
}

}  // namespace undertone::silo
