#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

/// T steps of the regularised subgradient method around the point c where the phase begins.
struct SubgradientPhase {
  std::uint64_t rounds = 0;           // T
  double step_size = 0.0;             // eta, at most 2/lambda
  double proximity = 0.0;             // lambda >= 0, of lambda/2 |w - c|^2
  std::optional<double> radius = {};  // D: iterates stay as near to c; without it, in all of W
  double clip_share = 1.0;  // from 1e-6 to 1: of the job's clip norm, that a record's subgradient is clipped to
};
using SubgradientStage = std::vector<SubgradientPhase>;

class LocalizedSubgradient;

struct LocalizedSubgradientSettings {
  using Algorithm = LocalizedSubgradient;
  /// Which records a phase reads.
  enum class Reads : std::uint8_t {
    All,     // one phase, on all records
    Phases,  // of one stage: phase j a part of 2^-j
    Stages   // @see StageTiling: a stage has a block of its own, phase j of it a part of 2^-j of the block
  };
  Problem problem;
  std::vector<SubgradientStage> stages = {};
  Reads reads = Reads::Phases;

  [[nodiscard]] std::vector<std::size_t> phase_counts() const;
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const;
};

/// The noisy clipped subgradient methods of Lowy's thesis, chapter 4: regularised (Algorithm 6), localised (Algorithm
/// 7) and in stages for strongly convex losses (Appendix C.4.3).
///   for every phase of every stage, c = where the phase before ended, on records of its own:
///     for t = 0 .. T-1:  ask every silo for its noised mean subgradient g at w_t
///                        w_{t+1} = Pi[w_t - eta (g + the public regulariser's gradient + lambda (w_t - c))]
///   output the last iterate
/// Pi projects on the part of W within D of c. Only records' subgradients are clipped, never what is public. A record
/// is in one phase, so that the whole run costs what its costliest phase does. Source: Theorems 50, 56, 163, 165; spec
/// heavy-tailed 5.1 to 5.3, T5 and T7.
class LocalizedSubgradient final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "localized_subgradient";
  static constexpr std::string_view kRegularisedName = "regularised_subgradient";
  static constexpr std::string_view kStagedName = "staged_subgradient";
  static constexpr std::size_t kStagesMax = 16;
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  [[nodiscard]] static ParsedMethod parse_regularised(config::Section& section, const Problem& problem);
  [[nodiscard]] static ParsedMethod parse_staged(config::Section& section, const Problem& problem);
  /// @return an error where there are no phases or too many, a phase has no rounds, a number is out of range, the step
  /// is longer than 2/lambda, or the regulariser is not smooth
  [[nodiscard]] static Result<std::unique_ptr<LocalizedSubgradient>> create(
      const LocalizedSubgradientSettings& settings);
  [[nodiscard]] static planning::Schedule schedule(const LocalizedSubgradientSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit LocalizedSubgradient(const LocalizedSubgradientSettings& settings);
  [[nodiscard]] Step current() const;
  Problem problem_;
  std::vector<SubgradientPhase> phases_;  // of all stages, in order
  std::uint64_t rounds_ = 0;              // of all phases
  std::uint64_t round_ = 0;
  std::uint64_t phase_ = 0;
  std::uint64_t step_ = 0;   // t, of the phase
  Eigen::VectorXd iterate_;  // w_t, rounded to the wire type
  Eigen::VectorXd centre_;   // c
};

}  // namespace undertone::algorithms
