#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/base/result.hpp"

namespace undertone::lab {

/// A mean and its interval, in the unit of the values.
struct MeanInterval {
  double mean = 0.0;
  double low = 0.0;   // -infinity for one value
  double high = 0.0;  // infinity for one value
};

/// The mean of independent values of one normal law, and the two-sided interval that covers the law's mean with
/// probability `level`: mean -+ t s / sqrt(S), t the Student quantile at (1 + level) / 2 with S - 1 degrees of freedom,
/// s the sample standard deviation with divisor S - 1. One value says nothing of its spread: the interval is the line.
/// @param values [S >= 1], finite @param level in (0, 1)
/// @return an error where there is no value, one is not finite or their spread overflows, or the level is out of range
/// Source: Student 1908.
[[nodiscard]] Result<MeanInterval> mean_interval(std::span<const double> values, double level);

/// What is said of a claim at a significance of kFindingSignificance.
enum class FindingVerdict : std::uint8_t {
  Holds,      // the data reject that A is not better by more than the margin
  Fails,      // the data reject that A is better by the margin or more
  Undecided,  // neither
};
[[nodiscard]] std::string_view to_string(FindingVerdict verdict) noexcept;

inline constexpr double kFindingSignificance = 0.05;
inline constexpr double kFindingLevel =
    0.90;  // of the interval: it excludes the margin exactly where a verdict on one target is made

/// A claim "A's error is below B's by more than a margin", judged over splits.
struct PairedFinding {
  std::size_t splits = 0;
  /// Of B's error minus A's, at kFindingLevel; positive where A is better. In the unit of the errors.
  MeanInterval difference;
  /// One-sided, of the paired t test: small where A is better by more than the margin. Nothing for one split.
  std::optional<double> p_value;
  /// One-sided, of the sign-flip test, which needs no normal law but differences symmetric around the margin.
  double permutation_p_value = 1.0;
  FindingVerdict verdict = FindingVerdict::Undecided;  // by p_value
  std::string explanation;                             // a sentence with the numbers
};

/// Up to this many splits all 2^S sign flips are looked at, above it kFlipsDrawn of them.
inline constexpr std::size_t kExactSplitsMax = 16;
inline constexpr std::uint64_t kFlipsDrawn = 20'000;

/// Judges a claim from the errors of A and B on the same splits.
///   t = (mean - margin) / (s / sqrt(S)), p = P[Student with S - 1 degrees of freedom >= t].
/// Where every difference is the same up to rounding, t is the limit: p is 0, 1/2 or 1. The sign-flip p is the share of
/// sign patterns of (difference - margin) whose sum is at least the observed one; of drawn flips (1 + hits) / (1 +
/// draws), so that it is never 0. Splits that share records are not independent and both p are then too small: they
/// describe this data set.
/// @param errors_a [S] finite, lower is better @param errors_b [S] @param margin finite, in the unit of the errors
/// @param flips used above kExactSplitsMax splits alone
/// @return an error where the sizes differ, there is no split or a number is not finite
/// Source: Student 1908; Fisher 1935, section 21; Phipson and Smyth 2010 for drawn flips; Nadeau and Bengio 2003 on
/// splits that share records.
[[nodiscard]] Result<PairedFinding> judge_paired(std::span<const double> errors_a, std::span<const double> errors_b,
                                                 double margin, RandomSource& flips);

/// p-values corrected for several comparisons of one finding, in the order given: rejecting those below a significance
/// makes a false rejection among them no likelier than that, whatever their dependence. The i-th smallest of m becomes
/// the largest of (m - j + 1) p_(j) over j <= i, at most 1.
/// @param p_values each in [0, 1] @return an error where one is not
/// Source: Holm 1979.
[[nodiscard]] Result<std::vector<double>> holm(std::span<const double> p_values);

}  // namespace undertone::lab
