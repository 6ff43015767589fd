#pragma once

#include "shared/models/model.hpp"
#include "shared/planning/release.hpp"
#include "shared/queries/query.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// One report of every record of a block, in a secret order that looks at no record. Which number a record reports on
/// follows from its slot in that order, so it is as secret as uniform. Replacing a record changes the law of the one
/// report in its slot, by a factor of e^epsilon at most. @see mechanisms::LocalReports
/// @param release planned: of form reports, over all records of the block
[[nodiscard]] queries::Reports record_reports(const planning::Release& release, const models::Records& block,
                                              ReleaseStream& stream);

}  // namespace undertone::silo
