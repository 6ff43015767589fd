#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shared/algorithms/method.hpp"
#include "shared/geometry/mirror_map.hpp"

namespace undertone::algorithms {

class MirrorDescent;

struct MirrorDescentSettings {
  using Algorithm = MirrorDescent;
  Problem problem;
  geometry::MirrorMap map;
  std::uint64_t rounds = 0;  // T
  /// eta of every step; without it the steps are those of an objective that is strongly convex relative to h.
  std::optional<double> step_size = {};
  double relative_convexity = 0.0;  // lambda > 0 where there is no step size: eta_k = 2/(lambda (k + 1)), k = 1 .. T

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {rounds, 1}; }
  [[nodiscard]] MethodTraits traits() const;
  /// With mu of the map, D its `divergence_max` and G^2 a bound on E ||g + noise||_q^2:
  ///   D/(eta T) + eta G^2/(2 mu)
  /// of steps of one size, convex losses whose records' gradients are no longer than the clip norm, and no regulariser.
  /// Nothing of the other steps: nobody has shown how convex the objective is relative to h.
  /// Source: Asi, Feldman, Koren and Talwar 2021, Lemma 3.1.
  [[nodiscard]] std::optional<RiskBound> predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                        bool modulus_known) const;
};

/// Noisy mirror descent: a potential h over a set X, and
///   x_1 = argmin over X of h
///   for k = 1 .. T:  ask every silo for its noised mean gradient at x_k, each record's clipped in the dual norm
///                    x_{k+1} = argmin over x in X of eta_k <g, x> + D_h(x, x_k)
///   output the mean of x_1 .. x_T; of steps 2/(lambda (k + 1)) the mean with weights k
/// Source: Asi, Feldman, Koren and Talwar 2021, Algorithms 1 and 5; one noise vector a step, as their proof has it.
class MirrorDescent final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "mirror_descent";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there is no round, the step is no step, or the problem is none of mirror descent
  /// @see check_mirror_problem
  [[nodiscard]] static Result<std::unique_ptr<MirrorDescent>> create(const MirrorDescentSettings& settings);
  /// What it asks, in order: T gradient sums over the training block.
  [[nodiscard]] static planning::Schedule schedule(const MirrorDescentSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  /// The average so far; x_1 before the first answer.
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit MirrorDescent(const MirrorDescentSettings& settings);
  [[nodiscard]] Step current() const;
  MirrorDescentSettings settings_;
  std::uint64_t round_ = 0;  // k - 1
  Eigen::VectorXd state_;    // of x_k, [m]
  Eigen::VectorXd average_;  // of x_1 .. x_{k-1}, [d]
};

}  // namespace undertone::algorithms
