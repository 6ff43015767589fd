#include "shared/jobs/moment_clip.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/jobs/job_checks.hpp"

namespace undertone::jobs {
namespace {

/// All of a silo's noise together shows a record no more than one release with this shift would.
/// @return nothing of a promise that Gaussian noise does not keep
std::optional<double> shift_of(const releases::Target& target) {
  if (const auto* approximate = std::get_if<releases::ApproximateDp>(&target))
    return accounting::gaussian_shift_for(approximate->epsilon, approximate->delta).value();
  if (const auto* concentrated = std::get_if<releases::ConcentratedDp>(&target))
    return std::sqrt(2.0 * concentrated->rho.value());
  return std::nullopt;
}

/// The numbers of a promise, by which alike silos are known.
std::tuple<std::size_t, double, double> key_of(const releases::Target& target) {
  const auto* concentrated = std::get_if<releases::ConcentratedDp>(&target);
  if (concentrated != nullptr) return {target.index(), concentrated->rho.value(), 0.0};
  return {target.index(), releases::epsilon_of(target).value(), releases::delta_of(target)};
}

/// Says why the silos' promises do not tell how much noise there is, or would take too long to. @return nothing where
/// they do tell
std::optional<std::string> unreadable_shifts(const std::vector<CohortMember>& cohort) {
  std::set<std::tuple<std::size_t, double, double>> promises;
  for (const CohortMember& member : cohort) {
    if (std::holds_alternative<releases::PureDp>(member.facts.target))
      return fmt::format("expected a delta above 0 or a rho of every silo, and {} promises {}",
                         member.facts.silo.name(), releases::to_string(member.facts.target));
    promises.insert(key_of(member.facts.target));
  }
  if (promises.size() <= theorems::kPromisesMax) return std::nullopt;
  return fmt::format("expected at most {} different pairs of epsilon and delta, or rhos, in the cohort, got {}",
                     theorems::kPromisesMax, promises.size());
}

/// This is A of the mean over silos in one round: at clip C its noise has the standard deviation 2 C / A a coordinate.
/// @param releases of each record @param parts of a silo's records, of which a round reads one
double signal_of(const std::vector<CohortMember>& cohort, double releases, double parts) {
  double weights = 0.0;
  for (const CohortMember& member : cohort) weights += algorithms::number(member.weight);
  std::map<std::tuple<std::size_t, double, double>, double> shifts;  // alike silos have one
  double variance = 0.0;                                             // at a clip of 1/2
  for (const CohortMember& member : cohort) {
    const auto [known, made] = shifts.try_emplace(key_of(member.facts.target));
    if (made) known->second = shift_of(member.facts.target).value();
    const double records = std::floor(static_cast<double>(member.facts.records) / parts);
    const double each = algorithms::number(member.weight) / weights / (records * known->second / std::sqrt(releases));
    variance += each * each;
  }
  return 1.0 / std::sqrt(variance);
}

/// The same of binomial sums: the coins of the honest silos, whose number is public, hide a record. Those of the others
/// are noise, too. @pre silos are alike, as shuffled jobs need them
double shuffled_signal_of(const std::vector<CohortMember>& cohort, const Shuffle& shuffle, double releases,
                          double parts) {
  constexpr double kExcess = 1.25;                 // of the variance: @see mechanisms::BinomialDemand
  constexpr double kMechanismShare = 31.0 / 32.0;  // of delta: the rest covers the sums' failures
  const releases::SiloFacts& facts = cohort.front().facts;
  const auto* approximate = std::get_if<releases::ApproximateDp>(&facts.target);
  const double whole =
      approximate == nullptr
          ? shift_of(facts.target).value()  // which a shuffled job refuses
          : accounting::gaussian_shift_for(
                approximate->epsilon, releases::Delta::create(kMechanismShare * approximate->delta.value()).value())
                .value();
  const double shift = whole / std::sqrt(releases);
  const double records = std::floor(static_cast<double>(facts.records) / parts);
  const double silos = static_cast<double>(cohort.size()) * static_cast<double>(shuffle.honest_min);
  return shift * records * std::sqrt(silos / kExcess);
}

/// This says how often a method's rounds read each record, and how large a part of them a round reads.
struct ScheduleReading {
  double releases = 1.0;  // of each record
  double parts = 1.0;     // a round reads one of so many equal ones
};

/// @return nothing where rounds ask for something else than gradients, or read parts that are unequal or secret
std::optional<ScheduleReading> reading_of(const algorithms::Method& method) {
  const releases::L2Bound unit{*releases::ClipNorm::create(1.0)};
  double rounds = 0.0;
  std::optional<std::uint64_t> parts;  // 1: all records
  for (const planning::ScheduledRounds& part : method->schedule({unit, 1.0})) {
    const releases::Ask& ask = part.ask;
    if (!std::holds_alternative<releases::GradientMap>(ask.map) || ask.selects()) return std::nullopt;
    const std::optional<releases::Slice>& slice = ask.records.slice;
    if (slice && (slice->cut != releases::Slice::Cut::Equal || slice->span != 1)) return std::nullopt;
    const std::uint64_t own = slice ? slice->of : 1;
    if (parts && *parts != own) return std::nullopt;
    parts = own;
    rounds += algorithms::number(part.rounds);
  }
  if (!parts) return std::nullopt;
  // Each part is read as often as the others, or once less: then the oftener decides.
  return ScheduleReading{std::ceil(rounds / algorithms::number(*parts)), algorithms::number(*parts)};
}

}  // namespace

namespace {

/// The shortest clip of a method's phases.
double shortest_clip(const algorithms::Method& method, double clip) {
  double out = clip;
  const auto whole = releases::ClipNorm::create(clip);
  if (!whole) return out;
  for (const planning::ScheduledRounds& rounds : method->schedule({releases::L2Bound{*whole}, 1.0}))
    if (const auto* own = std::get_if<releases::L2Bound>(&rounds.ask.bound)) out = std::min(out, own->clip.value());
  return out;
}

}  // namespace

Result<MomentClip> clip_by_moments(const Moments& moments, const MomentJob& job) {
  const algorithms::Method& method = *job.method;
  const theorems::MeanOracle oracle =
      moments.oracle(static_cast<double>(std::max<Eigen::Index>(1, method->problem().dimension)));
  const auto made = [&](double clip, double shortest) {
    return MomentClip{oracle, moments.source, clip, shortest, oracle.bias(shortest)};
  };
  const auto refuse = [](std::string why) { return Error{ErrorCode::InvalidArgument, std::move(why)}; };
  if (job.noise_by_hand)
    return refuse("expected no privacy.calibration: the clip follows from the noise that the accountant finds");
  if (job.shuffle != nullptr && job.shuffle->form == Shuffle::Form::Reports)
    return refuse(
        "expected clip_norm beside shuffled reports: moments are of noise that each silo adds by itself, or of the "
        "coins of binomial sums");
  if (job.shuffle != nullptr && moments.coordinates && moments.coordinates->groups > 1)
    return refuse("a median of groups is not hidden by shufflers: expected one group, or mode isrl");
  if (job.theorem != nullptr && job.theorem->clip)
    return made(*job.theorem->clip, shortest_clip(method, *job.theorem->clip));
  const algorithms::MethodTraits traits = method->traits();
  if (traits.records_report)
    return refuse(
        fmt::format("expected clip_norm: moments weigh a clip against noise on a sum, and of {} each record "
                    "is randomised by itself",
                    method->name()));
  if (traits.bounded_in != algorithms::MethodTraits::BoundedIn::L2 || traits.clip_exponent > 2.0)
    return refuse(
        fmt::format("expected a bound in its own norm: moments are of l2 norms, and {} bounds a record's "
                    "gradient in another",
                    method->name()));
  const std::optional<ScheduleReading> reading = traits.local_steps > 0 ? std::nullopt : reading_of(method);
  if (!reading || job.secret_parts)
    return refuse(
        fmt::format("expected clip_norm: moments are of methods whose rounds ask for gradients, of all records "
                    "or of equal parts of a permutation, and {} asks for something else",
                    method->name()));
  if (job.draw_fraction < 1.0)
    return refuse(
        fmt::format("expected clip_norm, or a draw_fraction of 1: of records that are drawn, {}, the noise is "
                    "not known when a job is read",
                    job.draw_fraction));
  if (const std::optional<std::string> unreadable = unreadable_shifts(*job.cohort))
    return refuse(fmt::format("the clip follows from the silos' promises: {}", *unreadable));
  for (const CohortMember& member : *job.cohort)
    if (static_cast<double>(member.facts.records) < reading->parts)
      return refuse(fmt::format("{} parts of the {} records of {}: expected a record for each", reading->parts,
                                member.facts.records, member.facts.silo.name()));
  const double signal = job.shuffle == nullptr
                            ? signal_of(*job.cohort, reading->releases, reading->parts)
                            : shuffled_signal_of(*job.cohort, *job.shuffle, reading->releases, reading->parts);
  const double clip = theorems::stated_clip(oracle.balanced_threshold(signal));
  if (clip >= kBoundMin && clip <= kBoundMax) return made(clip, shortest_clip(method, clip));
  return refuse(fmt::format("the clip would be {}, expected one from {} to {}: another bound, or more records", clip,
                            kBoundMin, kBoundMax));
}

std::string described(const MomentClip& moments) {
  const theorems::MomentBound& bound = moments.oracle.moment();
  const std::optional<theorems::CoordinateMeans>& coordinates = moments.oracle.coordinates();
  const bool smooth = coordinates && coordinates->influence == releases::Influence::Smooth;
  return fmt::format(
      "{:.6g}{}, which follows from a bound of {:.6g} on the moment of order {:.4g} of {} (source: {}). "
      "Nothing checks that bound, and the promise does not rest on it: whatever is {} {}",
      moments.clip, coordinates ? " in every coordinate" : "", bound.bound, bound.order,
      coordinates ? "every coordinate of records' gradients" : "records' gradients", quoted_text(moments.source),
      coordinates ? "larger" : "longer",
      smooth        ? "counts as less than that"
      : coordinates ? "is cut"
                    : "is clipped");
}

}  // namespace undertone::jobs
