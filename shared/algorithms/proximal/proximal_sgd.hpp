#pragma once

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/algorithms/problem.hpp"

namespace undertone::algorithms {

struct ProximalSgdSettings {
  Problem problem;
  std::uint64_t rounds = 0;  // R
  double step_size = 0.0;    // 1/(2 beta)
};

/// Noisy proximal SGD: Algorithm 20, Theorems 40 and 144. Every round reads a part of the records that no other reads.
///   for r = 0 .. R-1:  ask every silo for its noised mean gradient at w_r over its r-th part
///                      w_{r+1} = prox_{eta f1}(w_r - eta g)
///   output w_R
class ProximalSgd final : public FederatedAlgorithm {
 public:
  /// @return an error where there is no round, the step is no step, or the regulariser has no exact proximal map on W
  [[nodiscard]] static Result<std::unique_ptr<ProximalSgd>> create(const ProximalSgdSettings& settings);
  [[nodiscard]] static planning::Schedule schedule(const ProximalSgdSettings& settings, const GradientShape& shape);

  [[nodiscard]] Step start() override { return current(); }
  [[nodiscard]] Result<Step> advance(const folds::Gathered& gathered) override;
  [[nodiscard]] Eigen::VectorXd candidate() const override { return iterate_; }
  void save(ByteWriter& state) const override;
  [[nodiscard]] Status restore(ByteReader& state) override;

 private:
  ProximalSgd(const ProximalSgdSettings& settings, const geometry::ProximalStep& proximal);
  [[nodiscard]] Step current() const;

  ProximalSgdSettings settings_;
  geometry::ProximalStep proximal_;
  std::uint64_t round_ = 0;  // r
  Eigen::VectorXd iterate_;  // w_r
};

}  // namespace undertone::algorithms
