#pragma once

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/method_kit.hpp"

namespace undertone::algorithms {

class ProximalSgd;

struct ProximalSgdSettings {
  using Algorithm = ProximalSgd;
  Problem problem;
  std::uint64_t rounds = 0;  // R
  double step_size = 0.0;    // 1/(2 beta)

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const { return "noisy proximal SGD, Algorithm 20"; }
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {rounds, rounds}; }
  [[nodiscard]] MethodTraits traits() const { return {}; }
  /// Variance 8 L^2 l1 / (eps^2 K^2), eps <= min{8 l1, 15}, delta < 1/2, R <= n. Source: Theorem 144.
  /// @see NoiseConditions
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const;
};

/// Noisy proximal SGD: Algorithm 20, Theorems 40 and 144. Every round reads a part of the records that no other reads.
///   for r = 0 .. R-1:  ask every silo for its noised mean gradient at w_r over its r-th part
///                      w_{r+1} = prox_{eta f1}(w_r - eta g)
///   output w_R
class ProximalSgd final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "proximal_sgd";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there is no round, the step is no step, or the regulariser has no exact proximal map on W
  [[nodiscard]] static Result<std::unique_ptr<ProximalSgd>> create(const ProximalSgdSettings& settings);
  [[nodiscard]] static planning::Schedule schedule(const ProximalSgdSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  ProximalSgd(const ProximalSgdSettings& settings, const ProximalDescent& descent)
      : settings_(settings), descent_(descent), iterate_(settings_.problem.start()) {}
  [[nodiscard]] Step current() const;

  ProximalSgdSettings settings_;
  ProximalDescent descent_;
  std::uint64_t round_ = 0;  // r
  Eigen::VectorXd iterate_;  // w_r
};

}  // namespace undertone::algorithms
