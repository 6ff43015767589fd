#pragma once

#include <nlohmann/json.hpp>

#include "verifier/verification.hpp"

namespace undertone::verifier {

/// What `undertone ledger verify --json` prints. Its "sound" is true where no rule is broken.
[[nodiscard]] nlohmann::ordered_json to_json(const LedgerFindings& findings);

}  // namespace undertone::verifier
