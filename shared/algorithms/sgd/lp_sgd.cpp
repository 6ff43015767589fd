#include "shared/algorithms/sgd/lp_sgd.hpp"

#include <algorithm>
#include <cmath>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/lp_projection.hpp"
#include "shared/geometry/parameter.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kLpSgd = "noisy SGD over an l_p ball";
// An iterate of another run was rounded to the wire's type: f32 moves a number by 2^-24 of itself at most.
constexpr double kLpSgdStartTolerance = 0x1p-22;

Error lp_sgd_refusal(std::string_view what) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", kLpSgd, what)};
}

Status check_lp_exponent(double norm) {
  if (norm > 2.0) return {};
  return lp_sgd_refusal(fmt::format("a norm must be in (2, infinity], got {}", norm));
}

double l2_diameter_of_lp_ball(double norm, double radius, Eigen::Index dimension) {
  return 2.0 * radius * std::pow(static_cast<double>(dimension), 0.5 - 1.0 / norm);
}

/// Whether the domain is all of space or, of p = infinity, the ball itself.
Status check_lp_domain(const LpSgdSettings& settings) {
  const geometry::Domain::Set& set = settings.problem.domain.set();
  if (std::holds_alternative<geometry::WholeSpace>(set)) return {};
  const auto* box = std::get_if<geometry::Box>(&set);
  if (box == nullptr || !std::isinf(settings.norm)) {
    return lp_sgd_refusal(fmt::format(
        "the ball is a set by itself: expected the domain whole_space, or box without a norm beside it, got {}",
        settings.problem.domain.name()));
  }
  if (box->lower == -settings.radius && box->upper == settings.radius) return {};
  return lp_sgd_refusal(fmt::format("expected a box from -{} to {}, its radius, got one from {} to {}", settings.radius,
                                    settings.radius, box->lower, box->upper));
}

}  // namespace

double LpSgdSettings::diameter() const { return l2_diameter_of_lp_ball(norm, radius, problem.dimension); }

std::string_view LpSgdSettings::name() const { return LpSgd::kName; }

std::string LpSgdSettings::source() const {
  return "multipass noisy SGD for p > 2, Proposition 13 of Bassily, Guzman and Nandi 2021";
}

MethodNumbers LpSgdSettings::numbers() const {
  MethodNumbers out = {
      {"rounds", number(rounds)}, {"step_size", step_size}, {"radius", radius}, {"diameter", diameter()}};
  if (std::isfinite(norm)) out.emplace_back("norm", norm);
  return out;
}

MethodTraits LpSgdSettings::traits() const {
  MethodTraits traits;
  traits.takes_subgradients = true;
  return traits;
}

Result<NoiseShifts> LpSgdSettings::theorem_noise(const NoiseFacts& facts) const {
  const NoiseConditions conditions("Proposition 13", facts);
  if (Status fits = conditions.some_rounds(rounds); !fits) return fits.error();
  if (Status fits = conditions.epsilon_at_most("1", 1.0); !fits) return fits.error();
  const double share = facts.records * facts.epsilon / facts.drawn;
  return NoiseShifts{{share / std::sqrt(2.0 * number(rounds) * conditions.log_one())}, {}};
}

std::optional<RiskBound> LpSgdSettings::predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                       bool /*modulus_known*/) const {
  if (!problem.regulariser.is_none()) return std::nullopt;
  const double across = diameter();
  const double squared = clip.value() * clip.value() + static_cast<double>(problem.dimension) * noise_variance;
  return RiskBound{across * across / (2.0 * step_size * number(rounds)) + step_size * squared / 2.0, "excess risk",
                   "projected SGD over an l_p ball"};
}

ParsedMethod LpSgd::parse(config::Section& section, const Problem& problem) {
  LpSgdSettings settings{problem};
  settings.rounds = keys::rounds(section);
  settings.step_size = keys::step_size(section);
  const double draw_fraction = keys::draw_fraction(section);
  if (section.has("norm"))
    settings.norm = section.number("norm", 2.0, keys::kNumberMax,
                                   "of lp_sgd: p > 2 of the l_p ball that the model lies in (default: infinity, where "
                                   "every coordinate is bounded); clip_norm is of l2 whatever p is",
                                   true);
  settings.radius = section.number("radius", 0.0, keys::kNumberMax,
                                   "of lp_sgd: of that ball, around zero; the domain is whole_space or, without a "
                                   "norm, the box from -radius to radius",
                                   true);
  return {settings, draw_fraction};
}

