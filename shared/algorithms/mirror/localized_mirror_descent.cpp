#include "shared/algorithms/mirror/localized_mirror_descent.hpp"

#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/duality_map.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kLocalizedMirror = "localized mirror descent";

}  // namespace

double LocalizedMirrorDescentSettings::power() const { return phased_mirror_power(norm, problem.dimension); }

std::string_view LocalizedMirrorDescentSettings::name() const { return LocalizedMirrorDescent::kName; }

std::string LocalizedMirrorDescentSettings::source() const {
  return "localized noisy mirror descent, Algorithms 2 and 6 of Asi, Feldman, Koren and Talwar 2021";
}

MethodNumbers LocalizedMirrorDescentSettings::numbers() const {
  return {{"rounds", number(extent().rounds)}, {"phases", number(phases.size())}, {"norm", norm}, {"power", power()}};
}

Extent LocalizedMirrorDescentSettings::extent() const {
  std::uint64_t rounds = 0;
  for (const MirrorPhase& phase : phases) rounds = saturating_sum(rounds, phase.rounds);
  return {rounds, phases.size()};
}

MethodTraits LocalizedMirrorDescentSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.takes_subgradients = true;
  traits.clip_exponent = geometry::conjugate_exponent(norm);
  traits.linear_models = traits.clip_exponent > 2.0;
  return traits;
}

ParsedMethod LocalizedMirrorDescent::parse(config::Section& section, const Problem& problem) {
  LocalizedMirrorDescentSettings settings{problem,
                                          section.number("norm", 1.0, 2.0,
                                                         "of localized_mirror_descent and staged_mirror_descent: p of "
                                                         "the norm l_p, from 1 to 2; clip_norm is then of "
                                                         "l_q, 1/p + 1/q = 1. Of lp_sgd: p above 2 of the "
                                                         "model's ball (default: infinity, a box)")};
  const double draw_fraction = keys::draw_fraction(section);
  for (config::Section& one : keys::phases(section)) {
    MirrorPhase phase;
    phase.rounds = keys::rounds(one);
    phase.relative_convexity = one.number("relative_convexity", keys::kNumberMin, keys::kNumberMax,
                                          "of localized_mirror_descent: lambda of the proximity term lambda |x - "
                                          "c|_p^2/(2 (p - 1)), c where the phase began; steps are 2/(lambda (k+1))",
                                          true);
    phase.radius = keys::phase_radius(one);
    one.finish();
    settings.phases.push_back(phase);
  }
  return {settings, draw_fraction};
}

Result<std::unique_ptr<LocalizedMirrorDescent>> LocalizedMirrorDescent::create(
    const LocalizedMirrorDescentSettings& settings) {
  if (settings.phases.empty() || settings.phases.size() > keys::kPhasesMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: from 1 to {} phases, got {}", kLocalizedMirror,
                                                         keys::kPhasesMax, settings.phases.size())};
  }
  UNDERTONE_TRY(PhasedMirrorSteps steps,
                PhasedMirrorSteps::create(kLocalizedMirror, settings.problem, settings.norm, settings.phases));
  return std::unique_ptr<LocalizedMirrorDescent>(new LocalizedMirrorDescent(std::move(steps)));
}

planning::Schedule LocalizedMirrorDescent::schedule(const LocalizedMirrorDescentSettings& settings,
                                                    const GradientShape& shape) {
  planning::Schedule out;
  for (std::size_t i = 0; i < settings.phases.size(); ++i) {
    const releases::Slice part{releases::Slice::Cut::Halving, i, settings.phases.size()};
    out.push_back({shape.gradient(settings.problem.dimension, part, i), settings.phases[i].rounds});
  }
  return out;
}

}  // namespace undertone::algorithms
