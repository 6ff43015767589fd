#include "verifier/symmetric_profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include "verifier/gaussian_profile.hpp"

namespace undertone::verifier {
namespace {

using Real = long double;

/// The corner that begins the stretch in which a loss is.
std::size_t stretch_of(const Polygon& polygon, Real loss) {
  const auto beyond = [](Real at, const Corner& corner) { return at < corner.loss; };
  const auto next = std::upper_bound(polygon.begin(), polygon.end(), loss, beyond);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(next - polygon.begin(), 1) - 1);
}

Real slope_of(const Polygon& polygon, std::size_t corner) {
  return corner + 1 < polygon.size() ? slope_between(polygon[corner], polygon[corner + 1]) : 0;
}

}  // namespace

Real slope_between(const Corner& left, const Corner& right) {
  return (right.height - left.height) / (std::exp(left.loss) * std::expm1(right.loss - left.loss));
}

Real SubsetProfile::height(Real loss) const {
  return rate_ * gaussian_profile(std::log1p(std::expm1(loss) / rate_), mu_);
}

Real SubsetProfile::slope(Real loss) const {
  const Real base_loss = std::log1p(std::expm1(loss) / rate_);
  return -std::erfc((base_loss / mu_ + mu_ / 2) / std::numbers::sqrt2_v<Real>) / 2;
}

Real SubsetProfile::loss_of(Real height) const {
  const Real base_loss = std::max(smallest_epsilon(mu_, height / rate_), mu_);
  return std::log1p(rate_ * std::expm1(base_loss));
}

PolygonProfile::PolygonProfile(Polygon polygon) : polygon_(std::move(polygon)) {}

Real PolygonProfile::height(Real loss) const {
  const std::size_t corner = stretch_of(polygon_, loss);
  const Corner& from = polygon_[corner];
  return from.height + slope_of(polygon_, corner) * std::exp(from.loss) * std::expm1(loss - from.loss);
}

Real PolygonProfile::slope(Real loss) const { return slope_of(polygon_, stretch_of(polygon_, loss)); }

Real PolygonProfile::loss_of(Real height) const {
  const auto low = [&](const Corner& corner) { return corner.loss > 0 && corner.height <= height; };
  const auto found = std::find_if(polygon_.begin(), polygon_.end(), low);
  return found == polygon_.end() ? polygon_.back().loss : found->loss;
}

}  // namespace undertone::verifier
