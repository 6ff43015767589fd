#include "shared/planning/joint_promise.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/base/work_meter.hpp"

namespace undertone::planning {
namespace {

constexpr double kEpsilonMax = 30.0;  // beyond it delta covers no deviation of a sampler

/// The releases of several silos that one person may be in, and how many draws of noise their messages are made of.
struct Together {
  std::vector<accounting::RepeatedEvent> events;
  std::uint64_t draws = 0;
  bool of_parts = false;  // she is in another part at every silo, and the accountant knows one alone

  void add(const Plan& plan, releases::Block block, std::uint64_t times) {
    for (accounting::RepeatedEvent event : plan.events(block)) {
      event.times *= times;
      of_parts = of_parts || event.footprint.from > 0.0 || event.footprint.to < 1.0;
      events.push_back(std::move(event));
    }
  }
};

/// Epsilon at a delta that samplers take their share of, which grows with epsilon.
std::optional<double> epsilon_at(const Together& together, double delta) {
  constexpr int kAttempts = 8;
  if (together.of_parts) return std::nullopt;
  if (together.events.empty()) return 0.0;
  double left = delta;
  double reserved = 0.0;  // epsilon for which what is taken off delta is enough
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Result<releases::Delta> at = releases::Delta::create(left);
    const Result<double> epsilon = at ? accounting::charged_epsilon(together.events, *at) : Result<double>(at.error());
    if (!epsilon || *epsilon > kEpsilonMax) return std::nullopt;
    if (attempt > 0 && *epsilon <= reserved) return epsilon.value();
    reserved = *epsilon * (1.0 + 1e-6);
    const Result<releases::Epsilon> counted = releases::Epsilon::create(reserved);
    if (!counted) return epsilon.value();
    const Result<releases::DeltaAmount> taken = implementation_delta(*counted, together.draws);
    if (!taken || taken->value_rounded_up() >= delta) return std::nullopt;
    left = delta - taken->value_rounded_up();
  }
  return std::nullopt;
}

/// s silos that are alike: in some of them she is in training, in the others held out, whichever is dearest.
std::optional<double> of_alike(const Plan& plan, std::size_t silos, double delta) {
  const bool both = plan.protects(releases::Block::Training) && plan.protects(releases::Block::Holdout);
  const std::size_t least = plan.protects(releases::Block::Training) ? 0 : silos;
  double worst = 0.0;
  for (std::size_t held_out = least; held_out <= (both ? silos : least); ++held_out) {
    Together together;
    together.draws = plan.draws() * silos;
    if (held_out < silos) together.add(plan, releases::Block::Training, silos - held_out);
    if (held_out > 0) together.add(plan, releases::Block::Holdout, held_out);
    const std::optional<double> epsilon = epsilon_at(together, delta);
    if (!epsilon || WorkMeter::stopped()) return std::nullopt;
    worst = std::max(worst, *epsilon);
  }
  return worst;
}

/// Every silo of the cohort, and both blocks of each: no less than any choice of them.
std::optional<double> of_all(const std::vector<AlikeSilos>& cohort, double delta) {
  Together together;
  for (const AlikeSilos& alike : cohort) {
    together.draws += alike.plan->draws() * alike.count;
    for (const releases::Block block : releases::kProtectedBlocks)
      if (alike.plan->protects(block)) together.add(*alike.plan, block, alike.count);
  }
  return epsilon_at(together, delta);
}

/// mu^2 of the dearer block, of all its parts together, where all its releases are Gaussian and none draws whom it
/// reads.
std::optional<double> shift_squared(const Plan& plan) {
  const bool drawn = std::any_of(plan.segments().begin(), plan.segments().end(), [](const Plan::Segment& segment) {
    return !segment.release.is_public() && segment.release.sampled();
  });
  if (drawn) return std::nullopt;
  double out = 0.0;
  for (const releases::Block block : releases::kProtectedBlocks) {
    if (!plan.protects(block)) continue;
    if (!plan.cost(block).is_gaussian()) return std::nullopt;
    out = std::max(out, plan.cost(block).gaussian.value_rounded_up());
  }
  return out;
}

/// The s dearest of silos of which each is known by its shift alone.
std::optional<double> of_dearest_shifts(const std::vector<AlikeSilos>& cohort, std::size_t silos, double delta) {
  std::vector<std::pair<double, const AlikeSilos*>> dear;
  for (const AlikeSilos& alike : cohort) {
    const std::optional<double> squared = shift_squared(*alike.plan);
    if (!squared) return std::nullopt;
    dear.emplace_back(*squared, &alike);
  }
  std::sort(dear.begin(), dear.end(), [](const auto& one, const auto& other) { return one.first > other.first; });
  Together together;
  double sum = 0.0;
  for (const auto& [squared, alike] : dear) {
    const std::size_t taken = std::min(silos, alike->count);
    sum += squared * static_cast<double>(taken);
    together.draws += alike->plan->draws() * taken;
    silos -= taken;
  }
  if (const auto shift = releases::GaussianShift::create(std::sqrt(sum) * (1.0 + 1e-12)); shift)
    together.events.push_back({accounting::GaussianEvent{*shift}, 1});
  return epsilon_at(together, delta);
}

/// What the s dearest promises add up to.
JointPromise added(const std::vector<AlikeSilos>& cohort, std::size_t silos) {
  const auto largest = [&](const auto& of) {
    std::vector<std::pair<double, std::size_t>> values;
    for (const AlikeSilos& alike : cohort) values.emplace_back(of(*alike.plan), alike.count);
    std::sort(values.rbegin(), values.rend());
    double sum = 0.0;
    std::size_t left = silos;
    for (const auto& [value, count] : values) {
      const std::size_t taken = std::min(left, count);
      sum += value * static_cast<double>(taken);
      left -= taken;
    }
    return sum;
  };
  return {silos, largest([](const Plan& plan) { return plan.epsilon().value_rounded_up(); }),
          largest([](const Plan& plan) { return plan.delta().value_rounded_up(); })};
}

}  // namespace

std::optional<JointPromise> joint_promise(const std::vector<AlikeSilos>& cohort, std::size_t silos) {
  std::size_t all = 0;
  double delta = 0.0;
  for (const AlikeSilos& alike : cohort) {
    all += alike.count;
    delta = std::max(delta, alike.plan->delta().value_rounded_up());
  }
  const std::size_t most = std::min(silos, all);
  std::optional<double> epsilon;
  if (delta > 0.0) {
    epsilon = of_dearest_shifts(cohort, most, delta);
    if (!epsilon && cohort.size() == 1) epsilon = of_alike(*cohort.front().plan, most, delta);
    if (!epsilon && cohort.size() > 1) epsilon = of_all(cohort, delta);
  }
  const JointPromise sum = added(cohort, most);
  if (epsilon && *epsilon <= sum.epsilon) return JointPromise{most, *epsilon, delta};
  return sum.epsilon <= kEpsilonMax ? std::optional(sum) : std::nullopt;
}

}  // namespace undertone::planning
