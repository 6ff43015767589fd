#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/features/cells.hpp"

namespace undertone::statistics {

/// phi(x) = x min(1, R / ||x||) / R of a record's numbers x, each clamped to [-1, 1]: a vector of length 1 at most, so
/// that phi of any two records is at most 2 apart in l2 and 2 sqrt(p) in l1.
/// Source: spec public-data 2.4 (records in a ball); spec noninteractive-ldp 2.6 (u = y x of a classifier).
struct BallMap {
  enum class Besides : std::uint8_t {
    Nothing,
    /// ||phi||^2, for the variance of records that are public, at no cost: (a + b)^2 (1 + (a - b)^2) <= 4 for the
    /// lengths a and b and the angle at its worst, since |a - b| <= 2 - (a + b) makes it grow with a + b.
    Square,
    /// svec(phi phi') / sqrt(2), the products off the diagonal times sqrt(2): with ||phi|| = a, ||phi'|| = b and the
    /// angle at its worst, the squared distance is (a + b)^2 (1 + (a - b)^2 / 2) <= 4, so that they cost nothing.
    Products
  };
  std::vector<std::size_t> coordinates;  // p >= 1, each once
  double radius = 1.0;                   // R >= kBallRadiusMin
  /// A label: phi is negated where it is not above 0.
  std::optional<std::size_t> sign = {};
  bool constant = false;  // a last coordinate that is 1 of every record, before anything is cut
  Besides besides = Besides::Nothing;

  /// Numbers of phi itself.
  [[nodiscard]] Eigen::Index length() const noexcept {
    return static_cast<Eigen::Index>(coordinates.size()) + (constant ? 1 : 0);
  }
};

/// No smaller radius: the squares of what is shorter than it vanish, and 1 over it is no double in the end.
inline constexpr double kBallRadiusMin = 0x1p-20;
inline constexpr std::size_t kBallCoordinatesMax = 4096;
inline constexpr std::size_t kBallProductsMax = 256;  // of phi, where its products are asked for

[[nodiscard]] Status check(const BallMap& map, std::size_t encoded_width);
[[nodiscard]] Eigen::Index dimension(const BallMap& map) noexcept;
/// @param out [dimension], overwritten
void in_ball(const BallMap& map, const EncodedRecord& record, Eigen::Ref<Eigen::VectorXd> out);

/// Every number of it, to the last bit. Digests of plans are of it, so it never changes.
[[nodiscard]] std::string canonical_text(const BallMap& map);

}  // namespace undertone::statistics
