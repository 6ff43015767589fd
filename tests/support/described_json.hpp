#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace undertone::tests {

/// What is wrong with a value by a schema of an OpenAPI document, a line each. Knows the keywords that
/// docs/openapi.json uses, and ends the test at another one: a rule that is not looked at would hold of everything.
/// @param document that local references are of
[[nodiscard]] std::vector<std::string> against_schema(const nlohmann::json& value, const nlohmann::json& schema,
                                                      const nlohmann::json& document, const std::string& at = "");

}  // namespace undertone::tests
