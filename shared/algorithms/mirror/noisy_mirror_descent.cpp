#include "shared/algorithms/mirror/noisy_mirror_descent.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/algorithms/mirror/constrained_mirror_descent.hpp"
#include "shared/algorithms/mirror/mirror_geometry.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kNoisyMirror = "noisy mirror descent";

Error noisy_mirror_refusal(std::string what) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", kNoisyMirror, std::move(what))};
}

/// X, of which the ball is one of l_p where the potential is.
Result<geometry::PNormMap::Set> noisy_mirror_set(const Problem& problem, double norm,
                                                 const geometry::RegularNorm& regular, std::optional<double> radius) {
  using Set = geometry::PNormMap::Set;
  const bool whole = std::holds_alternative<geometry::WholeSpace>(problem.domain.set());
  if (radius && !whole)
    return noisy_mirror_refusal(
        fmt::format("a ball of l_p is a set by itself: expected the domain whole_space beside its radius, got {}",
                    problem.domain.name()));
  if (radius && regular.exponent != geometry::conjugate_exponent(norm)) {
    const double least = std::ceil(1e4 * regular.dual_exponent()) / 1e4;
    return noisy_mirror_refusal(
        fmt::format("the potential over {} numbers is of l_{:.6g}, whose ball is not that of l_{:.6g}: expected no "
                    "radius{}",
                    problem.dimension, regular.dual_exponent(), norm,
                    least < 2.0 ? fmt::format(", or a norm of at least {:.4f}", least) : std::string()));
  }
  return std::visit(Overloaded{[&](const geometry::WholeSpace& space) -> Result<Set> {
                                 return radius ? Set(geometry::SameNormBall{*radius}) : Set(space);
                               },
                               [](const geometry::L1Ball& ball) -> Result<Set> { return Set(ball); },
                               [](const geometry::Simplex& simplex) -> Result<Set> { return Set(simplex); },
                               [&](const auto& /*other*/) -> Result<Set> {
                                 return noisy_mirror_refusal(fmt::format(
                                     "its potential has no exact step over {}: it has one over the whole space, a ball "
                                     "of l_p, the l1 ball and the simplex",
                                     problem.domain.name()));
                               }},
                    problem.domain.set());
}

}  // namespace

double NoisyMirrorDescentSettings::dual_exponent() const { return algorithms::dual_exponent(map); }

geometry::RegularNorm NoisyMirrorDescentSettings::noise_norm() const {
  return geometry::regular_norm(dual_exponent(), map.dimension());
}

double NoisyMirrorDescentSettings::noise_squared(double variance, double silos) const {
  const geometry::RegularNorm norm = noise_norm();
  const double generalised =
      variance * norm.sum_growth(silos) / geometry::coordinate_share(norm.exponent, map.dimension());
  if (norm.exponent == 2.0) return generalised;
  return std::max(generalised, noise_norm_squared(dual_exponent(), map.dimension(), variance));
}

std::string_view NoisyMirrorDescentSettings::name() const { return NoisyMirrorDescent::kName; }

std::string NoisyMirrorDescentSettings::source() const {
  return fmt::format("noisy mirror descent, Algorithm 2 of Bassily, Guzman and Nandi 2021, with {}", map.name());
}

MethodNumbers NoisyMirrorDescentSettings::numbers() const {
  const geometry::RegularNorm norm = noise_norm();
  MethodNumbers out = {{"rounds", number(rounds)},
                       {"step_size", step_size},
                       {"noise_norm", norm.exponent},
                       {"regularity", norm.regularity}};
  if (const auto exponent = map.norm_exponent()) out.emplace_back("norm", *exponent);
  if (const auto across = map.diameter()) out.emplace_back("diameter", *across);
  if (const auto most = map.divergence_max()) out.emplace_back("divergence_max", *most / map.strong_convexity());
  return out;
}

MethodTraits NoisyMirrorDescentSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.takes_subgradients = true;
  traits.clip_exponent = dual_exponent();
  traits.generalised_noise = true;
  traits.linear_models = traits.clip_exponent > 2.0;
  return traits;
}

Result<NoiseShifts> NoisyMirrorDescentSettings::theorem_noise(const NoiseFacts& facts) const {
  const NoiseConditions conditions("Algorithm 2 of Bassily, Guzman and Nandi 2021", facts);
  if (Status fits = conditions.some_rounds(rounds); !fits) return fits.error();
  if (Status fits = conditions.epsilon_at_most("1", 1.0); !fits) return fits.error();
  if (!(facts.delta * facts.records < 1.0))
    return conditions.refuse(
        fmt::format("delta is {}, which must be below 1/n = {}", facts.delta, 1.0 / facts.records));
  // sqrt(kappa) 2L/(K sigma), where sigma has the root of kappa and L, too.
  return NoiseShifts{{facts.epsilon * facts.records / (facts.drawn * std::sqrt(2.0 * conditions.log_one()))}, {}};
}

