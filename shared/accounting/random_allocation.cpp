#include "shared/accounting/random_allocation.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <optional>

#include "shared/accounting/calibration.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/pass_law.hpp"

namespace undertone::accounting {
namespace {

constexpr double kLeftOut = 1e-3;  // of delta, for the largest losses of all passes

/// One pass, beside Gaussian releases of every record or nothing.
bool is_one_pass(const Allocation& allocation, const Besides& besides) {
  return allocation.epochs() == 1 &&
         std::all_of(besides.laws.begin(), besides.laws.end(), [](const RepeatedLaw& law) { return law.times == 0; });
}

/// All epochs and what is besides, as a composition.
Result<std::vector<RepeatedLaw>> laws_with(const Allocation& allocation, const Besides& besides, double delta,
                                           AllocationGrid grid) {
  UNDERTONE_TRY(const LossGrid losses, loss_grid_of(allocation, grid));
  // Evaluated at hundreds of epsilons: a coarser grid of each serves.
  UNDERTONE_TRY(LossLawPtr law,
                pass_law(allocation, losses, kLeftOut * delta / static_cast<double>(allocation.epochs()),
                         grid == AllocationGrid::Charge ? AllocationGrid::Search : AllocationGrid::Coarse));
  std::vector<RepeatedLaw> laws = besides.laws;
  laws.push_back({std::move(law), allocation.epochs()});
  if (besides.gaussian != 0.0) {  // what is not a number is refused
    UNDERTONE_TRY(const releases::GaussianShift shift, releases::GaussianShift::create(besides.gaussian));
    laws.push_back({gaussian_law(shift), 1});
  }
  return laws;
}

/// The losses of one pass, for delta beside a Gaussian release. Tens of them: each at the coarsest grid, which is some
/// percent of delta dearer, a thousandth of a shift.
Result<PassLosses> losses_beside(const Allocation& allocation, double delta, AllocationGrid grid) {
  UNDERTONE_TRY(LossGrid losses, loss_grid_of(allocation, AllocationGrid::Search));
  if (grid != AllocationGrid::Charge) losses = {2.0 * losses.step, 2.0 * losses.growth};
  return pass_losses(allocation, losses, kLeftOut * delta, AllocationGrid::Coarse);
}

/// Where a decreasing function falls to 0, from above it: where it was evaluated and is not above 0.
/// @param low it is above 0 there @param high it is not
template <class Function>
double zero_from_above(const Function& f, double low, double high, double accuracy) {
  double safe = high;
  const auto watched = [&](double at) {
    const double value = f(at);
    if (value <= 0.0) safe = std::min(safe, at);
    return value;
  };
  const double at_low = watched(low);
  if (at_low <= 0.0) return low;
  const double at_high = watched(high);
  if (!(at_high < 0.0)) return safe;
  std::uintmax_t steps = 30;
  (void)boost::math::tools::toms748_solve(
      watched, low, high, at_low, at_high, [&](double a, double b) { return b - a <= accuracy * b; }, steps);
  return safe;
}

/// The same beside a Gaussian release of every record.
Result<double> epsilon_beside(const Allocation& allocation, double gaussian, releases::Delta delta) {
  UNDERTONE_TRY(const releases::GaussianShift shift, releases::GaussianShift::create(gaussian));
  UNDERTONE_TRY(const releases::GaussianShift loudest,
                releases::GaussianShift::create(std::hypot(allocation.largest_shift(), gaussian) * (1.0 + 0x1p-40)));
  const double parallel = epsilon_of_gaussian(loudest, delta);
  const Result<PassLosses> pass = losses_beside(allocation, delta.value(), AllocationGrid::Charge);
  if (!pass) return parallel;
  const auto excess = [&](double epsilon) {
    return std::log(std::max(delta_beside_gaussian(*pass, shift, epsilon), 1e-300) / delta.value());
  };
  if (!(excess(parallel) <= 0.0)) return parallel;
  return zero_from_above(excess, 0.0, parallel, 1e-7);
}

/// The smallest epsilon of one pass.
Result<double> epsilon_of_pass(const Allocation& allocation, releases::Delta delta) {
  UNDERTONE_TRY(const releases::GaussianShift loudest, releases::GaussianShift::create(allocation.largest_shift()));
  const double parallel = epsilon_of_gaussian(loudest, delta);
  std::optional<Error> failed;
  const auto excess = [&](AllocationGrid grid) {
    return [&, grid](double epsilon) {
      const Result<double> value = pass_delta(allocation, epsilon, grid);
      if (!value) failed = value.error();
      return value ? std::log(std::max(*value, 1e-300) / delta.value()) : INFINITY;
    };
  };
  double high = std::min(parallel, 40.0);
  if (!(excess(AllocationGrid::Charge)(high) <= 0.0)) return parallel;
  const double rough = zero_from_above(excess(AllocationGrid::Search), 0.0, high, 1e-4);
  if (failed) return *failed;
  if (excess(AllocationGrid::Charge)(rough) <= 0.0) high = rough;
  const double found = zero_from_above(excess(AllocationGrid::Charge), 0.95 * high, high, 1e-7);
  if (failed) return *failed;
  return found;
}

/// The factor on the grid for charging, from one that was found on the grid for searching.
/// @param cost delta at a factor, as the grid says
/// @param accuracy of the factor
template <class Cost>
Result<double> charged_factor(const Cost& cost, double rough, double target, double accuracy = 1e-4) {
  const Result<double> here = cost(rough, AllocationGrid::Search);
  const Result<double> nearby = cost(rough * 0.99, AllocationGrid::Search);
  const bool both = here && nearby && *nearby > 0.0 && *here > *nearby;
  const double power = both ? std::clamp(std::log(*here / *nearby) / 0.01, 0.5, 1000.0) : 1.0;
  double best = 0.0;
  double at = rough;
  for (int trial = 0; trial < 12; ++trial) {
    const Result<double> value = cost(at, AllocationGrid::Charge);
    if (!value && value.error().code != ErrorCode::LimitExceeded) return value.error();
    const double ratio = value ? std::max(*value, 1e-300) / target : 10.0;
    if (ratio <= 1.0) best = std::max(best, at);
    if (ratio <= 1.0 && (ratio >= 1.0 - accuracy * power || trial >= 3)) break;
    const double aimed = at * std::exp(-std::clamp(std::log(ratio) / power, -0.05, 0.05)) * (1.0 - 2e-5);
    at = ratio > 1.0 ? std::min(aimed, at * (1.0 - 1e-4 * (1 << trial))) : aimed;
  }
  if (best > 0.0) return best;
  return Error{ErrorCode::LimitExceeded, "no shift of the allocated parts was found to meet the target"};
}

/// About the factor of one pass beside a Gaussian release, down from the one that the pass alone would have: a search
/// of few trials, since each is tens of passes.
template <class Cost>
Result<double> rough_factor_beside(const Allocation& shape, const Cost& cost, double parallel,
                                   releases::Epsilon epsilon, double target) {
  const auto alone = [&](double multiplier) -> Result<double> {
    UNDERTONE_TRY(const Allocation scaled, shape.scaled(parallel / multiplier));
    return pass_delta(scaled, epsilon.value(), AllocationGrid::Coarse);
  };
  UNDERTONE_TRY(const double multiplier, smallest_multiplier(alone, target));
  constexpr double kClose = 0.05;  // of ln delta
  constexpr double kStepMax = 0.7;
  double at = parallel / multiplier;
  double before = 0.0;  // ln of the factor of the last trial, and what delta was above the target there
  double excess_before = 0.0;
  double power = 20.0;  // of delta in the factor, about
  for (int trial = 0; trial < 12; ++trial) {
    const Result<double> value = cost(at, AllocationGrid::Search);
    if (!value && value.error().code != ErrorCode::LimitExceeded) return value.error();
    const double excess = value ? std::log(std::max(*value, 1e-300) / target) : 10.0;
    if (std::abs(excess) <= kClose) break;
    const double here = std::log(at);
    if (trial > 0 && here != before) power = std::clamp((excess - excess_before) / (here - before), 0.3, 300.0);
    before = here;
    excess_before = excess;
    at = std::exp(here - std::clamp(excess / power, -kStepMax, kStepMax));
  }
  return at;
}

}  // namespace

Result<double> allocation_delta(const Allocation& allocation, const Besides& besides, releases::Epsilon epsilon,
                                releases::Delta around, AllocationGrid grid) {
  if (is_one_pass(allocation, besides)) {
    if (besides.gaussian == 0.0) return pass_delta(allocation, epsilon.value(), grid);
    UNDERTONE_TRY(const releases::GaussianShift shift, releases::GaussianShift::create(besides.gaussian));
    UNDERTONE_TRY(const PassLosses pass, losses_beside(allocation, around.value(), grid));
    return delta_beside_gaussian(pass, shift, epsilon.value());
  }
  UNDERTONE_TRY(const std::vector<RepeatedLaw> laws, laws_with(allocation, besides, around.value(), grid));
  const double gap = grid == AllocationGrid::Charge ? 0.002 : 0.02;
  UNDERTONE_TRY(const Bracket found, composed_delta(laws, epsilon.value(), {gap, CompositionLimits{}.points_max}));
  return found.upper;
}

Result<double> allocation_epsilon(const Allocation& allocation, const Besides& besides, releases::Delta delta) {
  if (is_one_pass(allocation, besides)) {
    return besides.gaussian == 0.0 ? epsilon_of_pass(allocation, delta)
                                   : epsilon_beside(allocation, besides.gaussian, delta);
  }
  UNDERTONE_TRY(const std::vector<RepeatedLaw> laws,
                laws_with(allocation, besides, delta.value(), AllocationGrid::Charge));
  UNDERTONE_TRY(const Bracket found, composed_epsilon(laws, delta, {1e-3, CompositionLimits{}.points_max}));
  return found.upper;
}

Result<double> allocation_scale(const Allocation& shape, const Besides& besides, releases::Epsilon epsilon,
                                releases::Delta delta) {
  const double parallel = gaussian_shift_for(epsilon, delta).value() * (1.0 - 1e-12) /
                          (shape.largest_shift() * std::sqrt(static_cast<double>(shape.epochs())));
  const auto cost = [&](double factor, AllocationGrid grid) -> Result<double> {
    UNDERTONE_TRY(const Allocation scaled, shape.scaled(factor));
    return allocation_delta(scaled, besides, epsilon, delta, grid);
  };
  if (is_one_pass(shape, besides) && besides.gaussian > 0.0) {
    constexpr double kAccuracyBeside = 5e-4;
    UNDERTONE_TRY(const double rough, rough_factor_beside(shape, cost, parallel, epsilon, delta.value()));
    return charged_factor(cost, rough, delta.value(), kAccuracyBeside);
  }
  UNDERTONE_TRY(
      const double rough,
      smallest_multiplier([&](double multiplier) { return cost(parallel / multiplier, AllocationGrid::Search); },
                          delta.value()));
  UNDERTONE_TRY(const double found, charged_factor(cost, parallel / rough, delta.value()));
  // One pass is never dearer than its loudest part told to everybody, which needs no grid.
  return is_one_pass(shape, besides) ? std::max(found, parallel) : found;
}

}  // namespace undertone::accounting
