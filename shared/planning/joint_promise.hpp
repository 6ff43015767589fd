#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "shared/planning/plan.hpp"

namespace undertone::planning {

/// Silos of one job whose plans are alike.
struct AlikeSilos {
  const Plan* plan = nullptr;
  std::size_t count = 1;
};

/// What the silos of one job promise together to a person whose records are at several of them.
struct JointPromise {
  std::size_t silos = 1;  // s: she is at so many of them at most
  double epsilon = 0.0;
  double delta = 0.0;  // the largest of the silos'
};

/// The joint epsilon of a person at `silos` of them at most, who is replaced at all of them. All releases of these
/// silos are one adaptive sequence, whichever silo made which, so it is the accountant's figure for them together. It
/// is found for the dearest silos where that can be told: where all plans are alike, or every release is Gaussian noise
/// and none draws whom it reads. Else it is what all silos promise together, or what the dearest promises add up to,
/// whichever is less; the sum's delta is then the sum.
/// @param cohort not empty @param silos from 1; more than there are means all of them
/// @return nothing where it is beyond 30 Of parts, which she is in elsewhere at every
/// silo, it is the sum, too. @pre no plan counts on a shuffler
/// Source: spec person-unit 8.
[[nodiscard]] std::optional<JointPromise> joint_promise(const std::vector<AlikeSilos>& cohort, std::size_t silos);

}  // namespace undertone::planning
