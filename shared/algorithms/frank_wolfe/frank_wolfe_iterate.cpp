#include "shared/algorithms/frank_wolfe/frank_wolfe_iterate.hpp"

#include <cmath>
#include <utility>

#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

/// The weight of all votes.
Result<double> total_weight(const VertexTally& votes, Eigen::Index vertices) {
  double total = 0.0;
  for (const auto& [vertex, weight] : votes) {
    if (vertex < 0 || vertex >= vertices) {
      return Error{ErrorCode::InvalidArgument, fmt::format("a vote for vertex {} of {}", vertex, vertices)};
    }
    if (!(std::isfinite(weight) && weight > 0.0)) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("votes for vertex {} must weigh more than 0, got {}", vertex, weight)};
    }
    total += weight;
  }
  if (!(std::isfinite(total) && total > 0.0)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{} votes weigh {} together", votes.size(), total)};
  }
  return total;
}

}  // namespace

Result<FrankWolfeIterate> FrankWolfeIterate::create(geometry::Vertices vertices, std::uint64_t iterates,
                                                    Eigen::VectorXd point, std::uint64_t at) {
  if (iterates < 2 || iterates > kIteratesMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("Frank-Wolfe has from 2 to {} iterates, got {}", kIteratesMax, iterates)};
  }
  if (at < 1 || at > iterates) {
    return Error{ErrorCode::InvalidArgument, fmt::format("iterate {} of {} does not exist", at, iterates)};
  }
  if (point.size() != vertices.dimension() || !geometry::has_finite_norm(point)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("an iterate of Frank-Wolfe has {} finite coordinates, got {}, {}", vertices.dimension(),
                             point.size(), point.allFinite() ? "all finite" : "some not finite")};
  }
  return FrankWolfeIterate(std::move(vertices), iterates, std::move(point), at);
}

Status FrankWolfeIterate::advance(const VertexTally& votes) {
  if (finished()) {
    return Error{ErrorCode::InvalidArgument, fmt::format("all {} iterates of Frank-Wolfe are done", iterates_)};
  }
  UNDERTONE_TRY(const double total, total_weight(votes, vertices_.count()));
  const double step = step_size(at_);
  point_ *= 1.0 - step;
  for (const auto& [vertex, weight] : votes) vertices_.add_scaled(vertex, step * (weight / total), point_);
  ++at_;
  return {};
}

}  // namespace undertone::algorithms
