#pragma once

#include <cstdint>
#include <optional>

#include "shared/folds/aggregation.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::jobs {

/// What the replies of a round that no shuffler mixes look like and fold into: said once, for the service, the direct
/// simulation and the audit of a federation.
struct RoundSpec {
  bool evaluation = false;
  bool statistic = false;                  // replies are totals, and fold into their plain mean
  Eigen::Index dimension = 0;              // numbers of a reply
  std::optional<Eigen::Index> candidates;  // of a selection: a reply is the number of one of so many
  folds::Aggregation aggregation;
  queries::WireLattice lattice;

  [[nodiscard]] folds::RoundFold fold() const {
    if (candidates) return folds::RoundFold(folds::TallyFold(*candidates));
    return {aggregation, dimension, lattice};
  }
  /// Whether a reply's numbers are of the kind that this round's have: those of a selection name a candidate.
  [[nodiscard]] bool admits(const queries::Answer& answer) const;
  /// What a silo counts for in the fold: an evaluation the records that it evaluates, anything else the job's weight.
  /// In 1 .. LatticeFold::kWeightMax.
  [[nodiscard]] std::uint64_t weight(const CohortMember& member) const;
  /// Whether the silo answers exactly, because its owner declared what is read public.
  [[nodiscard]] bool exact(const CohortMember& member) const { return evaluation && member.facts.holdout_public; }
};

/// @param ask of the job's schedule. @see planning::ask_of
[[nodiscard]] RoundSpec round_spec(const Job& job, const releases::Ask& ask);
/// The same of an experiment that has no job. @param wire of sums @param aggregation of all but evaluations
[[nodiscard]] RoundSpec round_spec(const releases::Ask& ask, const queries::WireLattice& wire,
                                   const folds::Aggregation& aggregation);

}  // namespace undertone::jobs
