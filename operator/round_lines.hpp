#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

/// A round of a run, as the coordinator's service tells it, for people.
namespace undertone::operators {

/// "  accuracy 0.9381  loss 0.2011"
[[nodiscard]] std::string shown_metrics(const nlohmann::ordered_json& metrics);

inline constexpr const char* kRoundsCsvHeader = "round,answered,missing,elapsed_ms,metrics\n";
/// A round's line of rounds.csv. The texts are the coordinator's: none of them is a formula, or ends its cell.
[[nodiscard]] std::string rounds_csv_line(const nlohmann::ordered_json& round);

}  // namespace undertone::operators
