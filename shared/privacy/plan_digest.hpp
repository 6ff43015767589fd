#pragma once

#include "shared/base/digest.hpp"
#include "shared/privacy/plan.hpp"

namespace undertone::privacy {

/// SHA-256 of a plan's every number: each segment's shape, draws and mechanism in order, to the last bit, and what all
/// together cost. Two plans with the same digest ask and add noise alike. Depends on no record and on no secret.
[[nodiscard]] Digest plan_digest(const Plan& plan);

}  // namespace undertone::privacy
