#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lab/audit/distinguisher.hpp"
#include "lab/audit/neighbours.hpp"
#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::lab {

/// What the records that stay are like. In a crowd all of them have the largest features that the schema allows and the
/// changed record's second label: the pair that attains the dominating profile of a sampled release. Alone, the others
/// have no features: a bound on the sum instead of on each record shows. Holdout is a crowd whose changed record is
/// evaluated and not trained on. Cancelling is for networks whose hidden layers are dense, which are asked at weights
/// of 2^60 and -2^60: what some other records contribute turns round if it is added up in another order.
/// Of selections: alone, what either record asks for is as likely, and a run of rounds shows most. Outvoted, just so
/// many others lean the second data set's way that what the first record asks for is rare: one round then shows a loss
/// near epsilon, not half of it. Turning is for regressions: the first choice leads to where the gradient of the record
/// that asked for it turns round, so that randomness that serves twice shows.
/// Extremes is of statistics: the changed record is at one end of every column's range, or at the other.
enum class PairShape : std::uint8_t { Crowd, Alone, Holdout, Cancelling, Outvoted, Turning, Extremes };

/// Two data sets that differ in one record, and what tells them apart as well as anything can.
struct WorstPair : Neighbours {
  std::shared_ptr<const Distinguisher> test;
};
/// @param plan of the member @pre the shape is one that is made for the job
[[nodiscard]] WorstPair worst_pair(const jobs::Job& job, const jobs::CohortMember& member, const planning::Plan& plan,
                                   PairShape shape);

/// The shapes that are made for a job's model, or its statistics, and for what its plan protects.
[[nodiscard]] std::vector<PairShape> shapes_for(const jobs::Job& job, const planning::Plan& plan);

/// A data set of the member's size whose records have no features. Labels of a linear model cancel; those of a
/// classifier are all its second class.
[[nodiscard]] data::Dataset plain_records(const jobs::Job& job, const jobs::CohortMember& member);

}  // namespace undertone::lab
