#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/data/split.hpp"
#include "shared/models/linear_loss.hpp"
#include "shared/planning/plan.hpp"

/// Silos with regression over the l1 ball of radius 1, of which the excess is known: generators G1 and G5 of spec
/// non-euclidean 4, whose measured tables are of them. Least squares' excess is ||x - x*||^2/2; at 0 it is 0.1675.
namespace undertone::tests {

inline constexpr std::int64_t kLassoRecords = 65536;

/// x* = (0.5, -0.25, 0.15, 0, ..): [d], d >= 3.
[[nodiscard]] Eigen::VectorXd lasso_optimum(Eigen::Index d);
/// G1: a in {-1, 1}^d uniform, y = <a, x*> + U[-0.1, 0.1].
[[nodiscard]] data::Dataset lasso_dataset(Eigen::Index d, std::uint64_t seed, std::int64_t records = kLassoRecords);
/// G5: the same vectors, y = <a, x*> + Cauchy(0.2), for the absolute loss.
[[nodiscard]] data::Dataset heavy_lasso_dataset(Eigen::Index d, std::uint64_t seed, std::int64_t records);
/// E |<a, x> - y| - E |<a, x*> - y| of G5, over the noise exactly and over 16,384 drawn vectors a. @param point [d]
[[nodiscard]] double heavy_lasso_excess(const Eigen::VectorXd& point);

/// A silo of its own name, permutation and noise.
struct LassoSilo {
  const planning::Plan* plan;
  const data::Dataset* dataset;
};
/// Where a whole run ends, by the silos' own oracles, whose answers are averaged: [d]. @param noise or none at all
[[nodiscard]] Eigen::VectorXd end_of_lasso_run(algorithms::FederatedAlgorithm& algorithm,
                                               std::span<const LassoSilo> silos, std::uint64_t seed, bool noise,
                                               models::Loss loss = models::Loss::LeastSquares);
/// The same of one silo.
[[nodiscard]] Eigen::VectorXd end_of_lasso_run(algorithms::FederatedAlgorithm& algorithm, const planning::Plan& plan,
                                               const data::Dataset& dataset, std::uint64_t seed, bool noise);

}  // namespace undertone::tests
