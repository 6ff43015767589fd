#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/frank_wolfe/selecting_tree.hpp"

namespace undertone::algorithms {

class PrivateTreeFrankWolfe;

struct PrivateTreeFrankWolfeSettings {
  using Algorithm = PrivateTreeFrankWolfe;
  /// Its domain is the vertices' hull, as of `PrivateFrankWolfeSettings`.
  Problem problem;
  geometry::Vertices vertices;
  std::uint64_t depth = 0;  // T phases, 1 .. kDepthMax
  double smoothness = 0.0;  // beta of a record's loss from l1 to l_inf: public

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  /// 2^(T+1) - 2 selections, each planned for itself.
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const { return path_traits(smoothness); }
  /// A bound on E F(output) - min F over the population whose independent draws the silos' records are, for convex
  /// losses of which L and beta are true: the mean over the silos of
  ///   beta D^2/2^T + max over leaves of (R/epsilon) ln m + D sqrt(2 ln(2d) P),
  ///   P = (L^2/b) (1 + sum_j 2^-j r_j^2),  r_j = min(2^(j+1), 2 beta D/L)
  /// R/epsilon the scale of a leaf's selection as planned, b the root's records.
  /// Proof: as of `one_pass_risk` for trees of noised vectors, of no noise; a selection is behind its silo's best
  /// vertex by (R/epsilon) ln m at most, and the mean of the silos' vertices by the mean. Source: spec non-euclidean
  /// A3, 3.5.
  [[nodiscard]] std::optional<RiskBound> planned_risk(std::span<const WeighedPlan> silos) const;
};

/// Private variance-reduced Frank-Wolfe on binary trees. Phase t = 1 .. T walks the 2^t leaves of a tree of depth t in
/// order; at each every silo selects a vertex by the exponential mechanism on the estimate of the leaf's path,
///   V = the mean gradient at x_root over the root's records
///       + for each right turn of the path the mean difference of gradients at its node's point and the node's before,
///         over the node's records,
///   x = (1 - eta) x + eta (the mean of the selected vertices),  eta = 2/(2^t + l) after leaf l
/// and the output is x after the last phase. A coordinate of a root's record is clamped to L, of a node's at depth j to
/// min(2 L, 2 beta D 2^-j): between a node and the one before it the steps move x by 2 D 2^-j at most.
/// A record is in one node, and is charged for every leaf whose path goes through it, 2^(t-j) of them, at what the
/// node's records can move a score. Of a pure target that is [A]'s Theorem 6, of any other its Theorem 7 in the form
/// that rests on neither shuffling nor a small epsilon. Of one silo it is a curator's algorithm; of several each step's
/// error is the mean of the silos' own. Source: Asi, Feldman, Koren and Talwar 2021, Algorithm 3, Theorems 6 and 7;
/// spec non-euclidean A3, 5.9, 5.11 and 5.16.
class PrivateTreeFrankWolfe final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "private_tree_frank_wolfe";
  static constexpr std::uint64_t kDepthMax = 8;  // 510 selections, along paths of up to 9 nodes
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where the depth or the smoothness is out of range, there is a regulariser, or the domain is not
  /// the vertices' hull
  [[nodiscard]] static Result<std::unique_ptr<PrivateTreeFrankWolfe>> create(
      const PrivateTreeFrankWolfeSettings& settings);
  /// What it asks, in order: at every leaf of every phase a vertex, along the leaf's path.
  [[nodiscard]] static planning::Schedule schedule(const PrivateTreeFrankWolfeSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit PrivateTreeFrankWolfe(const PrivateTreeFrankWolfeSettings& settings);
  [[nodiscard]] Step current();
  PrivateTreeFrankWolfeSettings settings_;
  std::uint64_t round_ = 0;
  Eigen::VectorXd iterate_;              // x, rounded to the wire type
  std::vector<Eigen::VectorXd> points_;  // of the root and, at place j, of the node of depth j that was entered last
};

}  // namespace undertone::algorithms
