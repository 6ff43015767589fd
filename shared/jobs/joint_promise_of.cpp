#include "shared/jobs/joint_promise_of.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "shared/base/work_meter.hpp"
#include "shared/jobs/planner.hpp"

namespace undertone::jobs {
namespace {

constexpr std::size_t kPlanEntriesMax = std::size_t{1} << 20U;  // of all plans together, some hundred bytes each

std::size_t silos_of(const Job& job) {
  return std::min(job.silos_per_person.value_or(job.cohort.size()), job.cohort.size());
}

/// The sum of the dearest promises, which needs no plans. @return nothing, too, where promises count on other silos:
/// then they do not add up
std::optional<planning::JointPromise> added_targets(const Job& job, std::size_t silos) {
  if (job.shuffle && silos > 1) return std::nullopt;
  std::vector<double> epsilons;
  std::vector<double> deltas;
  for (const CohortMember& member : job.cohort) {
    epsilons.push_back(member.facts.epsilon().value());
    deltas.push_back(member.facts.delta());
  }
  const auto largest = [silos](std::vector<double>& values) {
    std::sort(values.rbegin(), values.rend());
    double sum = 0.0;
    for (std::size_t i = 0; i < silos; ++i) sum += values[i];
    return sum;
  };
  const planning::JointPromise out{silos, largest(epsilons), largest(deltas)};
  return out.epsilon <= 30.0 ? std::optional(out) : std::nullopt;
}

/// This is for plans that count on other silos' noise or on shufflers. Somebody at several silos moves one total at all
/// of them, and its noise has to hide all of that together. So the plans' promises to her do not compose. What each
/// silo's own noise promises does.
std::optional<planning::JointPromise> added_of_own_noise(const std::vector<planning::AlikeSilos>& cohort,
                                                         std::size_t silos) {
  planning::JointPromise out{silos};
  std::vector<double> epsilons;
  for (const planning::AlikeSilos& alike : cohort) {
    const std::optional<double> epsilon =
        silos == 1 ? alike.plan->epsilon().value_rounded_up() : alike.plan->epsilon_without_shuffler();
    if (!epsilon) return std::nullopt;
    epsilons.insert(epsilons.end(), std::min(alike.count, silos), *epsilon);
    out.delta = std::max(out.delta, static_cast<double>(silos) * alike.plan->delta().value_rounded_up());
  }
  std::sort(epsilons.rbegin(), epsilons.rend());
  for (std::size_t i = 0; i < std::min(silos, epsilons.size()); ++i) out.epsilon += epsilons[i];
  return out.epsilon <= 30.0 ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<planning::JointPromise> joint_promise_of(const Job& job) {
  if (job.unit != releases::Unit::Person || job.cohort.empty()) return std::nullopt;
  std::map<PlannedFacts, std::size_t> alike;
  for (const CohortMember& member : job.cohort) ++alike[planned_facts(member.facts)];
  const planning::Schedule schedule = schedule_of(job);
  if (alike.size() * schedule.size() > kPlanEntriesMax) return added_targets(job, silos_of(job));
  const WorkMeter meter(planning::kPlanWorkMax);
  std::vector<planning::Plan> plans;
  std::vector<planning::AlikeSilos> cohort;
  plans.reserve(alike.size());
  for (const CohortMember& member : job.cohort) {
    auto left = alike.extract(planned_facts(member.facts));
    if (left.empty()) continue;  // planned before
    Result<planning::Plan> plan = plan_of(job, member);
    if (!plan || meter.exhausted()) return added_targets(job, silos_of(job));
    plans.push_back(std::move(*plan));
    cohort.push_back({&plans.back(), left.mapped()});
  }
  // Noised sums that are mixed without a credit count on nobody but their silo.
  const bool on_others = std::any_of(plans.begin(), plans.end(), [](const planning::Plan& plan) {
    return plan.shuffling() && (plan.shuffling()->binomial || plan.credit());
  });
  const std::optional<planning::JointPromise> out =
      on_others ? added_of_own_noise(cohort, silos_of(job)) : planning::joint_promise(cohort, silos_of(job));
  return meter.exhausted() ? added_targets(job, silos_of(job)) : out;
}

std::string describe(const Job& job, const std::optional<planning::JointPromise>& joint) {
  const std::string whom =
      fmt::format("for a person at {} silo{} of this job at most, if all of them keep their promises", silos_of(job),
                  silos_of(job) == 1 ? "" : "s");
  if (!joint) return fmt::format("as good as none (epsilon beyond 30) {}", whom);
  return fmt::format("epsilon {:.2f}, delta {:.3g} {}", std::ceil(100.0 * joint->epsilon) / 100.0, joint->delta, whom);
}

}  // namespace undertone::jobs
