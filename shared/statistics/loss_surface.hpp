#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "shared/features/losses.hpp"

namespace undertone::statistics {

/// What the Bernstein polynomial of a loss weighs its values on the grid with, at parameters in the box: [(k + 1)^p].
/// @param order h
[[nodiscard]] Eigen::VectorXd grid_weights(const LossesMap& map, std::size_t order, const Eigen::VectorXd& parameters);

/// How far the polynomial of one record's losses is from its loss at the parameters, in the loss's unit: the most over
/// records that fill the cube, corners among them, and near the worst of them. Measured, not proved: no constant of the
/// theory is known.
/// @param weights of `grid_weights` at these parameters @param records how many are tried
[[nodiscard]] double measured_error(const LossesMap& map, const Eigen::VectorXd& weights,
                                    const Eigen::VectorXd& parameters, std::size_t records);

/// The most over parameters that fill the box of that error and `deviations` standard deviations of the noise, over the
/// largest loss: what a degree and an order are chosen by, from public numbers alone.
/// @param noise_stddev of each value of the grid, which are in [0, 1]
[[nodiscard]] double expected_error(const LossesMap& map, std::size_t order, double noise_stddev, double deviations);

}  // namespace undertone::statistics
