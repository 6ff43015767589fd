#include "shared/algorithms/mirror/stochastic_mirror_descent.hpp"

#include <algorithm>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/mirror/mirror_geometry.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kStochasticMirror = "stochastic mirror descent";

}  // namespace

std::uint64_t StochasticMirrorDescentSettings::rounds() const { return saturating_product(epochs, parts); }

std::string_view StochasticMirrorDescentSettings::name() const { return StochasticMirrorDescent::kName; }

std::string StochasticMirrorDescentSettings::source() const {
  return fmt::format(
      "stochastic mirror descent in epochs, Algorithm 4 of Asi, Feldman, Koren and Talwar 2021, with {}: not private",
      map.name());
}

MethodNumbers StochasticMirrorDescentSettings::numbers() const {
  MethodNumbers out = {{"rounds", number(rounds())},
                       {"passes", number(epochs)},
                       {"step_size", step_size},
                       {"strong_convexity_of_potential", map.strong_convexity()}};
  if (const auto norm = map.norm_exponent()) out.emplace_back("norm", *norm);
  if (const auto most = map.divergence_max()) out.emplace_back("divergence_max", *most);
  return out;
}

MethodTraits StochasticMirrorDescentSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.takes_subgradients = true;
  traits.clip_exponent = dual_exponent(map);
  traits.linear_models = traits.clip_exponent > 2.0;
  traits.simulated_only = true;
  return traits;
}

ParsedMethod StochasticMirrorDescent::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const std::uint64_t epochs =
      keys::count(section, "passes",
                  "E of stochastic_mirror_descent: each steps along rounds / passes parts of the "
                  "records, one after the other");
  const double step_size = keys::step_size(section);
  if (!section.recording() && rounds % std::max<std::uint64_t>(epochs, 1) != 0)
    section.problem("passes", fmt::format("expected a divisor of the {} rounds, got {}", rounds, epochs));
  return {StochasticMirrorDescentSettings{
      problem, parse_mirror_map(section.object("geometry", "of mirror descent: potential and norm"), problem), epochs,
      rounds / std::max<std::uint64_t>(epochs, 1), step_size}};
}

Result<std::unique_ptr<StochasticMirrorDescent>> StochasticMirrorDescent::create(
    const StochasticMirrorDescentSettings& settings) {
  if (settings.rounds() == 0 || settings.rounds() > releases::kRoundsMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: {} epochs of {} parts: expected 1 to {} rounds in all", kStochasticMirror,
                             settings.epochs, settings.parts, releases::kRoundsMax)};
  }
  UNDERTONE_TRY(geometry::check_positive(fmt::format("the step size of {}", kStochasticMirror), settings.step_size));
  UNDERTONE_TRY(check_mirror_problem(kStochasticMirror, settings.map, settings.problem));
  return std::unique_ptr<StochasticMirrorDescent>(new StochasticMirrorDescent(settings));
}

StochasticMirrorDescent::StochasticMirrorDescent(const StochasticMirrorDescentSettings& settings)
    : settings_(settings),
      state_(settings_.map.start()),
      average_(Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule StochasticMirrorDescent::schedule(const StochasticMirrorDescentSettings& settings,
                                                     const GradientShape& shape) {
  using Slice = releases::Slice;
  planning::Schedule out;
  for (std::uint64_t k = 0; k < settings.rounds(); ++k) {
    const std::uint64_t index = shape.parts == Slice::Assignment::Bins ? k : k % settings.parts;
    out.push_back({shape.gradient(settings.problem.dimension, Slice{Slice::Cut::Equal, index, settings.parts}), 1});
  }
  return out;
}

Step StochasticMirrorDescent::current() const {
  return round_ < settings_.rounds() ? ask_gradient(round_, mirror_point(settings_.map, settings_.problem, state_))
                                     : finished(candidate());
}

Result<Step> StochasticMirrorDescent::advance(const folds::Gathered& gathered) {
  if (Status told = check_told(kStochasticMirror, round_, settings_.rounds(), settings_.problem, gathered); !told)
    return told.error();
  Eigen::VectorXd gradient = gathered.mean();
  settings_.problem.regulariser.add_smooth_gradient(mirror_point(settings_.map, settings_.problem, state_), gradient);
  if (Status converges = check_converges(kStochasticMirror, round_, settings_.problem, gradient); !converges)
    return converges.error();
  if (Status finite = check_step(kStochasticMirror, round_, state_, gradient, settings_.step_size); !finite)
    return finite.error();
  settings_.map.step(gradient, {settings_.step_size, 1.0}, state_);
  const Eigen::VectorXd at = mirror_point(settings_.map, settings_.problem, state_);
  if (Status converges = check_converges(kStochasticMirror, round_, settings_.problem, at); !converges)
    return converges.error();
  ++round_;
  average_ += (at - average_) / number(round_);
  return current();
}

Eigen::VectorXd StochasticMirrorDescent::candidate() const {
  if (round_ == 0) return mirror_point(settings_.map, settings_.problem, state_);
  Eigen::VectorXd out = average_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void StochasticMirrorDescent::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&state_, &average_});
}

Status StochasticMirrorDescent::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds(), round_); !read) return read;
  if (Status read = restore_vectors(state, {&state_, &average_}); !read) return read;
  const Status fits = settings_.map.check_state(state_);
  return fits ? fits : Status(Error{ErrorCode::Malformed, fits.error().message});
}

}  // namespace undertone::algorithms
