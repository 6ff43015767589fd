#include "shared/jobs/round_spec.hpp"

#include <algorithm>

namespace undertone::jobs {

std::uint64_t RoundSpec::weight(const CohortMember& member) const {
  if (!evaluation) return member.weight;
  const auto records = static_cast<std::uint64_t>(std::max<std::int64_t>(member.facts.holdout_records, 1));
  return std::min(records, folds::LatticeFold::kWeightMax);
}

RoundSpec round_spec(const Job& job, releases::QuestionKind kind) {
  RoundSpec spec;
  spec.evaluation = kind == releases::QuestionKind::Metrics;
  spec.dimension = spec.evaluation ? static_cast<Eigen::Index>(job.model.metric_names().size()) : job.model.dimension();
  if (!spec.evaluation) spec.aggregation = job.aggregation;  // metrics are always a mean
  spec.lattice = job.reply_lattice;
  return spec;
}

}  // namespace undertone::jobs
