#include "shared/planning/plan_parts.hpp"

#include <algorithm>
#include <cmath>

#include "shared/accounting/calibration.hpp"
#include "shared/accounting/gaussian_accountant.hpp"

namespace undertone::planning {

double rate_of(std::int64_t drawn, std::int64_t population) {
  if (drawn == population) return 1.0;
  return std::min(1.0, std::nextafter(static_cast<double>(drawn) / static_cast<double>(population), 2.0));
}

DrawnPart drawn_part(const Release& release) {
  if (release.ask.records.with_replacement) return {1.0, release.population, release.records_drawn};
  return {rate_of(release.records_drawn, release.population), 0, 0};
}

accounting::PrivacyEvent event_of_draw(const DrawnPart& part, releases::GaussianShift shift) {
  if (part.draws > 0) return accounting::MultisetGaussianEvent{part.population, part.draws, shift};
  if (part.rate >= 1.0) return accounting::GaussianEvent{shift};
  return accounting::SubsetGaussianEvent{part.rate, shift};
}

accounting::PrivacyEvent local_event(const Release& release) {
  const releases::Cost cost = release.cost_of_draw();
  // Neither is credited with having drawn its records.
  if (cost.pure.units() > 0)
    return accounting::ApproximateEvent{*releases::Epsilon::create(cost.pure.value_rounded_up()), 0.0};
  if (cost.ranged.units() > 0)
    return accounting::ExponentialEvent{*releases::Epsilon::create(cost.ranged.value_rounded_up())};
  return event_of_draw(drawn_part(release), accounting::total_shift(cost.gaussian));
}

Law law_of(const releases::Ask& ask, const releases::Target& target) {
  if (ask.selects()) return Law::Ranged;
  if (const releases::ReportsForm* reports = ask.reports())
    return reports->randomiser == releases::Randomiser::Gaussian ? Law::Gaussian : Law::Pure;
  if (std::holds_alternative<releases::RangeBound>(ask.bound)) return Law::Pure;
  if (const auto* pair = std::get_if<releases::PairBound>(&ask.bound))
    return pair->norm == releases::PairBound::Norm::L1 ? Law::Pure : Law::Gaussian;
  return std::holds_alternative<releases::PureDp>(target) ? Law::Pure : Law::Gaussian;
}

accounting::Footprint footprint_of(const Release& release) {
  const auto part = [&](std::int64_t position) {
    return static_cast<double>(position) / static_cast<double>(release.block_records);
  };
  return {part(release.positions.from), part(release.positions.to)};
}

releases::GaussianShift local_shift_of(const std::vector<Plan::Segment>& segments) {
  for (const Plan::Segment& segment : segments)
    if (!segment.release.is_public()) return accounting::total_shift(segment.release.cost_of_draw().gaussian);
  UNDERTONE_CHECK(false);
}

std::vector<Group> groups_of(const std::vector<Plan::Segment>& segments, releases::Block block) {
  Group order;
  for (std::size_t i = 0; i < segments.size(); ++i)
    if (segments[i].release.ask.records.block == block) order.push_back(i);
  const auto positions = [&](std::size_t i) { return segments[i].release.positions; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return positions(a).from < positions(b).from; });
  std::vector<Group> groups;
  std::int64_t end = -1;
  for (const std::size_t i : order) {
    if (groups.empty() || positions(i).from >= end) groups.emplace_back();
    groups.back().push_back(i);
    end = std::max(end, positions(i).to);
  }
  return groups;
}

Result<releases::Epsilon> common_range(std::uint64_t rounds, const releases::Epsilon& epsilon,
                                       const releases::Delta& delta) {
  UNDERTONE_TRY(const double inverse,
                accounting::smallest_multiplier(
                    [&](double at) -> Result<double> {
                      UNDERTONE_TRY(const releases::Epsilon each, releases::Epsilon::create(1.0 / at));
                      return accounting::charged_epsilon({{accounting::ExponentialEvent{each}, rounds}}, delta);
                    },
                    epsilon.value()));
  return releases::Epsilon::create(1.0 / inverse * (1.0 - 0x1p-50));
}

Result<releases::GaussianShift> common_shift(const std::vector<DrawnRounds>& drawn, const releases::Epsilon& epsilon,
                                             const releases::Delta& delta) {
  struct Remembered {
    std::vector<DrawnRounds> drawn;
    double epsilon;
    double delta;
    double shift;
  };
  constexpr std::size_t kRemembered = 64;
  thread_local std::vector<Remembered> known;
  for (const Remembered& one : known)
    if (one.drawn == drawn && one.epsilon == epsilon.value() && one.delta == delta.value())
      return releases::GaussianShift::create(one.shift);
  UNDERTONE_TRY(const double multiplier,
                accounting::smallest_multiplier(
                    [&](double at) -> Result<double> {
                      UNDERTONE_TRY(const releases::GaussianShift shift, releases::GaussianShift::create(1.0 / at));
                      std::vector<accounting::RepeatedEvent> events;
                      events.reserve(drawn.size());
                      for (const DrawnRounds& one : drawn)
                        events.push_back({event_of_draw(one.part, shift), one.rounds, one.footprint});
                      return accounting::charged_epsilon(events, delta);
                    },
                    epsilon.value()));
  const double shift = 1.0 / multiplier * (1.0 - 0x1p-50);
  if (known.size() == kRemembered) known.erase(known.begin());
  known.push_back({drawn, epsilon.value(), delta.value(), shift});
  return releases::GaussianShift::create(shift);
}

}  // namespace undertone::planning
