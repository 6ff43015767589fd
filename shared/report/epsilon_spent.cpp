#include "shared/report/epsilon_spent.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "shared/report/metric_noise.hpp"

namespace undertone::report {
namespace {

// Measured: one evaluation of one silo. A plan costs about as much as a few of them.
constexpr std::uint64_t kExactMs = 1;
constexpr std::uint64_t kSampledMs = 100;
constexpr std::uint64_t kPlanEvaluations = 5;

bool accounted(std::size_t evaluation, std::size_t evaluations) {
  if (evaluations <= kEvaluationsAccounted) return true;
  const std::size_t stride = (evaluations + kEvaluationsAccounted - 1) / kEvaluationsAccounted;
  return (evaluations - 1 - evaluation) % stride == 0;
}

bool answered(const ClosedRound& round, const std::string& silo) {
  return std::find(round.answered.begin(), round.answered.end(), silo) != round.answered.end();
}

/// Epsilon of one silo at every evaluation that is accounted for, 0 elsewhere.
/// @param evaluating gains the rounds that evaluate
Result<std::vector<double>> odometer(const RunResult& result, const std::string& silo, const planning::Plan& plan,
                                     std::set<std::uint64_t>& evaluating) {
  std::vector<double> out(result.evaluations.size(), 0.0);
  RoundSet made;
  std::size_t evaluation = 0;
  std::optional<std::uint64_t> last;
  for (const ClosedRound& round : result.participation) {
    const planning::Release* release = plan.release(RoundIndex{round.round});
    if (release == nullptr) {
      return Error{ErrorCode::InvalidData,
                   fmt::format("round {} is not one of the {} that the job plans", round.round, plan.rounds())};
    }
    if (last && round.round <= *last)
      return Error{ErrorCode::InvalidData, fmt::format("round {} follows round {}", round.round, *last)};
    last = round.round;
    if (answered(round, silo)) made.append(RoundIndex{round.round});
    if (release->ask.kind() != releases::QuestionKind::Metrics) continue;
    if (evaluation < out.size() && accounted(evaluation, out.size())) out[evaluation] = plan.epsilon_of(made);
    evaluating.insert(round.round);
    ++evaluation;
  }
  if (evaluation != out.size()) {
    return Error{ErrorCode::InvalidData,
                 fmt::format("{} rounds evaluate, but the result has {} evaluations", evaluation, out.size())};
  }
  return out;
}

}  // namespace

Status add_epsilon_spent(RunResult& result, const jobs::Job& job) {
  std::vector<double> largest(result.evaluations.size(), 0.0);
  std::set<std::uint64_t> evaluating;
  if (largest.empty()) return {};
  for (const jobs::CohortMember& member : job.cohort) {
    UNDERTONE_TRY(const planning::Plan plan, jobs::plan_of(job, member));
    UNDERTONE_TRY(const std::vector<double> spent, odometer(result, member.facts.silo.name(), plan, evaluating));
    for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], spent[i]);
  }
  for (std::size_t i = 0; i < largest.size(); ++i) {
    if (accounted(i, largest.size())) result.evaluations[i].epsilon_spent = largest[i];
  }
  add_metric_noise(result, job, evaluating);
  return {};
}

std::uint64_t accounting_ms(const RunResult& result, const jobs::Job& job) {
  const std::uint64_t evaluations = std::min(result.evaluations.size(), kEvaluationsAccounted) + kPlanEvaluations;
  return job.cohort.size() * evaluations * (job.draw_fraction < 1.0 || job.with_replacement ? kSampledMs : kExactMs);
}

}  // namespace undertone::report
