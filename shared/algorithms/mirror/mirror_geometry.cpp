#include "shared/algorithms/mirror/mirror_geometry.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/overloaded.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

using geometry::MirrorMap;

enum class Potential : std::uint8_t { PNorm, Entropy, Euclidean };

Error no_prox(std::string_view potential, const Problem& problem, std::string_view has) {
  return {ErrorCode::InvalidArgument, fmt::format("{} has no exact proximal step over {}: it has one over {}",
                                                  potential, problem.domain.name(), has)};
}

Result<MirrorMap> entropy_over(const Problem& problem) {
  const auto made = [](const auto& map) -> Result<MirrorMap> {
    if (!map) return map.error();
    return MirrorMap(*map);
  };
  if (const auto* simplex = std::get_if<geometry::Simplex>(&problem.domain.set()))
    return made(geometry::EntropyMap::create(simplex->scale, problem.dimension));
  if (const auto* ball = std::get_if<geometry::L1Ball>(&problem.domain.set()))
    return made(geometry::LiftedEntropyMap::create(ball->radius, problem.dimension));
  return no_prox("the entropy", problem, "the simplex and the l1 ball");
}

/// @param radius of the potential's own ball, where the domain is the whole space
Result<MirrorMap> p_norm_over(const Problem& problem, double norm, std::optional<double> radius) {
  using Set = geometry::PNormMap::Set;
  if (radius && !std::holds_alternative<geometry::WholeSpace>(problem.domain.set())) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a ball of the potential's own norm is a set by itself: expected the domain whole_space "
                             "beside its radius, got {}",
                             problem.domain.name())};
  }
  const std::optional<Set> set =
      std::visit(Overloaded{[&](const geometry::WholeSpace& whole) -> std::optional<Set> {
                              return radius ? Set(geometry::SameNormBall{*radius}) : Set(whole);
                            },
                            [](const geometry::L1Ball& ball) -> std::optional<Set> { return Set(ball); },
                            [](const geometry::Simplex& simplex) -> std::optional<Set> { return Set(simplex); },
                            [](const auto& /*other*/) -> std::optional<Set> { return std::nullopt; }},
                 problem.domain.set());
  if (!set)
    return no_prox("the p-norm potential", problem, "the whole space, its own ball, the l1 ball and the simplex");
  UNDERTONE_TRY(const geometry::PNormMap map, geometry::PNormMap::create(norm, *set, problem.dimension));
  return MirrorMap(map);
}

}  // namespace

MirrorMap parse_mirror_map(config::Section section, const Problem& problem) {
  const auto potential = section.choice<Potential>(
      "potential", {{"p_norm", Potential::PNorm}, {"entropy", Potential::Entropy}, {"euclidean", Potential::Euclidean}},
      "of mirror descent: half the square of a p-norm (over whole_space, l1_ball, simplex), the entropy (over simplex "
      "and, by its vertices' weights, l1_ball), half the square of the l2 norm (over every domain)");
  double norm = 1.0;
  std::optional<double> radius;
  if (potential == Potential::PNorm || section.recording()) {
    norm = section.number("norm", 1.0, 2.0,
                          "of p_norm: p of the norm l_p in which points are apart; records' gradients are then clipped "
                          "in l_q, 1/p + 1/q = 1. Below 1 + 1/log2 d the potential takes that exponent");
    if (section.has("radius"))
      radius =
          section.number("radius", 0.0, geometry::kParameterMax,
                         "of p_norm with the domain whole_space: keeps the model in the ball of the potential's own "
                         "norm",
                         true);
  }
  section.finish();
  // Fits the problem, so that nothing else is said of a potential that is none.
  MirrorMap harmless(geometry::EuclideanMap(problem.domain, std::max<Eigen::Index>(problem.dimension, 1)));
  if (section.recording() || problem.dimension < 1) return harmless;
  const Result<MirrorMap> made =
      potential == Potential::Entropy ? entropy_over(problem)
      : potential == Potential::PNorm
          ? p_norm_over(problem, norm, radius)
          : Result<MirrorMap>(MirrorMap(geometry::EuclideanMap(problem.domain, problem.dimension)));
  if (made) return *made;
  section.problem("potential", made.error().message);
  return harmless;
}

double dual_exponent(const MirrorMap& map) {
  const std::optional<double> norm = map.norm_exponent();
  return norm ? geometry::conjugate_exponent(*norm) : 2.0;
}

Status check_mirror_problem(std::string_view algorithm, const MirrorMap& map, const Problem& problem) {
  if (map.dimension() != problem.dimension) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: a potential of {} numbers, and a model of {}", algorithm,
                                                         map.dimension(), problem.dimension)};
  }
  if (problem.initial.size() != 0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} starts at the least point of its potential, {}: expected no other start", algorithm,
                             map.name())};
  }
  if (!problem.regulariser.is_smooth()) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {} is not smooth, and no proximal step has it", algorithm,
                                                         problem.regulariser.name())};
  }
  return {};
}

Eigen::VectorXd mirror_point(const MirrorMap& map, const Problem& problem, const Eigen::VectorXd& state) {
  Eigen::VectorXd out = map.point(state);
  queries::round_to(problem.point_type, out);
  return out;
}

double noise_norm_squared(double exponent, Eigen::Index dimension, double variance) {
  const double d = static_cast<double>(dimension);
  if (std::isinf(exponent)) return 2.0 * variance * (1.0 + std::log(d));
  return variance * std::pow(d, 2.0 / exponent) * std::max(1.0, exponent - 1.0);
}

double noisy_gradient_squared(double exponent, Eigen::Index dimension, double norm, double variance) {
  const double noise = noise_norm_squared(exponent, dimension, variance);
  if (exponent == 2.0) return norm * norm + noise;
  const double both = norm + std::sqrt(noise);
  return both * both;
}

}  // namespace undertone::algorithms
