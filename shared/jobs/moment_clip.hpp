#pragma once

#include <vector>

#include "shared/jobs/job.hpp"
#include "shared/jobs/privacy_section.hpp"

namespace undertone::jobs {

/// These are the other parts of a job, on which its clip depends.
struct MomentJob {
  const algorithms::Method* method = nullptr;
  const theorems::TheoremChoice* theorem = nullptr;  // null where none chose the method
  const std::vector<CohortMember>* cohort = nullptr;
  double draw_fraction = 1.0;
  bool secret_parts = false;         // the noise counts on which records a part holds
  bool noise_by_hand = false;        // somebody, or a theorem's formula, chose the noise
  const Shuffle* shuffle = nullptr;  // null in mode isrl
};

/// This finds the clip norm of a job that gives a moment of records' gradients instead. A theorem may have chosen it;
/// otherwise it is the clip with which a round's mean has the least error, by its bias and by the noise that the
/// promises leave. It is a function of public numbers alone.
/// @return an error that names what has no such clip
[[nodiscard]] Result<MomentClip> clip_by_moments(const Moments& moments, const MomentJob& job);

}  // namespace undertone::jobs
