#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/metric_value.hpp"

namespace undertone::jobs {

/// What an evaluation says, for people: the model's metrics by name, then what follows from them.
///   label of two values: majority_class_accuracy; in detail also auc, of scores in bins (a record of each class with
///     scores in the same bin counts one half)
///   several classes, in detail: majority_class_accuracy
///   by groups: how far the groups are apart, @see group_gaps
///   a number, in detail: rmse, mae, label_mean, label_stddev, prediction_stddev in the label's unit, predictions cut
///   to
///     its public bounds; r_squared = 1 - rmse^2 / label_stddev^2
/// What noise has made senseless, such as the root of a number below 0, is left out.
/// @param row of this job's model
[[nodiscard]] std::vector<MetricValue> metric_values(const JobTerms& job, const algorithms::MetricsRow& row);

/// A table of shares of the holdout records: what they are, row by row, against what the model says of them.
struct ConfusionTable {
  std::vector<std::string> labels;
  std::vector<std::vector<double>> shares;  // [truth][said]; noise may put some below 0
  std::optional<double> noise_stddev = {};  // the largest of a share's
};
/// Nothing where the evaluation is not detailed, and of a number.
[[nodiscard]] std::optional<ConfusionTable> confusion_table(const JobTerms& job, const algorithms::MetricsRow& row);

/// What a person would ask of a model, a sentence each: whether it is better than the largest class or the mean,
/// whether it says the same of every record, whether it has diverged. Where noise is known, a difference that it may
/// have made (1.96 standard deviations) is said to be one.
[[nodiscard]] std::vector<std::string> verdicts(const JobTerms& job, const algorithms::MetricsRow& row);

/// "accuracy 0.9381 ± 0.0120  loss 0.2011": with the half of a 95 % interval where there is noise
[[nodiscard]] std::string shown_values(const std::vector<MetricValue>& values);

}  // namespace undertone::jobs
