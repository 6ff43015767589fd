#pragma once

#include <cstdint>

#include "shared/base/result.hpp"

namespace undertone::lab {

/// Bounds on a probability after `hits` of `trials`, each wrong with probability at most `error`.
/// Source: Clopper and Pearson 1934.
[[nodiscard]] double clopper_pearson_lower(std::int64_t hits, std::int64_t trials, double error);
[[nodiscard]] double clopper_pearson_upper(std::int64_t hits, std::int64_t trials, double error);

/// What a test between two data sets found out: its true and false positives.
struct TestCounts {
  std::int64_t true_positives = 0;
  std::int64_t positives = 0;  // trials on the first data set
  std::int64_t false_positives = 0;
  std::int64_t negatives = 0;  // trials on the second
};

/// The largest epsilon that the counts rule out everything below of: (epsilon, delta)-DP means TPR <= e^epsilon FPR +
/// delta, and the same for the complements. 0 where they rule out nothing. A lower bound on epsilon, never a guarantee.
/// @param error probability that the bound is above the truth
[[nodiscard]] double epsilon_lower_bound(const TestCounts& counts, double delta, double error);

/// Probability, if the run was (epsilon, delta)-DP, of `correct` or more right guesses of `guesses` about `canaries`
/// independent coins. Source: Steinke, Nasr, Jagielski 2023, Theorem 5.2.
/// @param correct <= guesses <= canaries
[[nodiscard]] double one_run_p_value(std::int64_t canaries, std::int64_t guesses, std::int64_t correct, double epsilon,
                                     double delta);

/// The largest epsilon that one run rules out at a significance. @see one_run_p_value
[[nodiscard]] double one_run_epsilon(std::int64_t canaries, std::int64_t guesses, std::int64_t correct, double delta,
                                     double error);

}  // namespace undertone::lab
