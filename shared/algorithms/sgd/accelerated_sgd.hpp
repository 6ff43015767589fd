#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

/// R_k rounds of AC-SA with alpha_r = 2/(r+1), eta_r = 4 upsilon / (r (r+1)).
struct AcceleratedStage {
  std::uint64_t rounds = 0;  // R_k
  double upsilon = 0.0;      // at least twice the smoothness of the objective that is run
};

/// Stages on one objective, F(w) + proximity/2 ||w - c||^2 over the part of W within `radius` of c, c the output of the
/// phase before (the starting point of the first).
struct AcceleratedPhase {
  double proximity = 0.0;         // lambda
  double strong_convexity = 0.0;  // mu, of the objective with its proximity term: 0 if it has none
  std::optional<double> radius;   // without it, all of W
  std::vector<AcceleratedStage> stages;
};

/// Which records a round reads.
enum class RecordUse : std::uint8_t {
  Shared,   // the same records, or a fresh draw of them, in every round
  OnePass,  // every round a part of its own
  Phased,   // every phase a part of its own: n/2, n/4, ... records
};

class AcceleratedSgd;

struct AcceleratedSgdSettings {
  using Algorithm = AcceleratedSgd;
  Problem problem;
  std::vector<AcceleratedPhase> phases;
  RecordUse use = RecordUse::Shared;

  [[nodiscard]] std::uint64_t rounds() const;

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const { return {}; }
  /// Shared records: as minibatch SGD (Theorem 129). One pass: 32 L^2 ln(1.25/delta) / (eps^2 K^2), eps <= 8 l1
  /// (Theorem 124). Phases (federated-core 3.8): as minibatch SGD, with a phase's rounds and records for R and n. That
  /// form is for minibatches; on full batches the calibration of choice is the accountant's, and this form has noise to
  /// spare.
  /// @see NoiseConditions
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const;
};

/// Accelerated noisy minibatch SGD (AC-SA): Algorithm 1 with Theorems 36, 37, 124, 129, 131; multi-stage: B.1.6.1;
/// localized: federated-core 3.8 (Gao, Lowy, Zhou, Wright 2024).
///   for r = 1 .. R_k:
///     w^md = [(1-a)(mu+e)/(e+(1-a^2)mu)] w^ag + [a((1-a)mu+e)/(e+(1-a^2)mu)] w         (a = alpha_r, e = eta_r)
///     ask every silo for its noised mean gradient at w^md; g = their weighted mean (+ what is public)
///     w    = Pi[(a mu w^md + ((1-a)mu+e) w - a g) / (mu+e)]
///     w^ag = a w + (1-a) w^ag
///   output w^ag; the next stage starts from it
class AcceleratedSgd final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "accelerated_sgd";
  static constexpr std::string_view kLocalizedName = "localized_accelerated_sgd";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  [[nodiscard]] static ParsedMethod parse_localized(config::Section& section, const Problem& problem);
  /// @return an error where a phase has no rounds, a stage's upsilon or a lambda is no number that serves, or the
  ///   regulariser is not smooth
  [[nodiscard]] static Result<std::unique_ptr<AcceleratedSgd>> create(AcceleratedSgdSettings settings);

  /// What it asks, in order: as many gradient sums as it has rounds.
  [[nodiscard]] static planning::Schedule schedule(const AcceleratedSgdSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit AcceleratedSgd(AcceleratedSgdSettings settings);
  struct Weights;
  [[nodiscard]] Weights weights() const;
  [[nodiscard]] Eigen::VectorXd middle() const;
  [[nodiscard]] Step current() const;
  [[nodiscard]] Status project(Eigen::VectorXd& point) const;
  void next_round();

  AcceleratedSgdSettings settings_;
  std::uint64_t total_ = 0;  // rounds of all phases
  std::uint64_t round_ = 0;  // of the whole run
  std::uint64_t phase_ = 0;
  std::uint64_t stage_ = 0;
  std::uint64_t step_ = 1;     // r, of the stage
  Eigen::VectorXd iterate_;    // w_{r-1}
  Eigen::VectorXd aggregate_;  // w^ag_{r-1}
  Eigen::VectorXd centre_;     // c
};

}  // namespace undertone::algorithms
