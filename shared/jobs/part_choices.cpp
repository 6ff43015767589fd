#include "shared/jobs/part_choices.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "shared/jobs/planner.hpp"

namespace undertone::jobs {
namespace {

using releases::Slice;

/// By silo, the largest of all releases of parts: assignments may cut a schedule into different segments.
using Noises = std::map<SiloId, double>;

std::optional<Noises> noises_of(const Job& job, Slice::Assignment assignment) {
  if (assignment == Slice::Assignment::Bins && job.model->linear() == nullptr) return std::nullopt;
  Job other = job;
  other.parts = assignment;
  const Result<std::map<SiloId, planning::Plan>> plans = plans_of(other);
  if (!plans) return std::nullopt;
  Noises out;
  for (const auto& [silo, plan] : *plans) {
    double& largest = out[silo];
    for (const planning::Plan::Segment& segment : plan.segments())
      if (segment.release.ask.records.slice) largest = std::max(largest, segment.release.noise_stddev_of_mean());
  }
  return out;
}

bool could_be_secret(const Job& job) {
  const planning::Schedule schedule = schedule_of(job);
  return job.model && !job.shuffle &&
         std::any_of(schedule.begin(), schedule.end(),
                     [](const auto& part) { return part.ask.records.slice.has_value(); }) &&
         std::none_of(schedule.begin(), schedule.end(), [](const auto& part) {
           return part.ask.shift || part.ask.epsilon || part.ask.share ||
                  std::holds_alternative<releases::InfluenceBound>(part.ask.bound);
         });
}

}  // namespace

std::vector<PlannedParts> compare_parts(const Job& job) {
  if (!could_be_secret(job)) return {};
  const std::optional<Noises> told = noises_of(job, Slice::Assignment::Permutation);
  if (!told) return {};
  std::vector<PlannedParts> out;
  for (const Slice::Assignment assignment :
       {Slice::Assignment::Permutation, Slice::Assignment::SecretPermutation, Slice::Assignment::Bins}) {
    const std::optional<Noises> noises = noises_of(job, assignment);
    if (!noises) continue;
    double worst = 0.0;
    for (const auto& [silo, own] : *noises) worst = std::max(worst, own / told->at(silo));
    out.push_back({assignment, worst, assignment == job.parts});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const PlannedParts& a, const PlannedParts& b) { return a.noise < b.noise; });
  return out;
}

}  // namespace undertone::jobs
