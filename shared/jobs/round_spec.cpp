#include "shared/jobs/round_spec.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::jobs {

std::uint64_t RoundSpec::weight(const CohortMember& member) const {
  if (in_totals) return 1;
  if (!evaluation) return member.weight;
  const auto records = static_cast<std::uint64_t>(std::max<std::int64_t>(member.facts.holdout_records, 1));
  return std::min(records, folds::LatticeFold::kWeightMax);
}

bool RoundSpec::admits(const queries::Answer& answer, const CohortMember& member) const {
  if (reports) return reports->admits(answer, member.facts.records);
  const std::vector<std::int64_t>& values = queries::values_of(answer);
  if (static_cast<Eigen::Index>(values.size()) != dimension) return false;
  if (std::holds_alternative<queries::Reports>(answer)) return false;
  if (std::holds_alternative<queries::Selected>(answer) != candidates.has_value()) return false;
  if (std::holds_alternative<queries::SumsBesidePublic>(answer) != beside_public) return false;
  return !candidates || (values.front() >= 0 && values.front() < *candidates);
}

RoundSpec round_spec(const Job& job, const releases::Ask& ask) {
  return round_spec(ask, job.reply_lattice, job.aggregation);
}

RoundSpec round_spec(const releases::Ask& ask, const queries::WireLattice& wire,
                     const folds::Aggregation& aggregation) {
  RoundSpec spec;
  spec.evaluation = ask.kind() == releases::QuestionKind::Metrics;
  spec.of_public = ask.records.block == releases::Block::Public;
  spec.dimension = ask.answer_size();
  spec.noise_is_looked_at = ask.kind() == releases::QuestionKind::ScoreMoments;
  spec.beside_public = ask.beside_public;
  spec.groups = ask.groups();
  spec.lattice = wire;
  if (ask.selects()) {
    spec.in_totals = ask.answers_in_totals();
    spec.statistic = spec.in_totals;
    spec.candidates = ask.candidate_count();
    spec.lattice = {queries::ReplyType::I64, 0};
  } else if (ask.answers_in_totals()) {
    spec.in_totals = true;
    spec.statistic = ask.kind() == releases::QuestionKind::Statistic;
    spec.lattice = queries::statistic_lattice(ask);
    if (ask.reports() != nullptr) spec.reports = folds::ReportShape(ask);
  } else if (!spec.evaluation) {
    spec.aggregation = aggregation;  // metrics are always a mean
  }
  return spec;
}

}  // namespace undertone::jobs
