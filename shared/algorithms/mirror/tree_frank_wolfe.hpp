#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/mirror/frank_wolfe_tree.hpp"
#include "shared/geometry/frank_wolfe_set.hpp"

namespace undertone::algorithms {

class TreeFrankWolfe;

struct TreeFrankWolfeSettings {
  using Algorithm = TreeFrankWolfe;
  Problem problem;
  geometry::FrankWolfeSet set;
  std::uint64_t depth = 0;  // T phases, 1 .. kDepthMax
  double smoothness = 0.0;  // beta of a record's loss from l_p to l_q: public

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  /// 2^(T+1) - 2 rounds, each of records of its own.
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const;
};

/// Variance-reduced Frank-Wolfe on binary trees, whose nodes are noised vectors. Phase t = 1 .. T walks the 2^t leaves
/// of a tree of depth t in order; leaf l > 0 is first under a right child at depth j = t - (zeros at the end of l).
///   V_0 = the mean gradient at x over the root's records;  X_0 .. X_t = x;  V_1 .. V_t = V_0
///   for l = 0 .. 2^t - 1:  if l > 0: V_j .. V_t = V_{j-1} + the mean difference of gradients at x and X_{j-1} over the
///                          child's records, a 2^-j of the root's;  X_j .. X_t = x
///                          x = (1 - eta) x + eta argmin over v in X of <v, V_t>,  eta = 2/(2^t + l)
///   output x after the last phase
/// Every record is in one node and every node leaves once, so the whole run costs what one release does, and that a
/// node's vector stands in 2^(t-j) leaves is free. Between a parent and its right child the steps move x by 2 D 2^-j at
/// most, so that the differences, of fewer records, are as much shorter.
/// Source: Asi, Feldman, Koren and Talwar 2021, Algorithm 3; with vectors in place of selections and the steps of spec
/// non-euclidean 5.9, its 3.3 and 3.4.
class TreeFrankWolfe final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "tree_frank_wolfe";
  static constexpr std::uint64_t kDepthMax = kTreeDepthMax;
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where the depth or the smoothness is out of range, there is a regulariser, or the start is
  /// outside the set
  [[nodiscard]] static Result<std::unique_ptr<TreeFrankWolfe>> create(const TreeFrankWolfeSettings& settings);
  /// What it asks, in order: of each phase a gradient over the root's records, then 2^t - 1 differences; of a secret
  /// permutation cut into parts of one size, of which a root has 2^T and a node of depth j 2^(T-j).
  [[nodiscard]] static planning::Schedule schedule(const TreeFrankWolfeSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit TreeFrankWolfe(const TreeFrankWolfeSettings& settings);
  [[nodiscard]] Step current() const;
  TreeFrankWolfeSettings settings_;
  std::uint64_t round_ = 0;
  Eigen::VectorXd iterate_;                 // x, rounded to the wire type
  std::vector<Eigen::VectorXd> points_;     // X_0 .. X_T
  std::vector<Eigen::VectorXd> estimates_;  // V_0 .. V_T
};

}  // namespace undertone::algorithms
