#include "shared/algorithms/mirror/mirror_descent.hpp"

#include <cmath>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/mirror/mirror_geometry.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {

std::string_view MirrorDescentSettings::name() const { return MirrorDescent::kName; }

std::string MirrorDescentSettings::source() const {
  return fmt::format(
      "noisy mirror descent, Algorithms 1 and 5 of Asi, Feldman, Koren and Talwar 2021, with {} and steps {}",
      map.name(), step_size ? "of one size" : "2/(lambda (k+1))");
}

MethodNumbers MirrorDescentSettings::numbers() const {
  MethodNumbers out = {{"rounds", number(rounds)}, {"strong_convexity_of_potential", map.strong_convexity()}};
  out.emplace_back(step_size ? "step_size" : "relative_convexity", step_size.value_or(relative_convexity));
  if (const auto norm = map.norm_exponent()) out.emplace_back("norm", *norm);
  if (const auto across = map.diameter()) out.emplace_back("diameter", *across);
  if (const auto most = map.divergence_max()) out.emplace_back("divergence_max", *most);
  return out;
}

MethodTraits MirrorDescentSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.takes_subgradients = true;
  traits.clip_exponent = dual_exponent(map);
  traits.linear_models = traits.clip_exponent > 2.0;
  return traits;
}

std::optional<RiskBound> MirrorDescentSettings::predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                               bool /*modulus_known*/) const {
  if (!problem.regulariser.is_none()) return std::nullopt;
  const double squared = noisy_gradient_squared(dual_exponent(map), problem.dimension, clip.value(), noise_variance);
  const double mu = map.strong_convexity();
  // Nobody has said how convex the objective is where the steps count on it.
  const std::optional<double> most = map.divergence_max();
  if (!step_size || !most) return std::nullopt;
  return RiskBound{*most / (*step_size * number(rounds)) + *step_size * squared / (2.0 * mu), "excess risk",
                   "mirror descent, as in Lemma 3.1 of Asi, Feldman, Koren and Talwar 2021"};
}

ParsedMethod MirrorDescent::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double draw_fraction = keys::draw_fraction(section);
  MirrorDescentSettings settings{
      problem, parse_mirror_map(section.object("geometry", "of mirror descent: potential and norm"), problem), rounds};
  const bool relative = section.has("relative_convexity");
  if (relative)
    settings.relative_convexity =
        section.number("relative_convexity", keys::kNumberMin, keys::kNumberMax,
                       "of mirror_descent in place of step_size: lambda with F(y) >= F(x) + "
                       "<grad F(x), y - x> + lambda D_h(y, x); steps are then 2/(lambda (k+1))",
                       true);
  if (!relative || section.recording()) settings.step_size = keys::step_size(section);
  return {settings, draw_fraction};
}

Result<std::unique_ptr<MirrorDescent>> MirrorDescent::create(const MirrorDescentSettings& settings) {
  if (settings.rounds == 0) return Error{ErrorCode::InvalidArgument, "mirror descent: no rounds"};
  UNDERTONE_TRY(settings.step_size ? geometry::check_positive("the step size of mirror descent", *settings.step_size)
                                   : geometry::check_positive("the relative convexity of mirror descent",
                                                              settings.relative_convexity));
  if (Status fits = check_mirror_problem("mirror descent", settings.map, settings.problem); !fits) return fits.error();
  return std::unique_ptr<MirrorDescent>(new MirrorDescent(settings));
}

MirrorDescent::MirrorDescent(const MirrorDescentSettings& settings)
    : settings_(settings),
      state_(settings_.map.start()),
      average_(Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule MirrorDescent::schedule(const MirrorDescentSettings& settings, const GradientShape& shape) {
  return {{shape.gradient(settings.problem.dimension), settings.rounds}};
}

Step MirrorDescent::current() const {
  return round_ < settings_.rounds ? ask_gradient(round_, mirror_point(settings_.map, settings_.problem, state_))
                                   : finished(candidate());
}

Result<Step> MirrorDescent::advance(const folds::Gathered& gathered) {
  if (Status told = check_told("mirror descent", round_, settings_.rounds, settings_.problem, gathered); !told)
    return told.error();
  const Eigen::VectorXd at = mirror_point(settings_.map, settings_.problem, state_);
  const double k = number(round_ + 1);
  average_ += (at - average_) * (settings_.step_size ? 1.0 / k : 2.0 / (k + 1.0));
  Eigen::VectorXd gradient = gathered.mean();
  settings_.problem.regulariser.add_smooth_gradient(at, gradient);
  const double step = settings_.step_size ? *settings_.step_size : 2.0 / (settings_.relative_convexity * (k + 1.0));
  if (Status converges = check_converges("mirror descent", round_, settings_.problem, gradient); !converges)
    return converges.error();
  if (Status finite = check_step("mirror descent", round_, state_, gradient, step); !finite) return finite.error();
  settings_.map.step(gradient, {step, 1.0}, state_);
  if (Status converges = check_converges("mirror descent", round_, settings_.problem, settings_.map.point(state_));
      !converges)
    return converges.error();
  ++round_;
  return current();
}

Eigen::VectorXd MirrorDescent::candidate() const {
  if (round_ == 0) return mirror_point(settings_.map, settings_.problem, state_);
  Eigen::VectorXd out = average_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void MirrorDescent::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&state_, &average_});
}

Status MirrorDescent::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  if (Status read = restore_vectors(state, {&state_, &average_}); !read) return read;
  const Status fits = settings_.map.check_state(state_);
  return fits ? fits : Status(Error{ErrorCode::Malformed, fits.error().message});
}

}  // namespace undertone::algorithms
