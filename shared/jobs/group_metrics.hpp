#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/metric_value.hpp"

namespace undertone::jobs {

/// A share with the standard deviation that the silos' noise gives it; 0 where there is no noise.
struct NoisedShare {
  double value = 0.0;
  double stddev = 0.0;
};

/// What an evaluation by groups says of the held-out records of one group.
struct GroupTable {
  std::string name;
  std::vector<std::vector<double>> shares;  // [truth][said], of all records; noise may put some below 0
  double share = 0.0;                       // of all records
  /// Nothing where the group is too small to say: without noise it has no record, with noise fewer than ten standard
  /// deviations of its own number of them.
  std::optional<NoisedShare> accuracy;
  /// [said]: how many of the group's records are said to be of each class; empty where the group is too small.
  std::vector<NoisedShare> said;
  /// [truth][said]: the same among the records of one label; of a label that is too rare in the group empty.
  std::vector<std::vector<NoisedShare>> said_of;
};
struct GroupTables {
  std::vector<std::string> labels;  // classes, in the order of the tables
  std::vector<GroupTable> groups;
  double noise_stddev = 0.0;  // of a share in a table
};
/// Nothing where the evaluation is not by groups. Deviations are of the noise alone, to first order; that the held-out
/// records are a sample is not in them. Source: spec fair-learning 0.5.
[[nodiscard]] std::optional<GroupTables> group_tables(const JobTerms& job, const algorithms::MetricsRow& row);

/// How far the groups are apart, for every notion; a notion for which fewer than two groups are large enough is left
/// out.
///   demographic_parity_difference: the largest difference, over classes, of two groups' shares
///   demographic_parity_from_all: the largest difference of a group's share from that of all records (thesis, 6.2)
///   equalized_odds_difference: as the first, among the records of one label, the largest over labels
///   equal_opportunity_difference: as that, of the last label alone, which of two is the positive one
/// The deviation is that of the difference which is largest. A largest difference of noised numbers is too large on
/// average.
[[nodiscard]] std::vector<MetricValue> group_gaps(const GroupTables& tables);

/// A sentence for each group, one for each notion, and one for the groups that are too small to say. A notion's
/// sentence is of the clearest of its differences, the one with the most deviations, and its interval holds for all of
/// them together with probability 0.95 (Bonferroni).
[[nodiscard]] std::vector<std::string> group_verdicts(const GroupTables& tables);

}  // namespace undertone::jobs
