#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "verifier/symmetric_profile.hpp"

namespace undertone::verifier {

/// Alike parts of one pass: each reads the record with this probability, and all releases that read one such part
/// together are a Gaussian of shift mu.
struct AllocatedGroup {
  std::uint64_t parts = 0;
  long double weight = 0;
  long double mu = 0;
};

/// Passes in each of which a record is in one secret part. Source: random-allocation.md, theorems A and B.
struct AllocatedPasses {
  /// Else every record draws its part alone.
  bool fixed_sizes = false;
  std::vector<AllocatedGroup> groups;
  /// The probability that no part reads the record: above 0 where sizes are fixed.
  long double unread = 0;
  /// Passes with a draw of their own.
  std::uint64_t epochs = 1;
};

/// Delta of one pass at epsilon, from above. Every term's law is cut into cells between multiples of a step, each
/// cell's mass goes to its two ends so that the cell's mean is kept, and the laws are convolved in long double without
/// a tilt: no tail is weighed up, and what rounds is an absolute number, about 10^-17 for each part.
/// @return nothing where a number is out of range: 10^6 parts in 64 groups, mu up to 40, epsilon from 0 to 40, weights
///     that add up to 1
[[nodiscard]] std::optional<long double> allocated_pass_delta(const AllocatedPasses& passes, long double epsilon);

/// The profile of one pass, from above, as far as it is above `left_out` (or above what rounding hides).
[[nodiscard]] std::optional<Polygon> allocated_profile(const AllocatedPasses& passes, long double left_out);

/// Delta at epsilon of all epochs and a Gaussian release of shift plain_mu (or none: 0), from above. Compositions are
/// a few percent of delta above what they bound.
/// @param around what delta is expected to be, about
[[nodiscard]] std::optional<long double> allocation_delta_bound(const AllocatedPasses& passes, long double plain_mu,
                                                                long double epsilon, long double around);

}  // namespace undertone::verifier
