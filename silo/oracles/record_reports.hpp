#pragma once

#include "shared/data/block_reader.hpp"
#include "shared/models/model.hpp"
#include "shared/planning/release.hpp"
#include "shared/queries/query.hpp"
#include "silo/oracles/person_draw.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::silo {

/// One report of every record of a block, in a secret order that looks at no record. Which number a record reports on
/// follows from its slot in that order, so it is as secret as uniform. Replacing a record changes the law of the one
/// report in its slot, by a factor of e^epsilon at most. In a block of persons each person has one report, on the mean
/// over her records' numbers, and the same holds for replacing a person: her number is a function of her own records
/// and of a draw of her own. @see mechanisms::LocalReports
/// Source: spec person-unit 3.1.
/// @param release planned: of form reports, over all records of the block
/// @param persons of a block of persons: which of their records are looked at; else null
[[nodiscard]] queries::Reports record_reports(const planning::Release& release, const data::BlockReader& block,
                                              const PersonDraw* persons, ReleaseStream& stream);

}  // namespace undertone::silo
