#include "shared/jobs/statistics_job.hpp"

#include <utility>
#include <vector>

#include "shared/jobs/aggregation_section.hpp"
#include "shared/jobs/cohort_section.hpp"
#include "shared/jobs/participation_section.hpp"
#include "shared/jobs/privacy_section.hpp"
#include "shared/jobs/statistics_section.hpp"

namespace undertone::jobs {
namespace {

constexpr double kStatisticBound = 1.0;  // of an encoded number

/// Of statistics what every silo says is kept, with the run's state: all of it has a bound.
void check_kept(const planning::Schedule& schedule, const std::vector<CohortMember>& cohort,
                config::Problems& problems) {
  double numbers = 0.0;
  for (const planning::ScheduledRounds& part : schedule) numbers += static_cast<double>(part.ask.dimension);
  if (const double held = numbers * static_cast<double>(cohort.size()); held > kHeldValuesMax) {
    problems.add("/statistics/questions",
                 fmt::format("{} silos' answers of {:.0f} numbers: a coordinator holds at most "
                             "{:.0f} numbers of a run of statistics",
                             cohort.size(), numbers, kHeldValuesMax));
  }
}

}  // namespace

Result<Job> parse_statistics_job(config::Section& root, std::string name, data::Schema schema,
                                 config::Problems& problems) {
  AskedStatistics asked = parse_statistics(root.object("statistics"), schema);
  for (const char* key : {"model", "domain", "regulariser", "algorithm", "evaluation", "initial"})
    root.refuse(key, "expected none beside statistics: nothing is trained");
  for (const char* key : {"projection", "standardisation"})
    root.refuse(key, "expected none beside statistics: they are of the columns as data has them");
  root.refuse("aggregation", "expected none beside statistics: the silos' totals are added up");
  root.refuse("wire", "expected none beside statistics: answers are whole totals, and questions have no point");
  root.refuse("weights", "expected none beside statistics: the silos' totals are added up");
  const Privacy privacy = parse_privacy(root.object("privacy"), true);
  std::vector<CohortMember> cohort = parse_cohort(root).members;
  const Participation participation = parse_participation(root, cohort, problems);
  std::optional<SimulationData> simulation = parse_simulation(root, silo_facts(cohort));
  root.finish();
  if (problems.none()) {
    Result<algorithms::StatisticsSettings> settings =
        with_noise_for(std::move(asked.settings), asked.noise, silo_facts(cohort));
    if (settings) asked.settings = *std::move(settings);
    if (!settings) problems.add("/statistics", settings.error().message);
  }
  algorithms::Method method = std::move(asked.settings);
  if (problems.none()) {
    if (const auto made = method->make(); !made) problems.add("/statistics/questions", made.error().message);
    check_kept(method->schedule({releases::RangeBound{-kStatisticBound, kStatisticBound}, 1.0}), cohort, problems);
  }
  if (!problems.none()) return problems.error();
  Job job{std::move(name),
          std::move(schema),
          std::nullopt,
          std::nullopt,
          std::move(method),
          std::nullopt,
          1.0,
          false,
          releases::Slice::Assignment::Permutation,
          releases::RangeBound{-kStatisticBound, kStatisticBound},
          privacy.unit,
          privacy.noise,
          {},
          std::nullopt,
          std::move(cohort),
          participation,
          0,
          queries::PointType::F64,
          {},
          {},
          std::move(simulation),
          std::nullopt};
  return job;
}

}  // namespace undertone::jobs
