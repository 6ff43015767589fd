#include "shared/jobs/statistics_job.hpp"

#include <utility>
#include <vector>

#include "shared/base/work_meter.hpp"
#include "shared/jobs/aggregation_section.hpp"
#include "shared/jobs/cohort_section.hpp"
#include "shared/jobs/participation_section.hpp"
#include "shared/jobs/privacy_section.hpp"
#include "shared/jobs/statistic_question.hpp"
#include "shared/jobs/statistics_choices.hpp"
#include "shared/jobs/statistics_section.hpp"

namespace undertone::jobs {
namespace {

constexpr double kStatisticBound = 1.0;  // of an encoded number

/// Of statistics what every silo says is kept, with the run's state: all of it has a bound.
void check_kept(const planning::Schedule& schedule, const std::vector<CohortMember>& cohort,
                config::Problems& problems) {
  double held = 0.0;
  for (const planning::ScheduledRounds& part : schedule) {
    // Reports of vectors are kept one by one, of every record; others are added up while they come in.
    const releases::ReportsForm* reports = part.ask.reports();
    const bool each = reports != nullptr && reports->randomiser == releases::Randomiser::Gaussian;
    for (const CohortMember& member : cohort)
      held += each ? static_cast<double>(member.facts.records) * static_cast<double>(part.ask.report_size())
                   : static_cast<double>(part.ask.dimension);
  }
  if (held > kHeldValuesMax) {
    problems.add("/statistics/questions",
                 fmt::format("{} silos' answers have {:.0f} numbers together: a coordinator holds at most {:.0f} "
                             "numbers of a run of statistics",
                             cohort.size(), held, kHeldValuesMax));
  }
}

/// The settled job, unless its statistics ask for what there is not or say more than a coordinator keeps.
Result<Job> checked(JobTerms terms, algorithms::StatisticsSettings settings, config::Problems& problems) {
  algorithms::Method method = std::move(settings);
  if (const auto made = method->make(); !made) problems.add("/statistics/questions", made.error().message);
  if (problems.none())
    check_kept(method->schedule({releases::RangeBound{-kStatisticBound, kStatisticBound}, 1.0}), terms.cohort,
               problems);
  if (!problems.none()) return problems.error();
  return Job{std::move(terms), std::move(method)};
}

}  // namespace

Result<ReadJob> read_statistics_job(config::Section& root, std::string name, data::Schema schema,
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
  std::vector<CohortMember> cohort = parse_cohort(root, privacy.unit).members;
  const Participation participation = parse_participation(root, cohort, problems);
  std::optional<SimulationData> simulation = parse_simulation(root, silo_facts(cohort), privacy.unit);
  root.finish();
  if (!problems.none()) return problems.error();
  JobTerms job{std::move(name),
               std::move(schema),
               std::nullopt,
               std::nullopt,
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
  if (privacy.unit == releases::Unit::SensitiveAttribute)
    problems.add("/privacy/unit", "expected \"record\" or \"person\": statistics protect all that they are of");
  if (privacy.unit == releases::Unit::Person) {
    job.person = privacy.person;
    job.silos_per_person = privacy.silos_per_person;
  }
  asked.settings.unit = privacy.unit;
  if (job.person) asked.settings.person_records_max = job.person->records_max;
  for (algorithms::StatisticAsked& one : asked.settings.questions)
    if (const Status cells = settle_record_cells(one, job.person); !cells)
      problems.add("/statistics/questions", cells.error().message);
  if (!problems.none()) return problems.error();
  return ReadJob(std::move(job), std::move(asked.settings), asked.noise, problems.file());
}

Result<Job> ReadJob::settle() && {
  if (!open_) return Job{std::move(terms_), std::move(asked_)};
  config::Problems problems(file_);
  const auto* settings = asked_.as<algorithms::StatisticsSettings>();
  UNDERTONE_CHECK(settings != nullptr);
  const WorkMeter meter(kSettleWorkMax);
  Result<algorithms::StatisticsSettings> chosen = with_noise_for(*settings, *open_, silo_facts(terms_.cohort));
  if (meter.exhausted()) {
    problems.add("/statistics", fmt::format("choosing what {} questions leave open, for {} silos, takes more than {} "
                                            "operations, which is the most: expected fewer questions of kind loss, or "
                                            "fewer silos of different promises",
                                            settings->questions.size(), terms_.cohort.size(), meter.most()));
    return Error{ErrorCode::LimitExceeded, problems.error().message};
  }
  if (WorkMeter::stopped()) return Error{ErrorCode::Cancelled, "the choice of what the job leaves open was given up"};
  if (!chosen) {
    problems.add("/statistics", chosen.error().message);
    return problems.error();
  }
  return checked(std::move(terms_), *std::move(chosen), problems);
}

Result<Job> ReadJob::settled_as(std::string_view choices) && {
  if (!open_) return Job{std::move(terms_), std::move(asked_)};
  config::Problems problems(file_);
  UNDERTONE_TRY(algorithms::StatisticsSettings settings,
                read_choices(*asked_.as<algorithms::StatisticsSettings>(), choices));
  return checked(std::move(terms_), std::move(settings), problems);
}

std::string settled_choices(const Job& job) {
  const auto* settings = job.algorithm.as<algorithms::StatisticsSettings>();
  return settings == nullptr ? std::string() : save_choices(*settings);
}

}  // namespace undertone::jobs
