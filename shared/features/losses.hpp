#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "shared/features/cells.hpp"
#include "shared/features/scalar_loss.hpp"

namespace undertone::statistics {

/// The loss of a linear model at every point of the grid c + {-W + 2 W v/k}^p of its parameters, v = 0 .. k, over the
/// largest that it can be: numbers in [0, 1], whose means are the empirical risk at these points. The first parameter
/// runs fastest; where there is an intercept it is the last. Source: spec noninteractive-ldp 2.3, 2.4 (b).
struct LossesMap {
  ScalarLoss loss = ScalarLoss::Logistic;
  std::vector<std::size_t> coordinates;  // of the features, one or more
  std::size_t label = 0;                 // the coordinate of y; of a binary label its sign
  bool intercept = false;
  double half_width = 1.0;  // W > 0: of the box of parameters
  std::size_t degree = 2;   // k >= 1, of each axis
  /// c, the middle of the box: [p], or empty for 0. Where there is one, a number is 1/2 + (f(w) - f(c)) / (2 B), B the
  /// largest difference that there can be in the box: the smaller the box, the less one record moves a mean loss.
  std::vector<double> centre = {};
  double ridge = 0.0;  // lambda >= 0 of f = loss + lambda/2 ||w||^2, where there is a centre

  [[nodiscard]] std::size_t parameters() const noexcept { return coordinates.size() + (intercept ? 1 : 0); }
  /// |s| is at most this: W p + ||c||_1.
  [[nodiscard]] double reach() const noexcept;
  /// B. @pre there is a centre
  [[nodiscard]] double difference_max() const noexcept;
};

inline constexpr std::size_t kLossParametersMax = 3;
inline constexpr std::size_t kLossDegreeMax =
    1024;  // of a grid to choose from; polynomials have at most kPolynomialDegreeMax
inline constexpr std::size_t kPolynomialDegreeMax = 256;

/// (k + 1)^p, or kCellsMax + 1 where it is more than kCellsMax.
[[nodiscard]] std::size_t grid_count(std::size_t parameters, std::size_t degree) noexcept;
[[nodiscard]] Status check(const LossesMap& map, std::size_t encoded_width);
/// The parameters at a place of the grid: [p]. @param place below grid_count
[[nodiscard]] Eigen::VectorXd grid_point(const LossesMap& map, std::size_t place);
/// The scaled loss of one record there: in [0, 1].
[[nodiscard]] double loss_at(const LossesMap& map, const EncodedRecord& record, std::size_t place);

/// Every number of it, to the last bit. Digests of plans are of it, so it never changes.
[[nodiscard]] std::string canonical_text(const LossesMap& map);

}  // namespace undertone::statistics
