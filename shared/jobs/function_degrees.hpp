#pragma once

#include <vector>

#include "shared/algorithms/one_round/statistic_asked.hpp"
#include "shared/jobs/cohort_noise.hpp"
#include "shared/releases/silo_facts.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::jobs {

constexpr std::size_t kFunctionNumbersMax = std::size_t{1} << 16U;  // that one function may release

/// What a question for a function leaves open - the size of conjunctions, terms, the degree of a grid and the order of
/// its operator - chosen from public numbers alone: records, promises, columns. What is released is louder the more of
/// it there is, and wrong the less there is; the choice is what the sources' rates balance.
/// @param questions the job's, which share each silo's promise
/// @return an error where nothing that would be released is small enough, or where reports would be too few for it:
/// with both numbers Source: spec noninteractive-ldp 2.4 (default k), 2.7 (choice of t), 2.8 (default t).
[[nodiscard]] Status settle_functions(std::vector<algorithms::StatisticAsked>& questions, const CohortNoise& noise);

/// The ranks at which selections of a quantile's ends aim, from the cohort's records and promises: far enough out for
/// every silo. @param confidence of the intervals
/// @return an error where a silo has too few records for its promise: its ranks would leave (0, 1)
/// Source: spec statistics 6.
[[nodiscard]] Status settle_selections(std::vector<algorithms::StatisticAsked>& questions,
                                       const std::vector<releases::SiloFacts>& cohort,
                                       statistics::Confidence confidence);
/// epsilon of one selection, at least, where a promise is shared by so many questions.
[[nodiscard]] double selection_epsilon(const releases::Target& target, std::size_t questions);

}  // namespace undertone::jobs
