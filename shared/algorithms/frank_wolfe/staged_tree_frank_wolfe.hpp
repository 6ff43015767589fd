#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/frank_wolfe/selecting_tree.hpp"

namespace undertone::algorithms {

/// A stage of Frank-Wolfe on trees: its depth, and how far in l1 it may move from where it begins.
struct TreeStage {
  std::uint64_t depth = 0;  // T, 1 .. kStageDepthMax
  double radius = 0.0;      // D_i > 0
};
inline constexpr std::uint64_t kStageDepthMax = 8;
inline constexpr std::size_t kTreeStagesMax = 8;

/// How the stages share the equal parts of the records' order: each reads a block of its own, of about twice the
/// records of the one before.
struct TreeStageTiling {
  std::vector<std::uint64_t> units = {};  // by stage: parts for each of its trees' own
  std::vector<std::uint64_t> first = {};  // by stage: the part at which its block begins
  std::uint64_t parts = 0;                // of all stages
};
/// @pre 1 to kTreeStagesMax stages of depth 1 to kStageDepthMax
[[nodiscard]] TreeStageTiling tile_tree_stages(const std::vector<TreeStage>& stages);

class StagedTreeFrankWolfe;

struct StagedTreeFrankWolfeSettings {
  using Algorithm = StagedTreeFrankWolfe;
  Problem problem;                     // its domain is where the output lies
  std::vector<TreeStage> stages = {};  // 1 .. kTreeStagesMax
  double smoothness = 0.0;             // beta of a record's loss from l1 to l_inf: public

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  /// Selections of all stages, each planned for itself.
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const { return path_traits(smoothness); }
};

/// Frank-Wolfe on selecting trees for strongly convex objectives, in stages on disjoint blocks of records:
///   for stage i = 1 .. k:  the trees of PrivateTreeFrankWolfe over the l1 ball of radius D_i about x_{i-1};
///                          x_i = their output
///   output the point of the domain that is nearest to x_k
/// Every record is in one node of one stage, so that the whole run costs what its costliest selection path does. To
/// begin anew at x_{i-1} without a smaller ball would gain nothing, since the error of Frank-Wolfe depends on the
/// diameter. The points may lie outside the domain, so that losses have to be defined there.
/// A smaller ball makes differences of gradients shorter and so their noise; a ball that does not hold the optimum
/// costs accuracy and no privacy: silos clamp every term.
/// Source: Asi, Feldman, Koren and Talwar 2021, Section 5, Theorem 9, around its Algorithm 3; spec non-euclidean A4.
class StagedTreeFrankWolfe final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "staged_tree_frank_wolfe";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there are no stages or too many, a depth, a radius or the smoothness is out of range, or
  /// there is a regulariser
  [[nodiscard]] static Result<std::unique_ptr<StagedTreeFrankWolfe>> create(
      const StagedTreeFrankWolfeSettings& settings);
  /// Lists what it asks, in order: it asks at every leaf of every phase of every stage for a vertex, along the leaf's
  /// path.
  [[nodiscard]] static planning::Schedule schedule(const StagedTreeFrankWolfeSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  StagedTreeFrankWolfe(const StagedTreeFrankWolfeSettings& settings, std::vector<geometry::Vertices> vertices);
  [[nodiscard]] Step current();
  /// The stage of the round, and the round of its own.
  struct At {
    std::size_t stage = 0;
    std::uint64_t round = 0;
  };
  [[nodiscard]] At at(std::uint64_t round) const;

  StagedTreeFrankWolfeSettings settings_;
  std::vector<geometry::Vertices> vertices_;  // by stage, about 0
  std::uint64_t round_ = 0;
  Eigen::VectorXd centre_;               // x_{i-1}
  Eigen::VectorXd iterate_;              // x, rounded to the wire type
  std::vector<Eigen::VectorXd> points_;  // of the root and, at place j, of the node of depth j that was entered last
};

}  // namespace undertone::algorithms
