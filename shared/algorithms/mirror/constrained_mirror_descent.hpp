#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "shared/algorithms/method.hpp"
#include "shared/geometry/matched_potential.hpp"

namespace undertone::algorithms {

class ConstrainedMirrorDescent;

struct ConstrainedMirrorDescentSettings {
  using Algorithm = ConstrainedMirrorDescent;
  Problem problem;  // with vertices, its domain is the whole space
  geometry::MatchedPotential potential;
  std::uint64_t rounds = 0;  // T
  double step_size = 0.0;    // eta; not looked at with a relative convexity
  /// kappa, of the objective relative to the potential: F(x) >= F(y) + <grad F(y), x - y> + kappa D(x, y). Then the
  /// steps are 1/(kappa t).
  std::optional<double> relative_convexity = {};
  bool by_regulariser = false;  // who proves kappa: the regulariser; else whoever wrote the job answers for it

  /// eta_t of the step after theta_t, t = 1 .. T.
  [[nodiscard]] double step(std::uint64_t t) const;
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  /// Rounds, step, W, ||Q||_2, the bound on G_Q.
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {rounds, 1}; }
  [[nodiscard]] MethodTraits traits() const;
  /// Variance 32 L^2 T ln^2(T/delta) / (eps n)^2 of a mean over all n records. Source: Theorem 3.1.
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const;
  /// With B = L^2 ||Q||^2 + s^2 (G_Q^2 + ||Q||^2), mu the potential's modulus, s^2 the noise variance of a coordinate:
  ///   W/(eta T) + eta B/mu, or with steps 1/(kappa t):  B (1 + ln T) / (kappa mu T).
  /// Source: spec constraint-geometry 2.1; for the second, that analysis with the telescoping steps of Theorem A.1.
  [[nodiscard]] std::optional<RiskBound> predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                        bool modulus_known) const;
};

/// The bound of `predicted_risk` for gradients no longer than `lipschitz`, regulariser included.
[[nodiscard]] double mirror_risk(const ConstrainedMirrorDescentSettings& settings, double lipschitz,
                                 double noise_variance);
/// The longest gradient where no record's is longer than `clip`: the regulariser's is added.
[[nodiscard]] double longest_gradient(const Problem& problem, double clip);

/// Noisy mirror descent with a potential matched to the set: Algorithm 1 with Theorems 3.1 and 3.2, and its strongly
/// convex form, Theorem A.1.
///   theta_1 = argmin of the potential over C
///   for t = 1 .. T:  ask every silo for its noised mean gradient at theta_t; g = their weighted mean (+ what is
///                    public)
///                    theta_{t+1} = argmin over C of eta_t <g, theta> + D(theta, theta_t)
///   output the mean of theta_1 .. theta_T
/// Noise costs the width of the potential's norm instead of sqrt(d).
/// Source: Talwar, Thakurta, Zhang 2014; spec constraint-geometry 2.1, 2.2, 4.1 with its F1, F2, F4.
class ConstrainedMirrorDescent final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "constrained_mirror_descent";
  static constexpr std::string_view kStronglyConvexName = "strongly_convex_mirror_descent";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  [[nodiscard]] static ParsedMethod parse_strongly_convex(config::Section& section, const Problem& problem);
  /// @return an error where there is no round, a step is no step, the potential is of another dimension, a start was
  ///   chosen which is not the potential's least point, or the regulariser is not smooth
  [[nodiscard]] static Result<std::unique_ptr<ConstrainedMirrorDescent>> create(
      const ConstrainedMirrorDescentSettings& settings);

  /// What it asks, in order: T gradient sums over the training block, each record clipped.
  [[nodiscard]] static planning::Schedule schedule(const ConstrainedMirrorDescentSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  ConstrainedMirrorDescent(const ConstrainedMirrorDescentSettings& settings, Eigen::VectorXd state);
  [[nodiscard]] Step current() const;
  /// theta_t, rounded to the wire type.
  [[nodiscard]] Eigen::VectorXd iterate() const;
  ConstrainedMirrorDescentSettings settings_;
  std::uint64_t round_ = 0;  // t - 1
  Eigen::VectorXd state_;    // of theta_t, as the map has it
  Eigen::VectorXd average_;  // of theta_1 .. theta_{t-1}
};

}  // namespace undertone::algorithms
