#pragma once

#include <optional>

#include "shared/jobs/job.hpp"
#include "shared/jobs/privacy_section.hpp"

namespace undertone::jobs {

/// The clip norm of a job that says a moment of records' gradients in place of one: the theorem's where one chose it,
/// else that with which a round's mean is off least, by its bias and the noise that the promises leave. It is a
/// function of public numbers alone.
/// @param method whose rounds all read the same records, or each a part of its own
/// @return an error that names what has no such clip
[[nodiscard]] Result<MomentClip> clip_by_moments(const Moments& moments, const algorithms::Method& method,
                                                 const std::optional<theorems::TheoremChoice>& theorem,
                                                 const std::vector<CohortMember>& cohort);

}  // namespace undertone::jobs
