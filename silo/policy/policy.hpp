#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/schema.hpp"
#include "shared/jobs/job.hpp"
#include "shared/releases/quantities.hpp"
#include "silo/ledger/ledger.hpp"
#include "silo/policy/objections.hpp"

namespace undertone::silo {

/// Who accepts a job that the policy allows.
enum class Approval { Manual, Automatic };

/// What the institution believes of shufflers: a shuffled job's guarantee is worth as much.
struct ShuffleTrust {
  struct Party {
    std::string name;
    std::optional<Digest> key;  // that a job must name it with, where it adds; none: whatever the job says
  };
  std::vector<Party> shufflers;    // that do not collude with the coordinator nor with each other
  std::vector<std::string> forms;  // of replies, by name
  std::size_t honest_min = 1;      // silos of a job's cohort that are honest, this one among them
};

/// What the institution allows. What is not named is refused.
struct Policy {
  std::vector<std::string> models;      // of jobs that have one
  std::vector<std::string> algorithms;  // "statistics" among them, where jobs may ask for such
  std::vector<std::string> units;       // protected units that the institution accepts
  std::int64_t records_min = 0;         // least training records to take part with
  std::size_t cohort_min = 1;           // least silos in a job's cohort
  releases::Epsilon epsilon_max;        // of one job
  releases::Delta delta_max;
  Budget total;  // of all jobs on a data set
  Approval approval = Approval::Manual;
  std::chrono::milliseconds release_interval{0};  // 0: replies leave when they are ready
  std::optional<ShuffleTrust> shuffle = {};       // none: no shuffled job
  bool projections = false;                       // whether a job may compute what its model reads
  ExplainRefusals explain_refusals = ExplainRefusals::Kind;
  bool allocation_accounting = false;   // whether noise may count on it being secret which part a record was in
  bool local_reports = false;           // whether a job may ask for a report of every record by itself
  double answer_products_max = 0x1p38;  // that one answer may take, of a record's number with another: some minutes
  std::int64_t persons_min = 0;         // least training persons to take part with, of a data set of persons
};

/// What a silo has, as far as a job may depend on it.
struct DatasetFacts {
  data::Schema schema;
  std::int64_t records = 0;
  std::int64_t holdout_records = 0;
  bool holdout_public = false;
  std::int64_t public_records = 0;
  releases::Unit unit = releases::Unit::Record;  // what the counts count
};

/// What policy and data set have against taking part in the job as this member, as far as its text alone says: asked
/// before anything is chosen or planned for a stranger.
/// @param algorithm its name
[[nodiscard]] std::vector<Objection> objections_to_terms(const Policy& policy, const DatasetFacts& facts,
                                                         const jobs::JobTerms& job, std::string_view algorithm,
                                                         const jobs::CohortMember& member, crypto::NoiseKind noise);

/// Everything that policy and data set have against taking part in the job as this member.
[[nodiscard]] std::vector<Objection> objections_to(const Policy& policy, const DatasetFacts& facts,
                                                   const jobs::Job& job, const jobs::CohortMember& member,
                                                   crypto::NoiseKind noise);

/// Shufflers of the job that the configuration does not dial.
/// @param dialled by name
[[nodiscard]] std::vector<Objection> undialled_shufflers(const jobs::JobTerms& job,
                                                         const std::set<std::string>& dialled);

/// Whether the silo may take part in the job as this member: the first of the objections, if there is one.
[[nodiscard]] Status check_policy(const Policy& policy, const DatasetFacts& facts, const jobs::Job& job,
                                  const jobs::CohortMember& member, crypto::NoiseKind noise);

}  // namespace undertone::silo
