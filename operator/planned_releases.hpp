#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "shared/planning/plan.hpp"

namespace undertone::operators {

/// The releases of a plan as `plan --json` lists them, equal ones together.
[[nodiscard]] nlohmann::ordered_json releases_of(const planning::Plan& plan);

/// How a plan's bins are charged, and what that saves. @pre the plan reads some
[[nodiscard]] nlohmann::ordered_json secret_parts_of(const planning::Plan& plan);
[[nodiscard]] std::string describe_secret_parts(const nlohmann::ordered_json& parts);
/// One of a plan's releases as a line for people.
[[nodiscard]] std::string describe_release(const nlohmann::ordered_json& release);

}  // namespace undertone::operators
