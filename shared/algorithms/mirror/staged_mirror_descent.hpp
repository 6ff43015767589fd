#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/mirror/phased_mirror_steps.hpp"

namespace undertone::algorithms {

/// One run of localised mirror descent, from where the stage before ended.
struct MirrorStage {
  std::vector<MirrorPhase> phases = {};
};

/// Equal parts that a silo's records are cut into, so that every phase of every stage reads whole ones, in a row.
/// With K_i phases of stage i = 1 .. k, phase j reads 2^(e + i - 1 - j) parts, e the least that makes all of them
/// whole: a stage's block is twice as large as that of the stage before, and a phase's half of that of the phase
/// before.
struct StageTiling {
  std::uint64_t parts = 0;                             // of all phases together
  std::vector<std::vector<std::uint64_t>> spans = {};  // by stage and phase
};
/// @return an error where there is no stage, a stage has no phase, or there would be more than 2^40 parts in a block
[[nodiscard]] Result<StageTiling> tile_stages(const std::vector<std::size_t>& phases);

class StagedMirrorDescent;

struct StagedMirrorDescentSettings {
  using Algorithm = StagedMirrorDescent;
  Problem problem;
  double norm = 1.0;  // of the setup, in [1, 2]
  std::vector<MirrorStage> stages = {};

  /// K_i of every stage.
  [[nodiscard]] std::vector<std::size_t> phase_counts() const;
  /// Of all stages, one after the other.
  [[nodiscard]] std::vector<MirrorPhase> all_phases() const;
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const;
};

/// Localised mirror descent for strongly convex objectives: stages on disjoint blocks of records.
///   for stage i = 1 .. k:  the phases of localised mirror descent from x_{i-1}, on a block of twice the records of
///                          stage i-1's, of which phase j reads a part of 2^-j;  x_i = its output
///   output x_k
/// Every record is in one phase of one stage, so the whole run costs what its costliest phase does. A stage begins near
/// to the optimum, since its start's excess risk bounds the distance, and so may have a shorter step and radius.
/// Source: Asi, Feldman, Koren and Talwar 2021, Section 5, around its Algorithms 2 and 6; spec non-euclidean A4, and
/// FED-A2 in 3.4.
class StagedMirrorDescent final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "staged_mirror_descent";
  static constexpr std::size_t kStagesMax = 16;
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where the stages or a stage's phases are none or too many, a phase has no rounds, a number is out
  /// of range, the domain is neither the l1 ball nor all of space, or there is a regulariser
  [[nodiscard]] static Result<std::unique_ptr<StagedMirrorDescent>> create(const StagedMirrorDescentSettings& settings);
  /// What it asks, in order: of every phase of every stage T gradient sums over records that no other phase reads.
  /// @see StageTiling
  [[nodiscard]] static planning::Schedule schedule(const StagedMirrorDescentSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return steps_.current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override { return steps_.advance(gathered); }
  /// The phase's average so far; its centre before its first answer.
  [[nodiscard]] Eigen::VectorXd candidate() const override { return steps_.candidate(); }
  void save(ByteWriter& state) const override { steps_.save(state); }
  [[nodiscard]] Status restore(ByteReader& state) override { return steps_.restore(state); }

 private:
  explicit StagedMirrorDescent(PhasedMirrorSteps steps) : steps_(std::move(steps)) {}
  PhasedMirrorSteps steps_;
};

}  // namespace undertone::algorithms
