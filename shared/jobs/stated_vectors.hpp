#pragma once

#include <vector>

#include "shared/jobs/stated_statistics.hpp"

namespace undertone::jobs {

/// Each column's mean of the question's own records, protected or public. @see state_question
[[nodiscard]] Result<StatedQuestion> state_vector_mean(const algorithms::VectorMeanAsked& what,
                                                       const std::vector<SiloTotals>& silos,
                                                       statistics::Confidence confidence);
/// The same with the public records that were asked for beside them: one estimate of both.
/// @param own of the protected records @param open of the public ones, of as many silos or others
[[nodiscard]] Result<StatedQuestion> state_with_public(const algorithms::VectorMeanAsked& what,
                                                       const std::vector<SiloTotals>& own,
                                                       const std::vector<SiloTotals>& open,
                                                       statistics::Confidence confidence);
/// The parameters of a linear model, by descent on an estimate of the risk that the answers make: no interval is known.
[[nodiscard]] Result<StatedQuestion> state_linear_model(const algorithms::LinearModelAsked& what,
                                                        const std::vector<SiloTotals>& silos);

/// The root of the expected squared distance of an estimate from the mean of the law that records are drawn from, in
/// half ranges of a column: by the noise of these releases, and by a spread. For plans.
struct ExpectedErrors {
  double of_protected = 0.0;  // noised means alone
  double of_public = 0.0;     // public records alone
  double weighted = 0.0;
};
[[nodiscard]] ExpectedErrors expected_errors(const algorithms::VectorMeanAsked& what,
                                             const std::vector<const planning::Release*>& own,
                                             std::int64_t public_records);

}  // namespace undertone::jobs
