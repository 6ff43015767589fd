#pragma once

#include "lab/audit/worst_pair.hpp"

namespace undertone::lab {

/// A pair of a job of persons. Everybody has one record, but for the person who is replaced, who has as many in either
/// data set as are said here, all of them alike. A mean over them is what one of them is, so that the test that tells
/// the records apart tells the persons apart. A silo whose sums, draws or divisors follow how many records there are
/// shows more.
/// @param pair of records, one of each person @param first, second 1 or more
[[nodiscard]] WorstPair pair_of_persons(WorstPair pair, std::int64_t first, std::int64_t second);

}  // namespace undertone::lab
