#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace undertone::report {

/// A statistic's estimates as a table: a heading, then a row an estimate, those of all silos together before each
/// silo's own. What there is none of is empty, and an open end is inf or -inf. Lines end as RFC 4180 says, and a text
/// that a spreadsheet would take for a formula stands behind an apostrophe.
/// @param statistic one of a result.json's: what is of another shape is left empty
[[nodiscard]] std::string estimates_csv(const nlohmann::ordered_json& statistic);
/// A run's evaluations as a table: a row each, a column a metric, and beside a metric that is noised the standard
/// deviation of its noise. @param result a result.json: what is of another shape is left out
[[nodiscard]] std::string evaluations_csv(const nlohmann::ordered_json& result);

}  // namespace undertone::report
