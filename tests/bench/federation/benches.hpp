#pragma once

#include <cstddef>

namespace undertone::bench {

/// Rounds of `silos` agents beside the bare fan-out of the same bytes. @param name of the table
void bench_rounds(int silos, int rounds, int per_process, const char* name);
/// What the time of such rounds goes into at silos and at the coordinator, by the programs' own spans.
void bench_budget(int silos, int rounds);
/// What a coordinator's death costs a run, and what a silo's, from the kill to the end of the next round; silos wait 50
/// to 500 ms before they dial again.
void bench_restarts(int silos, int restarts);
/// How long a coordinator with so many ended runs in its store takes to open its ports.
void bench_start(int runs, int silos);
/// Rounds while strangers hold, drip into and knock at the port.
void bench_strangers(int strangers, int silos, int rounds);
/// Large vectors: transfer and fold. @param durable each reply is committed at its silo before it leaves
void bench_vectors(int silos, std::size_t dimension, bool durable);

/// What whoever has a certificate of a role costs others, beside the ceilings. @return whether all of them hold
/// @param mebibytes said in each attack that has no end of its own @param silos of the job that is expensive to plan
[[nodiscard]] bool bench_members(std::size_t mebibytes, int silos);

}  // namespace undertone::bench
