#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "silo/owner/owner_commands.hpp"

namespace undertone::silo {

/// Everything that an evaluator of a silo's privacy asks for, as one archive (docs/evidence.md): of each run the job,
/// what it would release in plain words, who decided and when, the statement and what left; the policy; the ledgers
/// with the separate verifier's verdict; versions; one page that leads through it. The manifest is signed by each
/// ledger's key. Nothing of a record is in it but what has left the building already.
/// @param runs beginnings of ids or names of jobs; empty: all that have been accepted
/// @param out a file that is made anew
/// @return an error where a run is not known, or there is no ledger that could sign
[[nodiscard]] Status write_evidence(const OwnerOptions& options, const std::vector<std::string>& runs,
                                    const std::filesystem::path& out);

}  // namespace undertone::silo
