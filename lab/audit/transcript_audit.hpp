#pragma once

#include "lab/audit/audit_statistics.hpp"
#include "lab/audit/audited_silo.hpp"
#include "lab/audit/worst_pair.hpp"

namespace undertone::lab {

struct AuditSettings {
  std::int64_t trials = 3000;  // on each data set, half of them to choose the threshold
  double delta = 1e-2;       // at which epsilon is claimed and tested: at 1e-5 no number of trials would show anything
  double error = 1e-6;       // probability of flagging a sound silo
  double error_told = 0.05;  // of the bound that a person is told
};

struct AuditFinding {
  double claimed = 0.0;     // epsilon of the plan at the audit's delta, by its accountant
  double lower = 0.0;       // no epsilon below it is true, with probability 1 - error
  double lower_told = 0.0;  // the same with probability 1 - error_told
  TestCounts counts;
  [[nodiscard]] bool flagged() const noexcept { return lower > claimed; }
};

/// Many transcripts of both data sets, scored by the pair's test; the way to look and the threshold that do best on one
/// half of the trials are judged on the other half. An empirical lower bound: never a guarantee.
/// @param plan what the silo claims for the changed record's block @return an error where a run fails
[[nodiscard]] Result<AuditFinding> audit_transcripts(AuditedSilo& silo, const planning::Plan& plan,
                                                     const WorstPair& pair, const AuditSettings& settings);

/// One run with a canary in each feature's direction, the label of each by a coin: the coins are guessed from the
/// replies. @param coins seed of the coins @return counts of guesses and the largest epsilon they rule out
struct CanaryFinding {
  std::int64_t canaries = 0;
  std::int64_t guesses = 0;
  std::int64_t correct = 0;
  double epsilon_lower = 0.0;  // at 95 %
};
[[nodiscard]] Result<CanaryFinding> audit_canaries(AuditedSilo& silo, const jobs::Job& job,
                                                   const jobs::CohortMember& member, double delta, std::uint64_t coins);

}  // namespace undertone::lab
