#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "shared/base/byte_stream.hpp"
#include "shared/folds/plausible_replies.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::jobs {

/// Of a silo's facts all but its name: what its plan is a function of. Silos with equal ones are alike.
using PlannedFacts = std::tuple<std::int64_t, std::int64_t, bool, std::int64_t, std::size_t, double, double, double>;
[[nodiscard]] PlannedFacts planned_facts(const releases::SiloFacts& facts);

/// What makes the plan of a silo: `plan_of`, or what gives the same faster. @see plan_of
using Planner = std::function<Result<planning::Plan>(const Job& job, const CohortMember& member)>;

/// The plan of every silo of the cohort. Silos that are alike are planned once.
/// @return the error of the first silo that has no plan
[[nodiscard]] Result<std::map<SiloId, planning::Plan>> plans_of(const Job& job);

/// What planning a whole cohort may take, in operations of a WorkMeter: some hundred silos of different draws.
inline constexpr std::uint64_t kCohortWorkMax = std::uint64_t{1} << 33U;

/// What the plans of a whole cohort make plausible.
class PlausibleCohort {
 public:
  /// Plans for every silo: what a coordinator asks before it runs a job. A silo plans for itself alone. Silos that are
  /// alike are planned once.
  /// @param file the job's name, for errors
  /// @return an error that names all silos that have no plan, or where they take more than `kCohortWorkMax`
  [[nodiscard]] static Result<PlausibleCohort> of(const Job& job, const std::string& file,
                                                  const Planner& planner = plan_of);

  /// Of a run that takes no replies any more: nobody is planned.
  [[nodiscard]] static PlausibleCohort none(const Job& job) { return PlausibleCohort(job); }

  [[nodiscard]] folds::PlausibleReplies::Asked asked(const queries::Query& query) const { return {query, shapes_}; }
  /// @pre the silo is of the job's cohort, which is planned
  [[nodiscard]] const folds::PlausibleReplies& of_silo(const SiloId& silo) const { return kinds_[kind_of_.at(silo)]; }

  [[nodiscard]] std::string save() const;
  /// @return an error where the bytes are damaged or of another cohort
  [[nodiscard]] static Result<PlausibleCohort> read(std::string_view bytes, const Job& job);

 private:
  explicit PlausibleCohort(const Job& job) : shapes_(schedule_of(job)) {}
  folds::AskedShapes shapes_;
  std::vector<folds::PlausibleReplies> kinds_;
  std::map<SiloId, std::size_t> kind_of_;
};

}  // namespace undertone::jobs