double noisy_mirror_risk(const NoisyMirrorDescentSettings& settings, double longest, double noise_squared) {
  const std::optional<double> most = settings.map.divergence_max();
  UNDERTONE_CHECK(most.has_value());
  const double both = longest + std::sqrt(noise_squared);
  const double squared = settings.dual_exponent() == 2.0 ? longest * longest + noise_squared : both * both;
  return *most / (settings.map.strong_convexity() * settings.step_size * number(settings.rounds)) +
         0.5 * settings.step_size * squared;
}

std::optional<RiskBound> NoisyMirrorDescentSettings::predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                                    bool /*modulus_known*/) const {
  // No vector is longer in l_q than in l2, which the regulariser's gradient is measured in.
  const double longest = longest_gradient(problem, clip.value());
  if (!map.divergence_max() || !std::isfinite(longest)) return std::nullopt;
  return RiskBound{noisy_mirror_risk(*this, longest, noise_squared(noise_variance, number(problem.silos))),
                   "excess risk", "mirror descent, as in the proof of Theorem 10 of Bassily, Guzman and Nandi 2021"};
}

Result<geometry::MirrorMap> NoisyMirrorDescent::potential(const Problem& problem, double norm,
                                                          std::optional<double> radius) {
  if (!(norm >= 1.0 && norm < 2.0))
    return noisy_mirror_refusal(fmt::format(
        "expected a norm l_p with p in [1, 2), got {}: in l_2 its noise is Gaussian and its steps are Euclidean, which "
        "is mirror_descent with the potential euclidean",
        norm));
  const geometry::RegularNorm regular = geometry::regular_norm(geometry::conjugate_exponent(norm), problem.dimension);
  UNDERTONE_TRY(const geometry::PNormMap::Set set, noisy_mirror_set(problem, norm, regular, radius));
  // Where r = q it is p, but for rounding.
  const double power = std::max(norm, regular.dual_exponent());
  UNDERTONE_TRY(const geometry::PNormMap map, geometry::PNormMap::of_power(norm, power, set, problem.dimension));
  return geometry::MirrorMap(map);
}

ParsedMethod NoisyMirrorDescent::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const double draw_fraction = keys::draw_fraction(section);
  config::Section setup = section.object("geometry", "of noisy_mirror_descent: its norm, and a ball's radius");
  const double norm = setup.number("norm", 1.0, 2.0,
                                   "of noisy_mirror_descent: p below 2 of the norm l_p in which points are apart; "
                                   "records' gradients are then clipped in l_q, 1/p + 1/q = 1");
  std::optional<double> radius;
  if (setup.has("radius"))
    radius = setup.number("radius", 0.0, geometry::kParameterMax,
                          "of noisy_mirror_descent with the domain whole_space: keeps the model in the ball of that "
                          "norm, where the noise is of l_q itself",
                          true);
  setup.finish();
  NoisyMirrorDescentSettings settings{
      problem, geometry::MirrorMap(geometry::EuclideanMap(geometry::Domain::whole_space(), 1)), rounds, step_size};
  if (section.recording() || problem.dimension < 1) return {settings, draw_fraction};
  if (const Result<geometry::MirrorMap> made = potential(problem, norm, radius); made)
    settings.map = *made;
  else
    setup.problem("norm", made.error().message);
  return {settings, draw_fraction};
}

Result<std::unique_ptr<MirrorDescent>> NoisyMirrorDescent::create(const NoisyMirrorDescentSettings& settings) {
  if (settings.rounds == 0) return noisy_mirror_refusal("no rounds");
  UNDERTONE_TRY(geometry::check_positive("the step size of noisy mirror descent", settings.step_size));
  // D_Phi/eta = D_h/(mu eta).
  const double step_size = settings.map.strong_convexity() * settings.step_size;
  return MirrorDescent::create({settings.problem, settings.map, settings.rounds, step_size});
}

planning::Schedule NoisyMirrorDescent::schedule(const NoisyMirrorDescentSettings& settings,
                                                const GradientShape& shape) {
  return {{shape.gradient(settings.problem.dimension), settings.rounds}};
}

}  // namespace undertone::algorithms
