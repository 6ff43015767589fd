#pragma once

#include <cstdint>

#include "shared/folds/aggregation.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::jobs {

/// What the replies of a round that no shuffler mixes look like and fold into: said once, for the service, the direct
/// simulation and the audit of a federation.
struct RoundSpec {
  bool evaluation = false;
  Eigen::Index dimension = 0;  // numbers of a reply
  folds::Aggregation aggregation;
  queries::WireLattice lattice;

  [[nodiscard]] folds::RoundFold fold() const { return {aggregation, dimension, lattice}; }
  /// What a silo counts for in the fold: an evaluation the records that it evaluates, anything else the job's weight.
  /// In 1 .. LatticeFold::kWeightMax.
  [[nodiscard]] std::uint64_t weight(const CohortMember& member) const;
  /// Whether the silo answers exactly, because its owner declared what is read public.
  [[nodiscard]] bool exact(const CohortMember& member) const { return evaluation && member.facts.holdout_public; }
};

/// @param kind of the round's question
[[nodiscard]] RoundSpec round_spec(const Job& job, releases::QuestionKind kind);

}  // namespace undertone::jobs
