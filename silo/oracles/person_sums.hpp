#pragma once

#include <memory>

#include "silo/oracles/record_sums.hpp"

namespace undertone::silo {

/// Integer sums over drawn persons. Of linear models a person contributes the mean over as many of her records as may
/// count, clipped once to the lattice's norm; of networks the mean over her records' clipped gradients. For two blocks
/// that differ in one person, with any number of records, sums over the same draw of persons differ by at most 2 *
/// lattice.clip in l2 for each time that she is drawn. The norm is a fact about integers, however the mean was
/// computed. Positions are persons. The work is that of `records_max` rows a person, whatever she has. Source: spec
/// person-unit 3 (`clipped_mean`, `mean_of_clipped`), 4.
/// @pre of each call: `drawn.persons` is set, and the block is of persons
[[nodiscard]] std::unique_ptr<RecordSums> make_person_sums(const models::Model& model);

}  // namespace undertone::silo
