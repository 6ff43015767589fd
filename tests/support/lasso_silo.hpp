#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/data/split.hpp"
#include "shared/planning/plan.hpp"

/// One silo with regression over the l1 ball of radius 1, of which the excess is known: generator G1 of spec
/// non-euclidean 4, whose measured tables are of it. The excess is ||x - x*||^2/2; at 0 it is 0.1675.
namespace undertone::tests {

inline constexpr std::int64_t kLassoRecords = 65536;

/// x* = (0.5, -0.25, 0.15, 0, ..): [d], d >= 3.
[[nodiscard]] Eigen::VectorXd lasso_optimum(Eigen::Index d);
/// a in {-1, 1}^d uniform, y = <a, x*> + U[-0.1, 0.1]: kLassoRecords of them.
[[nodiscard]] data::Dataset lasso_dataset(Eigen::Index d, std::uint64_t seed);
/// Where a whole run ends, by the silo's own oracle: [d]. @param noise or none at all
[[nodiscard]] Eigen::VectorXd end_of_lasso_run(algorithms::FederatedAlgorithm& algorithm, const planning::Plan& plan,
                                               const data::Dataset& dataset, std::uint64_t seed, bool noise);

}  // namespace undertone::tests
