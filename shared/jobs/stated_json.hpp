#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "shared/jobs/stated_statistics.hpp"

namespace undertone::jobs {

/// JSON has no infinity: an end that is none is null.
[[nodiscard]] nlohmann::ordered_json end_json(double value);
[[nodiscard]] nlohmann::ordered_json interval_json(const statistics::Interval& interval);

/// Rows of a result's "estimates", and of its "tests".
[[nodiscard]] nlohmann::ordered_json estimates_json(const StatedQuestion& stated);
[[nodiscard]] nlohmann::ordered_json tests_json(const StatedQuestion& stated);

}  // namespace undertone::jobs
