#include "shared/jobs/aggregation_section.hpp"

#include <algorithm>

namespace undertone::jobs {

AskedAggregation parse_aggregation(config::Section section) {
  using Kind = folds::Aggregation::Kind;
  AskedAggregation asked;
  folds::Aggregation& out = asked.aggregation;
  out.kind = section.choice<Kind>(
      "kind", {{"mean", Kind::Mean}, {"trimmed_mean", Kind::TrimmedMean}, {"geometric_median", Kind::GeometricMedian}},
      "the last two withstand silos that lie; every answer of a round is held, and no theorem speaks of the outcome");
  if (out.kind == Kind::TrimmedMean || section.recording())
    out.trim = section.number("trim", 0.0, 0.499, "of trimmed_mean: the share of the weight left out at either end");
  if (out.kind == Kind::Mean && section.has("missing_silos")) {
    asked.scaled = section.choice<bool>(
        "missing_silos", {{"renormalised", false}, {"scaled", true}},
        "of mean, where M of N silos answer: renormalised divides by the weights of these M; scaled by all N silos' "
        "weights, times N/M, which is unbiased where any M silos are as likely to answer (default: renormalised, of a "
        "job that names a theorem scaled)");
  }
  section.finish();
  return asked;
}

std::optional<folds::WholeCohort> whole_cohort(const std::vector<CohortMember>& cohort) {
  const bool alike = std::all_of(cohort.begin(), cohort.end(),
                                 [&](const CohortMember& member) { return member.weight == cohort.front().weight; });
  if (alike) return std::nullopt;
  folds::WholeCohort out{cohort.size(), 0};
  for (const CohortMember& member : cohort) out.weights += member.weight;
  return out;
}

bool is_scaled(const AskedAggregation& asked, const AlgorithmChoice& algorithm, const models::Model& model,
               config::Problems& problems) {
  if (asked.aggregation.robust() || !algorithm.method) return false;
  const bool models_answer = (*algorithm.method)->traits().local_steps > 0;
  const bool moments = model.moments() != nullptr;
  const bool votes = (*algorithm.method)->traits().bounded_in == algorithms::MethodTraits::BoundedIn::EveryCoordinate;
  const bool adds_up = (*algorithm.method)->traits().bounded_in == algorithms::MethodTraits::BoundedIn::ItsMap;
  if (asked.scaled && *asked.scaled && adds_up)
    problems.add("/aggregation/missing_silos",
                 "expected \"renormalised\": silos' totals are added up, of those that answer");
  if (asked.scaled && *asked.scaled && votes)
    problems.add("/aggregation/missing_silos",
                 "expected \"renormalised\": silos vote, and votes are of those that "
                 "answer");
  if (asked.scaled && *asked.scaled && (*algorithm.method)->traits().centred)
    problems.add("/aggregation/missing_silos",
                 "expected \"renormalised\": answers are relative to a centre, which only whole weights keep in place");
  if (!asked.scaled) return algorithm.theorem && !models_answer && !moments && !votes && !adds_up;
  if (*asked.scaled && models_answer)
    problems.add("/aggregation/missing_silos",
                 "expected \"renormalised\": local runs answer with models, not gradients");
  if (*asked.scaled && moments)
    problems.add("/aggregation/missing_silos", "expected \"renormalised\": moments are means");
  return *asked.scaled;
}

void check_robust(const folds::Aggregation& aggregation, const AlgorithmChoice& algorithm, const models::Model& model,
                  bool shuffled, std::uint32_t groups, std::size_t silos, config::Problems& problems) {
  if (!aggregation.robust()) return;
  if (shuffled)
    problems.add("/aggregation/kind", "expected \"mean\": answers that nobody sees one by one can only be added");
  if (model.moments() != nullptr) problems.add("/aggregation/kind", "expected \"mean\": moments are means");
  if (algorithm.method &&
      (*algorithm.method)->traits().bounded_in == algorithms::MethodTraits::BoundedIn::EveryCoordinate)
    problems.add("/aggregation/kind", "expected \"mean\": silos vote, and votes are counted");
  if (algorithm.method && (*algorithm.method)->traits().bounded_in == algorithms::MethodTraits::BoundedIn::ItsMap)
    problems.add("/aggregation/kind", "expected \"mean\": silos' totals are added up");
  if (groups > 1)
    problems.add("/aggregation/kind",
                 fmt::format("expected \"mean\" beside {} groups of privacy.moments: silos' groups are averaged, and "
                             "the median is that of the groups",
                             groups));
  // Of a method that asks for more than gradients an answer is longer than the model.
  Eigen::Index numbers = model.dimension();
  if (algorithm.method && problems.none() &&
      (*algorithm.method)->traits().bounded_in == algorithms::MethodTraits::BoundedIn::L2)
    for (const planning::ScheduledRounds& part :
         (*algorithm.method)->schedule({releases::L2Bound{*releases::ClipNorm::create(1.0)}, 1.0}))
      numbers = std::max(numbers, part.ask.dimension);
  if (const double held = static_cast<double>(silos) * static_cast<double>(numbers); held > kHeldValuesMax) {
    problems.add("/aggregation/kind",
                 fmt::format("{} silos' answers of {} numbers: a coordinator holds at most {:.0f} numbers of a round",
                             silos, numbers, kHeldValuesMax));
  }
}

}  // namespace undertone::jobs
