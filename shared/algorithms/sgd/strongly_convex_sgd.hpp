#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

/// This is what a round of SGD on a strongly convex objective does.
struct WeighedStep {
  double step_size = 0.0;  // eta_t
  double weight = 0.0;     // zeta_t of w_{t+1}, over the largest of the run; 0: it does not count
};
/// Returns round t's step and weight. With T = R - 1 and kappa = beta/mu:
///   T <= 2 kappa:         eta = 1/beta, zeta_t = (1 - mu/(2 beta))^-(t+1)
///   else t < ceil(T/2):   eta = 1/beta, zeta_t = 0
///        t >= ceil(T/2):  eta = 4/(mu (4 kappa + t - ceil(T/2))), zeta_t = (4 kappa + t - ceil(T/2))^2
/// @param rounds R >= 1 @pre 0 < mu <= beta, round < rounds
/// Source: spec heavy-tailed 5.5, whose source (Lemma 175 of Lowy's thesis) says that such steps exist.
[[nodiscard]] WeighedStep weighed_step(std::uint64_t round, std::uint64_t rounds, double smoothness,
                                       double strong_convexity);

class StronglyConvexSgd;

struct StronglyConvexSgdSettings {
  using Algorithm = StronglyConvexSgd;
  Problem problem;
  std::uint64_t rounds = 0;       // R = T + 1
  double smoothness = 0.0;        // beta of the objective, its regulariser included
  double strong_convexity = 0.0;  // mu of the same, in (0, beta]

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const { return "noisy SGD for strongly convex objectives, Algorithm 28"; }
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {rounds, rounds}; }
  [[nodiscard]] MethodTraits traits() const { return {}; }
};

/// Noisy SGD for smooth and strongly convex objectives: Algorithms 27 and 28 of Lowy's thesis, Theorem 61. Every round
/// reads a part of the records that no other reads.
///   for t = 0 .. T:  ask every silo for its noised mean gradient at w_t over its t-th part
///                    w_{t+1} = Pi_W[w_t - eta_t g]
///   output sum_t zeta_t w_{t+1} / sum_t zeta_t
/// It has no accelerated form: there a bias of the gradients adds up. Any oracle with a bounded bias may answer, of
/// which a clip by a moment is one. Source: spec heavy-tailed 5.5, 5.7.
class StronglyConvexSgd final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "strongly_convex_sgd";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there is no round, mu is not in (0, beta], or the regulariser is not smooth
  [[nodiscard]] static Result<std::unique_ptr<StronglyConvexSgd>> create(const StronglyConvexSgdSettings& settings);
  [[nodiscard]] static planning::Schedule schedule(const StronglyConvexSgdSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit StronglyConvexSgd(const StronglyConvexSgdSettings& settings);
  [[nodiscard]] Step current() const;
  StronglyConvexSgdSettings settings_;
  std::uint64_t round_ = 0;  // t
  Eigen::VectorXd iterate_;  // w_t, rounded to the wire type
  Eigen::VectorXd average_;  // of w_1 .. w_t
  double weights_ = 0.0;     // zeta_0 + ... + zeta_{t-1}
};

}  // namespace undertone::algorithms
