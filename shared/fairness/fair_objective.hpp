#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/fairness/notion.hpp"

namespace undertone::fairness {

/// Records with a label and, where it is known, a group.
struct GroupedRecords {
  Eigen::MatrixXd features;          // [features, n]: the constant 1 among them, where the model has one
  std::vector<Eigen::Index> labels;  // [n] in [0, classes)
  std::vector<Eigen::Index> groups;  // [n] in [0, groups), or kUnknownGroup
  static constexpr Eigen::Index kUnknownGroup = -1;
  Eigen::Index classes = 2;
  Eigen::Index group_count = 2;
};

/// mean loss + lambda x ERMI of softmax regression, in its min-max form: linear in records, so that the mean over any
/// records drawn uniformly is an unbiased estimate. NOT PRIVATE: it takes the groups' shares from the records.
/// Under equalised odds and equal opportunity every label has a W of its own, and shares among its own records; labels
/// weigh as often as they are. A record without a group keeps its loss, and the others' part is divided by the share
/// of records that have one. Source: spec fair-learning 2.1 to 2.4; thesis Corollary 66.
class FairObjective {
 public:
  /// @param records outlive it @param lambda >= 0, finite @param advantaged label of equal opportunity
  /// @return an error where records are malformed, or where a group has no record that counts: its share would be 0
  [[nodiscard]] static Result<FairObjective> create(const GroupedRecords& records, Notion notion, double lambda,
                                                    Eigen::Index advantaged = 1);

  /// A model and its adversary.
  struct Point {
    Eigen::MatrixXd model;                 // [classes, features]
    std::vector<Eigen::MatrixXd> weights;  // W of each bucket: [groups, classes]
  };
  /// A model of zeros and weights of zeros.
  [[nodiscard]] Point origin() const;

  struct Gradient {
    Eigen::MatrixXd model;
    std::vector<Eigen::MatrixXd> weights;  // of Psi, not yet multiplied by lambda
  };
  /// Over the mean of these records. @param drawn [>= 1] positions; empty: all of them
  [[nodiscard]] Gradient gradient(const Point& at, std::span<const std::size_t> drawn = {}) const;

  /// The mean loss + lambda x the mean of Psi's parts.
  [[nodiscard]] double value(const Point& at) const;
  /// Returns how likely each class is together with each group, over a bucket's records: [classes, groups].
  [[nodiscard]] Eigen::MatrixXd joint(const Eigen::MatrixXd& model, std::size_t bucket) const;
  /// Brings every W into the ball that holds the best one.
  void project(Point& point) const;

  [[nodiscard]] double lambda() const noexcept { return lambda_; }
  [[nodiscard]] std::size_t buckets() const noexcept { return shares_.size(); }
  /// [groups] of a bucket's records.
  [[nodiscard]] const Eigen::VectorXd& shares(std::size_t bucket) const { return shares_[bucket]; }
  [[nodiscard]] std::size_t record_count() const noexcept { return records_->labels.size(); }

 private:
  FairObjective(const GroupedRecords& records, Notion notion, double lambda, Eigen::Index advantaged)
      : records_(&records), notion_(notion), lambda_(lambda), advantaged_(advantaged) {}
  /// Which W a record speaks to; none where its part of Psi is not asked for, or its group is not known.
  [[nodiscard]] std::optional<std::size_t> bucket_of(std::size_t record) const;
  /// [classes, drawn]
  [[nodiscard]] Eigen::MatrixXd probabilities(const Eigen::MatrixXd& model, std::span<const std::size_t> drawn) const;
  const GroupedRecords* records_;
  Notion notion_;
  double lambda_;
  Eigen::Index advantaged_;
  std::vector<Eigen::VectorXd> shares_;
  double weight_ = 1.0;  // of a record's part of Psi
};

}  // namespace undertone::fairness
