#include "shared/jobs/vertex_choices.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "shared/algorithms/frank_wolfe/private_frank_wolfe.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/privacy_section.hpp"

namespace undertone::jobs {
namespace {

/// The job as it would be with this choice. @return nothing where its bound is of no such choice
std::optional<Job> chosen_so(const Job& job, const algorithms::PrivateFrankWolfeSettings& settings,
                             const algorithms::VertexChoice& choice) {
  Privacy privacy;
  if (const auto* max = std::get_if<releases::MaxBound>(&job.bound)) privacy.coordinate_bound = max->bound.value();
  if (const auto* dual = std::get_if<releases::DualBound>(&job.bound)) privacy.coordinate_bound = dual->clip().value();
  if (choice.traits().bounded_in != algorithms::MethodTraits::BoundedIn::EveryCoordinate)
    std::swap(privacy.clip_norm, privacy.coordinate_bound);
  algorithms::PrivateFrankWolfeSettings other = settings;
  other.choice = &choice;
  Job out = job;
  out.algorithm = other;
  out.noise_choice = {};
  config::Problems problems("job.json");
  out.bound = bound_of(privacy, out.algorithm, problems);
  if (!problems.none()) return std::nullopt;
  return out;
}

}  // namespace

std::vector<PlannedChoice> compare_vertex_choices(const Job& job) {
  const auto* settings = job.algorithm.as<algorithms::PrivateFrankWolfeSettings>();
  if (settings == nullptr) return {};
  double weights = 0.0;
  for (const CohortMember& member : job.cohort) weights += static_cast<double>(member.weight);
  std::vector<PlannedChoice> out;
  for (const algorithms::VertexChoice* choice : algorithms::vertex_choices()) {
    const std::optional<Job> other = chosen_so(job, *settings, *choice);
    if (!other) continue;
    const Result<std::map<SiloId, planning::Plan>> plans = plans_of(*other);
    if (!plans) continue;  // the promises leave no noise for it
    std::vector<algorithms::WeighedPlan> silos;
    for (const CohortMember& member : job.cohort)
      silos.push_back({&plans->at(member.facts.silo), static_cast<double>(member.weight) / weights});
    out.push_back(
        {std::string(choice->name()), choice->step_error(settings->vertices, silos), choice == settings->choice});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const PlannedChoice& a, const PlannedChoice& b) { return a.step_error < b.step_error; });
  return out;
}

}  // namespace undertone::jobs
