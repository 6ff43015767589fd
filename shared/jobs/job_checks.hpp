#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "shared/config/json_section.hpp"
#include "shared/jobs/algorithm_section.hpp"
#include "shared/jobs/cohort_weights.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::jobs {

// What the sections of a job must say of each other. What they must not is noted as a problem.

/// Of a cohort of whom not everybody is promised an epsilon and a delta: how one is promised something else.
[[nodiscard]] std::optional<std::string> other_target(const std::vector<CohortMember>& cohort);

/// This is why a job of a theorem or of moments cannot be read: not everybody is promised an epsilon and a delta, or
/// more different promises are made than a thread may work out while others wait. @see theorems::kPromisesMax
[[nodiscard]] std::optional<std::string> unreadable_promises(const std::vector<CohortMember>& cohort);

/// Noise that somebody chose is Gaussian, and a theorem's is of an epsilon and a delta.
void check_calibration(const NoiseChoice& choice, const algorithms::Method& method,
                       const std::vector<CohortMember>& cohort, config::Problems& problems);

/// Weights for the mean with the least noise are of means.
void check_weights(const std::optional<WeightRule>& rule, const algorithms::Method& method, config::Problems& problems);

/// What a shuffled job's other sections must say.
struct AroundShuffle {
  const algorithms::Method& algorithm;
  bool with_replacement;
  const NoiseChoice& noise;
  const std::vector<CohortMember>& cohort;
  std::size_t quorum;
};

/// A shuffled reply must not tell its silo by what it looks like: all silos draw alike, with the same noise.
void check_shuffled(const Shuffle& shuffle, const AroundShuffle& job, config::Problems& problems);

/// Whether the algorithm, and the theorem that chose it, are for the model's loss.
/// @param rows_of_unit that are worked on for a record, 1, or for a person
void check_model(const AlgorithmChoice& algorithm, const models::Model& model, std::int64_t rows_of_unit,
                 config::Problems& problems);

/// What else a job of persons says.
struct AroundPersons {
  const releases::PersonContribution& person;
  const releases::Bound& bound;
  bool shuffled = false;
  bool theorem = false;
  bool projected = false;
};
/// Whether an answer can be made of persons: what cannot is refused in words, not read record by record.
void check_persons(const algorithms::Method& algorithm, const models::Model& model, const AroundPersons& job,
                   config::Problems& problems);

/// Of unit sensitive_attribute.
void check_attribute_alone(const AlgorithmChoice& algorithm, const data::Schema& schema, bool shuffled,
                           config::Problems& problems);

/// Whether records may draw bins for themselves.
void check_parts(const AlgorithmChoice& algorithm, const models::Model& model, bool shuffled,
                 const std::vector<CohortMember>& cohort, config::Problems& problems);

/// Whether a beta that a method asks for is no less than what holds for every record within the public bounds: its
/// features are within [-1, 1], so that ||x||_q <= m^(1/q) of m numbers that are not 0, and the loss's second
/// derivative times ||x||_q^2 bounds the change of its gradient from l_p to l_q.
void check_smoothness(const algorithms::MethodTraits& traits, const models::Model& model, const data::Schema& schema,
                      config::Problems& problems);

/// The weights are moments after one whole step of size 1 from 0, and after nothing else.
void check_moments(const algorithms::Method& algorithm, const algorithms::Problem& problem, config::Problems& problems);

}  // namespace undertone::jobs
