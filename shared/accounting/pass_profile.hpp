#pragma once

#include <cstddef>

#include "shared/accounting/allocation.hpp"
#include "shared/base/result.hpp"

namespace undertone::accounting {

/// How fine the sums of a pass are taken: points of the transforms. Whatever the number, the result is an upper bound.
/// With 2^15 delta is 0.1 % dear, of 1000 parts at epsilon 0.5 some 3 %; with 2^17 some 0.5 % there.
enum class AllocationGrid : std::size_t { Coarse = 1U << 14U, Search = 1U << 15U, Charge = 1U << 17U };

/// Delta at epsilon of one pass (the epochs are not looked at), from above, in [0, 1]:
///   E( sum_r w_r W_r + w_0 (1 - e^epsilon) )+ with independent W_r,
/// whose laws are those of theorem A (bins: an equality) or B (fixed sizes) of the spec: the call function of every
/// term is interpolated by chords on a grid, which is larger in convex order; the terms are tilted and convolved by
/// FFT; what windows cut off and what wraps is bounded and added, and so is an allowance for round-off.
/// @param epsilon any sign, at most 40 in size
/// @return an error where it is not
/// Source: spec random-allocation, section 5.
[[nodiscard]] Result<double> pass_delta(const Allocation& allocation, double epsilon, AllocationGrid grid);

}  // namespace undertone::accounting
