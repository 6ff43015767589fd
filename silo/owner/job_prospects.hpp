#pragma once

#include "silo/owner/owner_files.hpp"

namespace undertone::silo {

/// What an offer of a job would be answered now on one data set. Nothing is reserved.
/// @param facts of the data set
/// @return nothing: it would be accepted, or wait for its owner
[[nodiscard]] std::vector<Objection> objections_now(const Files& files, const DatasetConfig& dataset,
                                                    const DatasetFacts& facts, const jobs::Job& job,
                                                    crypto::NoiseKind noise);

/// What an offer would be answered, in a sentence.
struct Prospect {
  bool taken = false;  // accepted, or it waits for the owner
  std::string sentence;
};
/// @param everywhere in the configuration's order; at least one
[[nodiscard]] Prospect prospect_of(std::vector<DatasetObjections> everywhere, Approval approval);

/// A data set as the agent found it when it let the job wait: the counts are those of the job.
[[nodiscard]] DatasetFacts facts_as_offered(const DatasetConfig& dataset, const jobs::CohortMember& member);

}  // namespace undertone::silo
