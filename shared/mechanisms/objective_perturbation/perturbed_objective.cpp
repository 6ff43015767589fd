#include "shared/mechanisms/objective_perturbation/perturbed_objective.hpp"

#include <algorithm>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/exact_text.hpp"

namespace undertone::mechanisms {

Result<PerturbedObjective> perturbed_objective(const ObjectivePerturbationFacts& facts, releases::Epsilon epsilon,
                                               releases::Delta failure) {
  constexpr double kOutputShare = 1.0 / 16.0;
  // Of the ideal minimiser's failure: what it adds for cutting its noise, 2^-80, and all rounding.
  constexpr double kRoundedDown = 1.0 - 0x1p-20;
  UNDERTONE_TRY(const releases::Delta half, releases::Delta::create(0.5 * failure.value() * kRoundedDown));
  UNDERTONE_TRY(const releases::Epsilon own, releases::Epsilon::create(epsilon.value() * (1.0 - kOutputShare)));
  UNDERTONE_TRY(const releases::Epsilon of_output, releases::Epsilon::create(epsilon.value() * kOutputShare));
  const releases::GaussianShift asked = accounting::gaussian_shift_for(of_output, half);
  UNDERTONE_TRY(const releases::GaussianShift shift, releases::GaussianShift::create(std::min(1.0, asked.value())));
  UNDERTONE_TRY(const ObjectivePerturbation ideal, ObjectivePerturbation::create(facts, own, half, shift));
  // What the lattice's own noise costs, which is no more than was asked for.
  const releases::Cost cost = ideal.cost();
  const double output = accounting::epsilon_of_gaussian(accounting::total_shift(cost.gaussian), half);
  UNDERTONE_TRY(const releases::EpsilonAmount rest, releases::EpsilonAmount::rounded_up(output));
  UNDERTONE_TRY(const releases::EpsilonAmount all, cost.pure.plus(rest));
  UNDERTONE_TRY(const releases::DeltaAmount output_failure, releases::DeltaAmount::rounded_up(half.value()));
  UNDERTONE_TRY(const releases::DeltaAmount failures, ideal.failure().plus(output_failure));
  UNDERTONE_TRY(const releases::DeltaAmount allowed, releases::DeltaAmount::rounded_down(failure.value()));
  if (failures > allowed || all.value_rounded_up() > epsilon.value() * (1.0 + 1e-9)) {
    return Error{ErrorCode::Internal,
                 fmt::format("objective perturbation costs epsilon {} and delta {}, {} and {} were asked for",
                             all.value_rounded_up(), failures.value_rounded_up(), epsilon.value(), failure.value())};
  }
  return PerturbedObjective{ideal, all, failures};
}

std::string canonical_text(const PerturbedObjective& objective) {
  return fmt::format("objective:{}:{}:{}:{}:{}:{}:{}", objective.epsilon.to_string(), objective.failure.to_string(),
                     exact_text(objective.ideal.regularisation()), exact_text(objective.ideal.noise_stddev()),
                     objective.ideal.iterations(), exact_text(objective.ideal.output().lattice.step),
                     objective.ideal.output().log2_stddev);
}

}  // namespace undertone::mechanisms
