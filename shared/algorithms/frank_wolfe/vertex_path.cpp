#include "shared/algorithms/frank_wolfe/vertex_path.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/vertices_section.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {

double l1_diameter(const geometry::Vertices& vertices) {
  return 0.5 * static_cast<double>(vertices.score_range(1)) * vertices.unit();
}

Step ask_path(std::uint64_t round, const std::vector<const Eigen::VectorXd*>& points) {
  Eigen::VectorXd all(static_cast<Eigen::Index>(points.size()) * points.front()->size());
  Eigen::Index at = 0;
  for (const Eigen::VectorXd* point : points) {
    all.segment(at, point->size()) = *point;
    at += point->size();
  }
  return queries::Query{RoundIndex{round}, queries::PathQuestion{std::move(all)}};
}

releases::Ask path_selection(const geometry::Vertices& vertices, std::vector<releases::PathNode> nodes,
                             const releases::Slice& hull) {
  const auto widest = std::max_element(nodes.begin(), nodes.end(),
                                       [](const auto& a, const auto& b) { return a.bound.value() < b.bound.value(); });
  const releases::MaxBound most{widest->bound};
  return {releases::PathMap{std::move(nodes)},
          {releases::Block::Training, 1.0, hull},
          most,
          vertices.dimension(),
          releases::SelectionForm{vertices}};
}

Status step_to_selected(std::string_view method, const folds::Gathered& gathered, std::uint64_t round,
                        const geometry::Vertices& vertices, double step, Eigen::VectorXd& iterate) {
  const auto* tally = std::get_if<folds::Tally>(&gathered.value);
  if (tally == nullptr || gathered.round.value != round) {
    return Error{ErrorCode::Internal, fmt::format("{} stands at round {} and counts votes, was told of round {}",
                                                  method, round, gathered.round.value)};
  }
  double total = 0.0;
  for (const auto& [vertex, weight] : tally->votes) {
    if (vertex < 0 || vertex >= vertices.count() || !(weight > 0.0))
      return Error{ErrorCode::Internal,
                   fmt::format("{}: a vote for vertex {} of {}", method, vertex, vertices.count())};
    total += weight;
  }
  if (!(total > 0.0)) return Error{ErrorCode::Internal, fmt::format("{}: nobody voted", method)};
  iterate *= 1.0 - step;
  for (const auto& [vertex, weight] : tally->votes) vertices.add_scaled(vertex, step * (weight / total), iterate);
  return {};
}

MethodTraits path_traits(double smoothness) {
  MethodTraits traits;
  traits.shuffled = false;
  traits.bounded_in = MethodTraits::BoundedIn::EveryCoordinate;
  traits.clip_exponent = std::numeric_limits<double>::infinity();
  traits.linear_models = true;
  traits.smoothness = smoothness;
  return traits;
}

Status check_shortest_difference(std::string_view method, double smoothness, double shortest) {
  if (smoothness * shortest >= kTermBoundMin) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{}: a smoothness of {} over a distance of {} bounds differences by less than {}", method,
                           smoothness, shortest, kTermBoundMin)};
}

Status check_path_problem(std::string_view method, const geometry::Vertices& vertices, double smoothness,
                          double shortest, const Problem& problem) {
  const auto refuse = [&](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", method, what)};
  };
  UNDERTONE_TRY(geometry::check_positive(fmt::format("the smoothness of {}", method), smoothness));
  UNDERTONE_TRY(check_shortest_difference(method, smoothness, shortest));
  if (vertices.dimension() != problem.dimension)
    return refuse(fmt::format("vertices of {} numbers, and a model of {}", vertices.dimension(), problem.dimension));
  if (!problem.regulariser.is_none())
    return refuse(
        fmt::format("silos choose by their losses alone: expected no regulariser, got {}", problem.regulariser.name()));
  return check_domain_of(vertices, problem.domain, method);
}

const releases::CoordinateBound& gradient_bound(const GradientShape& shape) {
  const auto* most = std::get_if<releases::MaxBound>(&shape.bound);
  UNDERTONE_CHECK(most != nullptr);
  return most->bound;
}

releases::CoordinateBound difference_bound(const GradientShape& shape, double smoothness, double distance) {
  // A method's settings see to the second; a bound on gradients that vanishes leaves the least.
  const double most = std::min(2.0 * gradient_bound(shape).value(), smoothness * distance);
  return *releases::CoordinateBound::create(std::max(most, kTermBoundMin));
}

void save_path(ByteWriter& state, const Eigen::VectorXd& iterate, const std::vector<Eigen::VectorXd>& points) {
  save_vectors(state, {&iterate});
  for (const Eigen::VectorXd& point : points) save_vectors(state, {&point});
}

Status restore_path(ByteReader& state, Eigen::VectorXd& iterate, std::vector<Eigen::VectorXd>& points) {
  if (Status read = restore_vectors(state, {&iterate}); !read) return read;
  for (Eigen::VectorXd& point : points)
    if (Status read = restore_vectors(state, {&point}); !read) return read;
  return {};
}

}  // namespace undertone::algorithms
