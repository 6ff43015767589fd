#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "shared/algorithms/method.hpp"
#include "shared/geometry/linear_oracle.hpp"

namespace undertone::algorithms {

class ConstrainedFrankWolfe;

struct ConstrainedFrankWolfeSettings {
  using Algorithm = ConstrainedFrankWolfe;
  Problem problem;  // with vertices, its domain is the whole space
  geometry::LinearOracle oracle;
  std::uint64_t iterates = 0;  // T: T-1 gradients are asked for
  /// Gamma <= beta diameter^2 of the whole objective, where whoever made the settings answers for it.
  std::optional<double> curvature = {};

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  /// Iterates, the set's diameter and the bound on its width.
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {iterates == 0 ? 0 : iterates - 1, 1}; }
  [[nodiscard]] MethodTraits traits() const { return {}; }
  /// Variance 32 L^2 T ln^2(T/delta) / (eps n)^2 of a mean over all n records. Source: Theorem B.1 with L^2 for its L,
  /// as the noise has to scale with the gradient, and the logarithm of its proof.
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const;
  /// 2 Gamma/(T+1) + s G_C, s^2 the noise variance of a coordinate: a fresh b is correlated with the chosen point
  /// alone, and E <-b, s_t> <= s G_C. Nothing where Gamma is not known. Source: spec constraint-geometry 2.6.
  [[nodiscard]] std::optional<RiskBound> predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                        bool modulus_known) const;
};

/// The bound of `predicted_risk`. @pre the curvature is known
[[nodiscard]] double frank_wolfe_risk_over(const ConstrainedFrankWolfeSettings& settings, double noise_variance);

/// Frank-Wolfe over any convex set with a linear oracle, on noised gradients: Algorithm 5 with Theorems B.1 and B.2;
/// without noise it is Algorithm 3, Theorem 5.2.
///   for t = 1 .. T-1:  ask every silo for its noised mean gradient at theta_t; g = their weighted mean (+ what is
///                      public)
///                      s_t = argmin over C of <g, s>;  theta_{t+1} = (1 - mu_t) theta_t + mu_t s_t,  mu_t = 2/(t+1)
///   output theta_T
/// The step is that of spec constraint-geometry F7: the source's constant one keeps 1/e of the start for ever.
class ConstrainedFrankWolfe final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "constrained_frank_wolfe";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there are fewer than two iterates, the oracle is of another dimension, or the regulariser
  ///   is not smooth
  [[nodiscard]] static Result<std::unique_ptr<ConstrainedFrankWolfe>> create(
      const ConstrainedFrankWolfeSettings& settings);

  /// What it asks, in order: T-1 gradient sums over the training block, each record clipped.
  [[nodiscard]] static planning::Schedule schedule(const ConstrainedFrankWolfeSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit ConstrainedFrankWolfe(const ConstrainedFrankWolfeSettings& settings)
      : settings_(settings), point_(settings_.problem.start()) {}
  [[nodiscard]] Step current() const;
  ConstrainedFrankWolfeSettings settings_;
  std::uint64_t round_ = 0;  // t - 1
  Eigen::VectorXd point_;    // theta_t
};

}  // namespace undertone::algorithms
