#include "shared/features/ball.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <numbers>

#include "shared/base/exact_text.hpp"

namespace undertone::statistics {

Status check(const BallMap& map, std::size_t encoded_width) {
  const bool products = map.besides == BallMap::Besides::Products;
  const std::size_t most = products ? kBallProductsMax - 1 : kBallCoordinatesMax;
  if (map.coordinates.empty() || map.coordinates.size() > most)
    return refused_map(fmt::format("expected 1 to {} coordinates of a ball, got {}", most, map.coordinates.size()));
  if (!(map.radius >= kBallRadiusMin && std::isfinite(map.radius)))
    return refused_map(fmt::format("expected a radius of {} or more, got {}", kBallRadiusMin, map.radius));
  std::vector<std::size_t> sorted = map.coordinates;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return refused_map("expected coordinates of a ball that differ");
  if (map.sign) UNDERTONE_TRY(check_coordinate(*map.sign, encoded_width));
  return check_coordinate(sorted.back(), encoded_width);
}

Eigen::Index dimension(const BallMap& map) noexcept {
  const Eigen::Index p = map.length();
  switch (map.besides) {
    case BallMap::Besides::Nothing:
      return p;
    case BallMap::Besides::Square:
      return p + 1;
    case BallMap::Besides::Products:
      break;
  }
  return p + p * (p + 1) / 2;
}

void in_ball(const BallMap& map, const EncodedRecord& record, Eigen::Ref<Eigen::VectorXd> out) {
  const Eigen::Index p = map.length();
  double* const numbers = out.data();
  double square = map.constant ? 1.0 : 0.0;
  for (std::size_t j = 0; j < map.coordinates.size(); ++j) {
    numbers[j] = clamped(record, map.coordinates[j]);
    square += numbers[j] * numbers[j];
  }
  if (map.constant) numbers[p - 1] = 1.0;
  const double sign = !map.sign || record[*map.sign] > 0.0 ? 1.0 : -1.0;  // what is not finite is not above 0
  const double factor = sign / std::max(std::sqrt(square), map.radius);
  for (Eigen::Index j = 0; j < p; ++j) numbers[j] *= factor;
  if (map.besides == BallMap::Besides::Square) out[p] = std::min(out.head(p).squaredNorm(), 1.0);
  if (map.besides != BallMap::Besides::Products) return;
  Eigen::Index place = p;
  for (Eigen::Index j = 0; j < p; ++j) {
    out[place++] = out[j] * out[j] / std::numbers::sqrt2;
    for (Eigen::Index k = j + 1; k < p; ++k) out[place++] = out[j] * out[k];
  }
}

std::string canonical_text(const BallMap& map) {
  return fmt::format("{}:{}:{}:{}:{}", fmt::join(map.coordinates, ","), exact_text(map.radius),
                     map.sign ? fmt::format("{}", *map.sign) : "", map.constant, static_cast<int>(map.besides));
}

}  // namespace undertone::statistics
