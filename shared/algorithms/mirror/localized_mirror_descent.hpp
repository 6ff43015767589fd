#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/algorithms/method.hpp"
#include "shared/algorithms/mirror/phased_mirror_steps.hpp"

namespace undertone::algorithms {

class LocalizedMirrorDescent;

struct LocalizedMirrorDescentSettings {
  using Algorithm = LocalizedMirrorDescent;
  Problem problem;
  double norm = 1.0;  // of the setup, in [1, 2]
  std::vector<MirrorPhase> phases = {};

  /// p of the potential: that of the norm, but no less than the l1 setup's.
  [[nodiscard]] double power() const;
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const;
  [[nodiscard]] MethodTraits traits() const;
};

/// Localised noisy mirror descent: phases on disjoint records, each near to where the one before ended.
///   c = x_0
///   for phase i = 1, 2, ...:  x_1 = c
///     for k = 1 .. T_i:  ask every silo for its noised mean gradient g at x_k, over phase i's n/2^i records
///                        x_{k+1} = argmin over X_i of h_i(x) - <theta, x>,
///                        theta = (k - 1)/(k + 1) grad h_i(x_k) - 2/(lambda (k + 1)) g
///     c = 2/(T_i (T_i + 1)) sum_k k x_k
///   output c
/// The proximity term is public, so it costs neither noise nor sensitivity. Of steps 2/(lambda (k + 1)) a phase is
/// mirror descent on an objective that is lambda-strongly convex relative to h_i. Source: Asi, Feldman, Koren and
/// Talwar 2021, Algorithms 2 and 6; spec non-euclidean A2, FED-A2 in 3.4.
class LocalizedMirrorDescent final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "localized_mirror_descent";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where a phase has no rounds, a number is out of range, the domain is neither the l1 ball nor all
  /// of space, or there is a regulariser
  [[nodiscard]] static Result<std::unique_ptr<LocalizedMirrorDescent>> create(
      const LocalizedMirrorDescentSettings& settings);
  /// What it asks, in order: of phase i T_i gradient sums over n/2^i records that no other phase reads.
  [[nodiscard]] static planning::Schedule schedule(const LocalizedMirrorDescentSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return steps_.current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override { return steps_.advance(gathered); }
  /// The phase's average so far; its centre before its first answer.
  [[nodiscard]] Eigen::VectorXd candidate() const override { return steps_.candidate(); }
  void save(ByteWriter& state) const override { steps_.save(state); }
  [[nodiscard]] Status restore(ByteReader& state) override { return steps_.restore(state); }

 private:
  explicit LocalizedMirrorDescent(PhasedMirrorSteps steps) : steps_(std::move(steps)) {}
  PhasedMirrorSteps steps_;
};

}  // namespace undertone::algorithms