Result<std::unique_ptr<LpSgd>> LpSgd::create(const LpSgdSettings& settings) {
  if (settings.rounds == 0) return lp_sgd_refusal("no rounds");
  UNDERTONE_TRY(check_lp_exponent(settings.norm));
  UNDERTONE_TRY(geometry::check_positive("the radius of an l_p ball", settings.radius));
  UNDERTONE_TRY(geometry::check_positive(fmt::format("the step size of {}", kLpSgd), settings.step_size));
  UNDERTONE_TRY(check_lp_domain(settings));
  if (!settings.problem.regulariser.is_smooth()) {
    return lp_sgd_refusal(
        fmt::format("{} is not smooth, and no proximal step has it", settings.problem.regulariser.name()));
  }
  const double from = geometry::lp_norm(settings.problem.start(), settings.norm);
  if (!(from <= settings.radius * (1.0 + kLpSgdStartTolerance)))
    return lp_sgd_refusal(
        fmt::format("expected a start in the ball of radius {}, got one at {}", settings.radius, from));
  return std::unique_ptr<LpSgd>(new LpSgd(settings));
}

LpSgd::LpSgd(const LpSgdSettings& settings)
    : settings_(settings),
      iterate_(settings_.problem.start()),
      average_(Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule LpSgd::schedule(const LpSgdSettings& settings, const GradientShape& shape) {
  return {{shape.gradient(settings.problem.dimension), settings.rounds}};
}

Step LpSgd::current() const {
  return round_ < settings_.rounds ? ask_gradient(round_, iterate_) : finished(candidate());
}

Result<Step> LpSgd::advance(const folds::Gathered& gathered) {
  if (Status told = check_told(kLpSgd, round_, settings_.rounds, settings_.problem, gathered); !told)
    return told.error();
  average_ += (iterate_ - average_) / number(round_ + 1);
  Eigen::VectorXd gradient = gathered.mean();
  settings_.problem.regulariser.add_smooth_gradient(iterate_, gradient);
  iterate_ -= settings_.step_size * gradient;
  if (Status converges = check_converges(kLpSgd, round_, settings_.problem, iterate_); !converges)
    return converges.error();
  geometry::project_onto_lp_ball(settings_.norm, settings_.radius, iterate_);
  queries::round_to(settings_.problem.point_type, iterate_);
  ++round_;
  return current();
}

Eigen::VectorXd LpSgd::candidate() const {
  if (round_ == 0) return iterate_;
  Eigen::VectorXd out = average_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void LpSgd::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&iterate_, &average_});
}

Status LpSgd::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  if (Status read = restore_vectors(state, {&iterate_, &average_}); !read) return read;
  // What the projection takes for granted of the iterate it is handed.
  if (settings_.problem.representable(iterate_) && settings_.problem.representable(average_)) return {};
  return Error{ErrorCode::Malformed, fmt::format("{}: a saved point is not finite", kLpSgd)};
}

std::uint64_t lp_sgd_theorem_rounds(std::uint64_t records, std::uint64_t silos) {
  const std::uint64_t all = saturating_product(records, silos);
  return saturating_product(all, all);
}

Result<LpSgdChoice> lp_sgd_theorem(const LpSgdFacts& facts) {
  UNDERTONE_TRY(check_lp_exponent(facts.norm));
  UNDERTONE_TRY(geometry::check_positive("the radius of an l_p ball", facts.radius));
  UNDERTONE_TRY(geometry::check_positive("L of noisy SGD over an l_p ball", facts.lipschitz));
  if (facts.dimension < 1 || facts.records < 1 || facts.silos < 1) {
    return lp_sgd_refusal(fmt::format("expected a dimension, records and silos, got {}, {} and {}", facts.dimension,
                                      facts.records, facts.silos));
  }
  const NoiseConditions conditions("Proposition 13",
                                   {number(facts.records), number(facts.records), facts.epsilon, facts.delta});
  if (Status fits = conditions.plausible(); !fits) return fits.error();
  const std::uint64_t rounds = lp_sgd_theorem_rounds(facts.records, facts.silos);
  if (rounds > releases::kRoundsMax) {
    return lp_sgd_refusal(
        fmt::format("the theorem has T = (n N)^2 = {} rounds for n = {} records of each of N = {} "
                    "silos, at most {} are run",
                    rounds, facts.records, facts.silos, releases::kRoundsMax));
  }
  const double all = number(facts.records) * number(facts.silos);
  const double private_part =
      std::sqrt(number(facts.silos) * static_cast<double>(facts.dimension) * conditions.log_one());
  LpSgdChoice out;
  out.rounds = rounds;
  out.diameter = l2_diameter_of_lp_ball(facts.norm, facts.radius, facts.dimension);
  out.step_size = out.diameter / (facts.lipschitz * all) * std::min(1.0 / std::sqrt(all), facts.epsilon / private_part);
  const double per_round = facts.lipschitz / (number(facts.records) * facts.epsilon);
  out.noise_variance = 8.0 * number(rounds) * per_round * per_round * conditions.log_one();
  return out;
}

}  // namespace undertone::algorithms
