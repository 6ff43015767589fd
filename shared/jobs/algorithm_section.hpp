#pragma once

#include <optional>

#include "shared/algorithms/method.hpp"
#include "shared/config/section.hpp"
#include "shared/jobs/theorem_section.hpp"
#include "shared/theorems/theorem_choice.hpp"

namespace undertone::jobs {

/// What the job's `algorithm` says.
struct AlgorithmChoice {
  std::optional<algorithms::Method> method;        // nothing where a theorem's condition fails, which is noted
  std::optional<theorems::TheoremChoice> theorem;  // where one chose the method and its numbers
  double draw_fraction = 1.0;                      // of the records that a release reads
  bool with_replacement = false;                   // the draws of a theorem's job, where it asks for that
  releases::Slice::Assignment parts = releases::Slice::Assignment::Permutation;  // how records come to parts
  std::uint64_t rounds = 0;                                                      // of the algorithm alone
};

/// A section's problems are noted, and something harmless is returned, as everywhere in `Section`.
[[nodiscard]] geometry::Domain parse_domain(config::Section section);
/// @param regularised coordinates: the intercept, last, is left out
[[nodiscard]] geometry::Regulariser parse_regulariser(config::Section section, Eigen::Index regularised);
/// Whether the method's releases read parts of the records, each part its own. @pre its extent was looked at
[[nodiscard]] bool reads_parts(const algorithms::Method& method);
/// @param context for an algorithm whose parameters a theorem chooses
[[nodiscard]] AlgorithmChoice parse_algorithm(config::Section section, const algorithms::Problem& problem,
                                              const TheoremContext& context);

}  // namespace undertone::jobs
