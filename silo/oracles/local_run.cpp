#include "silo/oracles/local_run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace undertone::silo {
namespace {

/// The records of one step: every one of the block, or a fresh subset.
std::vector<std::int64_t> drawn_for_step(const planning::Release& release, const RecordSums& sums,
                                         ReleaseStream& stream) {
  if (release.records_drawn == 1)
    return {static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(release.population)))};
  std::vector<std::int64_t> drawn = stream.subset(release.population, release.records_drawn);
  return sums.adds_integers() ? drawn : reordered(drawn, stream.order(release.records_drawn));
}

void add(const std::vector<std::int64_t>& numbers, std::vector<std::int64_t>& sum) {
  std::transform(sum.begin(), sum.end(), numbers.begin(), sum.begin(), std::plus<>());
}

}  // namespace

std::vector<std::int64_t> reordered(const std::vector<std::int64_t>& drawn, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> out(drawn.size());
  std::transform(order.begin(), order.end(), out.begin(),
                 [&](std::int64_t place) { return drawn[static_cast<std::size_t>(place)]; });
  return out;
}

std::vector<std::int64_t> local_run(const LocalStart& start, const planning::Release& release,
                                    const data::BlockReader& block, const PersonDraw* persons,
                                    const queries::WireLattice& wire, RecordSums& sums, ReleaseStream& stream) {
  const mechanisms::GaussianLattice& gaussian = std::get<mechanisms::GaussianLattice>(release.mechanism);
  const releases::LocalSteps* local = release.ask.local();
  UNDERTONE_CHECK(local != nullptr && release.records_drawn == local->records && release.population == block.count());
  UNDERTONE_CHECK(start.control.size() == start.variate.size());
  const double scale = local->step_size * gaussian.lattice.step / static_cast<double>(local->records);
  Eigen::VectorXd iterate = start.point;
  std::vector<std::int64_t> gradient(static_cast<std::size_t>(start.point.size()));
  std::vector<std::int64_t> of_part(gradient.size());
  std::vector<std::int64_t> noise(gradient.size());
  for (std::uint64_t step = 0; step < local->steps; ++step) {
    const std::vector<std::int64_t> drawn = drawn_for_step(release, sums, stream);
    std::fill(gradient.begin(), gradient.end(), 0);
    block.read(drawn, [&](const data::BlockReader::Part& part) {
      sums.gradients(iterate, gaussian.lattice, {part.records, part.positions, std::nullopt, persons}, of_part);
      add(of_part, gradient);
    });
    stream.fill_gaussian(gaussian.log2_stddev, noise);
    if (local->proximal > 0.0) iterate -= local->step_size * local->proximal * (iterate - start.point);
    if (start.control.size() > 0) iterate -= local->step_size * (start.control - start.variate);
    for (std::size_t j = 0; j < gradient.size(); ++j)
      iterate[static_cast<Eigen::Index>(j)] -= scale * static_cast<double>(gradient[j] + noise[j]);
  }
  return queries::to_wire(iterate, wire);
}

std::vector<std::int64_t> local_choices(const Eigen::VectorXd& start, const planning::Release& release,
                                        const data::BlockReader& block, const PersonDraw* persons,
                                        const queries::WireLattice& wire, RecordSums& sums, ReleaseStream& stream) {
  const auto& selection = std::get<mechanisms::Selection>(release.mechanism);
  const auto& choices = std::get<releases::LocalChoicesMap>(release.ask.map);
  UNDERTONE_CHECK(release.records_drawn == block.count() && release.population == block.count());
  // The very range that the draw is calibrated to.
  UNDERTONE_CHECK(selection.draw.range().value() >= choices.vertices.score_range(selection.lattice.levels()));
  std::vector<std::int64_t> gradient(static_cast<std::size_t>(start.size()));
  std::vector<std::int64_t> of_part(gradient.size());
  std::vector<std::int64_t> scores(static_cast<std::size_t>(choices.vertices.count()));
  Eigen::VectorXd iterate = start;
  for (std::uint64_t step = 1; step <= choices.steps; ++step) {
    std::fill(gradient.begin(), gradient.end(), 0);
    block.read_all([&](const data::BlockReader::Part& part) {
      sums.clamped_gradients(iterate, selection.lattice, {part.records, part.positions, std::nullopt, persons},
                             of_part);
      add(of_part, gradient);
    });
    choices.vertices.scores(gradient, scores);
    const auto vertex = static_cast<Eigen::Index>(stream.select(selection.draw, scores));
    const double size = 2.0 / (static_cast<double>(step) + 1.0);
    iterate *= 1.0 - size;
    choices.vertices.add_scaled(vertex, size, iterate);
  }
  return queries::to_wire(iterate, wire);
}

Eigen::VectorXd variate_after(const LocalStart& start, const releases::LocalSteps& steps,
                              const std::vector<std::int64_t>& end, const queries::WireLattice& wire) {
  UNDERTONE_CHECK(static_cast<Eigen::Index>(end.size()) == start.point.size());
  const Eigen::VectorXd reached =
      Eigen::Map<const Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>>(end.data(), start.point.size()).cast<double>() *
      std::ldexp(1.0, wire.step_log2);
  return start.variate - start.control + (start.point - reached) / (static_cast<double>(steps.steps) * steps.step_size);
}

}  // namespace undertone::silo
