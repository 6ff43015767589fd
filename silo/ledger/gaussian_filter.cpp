#include "silo/ledger/gaussian_filter.hpp"

#include <algorithm>
#include <cmath>

#include "shared/accounting/gaussian_accountant.hpp"

namespace undertone::silo {

Result<FilterTerms> FilterTerms::create(releases::EpsilonAmount epsilon, releases::DeltaAmount delta) {
  UNDERTONE_TRY(const releases::Epsilon target, releases::Epsilon::create(epsilon.value_rounded_down()));
  const Result<releases::DeltaAmount> implementation = planning::implementation_delta(target, kDrawsMax);
  if (!implementation) return implementation.error();
  if (*implementation >= delta) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("delta {} does not cover the implementation delta {} of {} draws of noise",
                             delta.value_rounded_up(), implementation->value_rounded_up(), kDrawsMax)};
  }
  const auto mechanism = releases::DeltaAmount::from_units(delta.units() - implementation->units());
  UNDERTONE_TRY(const releases::Delta mechanism_delta, releases::Delta::create(mechanism.value_rounded_down()));
  const double shift = accounting::gaussian_shift_for(target, mechanism_delta).value();
  UNDERTONE_TRY(const releases::ShiftSquaredAmount squared,
                releases::ShiftSquaredAmount::rounded_down(shift * shift * (1.0 - 0x1p-50)));
  if (squared.units() == 0) {
    return Error{ErrorCode::InvalidArgument, fmt::format("epsilon {} and delta {} are too small for any release",
                                                         epsilon.value_rounded_down(), delta.value_rounded_down())};
  }
  return FilterTerms{epsilon, delta, mechanism, squared};
}

bool FilterTerms::sound() const {
  constexpr double kSlack = 1e-9;
  // No promise is this large, and to round such an amount down to a double takes for ever.
  constexpr int kBitsMax = 120;
  if (epsilon.units() >> kBitsMax != 0 || mechanism_delta.units() >> kBitsMax != 0) return false;
  const Result<releases::Epsilon> target = releases::Epsilon::create(epsilon.value_rounded_down());
  const Result<releases::Delta> profile_delta = releases::Delta::create(mechanism_delta.value_rounded_down());
  if (!target || !profile_delta || mechanism_delta > delta || shift_squared.units() == 0) return false;
  const Result<releases::DeltaAmount> implementation = planning::implementation_delta(*target, kDrawsMax);
  const auto left = releases::DeltaAmount::from_units(delta.units() - mechanism_delta.units());
  if (!implementation || left.value_rounded_up() < implementation->value_rounded_down() * (1.0 - kSlack)) return false;
  return accounting::log_delta_of_gaussian(target->value(), accounting::total_shift(shift_squared)) <=
         std::log(profile_delta->value()) + kSlack;
}

bool GaussianFilter::spend(releases::Block block, const releases::Cost& cost, std::uint64_t draws) {
  if (cost.is_zero()) return true;
  if (!cost.is_gaussian() || draws > draws_left() || cost.gaussian > left(block)) return false;
  releases::ShiftSquaredAmount& spent = block == releases::Block::Training ? training_ : holdout_;
  // At most the terms': no overflow.
  spent = releases::ShiftSquaredAmount::from_units(spent.units() + cost.gaussian.units());
  draws_ += draws;
  return true;
}

void GaussianFilter::content_changed() {
  training_ = std::max(training_, holdout_);
  holdout_ = training_;
}

releases::ShiftSquaredAmount GaussianFilter::left(releases::Block block) const {
  const releases::ShiftSquaredAmount spent = block == releases::Block::Training ? training_ : holdout_;
  return releases::ShiftSquaredAmount::from_units(terms_.shift_squared.units() - spent.units());
}

}  // namespace undertone::silo
