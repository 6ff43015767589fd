#pragma once

#include "shared/base/digest.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::planning {

/// SHA-256 of a text that holds every number by which a plan's releases are made, and what they cost together. Two
/// plans with the same digest ask and add noise alike. Depends on no record and on no secret. Lines, doubles as the 16
/// digits of their 64 bits, booleans as "true" or "false", kinds by their numbers:
///   undertone plan 1
///   EPSILON:DELTA:MECHANISM_DELTA:FAILURE_DELTA      as the ledger writes them
///   shuffled:HONEST:BINOMIAL:COINS                   if it is
///   credit:RECORD_EPSILON:SILO_EPSILON:FAILURE       if there is one
///   bins:OVERFLOW                                    if records draw bins; and then before each segment rows:ROWS
///   ROUNDS*SHAPE;K/N/BLOCK;FROM:TO;MECHANISM         for each segment, in order
/// SHAPE is KIND:BLOCK:FRACTION:DIMENSION:CLIP:REPLACED, and where they are :slice:CUT:INDEX:OF (and :bins),
/// :smoothness:BETA, :local:STEPS:STEP. MECHANISM is gaussian:LAMBDA:STEP:LOG2_STDDEV, exact:LAMBDA:STEP or
/// binomial:LAMBDA:STEP:GRID:COINS:HEADS/OF.
[[nodiscard]] Digest plan_digest(const Plan& plan);

}  // namespace undertone::planning
