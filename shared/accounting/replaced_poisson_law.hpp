#pragma once

#include "shared/accounting/loss_law.hpp"
#include "shared/base/result.hpp"

namespace undertone::accounting {

/// A Gaussian release of a Poisson sample, drawn afresh and secretly, under replacement of one record: the pair
/// ((1 - rate) N(0, 1) + rate N(mu/2, 1), (1 - rate) N(0, 1) + rate N(-mu/2, 1)), attained and the same in both orders.
/// @param rate the probability with which a record is read, in (0, 1] @param shift mu = 2 C / sigma
/// Source: spec random-allocation, theorem A, consequence (v).
[[nodiscard]] Result<LossLawPtr> replaced_poisson_law(double rate, releases::GaussianShift shift);

}  // namespace undertone::accounting
