#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "shared/base/vector_units.hpp"

namespace undertone {

/// products_i = <x_i, w> and squares_i = <x_i, x_i> for the columns x_i at `positions`, each in eight interleaved sums
/// and the rest behind them: one number for every processor.
/// @param columns [d or more, n], of which the first d rows are looked at
/// @param w [d]
/// @param products [positions]
/// @param squares [positions]
void column_products(const Eigen::MatrixXd& columns, std::span<const std::int64_t> positions,
                     const Eigen::Ref<const Eigen::VectorXd>& w, std::span<double> products, std::span<double> squares,
                     VectorUnits units = VectorUnits::Widest);

/// out = w_0 x_0 + w_1 x_1 + .., each number added up in this order: the same on every processor, wherever the x lie.
/// @param columns one or more, each with as many numbers as `out` @param weights [columns]
void weighted_sum(std::span<const double* const> columns, std::span<const double> weights, std::span<double> out,
                  VectorUnits units = VectorUnits::Widest);

/// <x, y> in eight interleaved sums and the rest behind them: one number for every processor, wherever x and y lie.
[[nodiscard]] double inner_product(std::span<const double> x, std::span<const double> y,
                                   VectorUnits units = VectorUnits::Widest);

}  // namespace undertone
