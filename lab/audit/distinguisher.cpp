#include "lab/audit/distinguisher.hpp"

#include <cmath>
#include <utility>

namespace undertone::lab {

NextPoint always_at(Eigen::VectorXd point) {
  return [point = std::move(point)](const Transcript& /*so_far*/) { return point; };
}

PlannedRounds rounds_of(const planning::Plan& plan, releases::Block block) {
  PlannedRounds out;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const bool seen = segment.release.ask.records.block == block && !segment.release.is_public();
    out.insert(out.end(), segment.rounds, seen ? std::make_shared<const planning::Release>(segment.release) : nullptr);
  }
  return out;
}

double chance_of_draw(const planning::Release& release) {
  const auto drawn = static_cast<double>(release.records_drawn);
  const auto population = static_cast<double>(release.population);
  return release.ask.records.with_replacement ? -std::expm1(drawn * std::log1p(-1.0 / population)) : drawn / population;
}

double log_ratio(double drawn, double chance) {
  return chance >= 1.0 ? drawn : std::log((1.0 - chance) + chance * std::exp(drawn));
}

}  // namespace undertone::lab
