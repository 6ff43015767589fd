#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/planning/plan.hpp"

namespace undertone::preview {

/// Releases of a plan that a reader takes for one: they are alike in what is asked, of how many records, and in noise.
struct PlannedRelease {
  planning::Release release;  // the first of them
  std::uint64_t times = 0;
  /// Selections along paths differ in what they cost, often each from the next: the dearest of them, and what the
  /// cheapest costs. Of other mechanisms this is the first one.
  planning::Release dearest;
  double least_epsilon = 0.0;
};
[[nodiscard]] std::vector<PlannedRelease> releases_of(const planning::Plan& plan);

/// As `plan --json` lists it.
[[nodiscard]] nlohmann::ordered_json to_json(const PlannedRelease& planned);
/// As a line for people.
[[nodiscard]] std::string describe(const PlannedRelease& planned);

/// How a plan's bins are charged, and what that saves.
struct SecretParts {
  planning::PartsCredit credit;
  std::optional<double> epsilon_if_told;  // nothing where nothing would be promised then
};
/// @pre the plan reads some
[[nodiscard]] SecretParts secret_parts_of(const planning::Plan& plan);
[[nodiscard]] nlohmann::ordered_json to_json(const SecretParts& parts);
[[nodiscard]] std::string describe(const SecretParts& parts);

}  // namespace undertone::preview
