#pragma once

#include "shared/base/result.hpp"
#include "shared/planning/release.hpp"
#include "shared/releases/silo_facts.hpp"

namespace undertone::planning {

/// About how many products a processor makes in a second: for telling people what an answer takes.
inline constexpr double kProductsASecond = 1e9;

/// What an answer takes of a silo's processor and memory beyond one pass over its records.
struct AnswerWork {
  double products = 0.0;  // of a record's number with another, in all; a slow sampler's draws count as so many
  double held = 0.0;      // numbers that are kept meanwhile
  double held_max = 0.0;  // of which so many are allowed
};
/// @pre planned
[[nodiscard]] AnswerWork work_of(const Release& release);
/// All that an answer takes: a pass over the records that it reads, each of whose numbers goes into every number of the
/// answer where the answer is of features of a record; the noise of each number; and what `work_of` says.
/// @param width numbers of an encoded record @pre planned
[[nodiscard]] double products_of_answer(const Release& release, std::size_t width);
/// Refuses what would keep a silo busy for more than an hour or so, or hold more than its memory: a job's numbers are
/// a stranger's.
[[nodiscard]] Status check_work(const Release& release, const releases::SiloFacts& facts);

}  // namespace undertone::planning
