#include "shared/algorithms/sgd/strongly_convex_sgd.hpp"

#include <cmath>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kStronglyConvex = "strongly convex SGD";

}  // namespace

WeighedStep weighed_step(std::uint64_t round, std::uint64_t rounds, double smoothness, double strong_convexity) {
  const double condition = smoothness / strong_convexity;
  const double last = number(rounds) - 1.0;
  // (1 - mu/(2 beta))^(T - t), the last one being 1.
  if (last <= 2.0 * condition)
    return {1.0 / smoothness, std::exp(std::log1p(-0.5 / condition) * (last - number(round)))};
  const double late = number(round) - std::ceil(0.5 * last);
  if (late < 0.0) return {1.0 / smoothness, 0.0};
  const double whole = 4.0 * condition + last - std::ceil(0.5 * last);
  const double share = (4.0 * condition + late) / whole;
  return {4.0 / (strong_convexity * (4.0 * condition + late)), share * share};
}

std::string_view StronglyConvexSgdSettings::name() const { return StronglyConvexSgd::kName; }

MethodNumbers StronglyConvexSgdSettings::numbers() const {
  return {{"rounds", number(rounds)}, {"smoothness", smoothness}, {"strong_convexity", strong_convexity}};
}

ParsedMethod StronglyConvexSgd::parse(config::Section& section, const Problem& problem) {
  StronglyConvexSgdSettings settings{problem, keys::rounds(section)};
  settings.smoothness = section.number("smoothness", keys::kNumberMin, keys::kNumberMax,
                                       "of strongly_convex_sgd: beta of the objective, its regulariser included");
  settings.strong_convexity =
      section.number("strong_convexity", keys::kNumberMin, keys::kNumberMax,
                     "of strongly_convex_sgd: mu of the objective, its regulariser included, at most beta");
  if (!section.recording() && settings.strong_convexity > settings.smoothness)
    section.problem("strong_convexity", fmt::format("expected at most the smoothness {}, got {}", settings.smoothness,
                                                    settings.strong_convexity));
  return {settings};
}

Result<std::unique_ptr<StronglyConvexSgd>> StronglyConvexSgd::create(const StronglyConvexSgdSettings& settings) {
  const auto refuse = [](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", kStronglyConvex, what)};
  };
  if (settings.rounds == 0) return refuse("no rounds");
  UNDERTONE_TRY(geometry::check_positive("beta of strongly convex SGD", settings.smoothness));
  UNDERTONE_TRY(geometry::check_positive("mu of strongly convex SGD", settings.strong_convexity));
  if (settings.strong_convexity > settings.smoothness)
    return refuse(
        fmt::format("mu must be at most beta, got {} and {}", settings.strong_convexity, settings.smoothness));
  if (!settings.problem.regulariser.is_smooth()) {
    return refuse(fmt::format("{} is not smooth: use a proximal algorithm", settings.problem.regulariser.name()));
  }
  return std::unique_ptr<StronglyConvexSgd>(new StronglyConvexSgd(settings));
}

StronglyConvexSgd::StronglyConvexSgd(const StronglyConvexSgdSettings& settings)
    : settings_(settings),
      iterate_(settings_.problem.start()),
      average_(Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule StronglyConvexSgd::schedule(const StronglyConvexSgdSettings& settings, const GradientShape& shape) {
  planning::Schedule out;
  for (std::uint64_t t = 0; t < settings.rounds; ++t) {
    const releases::Slice part{releases::Slice::Cut::Equal, t, settings.rounds};
    out.push_back({shape.gradient(settings.problem.dimension, part), 1});
  }
  return out;
}

Step StronglyConvexSgd::current() const {
  return round_ < settings_.rounds ? ask_gradient(round_, iterate_) : finished(candidate());
}

Result<Step> StronglyConvexSgd::advance(const folds::Gathered& gathered) {
  UNDERTONE_TRY(check_told(kStronglyConvex, round_, settings_.rounds, settings_.problem, gathered));
  const WeighedStep step = weighed_step(round_, settings_.rounds, settings_.smoothness, settings_.strong_convexity);
  Eigen::VectorXd gradient = gathered.mean();
  settings_.problem.regulariser.add_smooth_gradient(iterate_, gradient);
  iterate_ -= step.step_size * gradient;
  UNDERTONE_TRY(check_converges(kStronglyConvex, round_, settings_.problem, iterate_));
  settings_.problem.settle(iterate_);
  if (step.weight > 0.0) {
    weights_ += step.weight;
    average_ += (step.weight / weights_) * (iterate_ - average_);
  }
  ++round_;
  return current();
}

Eigen::VectorXd StronglyConvexSgd::candidate() const {
  if (weights_ == 0.0) return iterate_;
  Eigen::VectorXd out = average_;
  queries::round_to(settings_.problem.point_type, out);
  return out;
}

void StronglyConvexSgd::save(ByteWriter& state) const {
  state.u64(round_);
  state.f64(weights_);
  save_vectors(state, {&iterate_, &average_});
}

Status StronglyConvexSgd::restore(ByteReader& state) {
  UNDERTONE_TRY(restore_count(state, settings_.rounds, round_));
  UNDERTONE_TRY(const double weights, state.f64());
  if (!(weights >= 0.0 && std::isfinite(weights)))
    return Error{ErrorCode::Malformed, fmt::format("weights that add up to {}", weights)};
  weights_ = weights;
  return restore_vectors(state, {&iterate_, &average_});
}

}  // namespace undertone::algorithms
