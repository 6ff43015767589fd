#pragma once

#include <functional>
#include <string>

#include "shared/config/job.hpp"

namespace undertone::config {

/// What makes the plan of a silo: `plan_of`, or what gives the same faster. @see plan_of
using Planner = std::function<Result<privacy::Plan>(const Job& job, const CohortMember& member)>;

/// Whether every silo of the job has a plan. @return an error that names all those that have none
[[nodiscard]] Status check_plans(const Job& job, const std::string& file, const Planner& planner);

}  // namespace undertone::config
