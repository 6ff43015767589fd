#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared/algorithms/method.hpp"
#include "shared/geometry/mirror_map.hpp"

namespace undertone::algorithms {

class StochasticMirrorDescent;

struct StochasticMirrorDescentSettings {
  using Algorithm = StochasticMirrorDescent;
  Problem problem;
  geometry::MirrorMap map;
  std::uint64_t epochs = 0;  // E
  std::uint64_t parts = 0;   // steps of an epoch: of a part of floor(n/parts) records each
  double step_size = 0.0;    // eta

  /// E parts; what leaves 64 bits is the largest number.
  [[nodiscard]] std::uint64_t rounds() const;
  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] MethodNumbers numbers() const;
  /// Every step has an entry of its own.
  [[nodiscard]] Extent extent() const { return {rounds(), rounds()}; }
  [[nodiscard]] MethodTraits traits() const;
};

/// Stochastic mirror descent in epochs, a reference for simulations without noise: no theorem makes it private.
///   x_0 = argmin over X of h
///   for k = 0 .. E parts - 1:  ask every silo for its mean gradient g at x_k over part k mod `parts` of its records
///                              x_{k+1} = argmin over x in X of eta <g, x> + D_h(x, x_k)
///   output the mean of x_1 .. x_T, T = E parts
/// The source draws a fresh permutation of the records for every epoch, and steps along one record at a time. Here a
/// run has one secret permutation, whose parts every epoch passes again; with `parts` = n of one silo a part is one
/// record. Where a job's parts are bins, every epoch draws them anew.
/// Lemma A.2 of the source holds of it as it stands: of linear losses and the entropy over the simplex of scale 1, runs
/// on two data sets that differ in one record, with the same permutation, have
///   |x_T - y_T|_1^2 <= KL(x_T, y_T) + KL(y_T, x_T) <= 4 eta^2 L^2 E^2 / b^2,  b records in a part,
/// since ln(x_T/y_T) is eta times the sum of the differences of their gradients, up to a constant vector, and the one
/// record that differs is in one part of every epoch, whichever: E differences of at most 2 L/b, in any order.
/// Source: Asi, Feldman, Koren and Talwar 2021, Algorithm 4 and Lemma A.2; spec non-euclidean A5.
class StochasticMirrorDescent final : public FederatedAlgorithm {
 public:
  static constexpr std::string_view kName = "stochastic_mirror_descent";
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there are no epochs or parts, or more rounds than releases::kRoundsMax, the step is no
  /// step, or the problem is none of mirror descent @see check_mirror_problem
  [[nodiscard]] static Result<std::unique_ptr<StochasticMirrorDescent>> create(
      const StochasticMirrorDescentSettings& settings);
  /// What it asks, in order: gradient sums over the parts one after the other, from the first again in every epoch.
  [[nodiscard]] static planning::Schedule schedule(const StochasticMirrorDescentSettings& settings,
                                                   const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  /// The average so far; x_0 before the first answer.
  [[nodiscard]] Eigen::VectorXd candidate() const override;
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  explicit StochasticMirrorDescent(const StochasticMirrorDescentSettings& settings);
  [[nodiscard]] Step current() const;
  StochasticMirrorDescentSettings settings_;
  std::uint64_t round_ = 0;  // k
  Eigen::VectorXd state_;    // of x_k, [m]
  Eigen::VectorXd average_;  // of x_1 .. x_k, [d]
};

}  // namespace undertone::algorithms
