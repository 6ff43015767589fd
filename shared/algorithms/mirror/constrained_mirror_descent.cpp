#include "shared/algorithms/mirror/constrained_mirror_descent.hpp"

#include <cmath>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/algorithms/vertices_section.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kConstrainedMirror = "constrained mirror descent";

/// The potential that a job asks for. A problem is noted, and something harmless returned.
geometry::MatchedPotential parse_potential(config::Section& section, const Problem& problem) {
  const bool matched =
      !section.has("potential") ||
      section.choice<bool>("potential", {{"matched", true}, {"euclidean", false}},
                           "of constrained_mirror_descent and strongly_convex_mirror_descent: the set's own, or half "
                           "the squared l2 norm (default matched)");
  const auto harmless = [] {
    return geometry::euclidean_potential(geometry::Domain::l2_ball(1.0).value(), 1, Eigen::VectorXd::Zero(1)).value();
  };
  if (section.has("vertices")) {
    const geometry::Vertices vertices =
        parse_vertices(section.object("vertices", "a polytope that the model lies in, which no domain names: listed"),
                       problem.dimension);
    if (section.recording() || vertices.dimension() != problem.dimension) return harmless();  // what is wrong is noted
    if (vertices.l1_radius() || vertices.simplex_scale()) {
      section.problem("vertices/kind", "expected \"listed\": domain names the l1 ball and the simplex");
      return harmless();
    }
    if (Status agrees = check_domain_of(vertices, problem.domain, kConstrainedMirror); !agrees)
      section.problem("vertices", agrees.error().message);
    if (!matched)
      section.problem("potential", "expected \"matched\": no exact projection onto listed vertices is known");
    return geometry::vertex_potential(vertices);
  }
  if (problem.dimension < 1) return harmless();
  const auto made = matched ? geometry::matched_potential(problem.domain, problem.dimension, problem.start())
                            : geometry::euclidean_potential(problem.domain, problem.dimension, problem.start());
  if (made) return *made;
  section.problem("kind", made.error().message);
  return harmless();
}

bool is_euclidean(const geometry::MirrorMap& map) { return std::holds_alternative<geometry::EuclideanMap>(map.kind()); }

}  // namespace

double longest_gradient(const Problem& problem, double clip) {
  if (problem.regulariser.l2() == 0.0) return clip;
  return clip + problem.regulariser.l2() * problem.domain.radius(problem.dimension).value_or(HUGE_VAL);
}

double mirror_risk(const ConstrainedMirrorDescentSettings& settings, double lipschitz, double noise_variance) {
  const geometry::MatchedPotential& potential = settings.potential;
  const double moment = potential.dual_second_moment(lipschitz, noise_variance) / potential.modulus;
  const double rounds = number(settings.rounds);
  if (settings.relative_convexity) return moment * (1.0 + std::log(rounds)) / (*settings.relative_convexity * rounds);
  return potential.range / (settings.step_size * rounds) + settings.step_size * moment;
}

double ConstrainedMirrorDescentSettings::step(std::uint64_t t) const {
  return relative_convexity ? 1.0 / (*relative_convexity * number(t)) : step_size;
}

std::string_view ConstrainedMirrorDescentSettings::name() const {
  return relative_convexity ? ConstrainedMirrorDescent::kStronglyConvexName : ConstrainedMirrorDescent::kName;
}

std::string ConstrainedMirrorDescentSettings::source() const {
  return fmt::format("noisy mirror descent with {}, {} of Talwar, Thakurta and Zhang 2014", potential.map.name(),
                     relative_convexity ? "Theorem A.1" : "Algorithm 1");
}

MethodNumbers ConstrainedMirrorDescentSettings::numbers() const {
  MethodNumbers out = {{"rounds", number(rounds)}};
  if (relative_convexity)
    out.emplace_back("relative_convexity", *relative_convexity);
  else
    out.emplace_back("step_size", step_size);
  out.emplace_back("potential_range", potential.range);
  out.emplace_back("gauge_radius", potential.gauge_radius);
  out.emplace_back("gauge_width", potential.gauge_width);
  return out;
}

MethodTraits ConstrainedMirrorDescentSettings::traits() const {
  MethodTraits traits;
  traits.takes_subgradients = true;
  return traits;
}

Result<NoiseShifts> ConstrainedMirrorDescentSettings::theorem_noise(const NoiseFacts& facts) const {
  const NoiseConditions conditions("Theorem 3.1", facts);
  if (Status fits = conditions.some_rounds(rounds); !fits) return fits.error();
  if (facts.drawn != facts.records)
    return conditions.refuse(
        fmt::format("it reads all records in every round, {} of {} are drawn", facts.drawn, facts.records));
  // 2L/(n sigma), sigma = sqrt(32 T) L ln(T/delta)/(eps n).
  const double log = std::log(number(rounds) / facts.delta);
  return NoiseShifts{{2.0 * facts.epsilon / (std::sqrt(32.0 * number(rounds)) * log)}, {}};
}

