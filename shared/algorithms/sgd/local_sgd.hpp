#pragma once

#include <cstdint>

#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

class LocalSgd;

struct LocalSgdSettings {
  using Algorithm = LocalSgd;
  Problem problem;
  std::uint64_t rounds = 0;   // R
  std::uint64_t steps = 0;    // K: of each silo, between two messages
  double step_size = 0.0;     // eta
  std::uint32_t records = 1;  // b: of a step
  double proximal = 0.0;      // lambda of FedProx; 0: none

  /// "fedprox" with a proximal weight, else "local_minibatch_sgd" of several records a step, else "local_sgd".
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {rounds, 1}; }
  [[nodiscard]] MethodTraits traits() const;
  /// The experiments': there is no theorem. @see experiment_local_shift
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const { return experiment_noise(facts); }
  /// Of one step, which reads one record. @param facts whose `drawn` is not read
  /// @return an error where a step reads several, of which the source has none
  [[nodiscard]] Result<NoiseShifts> experiment_noise(const NoiseFacts& facts) const;
};

/// The shift of one noised step of the experiments' local SGD: a step adds noise of variance
/// 8 L^2 R K l1 / (eps^2 n^2) per coordinate to one record's gradient, whose sensitivity is 2L.
/// @param rounds R >= 1 @param steps K >= 1, local steps of a round
/// @param facts `drawn` is the one record of a step: 1
/// Source: B.1.10; it presumes RK >= n^2 eps / 4, which the experiments do not have. @see NoiseConditions
[[nodiscard]] Result<double> experiment_local_shift(double rounds, double steps, const NoiseFacts& facts);

/// ISRL-DP local SGD (federated averaging), the baseline: federated-core 3.6, B.1.10.
///   for r = 0 .. R-1:  ask every silo for the end of K noisy steps of b records each, from w_r
///                      w_{r+1} = Pi_W[weighted mean of the ends]
///   output w_R
/// With b = 1 it is the source's. With b > 1 it is minibatch SGD with local steps (Woodworth et al. 2020), and with
///   w <- w - eta (g + lambda (w - w_r))
/// in each step FedProx (Li et al. 2020, Algorithm 2) with K steps for its inexact minimiser. Both are baselines of
/// their literature, without a theorem here. The proximal part is public: all three cost what their noised gradients
/// do.
class LocalSgd final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "local_sgd";
  static constexpr std::string_view kMinibatchName = "local_minibatch_sgd";
  static constexpr std::string_view kFedProxName = "fedprox";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  [[nodiscard]] static ParsedMethod parse_minibatch(config::Section& section, const Problem& problem);
  [[nodiscard]] static ParsedMethod parse_fedprox(config::Section& section, const Problem& problem);
  /// @return an error where there is no round, step or record of one, the step size is none, step size x lambda is
  /// above
  ///   1, which would step over where the run began, or there is a regulariser, which local steps do not know
  [[nodiscard]] static Result<std::unique_ptr<LocalSgd>> create(const LocalSgdSettings& settings);

  /// What it asks, in order: R local runs.
  [[nodiscard]] static planning::Schedule schedule(const LocalSgdSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit LocalSgd(const LocalSgdSettings& settings) : settings_(settings), iterate_(settings_.problem.start()) {}
  [[nodiscard]] Step current() const;
  LocalSgdSettings settings_;
  std::uint64_t round_ = 0;  // r
  Eigen::VectorXd iterate_;  // w_r
};

}  // namespace undertone::algorithms
