#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shared/algorithms/method.hpp"

namespace undertone::algorithms {

class LpSgd;

struct LpSgdSettings {
  using Algorithm = LpSgd;
  Problem problem;                                        // its domain is all of space, or the very box of p = infinity
  double norm = std::numeric_limits<double>::infinity();  // p in (2, infinity]
  double radius = 0.0;                                    // R of the l_p ball around 0 that the model lies in
  std::uint64_t rounds = 0;                               // T
  double step_size = 0.0;                                 // eta

  /// D_2 = 2 R d^(1/2 - 1/p): the ball's largest distance in l2.
  [[nodiscard]] double diameter() const;
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  /// `norm` is left out where it is infinite.
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {rounds, 1}; }
  [[nodiscard]] MethodTraits traits() const;
  /// Variance 8 T L^2 l1 / (n^2 eps^2), eps <= 1. Source: Bassily, Guzman and Nandi 2021, Proposition 13, after
  /// Bassily, Feldman, Guzman and Talwar 2020, Algorithm 2; spec non-euclidean B4. @see NoiseConditions
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const;
  /// With v the noise variance, of convex losses whose records' gradients are no longer than the clip norm L in l2:
  ///   D_2^2/(2 eta T) + eta (L^2 + d v)/2.
  /// @return nothing beside a regulariser
  /// Source: projected stochastic gradient descent from any point of the ball.
  [[nodiscard]] std::optional<RiskBound> predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                        bool modulus_known) const;
};

/// Noisy SGD of l2 steps over an l_p ball, p > 2:
///   for k = 1 .. T:  ask every silo for its noised mean gradient g at x_k, each record's clipped in l2
///                    x_{k+1} = the point of {||x||_p <= R} nearest to x_k - eta g in l2
///   output the mean of x_1 .. x_T
/// A gradient is measured in the dual norm l_q, 1/p + 1/q = 1, q < 2: there ||g||_2 <= ||g||_q, so that a Lipschitz
/// constant in l_q bounds records' l2 norms, and no clip in l2 at that constant shortens them.
/// Source: Bassily, Guzman and Nandi 2021, Proposition 13 and Corollary 14; spec non-euclidean B4.
class LpSgd final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "lp_sgd";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there is no round, a number is out of range, the domain is neither all of space nor the
  /// ball itself, the start lies outside the ball, or the regulariser is not smooth
  [[nodiscard]] static Result<std::unique_ptr<LpSgd>> create(const LpSgdSettings& settings);
  /// What it asks, in order: T gradient sums over the training block.
  [[nodiscard]] static planning::Schedule schedule(const LpSgdSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  /// The average so far; x_1 before the first answer.
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit LpSgd(const LpSgdSettings& settings);
  [[nodiscard]] Step current() const;
  LpSgdSettings settings_;
  std::uint64_t round_ = 0;  // k - 1
  Eigen::VectorXd iterate_;  // x_k, rounded to the wire type
  Eigen::VectorXd average_;  // of x_1 .. x_{k-1}
};

/// What the theorem for p > 2 is told. No number is a default.
struct LpSgdFacts {
  double norm = 0.0;           // p in (2, infinity]
  double radius = 0.0;         // R
  Eigen::Index dimension = 0;  // d
  std::uint64_t records = 0;   // n, of every silo
  std::uint64_t silos = 0;     // N
  double epsilon = 0.0;        // of every silo
  double delta = 0.0;          // of every silo, in (0, 1)
  double lipschitz = 0.0;      // L in l_q, or in l2
};

/// What the theorem makes of it.
struct LpSgdChoice {
  std::uint64_t rounds = 0;     // T
  double step_size = 0.0;       // eta
  double diameter = 0.0;        // D_2
  double noise_variance = 0.0;  // 8 T L^2 ln(1/delta)/(n^2 eps^2), of a coordinate of one silo's answer, as printed
};

/// T = (n N)^2, the largest number where it leaves 64 bits.
[[nodiscard]] std::uint64_t lp_sgd_theorem_rounds(std::uint64_t records, std::uint64_t silos);

/// The theorem's parameters: with m = n N
///   T = m^2,  eta = D_2/(L m) min{1/sqrt(m), eps/sqrt(N d ln(1/delta))},
/// for an excess risk of order D_2 L (1/sqrt(m) + sqrt(d ln(1/delta))/(n eps sqrt N)). Of one silo it is the printed
/// T = n^2. Of several, T = n^2 would not do: the steps' own error and the instability of subgradient steps along
/// kinked losses, D_2^2/(eta T) + eta sqrt(T) L^2, are no less than 2 D_2 L T^(-1/4). With m for n the silos' noise,
/// which averages, is as much as that of one silo of m records at eps/sqrt(N).
/// @return an error where a number is out of range, and one with both numbers where T is above releases::kRoundsMax
/// Source: spec non-euclidean B4, its 3.3 for several silos; Bassily, Guzman and Nandi 2021, Proposition 13.
[[nodiscard]] Result<LpSgdChoice> lp_sgd_theorem(const LpSgdFacts& facts);

}  // namespace undertone::algorithms