std::optional<RiskBound> ConstrainedMirrorDescentSettings::predicted_risk(releases::ClipNorm clip,
                                                                          double noise_variance,
                                                                          bool modulus_known) const {
  if (relative_convexity && !by_regulariser && !modulus_known) return std::nullopt;
  const double longest = longest_gradient(problem, clip.value());
  if (!std::isfinite(longest)) return std::nullopt;
  return RiskBound{mirror_risk(*this, longest, noise_variance), "excess risk",
                   relative_convexity ? "mirror descent with steps 1/(kappa t), as Theorem A.1"
                                      : "mirror descent, as in the proof of Theorem 3.2"};
}

ParsedMethod ConstrainedMirrorDescent::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const double draw_fraction = keys::draw_fraction(section);
  return {ConstrainedMirrorDescentSettings{problem, parse_potential(section, problem), rounds, step_size},
          draw_fraction};
}

ParsedMethod ConstrainedMirrorDescent::parse_strongly_convex(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double draw_fraction = keys::draw_fraction(section);
  ConstrainedMirrorDescentSettings settings{problem, parse_potential(section, problem), rounds};
  const bool euclidean = is_euclidean(settings.potential.map);
  const double proven = euclidean ? problem.regulariser.strong_convexity(problem.dimension) : 0.0;
  if (section.has("relative_convexity") || proven == 0.0) {
    settings.relative_convexity =
        section.number("relative_convexity", keys::kNumberMin, keys::kNumberMax,
                       "of strongly_convex_mirror_descent: a public kappa, of the objective relative to the potential "
                       "(default: the l2 regulariser's strength, where the potential is Euclidean)",
                       true);
  } else {
    settings.relative_convexity = proven;
  }
  settings.by_regulariser = proven > 0.0 && *settings.relative_convexity <= proven;
  return {settings, draw_fraction};
}

Result<std::unique_ptr<ConstrainedMirrorDescent>> ConstrainedMirrorDescent::create(
    const ConstrainedMirrorDescentSettings& settings) {
  const Problem& problem = settings.problem;
  const geometry::MirrorMap& map = settings.potential.map;
  const auto refuse = [](std::string what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", kConstrainedMirror, std::move(what))};
  };
  if (settings.rounds == 0) return refuse("no rounds");
  const double first = settings.step(1);
  if (Status step = geometry::check_positive("the step size of constrained mirror descent", first); !step)
    return step.error();
  if (map.dimension() != problem.dimension)
    return refuse(
        fmt::format("{} of dimension {}, and a model of {} numbers", map.name(), map.dimension(), problem.dimension));
  if (!is_euclidean(map) && problem.initial.size() != 0)
    return refuse(fmt::format("it starts at the least point of {}: expected no initial", map.name()));
  if (!problem.regulariser.is_smooth())
    return refuse(fmt::format("{} is not smooth: use a proximal algorithm", problem.regulariser.name()));
  Eigen::VectorXd state = is_euclidean(map) ? problem.start() : map.start();
  if (is_euclidean(map)) problem.domain.project(state);  // the wire's rounding may have left it
  return std::unique_ptr<ConstrainedMirrorDescent>(new ConstrainedMirrorDescent(settings, std::move(state)));
}

ConstrainedMirrorDescent::ConstrainedMirrorDescent(const ConstrainedMirrorDescentSettings& settings,
                                                   Eigen::VectorXd state)
    : settings_(settings), state_(std::move(state)), average_(Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule ConstrainedMirrorDescent::schedule(const ConstrainedMirrorDescentSettings& settings,
                                                      const GradientShape& shape) {
  return {{shape.gradient(settings.problem.dimension), settings.rounds}};
}

Eigen::VectorXd ConstrainedMirrorDescent::iterate() const {
  Eigen::VectorXd out = settings_.potential.map.point(state_);
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

Step ConstrainedMirrorDescent::current() const {
  return round_ < settings_.rounds ? ask_gradient(round_, iterate()) : finished(candidate());
}

Result<Step> ConstrainedMirrorDescent::advance(const folds::Gathered& gathered) {
  if (Status told = check_told(kConstrainedMirror, round_, settings_.rounds, settings_.problem, gathered); !told)
    return told.error();
  const Eigen::VectorXd at = iterate();
  average_ += (at - average_) / number(round_ + 1);
  Eigen::VectorXd gradient = gathered.mean();
  settings_.problem.regulariser.add_smooth_gradient(at, gradient);
  if (Status finite = check_step(kConstrainedMirror, round_, state_, gradient, settings_.step(round_ + 1)); !finite)
    return finite.error();
  settings_.potential.map.step(gradient, {settings_.step(round_ + 1), 1.0}, state_);
  if (Status converges =
          check_converges(kConstrainedMirror, round_, settings_.problem, settings_.potential.map.point(state_));
      !converges)
    return converges.error();
  ++round_;
  return current();
}

Eigen::VectorXd ConstrainedMirrorDescent::candidate() const {
  if (round_ == 0) return iterate();
  Eigen::VectorXd out = average_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void ConstrainedMirrorDescent::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&state_, &average_});
}

Status ConstrainedMirrorDescent::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  if (Status read = restore_vectors(state, {&state_, &average_}); !read) return read;
  if (Status fits = settings_.potential.map.check_state(state_); !fits)
    return Error{ErrorCode::Malformed, fits.error().message};
  return {};
}

}  // namespace undertone::algorithms
