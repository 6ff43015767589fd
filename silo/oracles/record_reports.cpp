#include "silo/oracles/record_reports.hpp"

#include <cstddef>
#include <numeric>
#include <vector>

#include "silo/oracles/statistic.hpp"

namespace undertone::silo {
namespace {

/// Each record's vector in a ball, randomised by itself, in its slot.
queries::Reports vector_reports(const planning::Release& release, const mechanisms::LocalReports& reports,
                                const models::Records& block, const std::vector<std::int64_t>& slots,
                                ReleaseStream& stream) {
  const auto& ball = std::get<statistics::BallMap>(std::get<releases::FeaturesMap>(release.ask.map).features);
  UNDERTONE_CHECK(statistics::check(ball, static_cast<std::size_t>(block.features.rows()) + 1).has_value());
  UNDERTONE_CHECK(ball.besides == statistics::BallMap::Besides::Nothing && ball.length() == release.ask.dimension);
  const auto size = static_cast<std::size_t>(release.ask.report_size());
  queries::Reports out{std::vector<std::int64_t>(slots.size() * size)};
  Eigen::VectorXd vector(ball.length());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    statistics::in_ball(ball, encoded_record(block, static_cast<std::int64_t>(i)), vector);
    stream.randomise_vector(reports, vector,
                            std::span(out.values).subspan(static_cast<std::size_t>(slots[i]) * size, size));
  }
  return out;
}

}  // namespace

queries::Reports record_reports(const planning::Release& release, const models::Records& block, ReleaseStream& stream) {
  const auto* reports = std::get_if<mechanisms::LocalReports>(&release.mechanism);
  UNDERTONE_CHECK(reports != nullptr);
  UNDERTONE_CHECK(release.ask.reports() != nullptr && release.ask.reports()->randomiser == reports->kind());
  // Every record is in one report and no record in two.
  UNDERTONE_CHECK(!release.sampled() && !release.ask.records.slice && release.records_drawn == block.count());
  const std::vector<std::int64_t> slots = stream.order(block.count());
  if (releases::of_vectors(reports->kind())) return vector_reports(release, *reports, block, slots, stream);
  const auto* range = std::get_if<releases::RangeBound>(&release.ask.bound);
  UNDERTONE_CHECK(range != nullptr);
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
