#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "shared/data/split.hpp"
#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::lab {

/// What the records that stay are like. In a crowd all of them have the largest features that the schema allows and the
/// changed record's second label: the pair that attains the dominating profile of a sampled release. Alone, the others
/// have no features: a bound on the sum instead of on each record shows. Holdout is a crowd whose changed record is
/// evaluated and not trained on. Cancelling is for networks whose hidden layers are dense, which are asked at weights
/// of 2^60 and -2^60: what some other records contribute turns round if it is added up in another order.
enum class PairShape : std::uint8_t { Crowd, Alone, Holdout, Cancelling };

/// Two data sets that differ in one record's label, and what tells them apart as well as anything can.
struct WorstPair {
  data::Dataset first;
  data::Dataset second;
  releases::Block block = releases::Block::Training;  // of the changed record
  Eigen::VectorXd point;                              // that every round asks about
  Eigen::VectorXd direction;                          // unit: what a reply is projected on
  double others_lean = 0.0;  // 1 where every other record leans the second data set's way, 0 where none leans
  double reach = 0.0;        // of the changed record's contribution, over its largest allowed (the clip norm)
};
/// @pre the shape is one that is made for the job
[[nodiscard]] WorstPair worst_pair(const jobs::Job& job, const jobs::CohortMember& member, PairShape shape);

/// The shapes that are made for a job's model and for what its plan protects.
[[nodiscard]] std::vector<PairShape> shapes_for(const jobs::Job& job, const planning::Plan& plan);

/// A data set of the member's size whose records have no features. Labels of a linear model cancel; those of a
/// classifier are all its second class.
[[nodiscard]] data::Dataset plain_records(const jobs::Job& job, const jobs::CohortMember& member);

}  // namespace undertone::lab
