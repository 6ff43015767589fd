#include "shared/planning/plan_parts.hpp"

#include <algorithm>
#include <cmath>

#include "shared/accounting/calibration.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/base/remembered_searches.hpp"

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

accounting::PrivacyEvent event_of_draw(const DrawnPart& part, releases::Rho rho) {
  UNDERTONE_CHECK(part.draws == 0);
  if (part.rate >= 1.0) return accounting::ConcentratedEvent{rho};
  return accounting::SubsetConcentratedEvent{part.rate, rho};
}

accounting::PrivacyEvent local_event(const Release& release) {
  const releases::Cost cost = release.cost_of_draw();
  // Neither is credited with having drawn its records.
  if (cost.pure.units() > 0)
    return accounting::ApproximateEvent{*releases::Epsilon::create(cost.pure.value_rounded_up()), 0.0};
  if (cost.ranged.units() > 0)
    return accounting::ExponentialEvent{*releases::Epsilon::create(cost.ranged.value_rounded_up())};
  if (cost.concentrated.units() > 0)
    return event_of_draw(drawn_part(release), *releases::Rho::create(cost.concentrated.value_rounded_up()));
  return event_of_draw(drawn_part(release), accounting::total_shift(cost.gaussian));
}

Law law_of(const releases::Ask& ask, const releases::Target& target) {
  if (std::holds_alternative<releases::MinimiserMap>(ask.map)) return Law::Pure;  // but for a failure
  if (ask.selects() || std::holds_alternative<releases::LocalChoicesMap>(ask.map)) return Law::Ranged;
  if (const releases::ReportsForm* reports = ask.reports())
    return reports->randomiser == releases::Randomiser::Gaussian ? Law::Gaussian : Law::Pure;
  if (ask.summed_reports() != nullptr) return Law::Pure;
  if (ask.noise_norm()) return Law::Concentrated;
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

std::vector<PathPart> path_parts(const Release& release) {
  const auto& selection = std::get<mechanisms::PathSelection>(release.mechanism);
  const std::vector<releases::PathNode>& nodes = release.ask.path()->nodes;
  UNDERTONE_CHECK(nodes.size() == selection.lattice.nodes().size());
  std::vector<PathPart> out;
  out.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    out.push_back({nodes[i].slice.positions(release.block_records), selection.epsilon(i)});
  return out;
}

std::vector<accounting::RepeatedEvent> local_events(const Release& release, std::uint64_t times) {
  if (release.ask.path() == nullptr) return {{local_event(release), times, footprint_of(release)}};
  std::vector<accounting::RepeatedEvent> out;
  for (const PathPart& part : path_parts(release)) {
    const auto of = [&](std::int64_t position) {
      return static_cast<double>(position) / static_cast<double>(release.block_records);
    };
    out.push_back({accounting::ExponentialEvent{*releases::Epsilon::create(part.epsilon.value_rounded_up())},
                   times,
                   {of(part.positions.from), of(part.positions.to)}});
  }
  return out;
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

namespace {

Result<mechanisms::PathLattice> path_lattice_of(const Release& release) {
  std::vector<mechanisms::PathShare> shares;
  shares.reserve(release.ask.path()->nodes.size());
  for (const releases::PathNode& node : release.ask.path()->nodes) {
    const releases::Slice::Positions positions = node.slice.positions(release.block_records);
    shares.push_back({node.bound, node.factor, positions.to - positions.from});
  }
  return mechanisms::PathLattice::finest(shares, *release.ask.candidates());
}

}  // namespace

Result<mechanisms::PathSelection> path_selection_of(const Release& release, releases::Epsilon epsilon) {
  UNDERTONE_TRY(const mechanisms::PathLattice lattice, path_lattice_of(release));
  return mechanisms::path_selection(lattice, *release.ask.candidates(), epsilon);
}

Result<std::vector<double>> path_widths(const std::vector<Plan::Segment>& segments, const Group& group) {
  std::vector<double> out(group.size(), 1.0);
  double widest = 0.0;
  for (std::size_t k = 0; k < group.size(); ++k) {
    const Release& release = segments[group[k]].release;
    if (release.ask.path() == nullptr) continue;
    UNDERTONE_TRY(const mechanisms::PathLattice lattice, path_lattice_of(release));
    out[k] = static_cast<double>(lattice.levels_max()) * lattice.unit();
    widest = std::max(widest, out[k]);
  }
  // A few kinds of widths and not as many as there are lattices, so that alike records meet alike epsilons.
  constexpr double kParts = 4096.0;
  for (std::size_t k = 0; k < group.size(); ++k)
    if (segments[group[k]].release.ask.path() != nullptr)
      out[k] = std::max(1.0, std::floor(out[k] / widest * kParts)) / kParts;
  return out;
}

namespace {

/// A release at a loudness, as accountants see it. @param width of a selection along a path
Result<std::vector<accounting::RepeatedEvent>> events_at(const Plan::Segment& segment, const releases::Target& target,
                                                         double loudness, double width) {
  Release release = segment.release;
  const std::uint64_t times = segment.rounds * release.draws();
  if (law_of(release.ask, target) == Law::Gaussian) {
    UNDERTONE_TRY(const releases::GaussianShift shift, releases::GaussianShift::create(loudness));
    return std::vector<accounting::RepeatedEvent>{
        {event_of_draw(drawn_part(release), shift), times, footprint_of(release)}};
  }
  if (law_of(release.ask, target) == Law::Concentrated) {
    UNDERTONE_TRY(const releases::Rho rho, releases::Rho::create(0.5 * loudness * loudness));
    return std::vector<accounting::RepeatedEvent>{
        {event_of_draw(drawn_part(release), rho), times, footprint_of(release)}};
  }
  UNDERTONE_TRY(const releases::Epsilon epsilon, releases::Epsilon::create(2.0 * loudness * width));
  if (release.ask.path() == nullptr)
    return std::vector<accounting::RepeatedEvent>{
        {law_of(release.ask, target) == Law::Ranged
             ? accounting::PrivacyEvent(accounting::ExponentialEvent{epsilon})
             : accounting::PrivacyEvent(accounting::ApproximateEvent{epsilon, 0.0}),
         times, footprint_of(release)}};
  UNDERTONE_TRY(const mechanisms::PathSelection selection, path_selection_of(release, epsilon));
  release.mechanism = selection;
  return local_events(release, times);
}

double sum_at(const std::vector<accounting::RepeatedEvent>& position, bool squares) {
  double sum = 0.0;
  for (const accounting::RepeatedEvent& one : position) {
    const double each = std::visit(
        Overloaded{[](const accounting::GaussianEvent& event) { return event.shift.value(); },
                   // zCDP credits no draw, and no sum of pure epsilons does.
                   [](const accounting::SubsetGaussianEvent& event) { return event.shift.value(); },
                   [](const accounting::ExponentialEvent& event) { return 0.5 * event.epsilon.value(); },
                   [](const accounting::ApproximateEvent& event) { return event.epsilon.value(); },
                   [](const accounting::ConcentratedEvent& event) { return std::sqrt(2.0 * event.rho.value()); },
                   [](const accounting::SubsetConcentratedEvent& event) { return std::sqrt(2.0 * event.rho.value()); },
                   [](const auto& /*other*/) -> double { UNDERTONE_CHECK(false); }},
        one.event);
    sum += static_cast<double>(one.times) * (squares ? each * each : 2.0 * each);
  }
  return sum;
}

}  // namespace

Result<double> common_loudness(const std::vector<Plan::Segment>& segments, const Group& group,
                               const releases::Target& target, const std::optional<releases::Delta>& delta) {
  UNDERTONE_TRY(const std::vector<double> widths, path_widths(segments, group));
  const auto all_at = [&](double loudness) -> Result<std::vector<accounting::RepeatedEvent>> {
    std::vector<accounting::RepeatedEvent> events;
    for (std::size_t k = 0; k < group.size(); ++k) {
      UNDERTONE_TRY(std::vector<accounting::RepeatedEvent> own,
                    events_at(segments[group[k]], target, loudness, widths[k]));
      events.insert(events.end(), own.begin(), own.end());
    }
    return events;
  };
  const auto* concentrated = std::get_if<releases::ConcentratedDp>(&target);
  if (concentrated != nullptr || !delta) {
    // Both are homogeneous: at loudness 1/4 they say what it takes. What charges are rounded up by is left over.
    constexpr double kAt = 0.25;
    constexpr double kRounding = 0x1p-36;  // of each release's epsilon, in 2^-40 and parts of the dearest node's
    UNDERTONE_TRY(const std::vector<accounting::RepeatedEvent> events, all_at(kAt));
    UNDERTONE_TRY(const auto positions, accounting::by_position(events));
    double worst = 0.0;
    double met = 0.0;
    for (const std::vector<accounting::RepeatedEvent>& position : positions) {
      worst = std::max(worst, sum_at(position, concentrated != nullptr));
      double times = 0.0;
      for (const accounting::RepeatedEvent& one : position) times += static_cast<double>(one.times);
      met = std::max(met, times);
    }
    const double loudness = concentrated != nullptr
                                ? kAt * std::sqrt(2.0 * concentrated->rho.value() / worst) * (1.0 - 1e-9)
                                : kAt * (releases::epsilon_of(target).value() - met * kRounding) / worst * (1.0 - 1e-9);
    if (loudness > 0.0) return loudness;
    return Error{ErrorCode::InvalidArgument, fmt::format("{} releases leave nothing of the promise for each", met)};
  }
  UNDERTONE_TRY(const double inverse, accounting::smallest_multiplier(
                                          [&](double at) -> Result<double> {
                                            UNDERTONE_TRY(const auto events, all_at(1.0 / at));
                                            return accounting::charged_epsilon(events, *delta);
                                          },
                                          releases::epsilon_of(target).value()));
  return 1.0 / inverse * (1.0 - 0x1p-50);
}

Result<releases::GaussianShift> common_shift(const std::vector<DrawnRounds>& drawn, const releases::Epsilon& epsilon,
                                             const releases::Delta& delta) {
  struct Promised {
    std::vector<DrawnRounds> drawn;
    double epsilon;
    double delta;
    bool operator==(const Promised&) const = default;
  };
  static RememberedSearches<Promised, releases::GaussianShift> known(64);
  return known.find({drawn, epsilon.value(), delta.value()}, [&]() -> Result<releases::GaussianShift> {
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
    return releases::GaussianShift::create(1.0 / multiplier * (1.0 - 0x1p-50));
  });
}

}  // namespace undertone::planning
