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
  if (!ask.smoothness()) return *this;
  Release scaled = *this;
  scaled.ask = ask.scaled_to(distance);
  scaled.mechanism = mechanisms::with_step_scaled(scaled.mechanism, ask.scale_at(distance));
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
