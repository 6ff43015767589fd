#include "verifier/loss_law.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace undertone::verifier {
namespace {

using Real = long double;

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

}  // namespace

Real LossLaw::log_moment(Real tilt) const {
  Real moment = at_zero;
  for (const auto& [loss, mass] : atoms) moment += mass * (std::exp((1 + tilt) * loss) + std::exp(-tilt * loss));
  return std::log(moment);
}

LossLaw law_above(const SymmetricProfile& profile, Real step, std::size_t cells) {
  Polygon chords;  // of a convex function: nowhere below it
  for (std::size_t i = 0; i <= cells; ++i) {
    const Real loss = step * static_cast<Real>(i);
    chords.push_back({loss, profile.height(loss)});
  }
  return law_of(chords);
}

/// Each corner is below the tangents at the middles of both cells beside it, so over each cell the polygon is below a
/// tangent. Where it is not convex (the step is coarse there), its hull is lower still.
LossLaw law_below(const SymmetricProfile& profile, Real step, std::size_t cells) {
  Polygon corners;
  Real from_left = 1;
  for (std::size_t i = 0; i < cells; ++i) {
    const Real middle = step * (static_cast<Real>(i) + 0.5L);
    const Real height = profile.height(middle) - profile.excess();
    const Real slope = std::exp(middle) * profile.slope(middle);
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

LossLaw law_sketched(const SymmetricProfile& profile, Real loss_max) {
  constexpr int kCorners = 128;  // evenly spaced in the loss without sampling, which the rate compresses near 0
  const Real rate = profile.rate();
  const Real base_max = std::log1p(std::expm1(loss_max) / rate);
  Polygon chords;
  for (int i = 0; i <= kCorners; ++i) {
    const Real loss = std::log1p(rate * std::expm1(base_max * i / kCorners));
    chords.push_back({loss, profile.height(loss)});
  }
  return law_of(chords);
}

}  // namespace undertone::verifier
