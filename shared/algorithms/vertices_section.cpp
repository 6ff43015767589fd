#include "shared/algorithms/vertices_section.hpp"

#include <optional>
#include <vector>

#include "shared/base/overloaded.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {

using geometry::Vertices;

namespace {

enum class VertexKind : std::uint8_t { L1Ball, Simplex, Listed };

/// The vertices that stand in the job, one a column. @return nothing where a problem was noted
std::optional<Eigen::MatrixXd> parse_points(config::Section& section, Eigen::Index dimension) {
  const std::vector<std::vector<double>> points =
      section.number_lists("points", "of listed: the vertices, each with a number for each of the model");
  for (std::size_t j = 0; j < points.size(); ++j) {
    if (static_cast<Eigen::Index>(points[j].size()) == dimension) continue;
    section.problem(fmt::format("points/{}", j),
                    fmt::format("expected {} numbers, one for each of the model, got {}", dimension, points[j].size()));
    return std::nullopt;
  }
  // As many numbers as the job wrote, so no more than its bytes: nothing larger is asked of memory.
  Eigen::MatrixXd out(dimension, static_cast<Eigen::Index>(points.size()));
  for (std::size_t j = 0; j < points.size(); ++j) {
    out.col(static_cast<Eigen::Index>(j)) = Eigen::Map<const Eigen::VectorXd>(points[j].data(), dimension);
  }
  return out;
}

}  // namespace

Vertices parse_vertices(config::Section section, Eigen::Index dimension) {
  const auto kind = section.choice<VertexKind>(
      "kind", {{"l1_ball", VertexKind::L1Ball}, {"simplex", VertexKind::Simplex}, {"listed", VertexKind::Listed}},
      "the polytope that the model lies in, by its vertices; domain says the same, and whole_space of listed");
  const auto wanted = [&](VertexKind one) { return section.recording() || kind == one; };
  double radius = 1.0;
  double scale = 1.0;
  std::optional<Eigen::MatrixXd> points;
  if (wanted(VertexKind::L1Ball))
    radius = section.number("radius", 0.0, geometry::kParameterMax, "of l1_ball: vertices +-radius e_j", true);
  if (wanted(VertexKind::Simplex))
    scale = section.number("scale", 0.0, geometry::kParameterMax, "of simplex: vertices scale e_j", true);
  if (wanted(VertexKind::Listed)) points = parse_points(section, dimension);
  section.finish();
  const Vertices harmless = Vertices::of_l1_ball(1, 1.0).value();
  if (section.recording()) return harmless;
  if (kind == VertexKind::Listed && !points) return harmless;
  const Result<Vertices> made = kind == VertexKind::L1Ball    ? Vertices::of_l1_ball(dimension, radius)
                                : kind == VertexKind::Simplex ? Vertices::of_simplex(dimension, scale)
                                                              : Vertices::listed(*points);
  if (made) return *made;
  section.problem(kind == VertexKind::Listed ? "points" : "kind", made.error().message);
  return harmless;
}

Status check_domain_of(const Vertices& vertices, const geometry::Domain& domain, std::string_view method) {
  const std::optional<double> radius = vertices.l1_radius();
  const std::optional<double> scale = vertices.simplex_scale();
  const bool agrees = std::visit(Overloaded{[&](const geometry::WholeSpace& /*set*/) { return !radius && !scale; },
                                            [&](const geometry::L1Ball& ball) { return radius == ball.radius; },
                                            [&](const geometry::Simplex& simplex) { return scale == simplex.scale; },
                                            [](const auto& /*other*/) { return false; }},
                                 domain.set());
  if (agrees) return {};
  const std::string expected = radius  ? fmt::format("the l1 ball of radius {}", *radius)
                               : scale ? fmt::format("the simplex of scale {}", *scale)
                                       : std::string("the whole space");
  return Error{
      ErrorCode::InvalidArgument,
      fmt::format(
          "{}: the vertices say where the model lies, and the domain has to say the same: expected {}, got {}{}",
          method, expected, domain.name(), radius || scale ? "" : "; listed vertices have no name as a domain")};
}

}  // namespace undertone::algorithms
