#pragma once

#include <nlohmann/json.hpp>

namespace undertone::coordinator {

/// Adds `p_value_holm` to every test of a job that asks for several: p-values for all of which together the chance that
/// a true hypothesis is rejected at a level is at most that level. Tests that were refused count, since whether they
/// were depends on the numbers. Of one test there is nothing to add.
/// @param statistics rows of a result, one for each question
/// Source: Holm 1979.
void put_multiplicity(nlohmann::ordered_json& statistics);

}  // namespace undertone::coordinator
