#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "shared/folds/aggregation.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::jobs {

/// What the replies of a round that no shuffler mixes look like and fold into: said once, for the service, the direct
/// simulation and the audit of a federation.
struct RoundSpec {
  bool evaluation = false;
  bool of_public = false;                     // of records that silos' owners declared public: all answer exactly
  bool beside_public = false;                 // a reply has a second block, of its public records
  std::uint32_t groups = 1;                   // a reply has a block for each group of records
  bool in_totals = false;                     // replies are silos' totals, which count alike: no weights
  bool statistic = false;                     // of the records themselves: what each silo says is kept
  bool noise_is_looked_at = false;            // by whoever asks: @see folds::Gathered
  Eigen::Index dimension = 0;                 // numbers of a reply, or that its reports are on
  std::optional<Eigen::Index> candidates;     // of a selection: a reply is the number of one of so many
  std::optional<folds::ReportShape> reports;  // of reports: a reply has one of every record, each on one number
  folds::Aggregation aggregation;
  queries::WireLattice lattice;

  [[nodiscard]] folds::RoundFold fold() const {
    if (candidates) return folds::RoundFold(folds::TallyFold(*candidates));
    if (reports) return folds::RoundFold(folds::ReportsFold(*reports));
    if (beside_public) return folds::RoundFold(folds::BesideFold(aggregation, dimension / 2, lattice));
    if (groups > 1) return folds::RoundFold(folds::GroupsFold(aggregation, dimension / groups, groups, lattice));
    return {aggregation, dimension, lattice};
  }
  /// Whether a silo's reply is of the kind that this round's are, and as long: that of a selection names a candidate,
  /// and of reports there is one of each of its records.
  [[nodiscard]] bool admits(const queries::Answer& answer, const CohortMember& member) const;
  /// What of a reply is kept where what each silo says is looked at: its numbers, or what its reports add up to.
  [[nodiscard]] std::vector<std::int64_t> kept(const std::vector<std::int64_t>& values) const {
    return reports ? reports->kept(values) : values;
  }
  /// What a silo counts for in the fold: an evaluation the records that it evaluates, anything else the job's weight.
  /// In 1 .. LatticeFold::kWeightMax.
  [[nodiscard]] std::uint64_t weight(const CohortMember& member) const;
  /// How many records a silo's answer is counted to be of: of its public ones, or of its training records.
  [[nodiscard]] std::int64_t records(const CohortMember& member) const {
    return of_public ? member.facts.public_records : member.facts.records;
  }
  /// Returns how many records the second block of a silo's reply counts.
  [[nodiscard]] std::uint64_t public_weight(const CohortMember& member) const {
    return beside_public ? static_cast<std::uint64_t>(std::max<std::int64_t>(member.facts.public_records, 0)) : 0;
  }
  /// Whether the silo answers exactly, because its owner declared what is read public.
  [[nodiscard]] bool exact(const CohortMember& member) const {
    return of_public || (evaluation && member.facts.holdout_public);
  }
};

/// @param ask of the job's schedule. @see planning::ask_of
[[nodiscard]] RoundSpec round_spec(const Job& job, const releases::Ask& ask);
/// The same of an experiment that has no job. @param wire of sums @param aggregation of all but evaluations
[[nodiscard]] RoundSpec round_spec(const releases::Ask& ask, const queries::WireLattice& wire,
                                   const folds::Aggregation& aggregation);

}  // namespace undertone::jobs
