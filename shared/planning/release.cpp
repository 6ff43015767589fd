#include "shared/planning/release.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/overloaded.hpp"
#include "shared/mechanisms/binomial_sum/binomial_report.hpp"

namespace undertone::planning {
namespace {

/// Nothing of what is not planned.
const mechanisms::Lattice* lattice_of(const mechanisms::Mechanism& mechanism) {
  return std::visit(
      Overloaded{[](const auto& planned) { return &planned.lattice; },
                 [](const mechanisms::Unplanned& /*nothing*/) -> const mechanisms::Lattice* { return nullptr; }},
      mechanism);
}

}  // namespace

const mechanisms::Lattice& Release::lattice() const {
  const mechanisms::Lattice* lattice = lattice_of(mechanism);
  UNDERTONE_CHECK(lattice != nullptr);
  return *lattice;
}

Release Release::scaled_to(double distance) const {
  if (!shape.smoothness) return *this;
  UNDERTONE_CHECK(std::isfinite(distance) && distance >= 0.0);
  // Floored above zero: where the points agree to a billionth there is nothing to learn from their difference.
  const double norm = std::clamp(*shape.smoothness * distance, 0x1p-30 * shape.clip.value(), shape.clip.value());
  Release scaled = *this;
  scaled.shape.clip = *releases::ClipNorm::create(norm);
  const double factor = norm / shape.clip.value();
  std::visit(Overloaded{[factor](auto& planned) { planned.lattice.step *= factor; },
                        [](mechanisms::Unplanned& /*nothing*/) { UNDERTONE_CHECK(false); }},
             scaled.mechanism);
  return scaled;
}

double Release::noise_stddev_of_mean() const {
  const auto records = static_cast<double>(records_drawn);
  return std::visit(
      Overloaded{[&](const mechanisms::GaussianLattice& gaussian) { return gaussian.noise_stddev() / records; },
                 [&](const mechanisms::BinomialSum& binomial) {
                   constexpr double kRoundingMax = 0.25;  // a silo rounds its sum once
                   return std::sqrt(mechanisms::binomial_sum_variance(binomial.parameters, shape.clip, records_drawn,
                                                                      kRoundingMax)) /
                          records;
                 },
                 [](const mechanisms::ExactPublicSum& /*exact*/) { return 0.0; },
                 [](const mechanisms::Unplanned& /*nothing*/) -> double { UNDERTONE_CHECK(false); }},
      mechanism);
}

releases::ShiftSquaredAmount Release::cost_of_draw() const {
  return std::visit(
      Overloaded{
          [](const mechanisms::GaussianLattice& gaussian) { return gaussian.shift_squared(); },
          [](const mechanisms::BinomialSum& binomial) {
            const double shift = binomial.shift.shift.value();
            return *releases::ShiftSquaredAmount::rounded_up(shift * shift * (1.0 + 0x1p-50));
          },
          [](const mechanisms::ExactPublicSum& /*exact*/) { return releases::ShiftSquaredAmount(); },
          [](const mechanisms::Unplanned& /*nothing*/) -> releases::ShiftSquaredAmount { UNDERTONE_CHECK(false); }},
      mechanism);
}

releases::ShiftSquaredAmount Release::cost() const {
  // At most kShiftMax^2 2^40 units, kDrawsMax times: no overflow.
  const Result<releases::ShiftSquaredAmount> all = cost_of_draw().times(draws());
  UNDERTONE_CHECK(all.has_value());
  return *all;
}

}  // namespace undertone::planning
