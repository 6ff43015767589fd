#include "shared/accounting/calibration.hpp"

#include <cmath>

#include "shared/accounting/composition_theorems.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone::accounting {
namespace {

constexpr double kMultiplierMin = 1e-4;
constexpr double kMultiplierMax = 1e9;
constexpr double kAccuracy = 1e-4;

Result<double> reading_of(const std::vector<RepeatedEvent>& events, releases::Delta delta, const char* accountant) {
  UNDERTONE_TRY(const Account all, account(events, delta));
  for (const Reading& reading : all.readings)
    if (reading.accountant == accountant && reading.epsilon) return reading.epsilon->upper;
  return Error{ErrorCode::InvalidArgument, fmt::format("the method {} does not cover this release", accountant)};
}

}  // namespace

Result<double> smallest_multiplier(const std::function<Result<double>(double multiplier)>& cost, double target) {
  // The cost is close to a power of the multiplier: a secant in logarithms lands near, a bracket keeps it honest.
  double low = 0.0;  // ln of a multiplier that costs too much, once one is known
  double high = 0.0;
  bool low_known = false;
  bool high_known = false;
  double at = 0.0;
  double low_excess = 0.0;
  double high_excess = 0.0;
  for (int i = 0; i < 80; ++i) {
    if (WorkMeter::stopped()) return Error{ErrorCode::LimitExceeded, "the calibration was stopped"};
    const Result<double> value = cost(std::exp(at));
    // A noise so small that no accountant bounds it is too small.
    const double excess = value ? std::log(std::max(*value, 1e-300) / target) : INFINITY;
    if (!value && value.error().code != ErrorCode::LimitExceeded) return value.error();
    if (excess > 0.0) {
      low = at;
      low_excess = excess;
      low_known = true;
    } else {
      high = at;
      high_excess = excess;
      high_known = true;
    }
    if (low_known && high_known) {
      if (high - low <= kAccuracy) return std::exp(high);
      const bool straight = std::isfinite(low_excess) && high_excess > -100.0;
      const double fraction = straight ? low_excess / (low_excess - high_excess) : 0.5;
      // Aim a little to the safe side, and never crawl along one end.
      at = low + (high - low) * std::clamp(fraction + 0.3 * kAccuracy / (high - low), 0.1, 0.9);
      if (i % 3 == 2) at = 0.5 * (low + high);
    } else if (low_known) {
      if (low > std::log(kMultiplierMax)) break;
      at = low + std::max(0.7, std::isfinite(low_excess) ? std::min(low_excess * 1.1, 5.0) : 1.5);
    } else {
      if (high <= std::log(kMultiplierMin)) return std::exp(high);
      at = std::max(std::log(kMultiplierMin), high - std::max(0.7, std::min(-high_excess, 3.0)));
    }
  }
  if (high_known) return std::exp(high);
  return Error{ErrorCode::InvalidArgument,
               fmt::format("no noise multiplier up to {} meets the target", kMultiplierMax)};
}

Result<double> calibrate_gaussian(CalibrationMethod method, std::uint64_t steps, releases::Epsilon epsilon,
                                  releases::Delta delta,
                                  const std::function<Result<PrivacyEvent>(double multiplier)>& event) {
  UNDERTONE_TRY(const PrivacyEvent example, event(1.0));
  const bool plain = std::holds_alternative<GaussianEvent>(example);
  const auto events_at = [&](double multiplier) -> Result<std::vector<RepeatedEvent>> {
    UNDERTONE_TRY(const PrivacyEvent one, event(multiplier));
    return std::vector<RepeatedEvent>{{one, steps}};
  };
  const auto by = [&](const auto& cost_of) {
    return smallest_multiplier(
        [&](double multiplier) -> Result<double> {
          UNDERTONE_TRY(const std::vector<RepeatedEvent> events, events_at(multiplier));
          return cost_of(events);
        },
        epsilon.value());
  };
  switch (method) {
    case CalibrationMethod::Numeric:
      if (plain) break;  // the exact profile
      return by([&](const std::vector<RepeatedEvent>& events) { return charged_epsilon(events, delta); });
    case CalibrationMethod::Analytic:
      if (!plain) return Error{ErrorCode::InvalidArgument, "the analytic method is for Gaussians without sampling"};
      break;
    case CalibrationMethod::Classical:
      if (!plain || steps != 1)
        return Error{ErrorCode::InvalidArgument, "the classical method is for one Gaussian release without sampling"};
      return classical_noise_multiplier(epsilon, delta);
    case CalibrationMethod::Zcdp:
      return by([&](const std::vector<RepeatedEvent>& events) { return reading_of(events, delta, "zcdp"); });
    case CalibrationMethod::Renyi:
      return by([&](const std::vector<RepeatedEvent>& events) { return reading_of(events, delta, "rdp"); });
  }
  const double shift = gaussian_shift_for(epsilon, delta).value() / std::sqrt(static_cast<double>(steps));
  return 1.0 / shift * (1.0 + 1e-12);
}

}  // namespace undertone::accounting
