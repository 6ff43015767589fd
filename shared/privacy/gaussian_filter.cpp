#include "shared/privacy/gaussian_filter.hpp"

#include <algorithm>
#include <cmath>

#include "shared/privacy/gaussian_accountant.hpp"

namespace undertone::privacy {

Result<FilterTerms> FilterTerms::create(EpsilonAmount epsilon, DeltaAmount delta) {
  const Result<Epsilon> target = Epsilon::create(epsilon.value_rounded_down());
  if (!target) return target.error();
  const Result<DeltaAmount> implementation = implementation_delta(*target, kDrawsMax);
  if (!implementation) return implementation.error();
  if (*implementation >= delta) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("delta {} does not cover the implementation delta {} of {} draws of noise",
                             delta.value_rounded_up(), implementation->value_rounded_up(), kDrawsMax)};
  }
  const auto mechanism = DeltaAmount::from_units(delta.units() - implementation->units());
  const Result<Delta> mechanism_delta = Delta::create(mechanism.value_rounded_down());
  if (!mechanism_delta) return mechanism_delta.error();
  const double shift = gaussian_shift_for(*target, *mechanism_delta).value();
  const Result<ShiftSquaredAmount> squared = ShiftSquaredAmount::rounded_down(shift * shift * (1.0 - 0x1p-50));
  if (!squared) return squared.error();
  if (squared->units() == 0) {
    return Error{ErrorCode::InvalidArgument, fmt::format("epsilon {} and delta {} are too small for any release",
                                                         epsilon.value_rounded_down(), delta.value_rounded_down())};
  }
  return FilterTerms{epsilon, delta, mechanism, *squared};
}

bool FilterTerms::sound() const {
  constexpr double kSlack = 1e-9;
  // No promise is this large, and to round such an amount down to a double takes for ever.
  constexpr int kBitsMax = 120;
  if (epsilon.units() >> kBitsMax != 0 || mechanism_delta.units() >> kBitsMax != 0) return false;
  const Result<Epsilon> target = Epsilon::create(epsilon.value_rounded_down());
  const Result<Delta> profile_delta = Delta::create(mechanism_delta.value_rounded_down());
  if (!target || !profile_delta || mechanism_delta > delta || shift_squared.units() == 0) return false;
  const Result<DeltaAmount> implementation = implementation_delta(*target, kDrawsMax);
  const auto left = DeltaAmount::from_units(delta.units() - mechanism_delta.units());
  if (!implementation || left.value_rounded_up() < implementation->value_rounded_down() * (1.0 - kSlack)) return false;
  return log_delta_of_gaussian(target->value(), total_shift(shift_squared)) <=
         std::log(profile_delta->value()) + kSlack;
}

bool GaussianFilter::spend(Block block, ShiftSquaredAmount cost, std::uint64_t draws) {
  if (cost.units() == 0) return true;
  if (draws > draws_left() || cost > left(block)) return false;
  ShiftSquaredAmount& spent = block == Block::Training ? training_ : holdout_;
  spent = ShiftSquaredAmount::from_units(spent.units() + cost.units());  // at most the terms': no overflow
  draws_ += draws;
  return true;
}

void GaussianFilter::content_changed() {
  training_ = std::max(training_, holdout_);
  holdout_ = training_;
}

ShiftSquaredAmount GaussianFilter::left(Block block) const {
  const ShiftSquaredAmount spent = block == Block::Training ? training_ : holdout_;
  return ShiftSquaredAmount::from_units(terms_.shift_squared.units() - spent.units());
}

}  // namespace undertone::privacy
