#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace undertone::operators {

/// The words that a shell may offer for a run: names of jobs that begin as what was typed, newest first, each once, and
/// once something was typed the ids that begin so. Names are the submitters': what a shell would expand is left out.
/// @param page a page of runs (docs/api.md)
[[nodiscard]] std::vector<std::string> run_names(const nlohmann::ordered_json& page, std::string_view typed);

}  // namespace undertone::operators
