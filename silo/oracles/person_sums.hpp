#pragma once

#include <memory>

#include "shared/releases/unit.hpp"
#include "silo/oracles/record_sums.hpp"

namespace undertone::silo {

/// Integer sums over drawn persons. Of linear models a person contributes the mean over as many of her records as may
/// count, cut once as a record's vector would be: to the lattice's norm, to that and a dual norm, or coordinate by
/// coordinate. Of networks she contributes the mean over her records' clipped gradients. As a capped sum, of either,
/// she contributes the sum of these over as many of her records as may count, divided by that number. For two blocks
/// that differ in one person, with any number of records, sums over the same draw of persons differ by at most 2 *
/// lattice.clip in l2 for each time that she is drawn, and by at most twice the levels in every coordinate where these
/// are clamped. The bound is a fact about integers, however the mean was computed. Positions are persons. The work is
/// that of `records_max` rows a person, whatever she has. Source: spec person-unit 3 (`clipped_mean`,
/// `mean_of_clipped`), 4.
/// @pre of each call: `drawn.persons` is set, and the block is of persons
/// @param form how a person contributes, one that the model's jobs may ask for
[[nodiscard]] std::unique_ptr<RecordSums> make_person_sums(const models::Model& model,
                                                           releases::PersonContribution::Form form);

}  // namespace undertone::silo
