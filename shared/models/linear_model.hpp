#pragma once

#include <Eigen/Core>
#include <span>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/models/linear_loss.hpp"
#include "shared/models/metric_detail.hpp"

namespace undertone::models {

/// Records as columns, so that one record is contiguous.
struct Records {
  Eigen::MatrixXd features;  // [features, rows]
  Eigen::VectorXd targets;   // [rows]: -1 or 1 where the loss classifies, else any finite number
  /// Of persons, whose rows stand together: the first row of each, and the number of rows at the end. A person may have
  /// no row. Empty where every row is a unit by itself, a record.
  std::vector<std::int64_t> starts = {};
  /// [rows]: the group of a row by its sensitive attribute, or -1 where it is not known. Empty where the schema names
  /// no sensitive column.
  std::vector<std::int32_t> groups = {};
  static constexpr std::int32_t kUnknownGroup = -1;

  /// How many units there are: persons, or records. It is public; how many rows persons have is not.
  [[nodiscard]] Eigen::Index count() const noexcept {
    return of_persons() ? static_cast<Eigen::Index>(starts.size()) - 1 : targets.size();
  }
  [[nodiscard]] bool of_persons() const noexcept { return !starts.empty(); }
  [[nodiscard]] Eigen::Index rows() const noexcept { return targets.size(); }
  /// @param row below rows()
  [[nodiscard]] std::int32_t group_of(Eigen::Index row) const {
    return groups.empty() ? kUnknownGroup : groups[static_cast<std::size_t>(row)];
  }
};

/// f(w, (x, y)) = loss(<w, (x, 1)>, y), the last coordinate present with an intercept.
class LinearModel {
 public:
  LinearModel(Loss loss, Eigen::Index features, bool intercept) : LinearModel(LinearLoss(loss), features, intercept) {}
  LinearModel(const LinearLoss& loss, Eigen::Index features, bool intercept)
      : loss_(loss), features_(features), intercept_(intercept) {}

  [[nodiscard]] Loss loss() const noexcept { return loss_.kind(); }
  [[nodiscard]] const LinearLoss& linear_loss() const noexcept { return loss_; }
  [[nodiscard]] bool intercept() const noexcept { return intercept_; }
  [[nodiscard]] Eigen::Index features() const noexcept { return features_; }
  [[nodiscard]] Eigen::Index dimension() const noexcept { return features_ + (intercept_ ? 1 : 0); }

  /// The factor a of record j's gradient a (x, 1), not clipped.
  [[nodiscard]] double derivative(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                                  Eigen::Index j) const;
  /// The same of several records. @param factors [positions]
  /// @param norms_squared [positions] receives ||(x, 1)||^2
  void derivatives(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                   std::span<const std::int64_t> positions, std::span<double> factors,
                   std::span<double> norms_squared) const;
  /// The gradient of record j's loss, not clipped. @param out [dimension]
  void gradient(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
                Eigen::Ref<Eigen::VectorXd> out) const;

  /// The same model, evaluated in this detail.
  [[nodiscard]] LinearModel evaluated(MetricDetail detail) const;
  [[nodiscard]] const MetricDetail& detail() const noexcept { return detail_; }

  /// What an evaluation adds up, in order; `metric_scales` holds the public factor that each was divided by to lie in
  /// [0, 1]. Where the loss classifies: loss (clipped), accuracy, positive_share. Else: loss, zero_model_loss (both
  /// clipped; the latter is that of always saying the middle of the label's bounds).
  /// In detail, where the loss classifies: predicted_positive_share, and of records of the negative and then of the
  /// positive class how many have a score in each of kScoreBins bins. Else, as shares of the label's public range with
  /// predictions cut to it: squared_error, absolute_error, and means of labels and predictions and of their squares.
  /// By groups, where the loss classifies: how many of each group and label are said to be of each, group by group,
  /// truth by truth, the negative one first. A record whose group is not known is in none of these.
  [[nodiscard]] std::vector<std::string_view> metric_names() const;
  /// Of the named metrics, then 1 for each of the bins, which have no names.
  [[nodiscard]] std::vector<double> metric_scales() const;
  /// Of a record's named metrics each lies in [-1/2, 1/2], and at most one of its bins is 1: so its vector's l2 norm is
  /// at most sqrt(named / 4 + [there are bins]).
  [[nodiscard]] bool has_bins() const noexcept;

  /// Bins of scores: below -4.5, from there on each as wide as 1/2, above 4.5. Class boundaries: a score of 0 divides
  /// two.
  static constexpr Eigen::Index kScoreBins = 20;
  /// @param score NaN counts as the lowest
  [[nodiscard]] static Eigen::Index score_bin(double score);

  /// Record j's named metrics minus 1/2, each in [-1/2, 1/2], then its bins. @param out [metrics]
  void centred_metrics(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
                       Eigen::Ref<Eigen::VectorXd> out) const;

 private:
  void scores(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
              std::span<const std::int64_t> positions, std::span<double> out, std::span<double> norms_squared) const;
  LinearLoss loss_;
  Eigen::Index features_;
  bool intercept_;
  [[nodiscard]] Eigen::Index bins() const noexcept;
  MetricDetail detail_ = {};
};

}  // namespace undertone::models
