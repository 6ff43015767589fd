#pragma once

#include <optional>

#include "shared/jobs/job.hpp"
#include "shared/jobs/privacy_section.hpp"

namespace undertone::jobs {

/// This finds the clip norm of a job that gives a moment of records' gradients instead. A theorem may have chosen it;
/// otherwise it is the clip with which a round's mean has the least error, by its bias and by the noise that the
/// promises leave. It is a function of public numbers alone.
/// @param method whose rounds all read the same records, or each a part of its own
/// @return an error that names what has no such clip
[[nodiscard]] Result<MomentClip> clip_by_moments(const Moments& moments, const algorithms::Method& method,
                                                 const std::optional<theorems::TheoremChoice>& theorem,
                                                 const std::vector<CohortMember>& cohort);

}  // namespace undertone::jobs
