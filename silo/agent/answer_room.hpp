#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"
#include "silo/ledger/room_reserve.hpp"

namespace undertone::silo {

/// The bytes that a ledger and its log grow by, at most, with one answer of a release.
struct AnswerBytes {
  std::uint64_t kept = 0;  // in the ledger
  std::uint64_t log = 0;   // in its log, until that is as long as it gets
};
/// @param member the silo, of the job's cohort
[[nodiscard]] AnswerBytes bytes_of_answer(const jobs::Job& job, const jobs::CohortMember& member,
                                          const planning::Release& release);

/// The room on a ledger's disk for the answers that accepted runs have left to give. A silo that accepts a job and
/// finds its disk full in the middle has charged its records for nothing, and so has everybody else.
class AnswerRoom {
 public:
  /// @param reserve outlives this; null: nothing is set aside
  /// @param open runs that were accepted by a process before this one: until each was added or forgotten, nothing of
  ///   what it set aside is given back
  AnswerRoom(const RoomReserve* reserve, std::set<RunId> open) : reserve_(reserve), unknown_(std::move(open)) {}

  /// Sets room aside for the answers of a run that are to come. Of no effect where the run was added before.
  /// @param answered the last round that was answered, if any was
  /// @return an error where the disk has not got it: a new run is then not to be accepted
  [[nodiscard]] Status add(const RunId& run, const jobs::Job& job, const jobs::CohortMember& member,
                           const planning::Plan& plan, std::optional<RoundIndex> answered);
  /// Gives an answer's room back, for the ledger to grow into. Called before it is committed.
  void give(const RunId& run, const AnswerBytes& answer);
  /// The run gives no more answers.
  void forget(const RunId& run);

 private:
  [[nodiscard]] Status keep() const;

  const RoomReserve* reserve_;
  std::set<RunId> unknown_;
  std::map<RunId, AnswerBytes> left_;
};

}  // namespace undertone::silo
