#include "shared/planning/release.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::planning {

const mechanisms::Lattice& Release::lattice() const {
  const mechanisms::Lattice* lattice = mechanisms::lattice_of(mechanism);
  UNDERTONE_CHECK(lattice != nullptr);
  return *lattice;
}

Release Release::scaled_to(double distance) const {
  const std::optional<double> smoothness = ask.smoothness();
  if (!smoothness) return *this;
  UNDERTONE_CHECK(std::isfinite(distance) && distance >= 0.0);
  // Floored above zero: where the points agree to a billionth there is nothing to learn from their difference.
  const auto* of_dual = std::get_if<releases::DualBound>(&ask.bound);
  const double clip = of_dual == nullptr ? ask.clip().value() : of_dual->clip().value();
  const double norm = std::clamp(*smoothness * distance, 0x1p-30 * clip, clip);
  Release scaled = *this;
  if (of_dual != nullptr) {
    scaled.ask.bound = of_dual->times(norm / clip);
  } else {
    scaled.ask.bound = releases::L2Bound{*releases::ClipNorm::create(norm), smoothness};
  }
  scaled.mechanism = mechanisms::with_step_scaled(scaled.mechanism, norm / clip);
  return scaled;
}

double Release::noise_stddev_of_mean() const {
  return mechanisms::noise_stddev_of_sum(mechanism, records_drawn) / static_cast<double>(records_drawn);
}

releases::Cost Release::cost() const {
  // At most kShiftMax^2 2^40 units, kDrawsMax times: no overflow.
  const Result<releases::Cost> all = cost_of_draw().times(draws());
  UNDERTONE_CHECK(all.has_value());
  return *all;
}

}  // namespace undertone::planning
