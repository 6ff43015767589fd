#include "shared/jobs/moment_clip.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/jobs/job_checks.hpp"

namespace undertone::jobs {
namespace {

/// This is A of the mean over silos in one round: at clip C its noise has the standard deviation 2 C / A a coordinate.
/// @param releases of each record @param parts of a silo's records, of which a round reads one
double signal_of(const std::vector<CohortMember>& cohort, double releases, double parts) {
  double weights = 0.0;
  for (const CohortMember& member : cohort) weights += algorithms::number(member.weight);
  std::map<std::pair<double, double>, double> shifts;  // alike silos have one
  double variance = 0.0;                               // at a clip of 1/2
  for (const CohortMember& member : cohort) {
    const auto& target = std::get<releases::ApproximateDp>(member.facts.target);
    const auto [known, made] = shifts.try_emplace({target.epsilon.value(), target.delta.value()});
    if (made) known->second = accounting::gaussian_shift_for(target.epsilon, target.delta).value();
    const double records = std::floor(static_cast<double>(member.facts.records) / parts);
    const double each = algorithms::number(member.weight) / weights / (records * known->second / std::sqrt(releases));
    variance += each * each;
  }
  return 1.0 / std::sqrt(variance);
}

}  // namespace

Result<MomentClip> clip_by_moments(const Moments& moments, const algorithms::Method& method,
                                   const std::optional<theorems::TheoremChoice>& theorem,
                                   const std::vector<CohortMember>& cohort) {
  const auto made = [&](double clip) {
    const double held = std::clamp(theorems::stated_clip(clip), kBoundMin, kBoundMax);
    return MomentClip{moments.bound, moments.source, held, theorems::bias_of_clip(moments.bound, held)};
  };
  if (theorem && theorem->clip) return made(*theorem->clip);
  const auto refuse = [](std::string why) { return Error{ErrorCode::InvalidArgument, std::move(why)}; };
  const algorithms::MethodTraits traits = method->traits();
  if (traits.bounded_in != algorithms::MethodTraits::BoundedIn::L2 || traits.clip_exponent > 2.0)
    return refuse(
        fmt::format("expected a bound in its own norm: moments are of l2 norms, and {} bounds a record's "
                    "gradient in another",
                    method->name()));
  if (traits.local_steps > 0)
    return refuse(
        fmt::format("expected clip_norm: a step of {} is a silo's own, and the clip is chosen for the mean over "
                    "all silos",
                    method->name()));
  if (const std::optional<std::string> unreadable = unreadable_promises(cohort))
    return refuse(fmt::format("the clip follows from the silos' promises: {}", *unreadable));
  const algorithms::Extent extent = method->extent();
  const bool one_pass = extent.entries > 1 && extent.entries == extent.rounds;
  if (extent.rounds == 0 || (extent.entries != 1 && !one_pass))
    return refuse(
        fmt::format("expected clip_norm: {} reads some records more often than others, and no one clip is "
                    "best for all of its rounds",
                    method->name()));
  const double rounds = algorithms::number(extent.rounds);
  const double signal = signal_of(cohort, one_pass ? 1.0 : rounds, one_pass ? rounds : 1.0);
  const auto dimension = static_cast<double>(std::max<Eigen::Index>(1, method->problem().dimension));
  if (!(signal > 0.0 && std::isfinite(signal)))
    return refuse("expected clip_norm: a silo has no record for every round");
  return made(theorems::balanced_clip(moments.bound, signal, dimension));
}

std::string described(const MomentClip& moments) {
  return fmt::format(
      "{:.6g}, which follows from a bound of {:.6g} on the moment of order {:.4g} of records' gradients (\"{}\"). "
      "Nothing "
      "checks that bound, and the promise does not rest on it: whatever is longer is clipped",
      moments.clip, moments.bound.bound, moments.bound.order, moments.source);
}

}  // namespace undertone::jobs
