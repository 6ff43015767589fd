#include "shared/algorithms/mirror/frank_wolfe_section.hpp"

#include <optional>

#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {

using geometry::FrankWolfeSet;

namespace {

constexpr double kStartTolerance = 1e-6;  // of the set's size: as the wire's narrower type rounds

Result<FrankWolfeSet> set_of(const Problem& problem, double norm, std::optional<double> radius) {
  const auto* ball = std::get_if<geometry::L1Ball>(&problem.domain.set());
  const auto* simplex = std::get_if<geometry::Simplex>(&problem.domain.set());
  const bool whole = std::holds_alternative<geometry::WholeSpace>(problem.domain.set());
  if (radius && whole) return FrankWolfeSet::create(geometry::LpBall{norm, *radius}, norm, problem.dimension);
  if (!radius && ball != nullptr) return FrankWolfeSet::create(*ball, norm, problem.dimension);
  if (!radius && simplex != nullptr) return FrankWolfeSet::create(*simplex, norm, problem.dimension);
  return Error{ErrorCode::InvalidArgument,
               fmt::format("this Frank-Wolfe is over l1_ball, simplex, or whole_space with the radius of a ball of its "
                           "own norm; got {} and {}",
                           problem.domain.name(), radius ? "a radius" : "no radius")};
}

}  // namespace

FrankWolfeSet parse_frank_wolfe_set(config::Section& parent, const Problem& problem) {
  config::Section section = parent.object(
      "set", "of noisy_frank_wolfe, poly_frank_wolfe and tree_frank_wolfe: its norm, and the ball's radius");
  const double norm =
      section.number("norm", 1.0, 2.0,
                     "p of the norm l_p in which points are apart; records' gradients are then clipped in "
                     "l_q, 1/p + 1/q = 1");
  std::optional<double> radius;
  if (section.has("radius"))
    radius = section.number("radius", 0.0, geometry::kParameterMax,
                            "with the domain whole_space: of the ball of that norm that the model lies in", true);
  section.finish();
  const FrankWolfeSet harmless = FrankWolfeSet::create(geometry::L1Ball{1.0}, 1.0, 1).value();
  if (section.recording() || problem.dimension < 1) return harmless;
  const Result<FrankWolfeSet> made = set_of(problem, norm, radius);
  if (made) return *made;
  section.problem("norm", made.error().message);
  return harmless;
}

double parse_needed_smoothness(config::Section& section) {
  return section.number("smoothness", 0.0, keys::kNumberMax,
                        "a public beta: differences are clipped to beta times the distance of their points", true);
}

MethodTraits frank_wolfe_traits(const FrankWolfeSet& set, double smoothness) {
  MethodTraits traits;
  traits.shuffled = false;
  traits.clip_exponent = geometry::conjugate_exponent(set.norm_exponent());
  traits.linear_models = traits.clip_exponent > 2.0;
  traits.smoothness = smoothness;
  return traits;
}

Status check_frank_wolfe_problem(std::string_view algorithm, const FrankWolfeSet& set, double smoothness,
                                 const Problem& problem) {
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", algorithm, what)};
  };
  if (Status smooth = geometry::check_positive(fmt::format("the smoothness of {}", algorithm), smoothness); !smooth)
    return smooth;
  if (set.dimension() != problem.dimension)
    return refuse(fmt::format("a set of {} numbers, and a model of {}", set.dimension(), problem.dimension));
  if (!problem.regulariser.is_none()) {
    return refuse(fmt::format("its gradients are those of the silos alone: expected no regulariser, got {}",
                              problem.regulariser.name()));
  }
  if (!set.contains(problem.start(), kStartTolerance)) return refuse(fmt::format("it starts outside {}", set.name()));
  return {};
}

}  // namespace undertone::algorithms
