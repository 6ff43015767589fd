#pragma once

#include "lab/audit/worst_pair.hpp"

namespace undertone::lab {

/// The pair of a job of statistics: one record beyond one end of every number's range, or beyond the other; in the
/// first cell of every list of values, or in the last. Coordinates take turns, so that noise that serves two of them
/// shows. Every question is then moved by as much as replacing a record can.
/// @param records of the member's size, whose first is the one that differs
[[nodiscard]] WorstPair statistics_pair(const jobs::Job& job, const planning::Plan& plan, data::Dataset records);

}  // namespace undertone::lab
