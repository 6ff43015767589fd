#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shared/folds/fold.hpp"
#include "shared/folds/reports_fold.hpp"
#include "shared/queries/wire_lattice.hpp"

namespace undertone::folds {

/// What a round's replies become. All but the mean hold every reply until the round closes, and are no unbiased
/// estimates of the mean where silos differ: what theorems say of a run then does not hold.
struct Aggregation {
  /// TrimmedMean: of each coordinate, without the share `trim` of the weight at either end. Source: Yin, Chen,
  /// Ramchandran, Bartlett 2018, Definition 2, here with weights. GeometricMedian: the point with the least weighted
  /// sum of distances to the replies. Source: Pillutla, Kakade, Harchaoui 2022, Algorithm 2 (smoothed Weiszfeld).
  enum class Kind : std::uint8_t { Mean, TrimmedMean, GeometricMedian };
  Kind kind = Kind::Mean;
  double trim = 0.0;                          // [0, 1/2)
  std::optional<WholeCohort> scaled_to = {};  // of Mean: divides by these weights, not by those that answered

  [[nodiscard]] bool robust() const noexcept { return kind != Kind::Mean; }
};

/// Every reply of a round, and a robust centre of them: the same in any order of arrival, to the bit.
class HeldReplies {
 public:
  HeldReplies(const Aggregation& aggregation, Eigen::Index dimension, int step_log2)
      : aggregation_(aggregation), dimension_(dimension), step_log2_(step_log2) {}

  /// @see LatticeFold::add
  void add(const std::vector<std::int64_t>& values, std::uint64_t weight);
  [[nodiscard]] Eigen::Index replies() const noexcept { return static_cast<Eigen::Index>(replies_.size()); }
  /// [dimension], in real units. At least one reply.
  [[nodiscard]] Eigen::VectorXd centre() const;

 private:
  struct Held {
    std::vector<std::int64_t> values;  // [dimension]
    std::uint64_t weight = 1;
  };
  /// [dimension], in steps, both.
  [[nodiscard]] Eigen::VectorXd trimmed_mean(double trim) const;
  [[nodiscard]] Eigen::VectorXd geometric_median() const;
  Aggregation aggregation_;
  Eigen::Index dimension_;
  int step_log2_;
  std::vector<Held> replies_;
};

/// Votes as they arrive: the same in any order.
class TallyFold {
 public:
  /// @param candidates how many there are
  explicit TallyFold(Eigen::Index candidates) : candidates_(candidates) {}
  /// @param values [1] a candidate, 0 .. candidates - 1 @param weight 1 .. 2^32
  void add(const std::vector<std::int64_t>& values, std::uint64_t weight);
  [[nodiscard]] Eigen::Index replies() const noexcept { return replies_; }
  [[nodiscard]] Tally tally() const;

 private:
  Eigen::Index candidates_;
  std::map<Eigen::Index, std::uint64_t> votes_;
  Eigen::Index replies_ = 0;
};

/// Folds replies of two blocks: of the first the weighted mean, and of the second the mean over the records that it
/// counts.
class BesideFold {
 public:
  /// @param dimension of one block
  BesideFold(const Aggregation& aggregation, Eigen::Index dimension, const queries::WireLattice& wire);
  /// @param values [2 dimension] @param public_records that the second block is of; 0: it says nothing
  void add(const std::vector<std::int64_t>& values, std::uint64_t weight, std::uint64_t public_records);
  [[nodiscard]] Eigen::Index replies() const noexcept { return first_.replies(); }
  [[nodiscard]] Mean mean() const;

 private:
  LatticeFold first_;
  LatticeFold open_;
  std::uint64_t open_records_ = 0;
  std::optional<WholeCohort> scaled_to_;
};

/// Folds replies that have a block for each group of records: of every group the weighted mean over silos, and of these
/// the median of each coordinate. Source: spec heavy-tailed 2.2, median of means.
class GroupsFold {
 public:
  /// @param dimension of one block @param groups odd
  GroupsFold(const Aggregation& aggregation, Eigen::Index dimension, std::uint32_t groups,
             const queries::WireLattice& wire);
  /// @param values [groups * dimension] @see LatticeFold::add
  void add(const std::vector<std::int64_t>& values, std::uint64_t weight);
  [[nodiscard]] Eigen::Index replies() const noexcept { return means_.replies(); }
  /// [dimension], in real units. At least one reply.
  [[nodiscard]] Eigen::VectorXd median() const;

 private:
  LatticeFold means_;
  Eigen::Index dimension_;
  std::uint32_t groups_;
  std::optional<WholeCohort> scaled_to_;
};

/// A round's replies, as the job aggregates them.
class RoundFold {
 public:
  RoundFold(const Aggregation& aggregation, Eigen::Index dimension, const queries::WireLattice& wire);
  explicit RoundFold(TallyFold tally) : fold_(std::move(tally)) {}
  explicit RoundFold(ReportsFold reports) : fold_(std::move(reports)) {}
  explicit RoundFold(BesideFold beside) : fold_(std::move(beside)) {}
  explicit RoundFold(GroupsFold groups) : fold_(std::move(groups)) {}

  /// @param public_records of the silo, where replies have a block of them @see LatticeFold::add
  void add(const std::vector<std::int64_t>& values, std::uint64_t weight, std::uint64_t public_records = 0);
  [[nodiscard]] Eigen::Index replies() const noexcept;
  /// At least one reply.
  [[nodiscard]] Folded value() const;

 private:
  std::variant<LatticeFold, HeldReplies, TallyFold, ReportsFold, BesideFold, GroupsFold> fold_;
  std::optional<WholeCohort> scaled_to_;
};

/// "mean", "mean scaled to the whole cohort's weights", "coordinate-wise trimmed mean, 10 % of the weight off either
/// end", "geometric median"
[[nodiscard]] std::string to_string(const Aggregation& aggregation);

}  // namespace undertone::folds
