#include "shared/features/cosines.hpp"

#include <algorithm>
#include <fmt/ranges.h>

namespace undertone::statistics {
namespace {

/// T_0(u) .. T_(terms-1)(u), |u| <= 1, each cut to [-1, 1]: the recurrence's rounding may leave it by some units.
void chebyshev(double u, Eigen::Ref<Eigen::VectorXd> out) {
  out[0] = 1.0;
  if (out.size() > 1) out[1] = u;
  for (Eigen::Index v = 2; v < out.size(); ++v) out[v] = 2.0 * u * out[v - 1] - out[v - 2];
  out = out.cwiseMin(1.0).cwiseMax(-1.0);
}

}  // namespace

std::size_t cosine_count(std::size_t coordinates, std::size_t terms) noexcept {
  std::size_t all = 1;
  for (std::size_t j = 0; j < coordinates; ++j) {
    if (terms != 0 && all > (kCellsMax + 1) / terms) return kCellsMax + 1;
    all *= terms;
  }
  return all - 1;
}

Status check(const CosinesMap& map, std::size_t encoded_width) {
  const std::size_t coordinates = map.coordinates.size();
  if (coordinates < 1 || coordinates > kCosineCoordinatesMax)
    return refused_map(
        fmt::format("expected cosines of 1 to {} coordinates, got {}", kCosineCoordinatesMax, coordinates));
  if (map.terms < 2 || cosine_count(coordinates, map.terms) > kCellsMax)
    return refused_map(
        fmt::format("expected 2 terms or more of a coordinate, and {} in all at most, got {} of each of {}", kCellsMax,
                    map.terms, coordinates));
  std::vector<std::size_t> sorted = map.coordinates;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return refused_map("expected cosines of coordinates that differ");
  return check_coordinate(sorted.back(), encoded_width);
}

void cosines(const CosinesMap& map, const EncodedRecord& record, Eigen::Ref<Eigen::VectorXd> out) {
  UNDERTONE_CHECK(static_cast<std::size_t>(out.size()) == cosine_count(map.coordinates.size(), map.terms));
  const auto terms = static_cast<Eigen::Index>(map.terms);
  Eigen::VectorXd own(terms);
  // The whole product, 1 in front: out holds places from 1 on.
  Eigen::Index filled = 1;
  const auto at = [&](Eigen::Index place) { return place == 0 ? 1.0 : out[place - 1]; };
  for (const std::size_t coordinate : map.coordinates) {
    chebyshev(clamped(record, coordinate), own);
    for (Eigen::Index v = terms - 1; v > 0; --v)
      for (Eigen::Index place = 0; place < filled; ++place) out[v * filled + place - 1] = own[v] * at(place);
    filled *= terms;
  }
}

double cosine_at(const CosinesMap& map, const EncodedRecord& record, std::size_t place) {
  UNDERTONE_CHECK(place < cosine_count(map.coordinates.size(), map.terms));
  double product = 1.0;
  std::size_t left = place + 1;
  for (const std::size_t coordinate : map.coordinates) {
    Eigen::VectorXd own(static_cast<Eigen::Index>(left % map.terms) + 1);
    chebyshev(clamped(record, coordinate), own);
    product *= own[own.size() - 1];
    left /= map.terms;
  }
  return product;
}

std::string canonical_text(const CosinesMap& map) {
  return fmt::format("{}:{}", fmt::join(map.coordinates, ","), map.terms);
}

}  // namespace undertone::statistics
