#include "shared/algorithms/problem.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

constexpr double kNarrowMax = std::numeric_limits<float>::max();
constexpr double kWideMax = std::numeric_limits<double>::max();

}  // namespace

Eigen::VectorXd Problem::start() const {
  Eigen::VectorXd point = initial.size() != 0 ? initial : domain.a_point(dimension);
  queries::round_to(point_type, point);
  return point;
}

Status Problem::start_at(Eigen::VectorXd point) {
  const auto refuse = [](std::string what) { return Error{ErrorCode::InvalidArgument, std::move(what)}; };
  if (point.size() != dimension || dimension == 0)
    return refuse(fmt::format("expected {} numbers, one for each of the model, got {}", dimension, point.size()));
  if (!point.allFinite()) return refuse("expected finite numbers");
  if (!representable(point)) {
    return refuse(fmt::format("expected numbers of at most {:.6g} and a finite norm, got one of {:.6g}",
                              point_type == queries::PointType::F32 ? kNarrowMax : kWideMax,
                              point.cwiseAbs().maxCoeff()));
  }
  if (const double largest = point.cwiseAbs().maxCoeff(); largest > geometry::kParameterMax)
    return refuse(fmt::format("expected numbers of at most {}, got one of {:.6g}", geometry::kParameterMax, largest));
  // An iterate is projected, then rounded to the wire's type: f32 moves a number by 2^-24 of itself at most.
  const double allowed = 0x1p-22 * point.stableNorm();
  Eigen::VectorXd nearest = point;
  domain.project(nearest);
  const double outside = (point - nearest).stableNorm();
  if (!(outside <= allowed)) {
    return refuse(fmt::format("expected a point of {}, up to rounding by {:.3g}, got one at a distance of {:.6g}",
                              domain.name(), allowed, outside));
  }
  initial = std::move(point);
  return {};
}

void Problem::start_near(Eigen::VectorXd point) {
  UNDERTONE_CHECK(point.size() == dimension);
  domain.project(point);
  initial = std::move(point);
}

void Problem::settle(Eigen::VectorXd& point) const {
  domain.project(point);
  queries::round_to(point_type, point);
}

bool Problem::representable(const Eigen::VectorXd& point) const {
  if (!geometry::has_finite_norm(point)) return false;
  return point_type == queries::PointType::F64 || point.cwiseAbs().maxCoeff() <= kNarrowMax;
}

const releases::ClipNorm& GradientShape::clip() const {
  const releases::ClipNorm* clip = releases::l2_clip_of(bound);
  UNDERTONE_CHECK(clip != nullptr);
  return *clip;
}

namespace {

/// What a difference of two contributions is within.
releases::Bound twice(const releases::Bound& bound, std::optional<double> smoothness) {
  if (const auto* dual = std::get_if<releases::DualBound>(&bound)) {
    releases::DualBound out = dual->times(2.0);
    out.smoothness = smoothness;
    return out;
  }
  const auto* l2 = std::get_if<releases::L2Bound>(&bound);
  UNDERTONE_CHECK(l2 != nullptr);
  return releases::L2Bound{*releases::ClipNorm::create(2.0 * l2->clip.value()), smoothness};
}

}  // namespace

releases::Ask GradientShape::gradient(Eigen::Index dimension, std::optional<releases::Slice> slice,
                                      std::size_t phase) const {
  if (slice) slice->assignment = parts;
  UNDERTONE_CHECK(releases::l2_clip_of(bound) != nullptr);
  releases::Ask ask{
      releases::GradientMap{}, {releases::Block::Training, draw_fraction, slice, with_replacement}, bound, dimension};
  if (ask.groups() > 1 && !slice) ask.records.slice = releases::Slice{.of = 1};  // groups are parts of a permutation
  if (!gradient_shifts.empty()) ask.shift = gradient_shifts[std::min(phase, gradient_shifts.size() - 1)];
  ask.form = releases::SumForm{noise_norm};
  ask.beside_public = beside_public;
  return ask;
}

releases::Ask GradientShape::local_run(Eigen::Index dimension, const releases::LocalSteps& steps) const {
  releases::Ask ask{releases::LocalRunMap{steps}, {}, releases::L2Bound{clip()}, dimension};
  if (!gradient_shifts.empty()) ask.shift = gradient_shifts.front();
  return ask;
}

releases::Ask GradientShape::difference(Eigen::Index dimension, std::optional<double> smoothness) const {
  releases::Ask ask{releases::GradientDifferenceMap{},
                    {releases::Block::Training, draw_fraction, {}, with_replacement},
                    twice(bound, smoothness),
                    dimension};
  ask.shift = difference_shift;
  ask.form = releases::SumForm{noise_norm};
  ask.beside_public = beside_public;
  return ask;
}

releases::Ask GradientShape::selection(const geometry::Vertices& candidates) const {
  UNDERTONE_CHECK(std::holds_alternative<releases::MaxBound>(bound));
  return {releases::GradientMap{}, {}, bound, candidates.dimension(), releases::SelectionForm{candidates}};
}

}  // namespace undertone::algorithms
