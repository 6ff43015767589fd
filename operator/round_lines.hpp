#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.hpp"

/// A round of a run, as the coordinator's service tells it, for people.
namespace undertone::operators {

/// "  accuracy 0.9381 ± 0.0120  loss 0.2011", the half of a 95 % interval where there is noise
[[nodiscard]] std::string shown_metrics(const nlohmann::ordered_json& metrics);

/// What a coordinator says of a run's newest evaluation, a sentence each, at most as many as this.
[[nodiscard]] std::vector<std::string> shown_verdicts(const nlohmann::ordered_json& last_metrics);
inline constexpr std::size_t kVerdictsMost = 10;

inline constexpr const char* kRoundsCsvHeader = "round,answered,missing,elapsed_ms,metrics\n";
/// A round's line of rounds.csv. The texts are the coordinator's: none of them is a formula, or ends its cell.
[[nodiscard]] std::string rounds_csv_line(const nlohmann::ordered_json& round);

/// Where the page of rounds after this one begins. @param from where this one does
/// @return an error where that is not further on, or further than any job goes: a coordinator could else be asked for
///   ever
[[nodiscard]] Result<std::uint64_t> next_rounds(const nlohmann::ordered_json& page, std::uint64_t from);
/// The number that the runs of the next, older page come before; nothing where there is none.
/// @param before the same of this page; nothing: it is the newest
/// @return an error where it is not smaller
[[nodiscard]] Result<std::optional<std::int64_t>> next_runs(const nlohmann::ordered_json& page,
                                                            std::optional<std::int64_t> before);

}  // namespace undertone::operators
