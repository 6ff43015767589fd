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

Release Release::beside_release() const {
  UNDERTONE_CHECK(beside && public_records > 0);
  Release out{ask, public_records, public_records, *beside, public_records, {0, public_records}};
  out.ask.records = {releases::Block::Public};
  out.ask.beside_public = false;
  return out;
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
