#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "silo/owner/owner_files.hpp"

/// Jobs that were offered, and what their owner says to them: values and texts, for commands and for the desk's page.
namespace undertone::silo {

inline constexpr std::size_t kOwnersReasonMax = 512;  // bytes of what an owner says to a refusal

/// What taking part would release and cost, in plain words. @return an error where its plan cannot be made
[[nodiscard]] Result<std::string> summary_of(const Files& files, const KnownRun& run);
/// The plan that this silo makes of the job.
[[nodiscard]] Result<planning::Plan> plan_of(const Files& files, const KnownRun& run);
/// Why the agent would refuse the job if it were offered again now; empty where it would not.
[[nodiscard]] std::string refused_now(const Files& files, const KnownRun& run, crypto::NoiseKind noise);
/// States of runs that a decision can be about.
[[nodiscard]] std::vector<std::string> candidates_of(Decision decision);
/// Whether the owner can decide so: an approval is for what the agent would accept now.
[[nodiscard]] Status check_decision(const Files& files, const KnownRun& run, Decision decision,
                                    crypto::NoiseKind noise);
/// Enters the decision of the user that this process is of. It is on disk when this returns.
/// @param by "the command" or "the page" @param reason of a refusal, in the owner's words; the coordinator is told it
/// where policy.explain_refusals is "full"
/// @return an error where the run was withdrawn before
[[nodiscard]] Status decide(const Files& files, const KnownRun& run, Decision decision, const char* by,
                            const std::string& reason);

[[nodiscard]] nlohmann::ordered_json to_json(const KnownRun& run);

/// What the policy grants a data set, what its ledger has reserved of it, and what is left.
[[nodiscard]] nlohmann::ordered_json budget_json(const Files& files, const DatasetConfig& dataset);

/// Exactly what left for a run, an object an answer. @param values the numbers too @param out an array
[[nodiscard]] Status releases_json(const Files& files, const KnownRun& run, bool values, nlohmann::ordered_json& out);

/// What is left of an amount, nothing where more is used.
template <class Amount>
[[nodiscard]] Amount left_of(const Amount& granted, const Amount& used) {
  return used > granted ? Amount() : Amount::from_units(granted.units() - used.units());
}

}  // namespace undertone::silo
