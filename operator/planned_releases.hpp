#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "shared/planning/plan.hpp"

namespace undertone::operators {

/// The releases of a plan as `plan --json` lists them, equal ones together.
[[nodiscard]] nlohmann::ordered_json releases_of(const planning::Plan& plan);

/// One of them as a line for people.
[[nodiscard]] std::string describe_release(const nlohmann::ordered_json& release);

}  // namespace undertone::operators
