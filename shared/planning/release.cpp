#include "shared/planning/release.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

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

Release Release::of_group(std::uint32_t group) const {
  const auto groups = static_cast<std::int64_t>(ask.groups());
  UNDERTONE_CHECK(static_cast<std::int64_t>(group) < groups && records_drawn == population &&
                  positions.to - positions.from == population);
  const auto edge = [&](std::int64_t number) { return positions.from + number * population / groups; };
  Release out = *this;
  out.positions = {edge(group), edge(group + std::int64_t{1})};
  out.population = out.positions.to - out.positions.from;
  out.records_drawn = out.population;
  if (const auto* influence = std::get_if<releases::InfluenceBound>(&ask.bound))
    out.ask.bound = influence->of_one_group();
  return out;
}

double Release::noise_stddev_of_mean() const {
  // The variance of a median of m independent Gaussian numbers is at most pi/(2m) of theirs.
  const std::uint32_t groups = ask.groups();
  const double left = groups == 1 ? 1.0 : std::sqrt(0.5 * std::numbers::pi / static_cast<double>(groups));
  return left * noise_stddev_of_answer();
}

double Release::noise_stddev_of_answer() const {
  const std::int64_t records = records_drawn / static_cast<std::int64_t>(ask.groups());
  return mechanisms::noise_stddev_of_sum(mechanism, records) / static_cast<double>(records);
}

releases::Cost Release::cost() const {
  // At most kShiftMax^2 2^40 units, kDrawsMax times: no overflow.
  const Result<releases::Cost> all = cost_of_draw().times(draws());
  UNDERTONE_CHECK(all.has_value());
  return *all;
}

}  // namespace undertone::planning
