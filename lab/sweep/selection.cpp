#include "lab/sweep/selection.hpp"

#include <algorithm>
#include <cmath>

#include "shared/accounting/gaussian_accountant.hpp"

namespace undertone::lab {
namespace {

/// Whether every release reads a whole block: then what a silo releases is one Gaussian of known shift.
bool reads_everything(const jobs::Job& job) {
  if (job.shuffle) return false;  // there it is one for whoever sees totals or a mix alone, and for a failure besides
  const planning::Schedule schedule = jobs::schedule_of(job);
  return std::all_of(schedule.begin(), schedule.end(), [](const planning::ScheduledRounds& part) {
    return part.ask.records.draw_fraction == 1.0 && !part.ask.records.with_replacement && !part.ask.records.slice &&
           !part.ask.local();
  });
}

std::uint64_t rounds_of(const jobs::Job& job) {
  std::uint64_t rounds = 0;
  for (const planning::ScheduledRounds& part : jobs::schedule_of(job)) rounds += part.rounds;
  return rounds;
}

}  // namespace

Result<SelectionPrice> price_of(const lab::RunsRule& rule, const std::vector<jobs::Job>& jobs) {
  SelectionPrice price;
  bool gaussian = true;
  std::uint64_t rounds = 0;
  for (const jobs::Job& job : jobs) {
    gaussian = gaussian && reads_everything(job);
    rounds = std::max(rounds, rounds_of(job));
    for (const jobs::CohortMember& member : job.cohort) {
      price.base_epsilon = std::max(price.base_epsilon, member.facts.epsilon().value());
      price.base_delta = std::max(price.base_delta, member.facts.delta());
    }
  }
  price.runs_mean = lab::runs_mean(rule);
  const Result<releases::Epsilon> epsilon = releases::Epsilon::create(price.base_epsilon);
  if (!epsilon) return epsilon.error();
  const Result<releases::Delta> delta = releases::Delta::create(price.base_delta);
  if (!delta) return delta.error();
  const Result<lab::SelectionCost> any = lab::selection_cost(rule, *epsilon, price.base_delta);
  if (any) {
    price.epsilon = any->epsilon;
    price.delta = any->delta;
    price.bound = "of any (epsilon, delta) base";
  }
  if (gaussian) {
    // No combination's releases shift by more than this together. The samplers' deviation from the exact law is a total
    // variation for every message of every run.
    const double at = lab::selection_epsilon(rule, accounting::gaussian_shift_for(*epsilon, *delta), *delta);
    const Result<releases::Epsilon> selected = releases::Epsilon::create(at);
    const auto messages = static_cast<std::uint64_t>(std::ceil(price.runs_mean * static_cast<double>(rounds)));
    const Result<releases::DeltaAmount> implementation = selected ? planning::implementation_delta(*selected, messages)
                                                                  : Result<releases::DeltaAmount>(selected.error());
    if (implementation && (!any || at < price.epsilon)) {
      price.epsilon = at;
      price.delta = delta->value() + implementation->value_rounded_up();
      price.bound = "of Gaussian releases";
    }
  }
  if (price.bound.empty()) return any.error();
  return price;
}

std::vector<SweepCell> drawn_cells(const SweepPlan& plan) {
  UNDERTONE_CHECK(plan.selection.has_value());
  RandomSource source(plan.selection->seed);
  const std::int64_t runs = lab::draw_runs(source, plan.selection->rule);
  std::vector<SweepCell> out;
  for (std::int64_t run = 0; run < runs; ++run) {
    SweepCell cell = cell_of(plan, static_cast<std::size_t>(source.below(plan.cells())));
    cell.index = out.size();
    cell.seed = plan.seeds.front() + static_cast<std::uint64_t>(run);  // no two runs share noise
    out.push_back(std::move(cell));
  }
  return out;
}

}  // namespace undertone::lab
