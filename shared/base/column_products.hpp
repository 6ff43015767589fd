#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "shared/base/vector_units.hpp"

namespace undertone {

/// products_i = <x_i, w> and squares_i = <x_i, x_i> for the columns x_i at `positions`, each in eight interleaved sums
/// and the rest behind them: one number for every processor.
/// @param columns [d, n]
/// @param w [d]
/// @param products [positions]
/// @param squares [positions]
void column_products(const Eigen::MatrixXd& columns, std::span<const std::int64_t> positions,
                     const Eigen::Ref<const Eigen::VectorXd>& w, std::span<double> products, std::span<double> squares,
                     VectorUnits units = VectorUnits::Widest);

/// <x, y> in eight interleaved sums and the rest behind them: one number for every processor, wherever x and y lie.
[[nodiscard]] double inner_product(std::span<const double> x, std::span<const double> y,
                                   VectorUnits units = VectorUnits::Widest);

}  // namespace undertone
