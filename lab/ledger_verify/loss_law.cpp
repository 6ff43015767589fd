#include "lab/ledger_verify/loss_law.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lab/ledger_verify/gaussian_profile.hpp"

namespace undertone::ledger_verify {
namespace {

using Real = long double;

Real slope_between(const Corner& left, const Corner& right) {
  return (right.height - left.height) / (std::exp(left.loss) * std::expm1(right.loss - left.loss));
}

/// The second law has the change of slope at each corner. At 0 the slope on the left is -1 + height - slope on the
/// right.
LossLaw law_of(const Polygon& polygon) {
  Real slope = polygon.size() < 2 ? 0 : slope_between(polygon[0], polygon[1]);
  LossLaw law{1 - polygon[0].height + 2 * slope, polygon.back().height, {}};
  law.atoms.reserve(polygon.size());
  for (std::size_t i = 1; i < polygon.size(); ++i) {
    const Real next = i + 1 < polygon.size() ? slope_between(polygon[i], polygon[i + 1]) : 0;
    law.atoms.push_back({polygon[i].loss, next - slope});
    slope = next;
  }
  return law;
}

Polygon convex_hull(const Polygon& corners) {
  Polygon hull;
  for (const Corner& corner : corners) {
    while (hull.size() > 1 && slope_between(hull[hull.size() - 2], hull.back()) >= slope_between(hull.back(), corner)) {
      hull.pop_back();
    }
    hull.push_back(corner);
  }
  return hull;
}

/// The corner that begins the stretch in which a loss is, from 0 on.
std::size_t stretch_of(const Polygon& polygon, Real loss) {
  const auto beyond = [](Real at, const Corner& corner) { return at < corner.loss; };
  const auto next = std::upper_bound(polygon.begin(), polygon.end(), loss, beyond);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(next - polygon.begin(), 1) - 1);
}

Real slope_of(const Polygon& polygon, std::size_t corner) {
  return corner + 1 < polygon.size() ? slope_between(polygon[corner], polygon[corner + 1]) : 0;
}

}  // namespace

Real SampledRelease::profile(Real loss) const {
  if (polygon) {
    const std::size_t corner = stretch_of(*polygon, loss);
    const Corner& from = (*polygon)[corner];
    return from.height + slope_of(*polygon, corner) * std::exp(from.loss) * std::expm1(loss - from.loss);
  }
  return rate * gaussian_profile(std::log1p(std::expm1(loss) / rate), mu);
}

Real SampledRelease::slope(Real loss) const {
  if (polygon) return slope_of(*polygon, stretch_of(*polygon, loss));
  const Real base_loss = std::log1p(std::expm1(loss) / rate);
  return -std::erfc((base_loss / mu + mu / 2) / std::numbers::sqrt2_v<Real>) / 2;
}

Real SampledRelease::loss_max(Real delta) const {
  if (polygon) {
    const auto low = [&](const Corner& corner) { return corner.loss > 0 && corner.height <= delta / rounds; };
    const auto found = std::find_if(polygon->begin(), polygon->end(), low);
    return found == polygon->end() ? polygon->back().loss : found->loss;
  }
  const Real base_loss = std::max(smallest_epsilon(mu, delta / (rate * rounds)), mu);
  return std::log1p(rate * std::expm1(base_loss));
}

Real LossLaw::log_moment(Real tilt) const {
  Real moment = at_zero;
  for (const auto& [loss, mass] : atoms) moment += mass * (std::exp((1 + tilt) * loss) + std::exp(-tilt * loss));
  return std::log(moment);
}

LossLaw law_above(const SampledRelease& release, Real step, std::size_t cells) {
  Polygon chords;  // of a convex function: nowhere below it
  for (std::size_t i = 0; i <= cells; ++i) {
    const Real loss = step * static_cast<Real>(i);
    chords.push_back({loss, release.profile(loss)});
  }
  return law_of(chords);
}

/// Each corner is below the tangents at the middles of both cells beside it, so over each cell the polygon is below a
/// tangent. Where it is not convex (the step is coarse there), its hull is lower still.
LossLaw law_below(const SampledRelease& release, Real step, std::size_t cells) {
  Polygon corners;
  Real from_left = 1;
  for (std::size_t i = 0; i < cells; ++i) {
    const Real middle = step * (static_cast<Real>(i) + 0.5L);
    const Real height = release.profile(middle);
    const Real slope = std::exp(middle) * release.slope(middle);
    const Real lowest = std::min(from_left, height + slope * std::expm1(-step / 2));
    if (lowest < 0) break;
    corners.push_back({step * static_cast<Real>(i), lowest});
    from_left = height + slope * std::expm1(step / 2);
  }
  if (corners.empty()) return {};
  corners.back().height = 0;  // horizontal after it, where the profile goes to 0
  LossLaw law = law_of(convex_hull(corners));
  return law.at_zero < 0 ? LossLaw{} : law;  // no mirror image fits; two equal laws are below every profile
}

LossLaw law_sketched(const SampledRelease& release, Real loss_max) {
  constexpr int kCorners = 128;  // evenly spaced in the loss of the Gaussian itself, which the rate compresses near 0
  const Real base_max = std::log1p(std::expm1(loss_max) / release.rate);
  Polygon chords;
  for (int i = 0; i <= kCorners; ++i) {
    const Real loss = std::log1p(release.rate * std::expm1(base_max * i / kCorners));
    chords.push_back({loss, release.profile(loss)});
  }
  return law_of(chords);
}

}  // namespace undertone::ledger_verify
