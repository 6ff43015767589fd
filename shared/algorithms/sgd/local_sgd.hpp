#pragma once

#include <cstdint>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/algorithms/problem.hpp"

namespace undertone::algorithms {

struct LocalSgdSettings {
  Problem problem;
  std::uint64_t rounds = 0;  // R
  std::uint64_t steps = 0;   // K: of each silo, between two messages
  double step_size = 0.0;    // eta
};

/// ISRL-DP local SGD (federated averaging), the baseline: federated-core 3.6, B.1.10.
///   for r = 0 .. R-1:  ask every silo for the end of K noisy steps of one record each, from w_r
///                      w_{r+1} = Pi_W[weighted mean of the ends]
///   output w_R
class LocalSgd final : public FederatedAlgorithm {
 public:
  /// @return an error where there is no round or step, the step size is none, or there is a regulariser, which local
  ///   steps do not know
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
