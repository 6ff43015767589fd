#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared/algorithms/method.hpp"
#include "shared/geometry/frank_wolfe_set.hpp"

namespace undertone::algorithms {

class NoisyFrankWolfe;

struct NoisyFrankWolfeSettings {
  using Algorithm = NoisyFrankWolfe;
  Problem problem;
  geometry::FrankWolfeSet set;
  std::uint64_t rounds = 0;  // W: one gradient over half of the records, then W differences
  double step_size = 0.0;    // eta in (0, 1]
  double smoothness = 0.0;   // beta of a record's loss from l_p to l_q: public

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {rounds + 1, rounds + 1}; }
  [[nodiscard]] MethodTraits traits() const;
  /// Variances sigma^2 with the density exp(-||z||_r^2/(2 sigma^2)): 32 kappa L^2 l1/(n eps)^2 of the gradient's mean
  /// over n/2 records and 32 kappa (beta D eta)^2 l1/(n eps^2) of a difference's over sqrt(n)/2. As shifts, sqrt(2
  /// rho), both are eps/sqrt(2 l1), whatever the parts and the law of the noise. Source: Bassily, Guzman and Nandi
  /// 2021, Algorithm 3. @see NoiseConditions
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const;
};

/// Noisy stochastic Frank-Wolfe, in one pass: the gradient is learnt once and followed by its differences, each of
/// which is short because the steps are.
///   G_0 = the mean gradient at x_0 over half of the records
///   for t = 0 .. W:  x_{t+1} = (1 - eta) x_t + eta argmin over v in X of <v, G_t>
///                    G_{t+1} = G_t + the mean difference of gradients at x_{t+1} and x_t, over a part of the other
///                    half
///   output x_{W+1}
/// No record is read twice, so a silo's whole run costs what one release does. A record's difference is cut to
/// min(2 clip, beta ||x_{t+1} - x_t||_p) in l_q, and its noise is as much less. Choosing a vertex costs nothing: it
/// looks at what has left the silos. Source: Bassily, Guzman and Nandi 2021, Algorithm 3 with Theorems 11 and 12; with
/// Gaussian noise and of several silos, spec non-euclidean B3 and 3.1.
class NoisyFrankWolfe final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "noisy_frank_wolfe";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there is no difference, a number is out of range, there is a regulariser, or the start is
  /// outside the set
  [[nodiscard]] static Result<std::unique_ptr<NoisyFrankWolfe>> create(const NoisyFrankWolfeSettings& settings);
  /// What it asks, in order: a gradient over half of a secret permutation, then W differences over its equal parts.
  [[nodiscard]] static planning::Schedule schedule(const NoisyFrankWolfeSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit NoisyFrankWolfe(const NoisyFrankWolfeSettings& settings);
  [[nodiscard]] Step current() const;
  NoisyFrankWolfeSettings settings_;
  std::uint64_t round_ = 0;   // t
  Eigen::VectorXd iterate_;   // x_t, rounded to the wire type
  Eigen::VectorXd previous_;  // x_{t-1}; x_0 at first
  Eigen::VectorXd gradient_;  // G_{t-1}; 0 at first
};

}  // namespace undertone::algorithms
