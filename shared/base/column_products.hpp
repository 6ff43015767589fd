#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

namespace undertone {

/// Which of the processor's vector units to compute with. No result depends on it.
enum class VectorUnits : std::uint8_t { Widest, None };

/// products_i = <x_i, w> and squares_i = <x_i, x_i> for the columns x_i at `positions`, each in eight interleaved sums
/// and the rest behind them: one number for every processor.
/// @param columns [d, n]
/// @param w [d]
/// @param products [positions]
/// @param squares [positions]
void column_products(const Eigen::MatrixXd& columns, std::span<const std::int64_t> positions,
                     const Eigen::Ref<const Eigen::VectorXd>& w, std::span<double> products, std::span<double> squares,
                     VectorUnits units = VectorUnits::Widest);

}  // namespace undertone
