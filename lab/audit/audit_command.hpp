#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "lab/audit/transcript_audit.hpp"

namespace undertone::lab {

/// What `undertone audit` was asked.
struct AuditRequest {
  std::filesystem::path job;
  std::string silo;  // empty: the first of the cohort
  AuditSettings settings;
  bool canaries = false;  // one run with canaries instead of many transcripts
  std::uint64_t coins = 1;
  bool json = false;
};

/// What `undertone audit --json` prints: its "flagged" is true where the silo is found to leak more than its plan
/// claims.
/// @param text the job's; @param file that it is from, for errors
/// @return an error where the job cannot be audited
[[nodiscard]] Result<std::string> audit_of(const AuditRequest& request, const std::string& text,
                                           const std::string& file);

/// Audits the silo's code as this program holds it, with production randomness, on worst-case records. @return the exit
/// code: kRefused where the silo is found to leak more than its plan claims
[[nodiscard]] int run_audit(const AuditRequest& request);

}  // namespace undertone::lab
