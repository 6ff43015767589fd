#pragma once

#include "lab/audit/worst_pair.hpp"

namespace undertone::lab {

/// How many records persons have in the two data sets of a pair, 1 or more each.
struct RecordCounts {
  std::int64_t first;       // of the person who is replaced, in the first data set
  std::int64_t second;      // and in the second
  std::int64_t others = 1;  // of everybody else
};

/// The counts that show most of a job of persons. The replaced person has many more records in the first data set than
/// in the second: a silo that counts records shows it. In a capped sum a person has her whole influence only with as
/// many records as may count: there everybody has that many, and she has no fewer in either data set.
[[nodiscard]] RecordCounts worst_counts(const releases::PersonContribution& person);

/// A pair of a job of persons. All records of a person are alike. A mean over them is what one of them is, and so is
/// their capped sum where she has as many as may count, so that the test that tells the records apart tells the persons
/// apart. A silo whose sums, draws or divisors follow how many records there are shows more.
/// @param pair of records, one of each person
[[nodiscard]] WorstPair pair_of_persons(WorstPair pair, const RecordCounts& counts);

}  // namespace undertone::lab
