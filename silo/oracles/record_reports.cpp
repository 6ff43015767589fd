#include "silo/oracles/record_reports.hpp"

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "silo/oracles/statistic.hpp"

namespace undertone::silo {
namespace {

/// Randomises the vector in a ball of each drawn record or person by itself, and puts it into its slot.
queries::Reports vector_reports(const planning::Release& release, const mechanisms::LocalReports& reports,
                                const data::BlockReader& block, std::span<const std::int64_t> positions,
                                const PersonDraw* persons, const std::vector<std::int64_t>& slots,
                                ReleaseStream& stream) {
  const auto& ball = std::get<statistics::BallMap>(std::get<releases::FeaturesMap>(release.ask.map).features);
  UNDERTONE_CHECK(ball.length() == release.ask.dimension);
  const auto size = static_cast<std::size_t>(release.ask.report_size());
  queries::Reports out{std::vector<std::int64_t>(slots.size() * size)};
  std::size_t i = 0;
  const auto report = [&](const Eigen::VectorXd& vector) {
    stream.randomise_vector(reports, vector,
                            std::span(out.values).subspan(static_cast<std::size_t>(slots[i]) * size, size));
    ++i;
  };
  block.read(positions, [&](const data::BlockReader::Part& part) {
    for_ball_vectors(ball, {part.records, part.positions, std::nullopt, persons}, report);
  });
  UNDERTONE_CHECK(i == slots.size());
  return out;
}

}  // namespace

queries::Reports record_reports(const planning::Release& release, const data::BlockReader& block,
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
  if (releases::of_vectors(reports->kind()))
    return vector_reports(release, *reports, block, positions, persons, slots, stream);
  const auto* range = std::get_if<releases::RangeBound>(&release.ask.bound);
  UNDERTONE_CHECK(range != nullptr);
  std::vector<std::int64_t> own;
  own.reserve(slots.size());
  block.read(positions, [&](const data::BlockReader::Part& part) {
    const RecordSums::Drawn drawn{part.records, part.positions, std::nullopt, persons};
    const auto of_part = std::span(slots).subspan(part.from, part.positions.size());
    const auto* statistic = std::get_if<releases::StatisticMap>(&release.ask.map);
    const std::vector<std::int64_t> numbers =
        statistic != nullptr ? statistic_numbers(*statistic, *range, reports->lattice, drawn, of_part)
                             : feature_numbers(std::get<releases::FeaturesMap>(release.ask.map).features,
                                               reports->lattice, drawn, of_part);
    own.insert(own.end(), numbers.begin(), numbers.end());
  });
  stream.randomise(*reports, own, slots);
  queries::Reports out{std::vector<std::int64_t>(slots.size())};
  for (std::size_t i = 0; i < slots.size(); ++i) out.values[static_cast<std::size_t>(slots[i])] = own[i];
  return out;
}

}  // namespace undertone::silo
