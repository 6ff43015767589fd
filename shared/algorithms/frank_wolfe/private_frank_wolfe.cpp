#include "shared/algorithms/frank_wolfe/private_frank_wolfe.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/base/overloaded.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

using geometry::Vertices;

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

/// A problem is noted, and something harmless returned.
Vertices parse_vertices(config::Section section, const Problem& problem) {
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
  if (wanted(VertexKind::Listed)) points = parse_points(section, problem.dimension);
  section.finish();
  const Vertices harmless = Vertices::of_l1_ball(1, 1.0).value();
  if (section.recording()) return harmless;
  if (kind == VertexKind::Listed && !points) return harmless;
  const Result<Vertices> made = kind == VertexKind::L1Ball    ? Vertices::of_l1_ball(problem.dimension, radius)
                                : kind == VertexKind::Simplex ? Vertices::of_simplex(problem.dimension, scale)
                                                              : Vertices::listed(*points);
  if (made) return *made;
  section.problem(kind == VertexKind::Listed ? "points" : "kind", made.error().message);
  return harmless;
}

/// Whether the domain says where the vertices keep the model.
Status check_domain(const Vertices& vertices, const geometry::Domain& domain) {
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
      fmt::format("private Frank-Wolfe: the vertices say where the model lies, and the domain has to say the "
                  "same: expected {}, got {}{}",
                  expected, domain.name(), radius || scale ? "" : "; listed vertices have no name as a domain")};
}

}  // namespace

std::string_view PrivateFrankWolfeSettings::name() const { return PrivateFrankWolfe::kName; }

std::string PrivateFrankWolfeSettings::source() const {
  return "private Frank-Wolfe over a polytope: Algorithm 4 of Talwar, Thakurta and Zhang 2014 for one silo, with steps "
         "2/(t+1); of several silos the mean of the vertices that each chooses";
}

MethodNumbers PrivateFrankWolfeSettings::numbers() const {
  MethodNumbers out = {{"iterates", number(iterates)}, {"vertices", static_cast<double>(vertices.count())}};
  if (const auto radius = vertices.l1_radius()) out.emplace_back("vertices_radius", *radius);
  if (const auto scale = vertices.simplex_scale()) out.emplace_back("vertices_scale", *scale);
  return out;
}

MethodTraits PrivateFrankWolfeSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.bounded_in = MethodTraits::BoundedIn::EveryCoordinate;
  traits.linear_models = true;
  return traits;
}

ParsedMethod PrivateFrankWolfe::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t iterates =
      static_cast<std::uint64_t>(section.integer("iterates", 2, static_cast<std::int64_t>(releases::kRoundsMax) + 1,
                                                 "T: a vertex is chosen T-1 times, with steps 2/(t+1)"));
  geometry::Vertices vertices =
      parse_vertices(section.object("vertices", "of private_frank_wolfe: among which every silo chooses"), problem);
  return {PrivateFrankWolfeSettings{problem, std::move(vertices), iterates}, 1.0};
}

Result<std::unique_ptr<PrivateFrankWolfe>> PrivateFrankWolfe::create(const PrivateFrankWolfeSettings& settings) {
  const Problem& problem = settings.problem;
  const geometry::Vertices& vertices = settings.vertices;
  if (vertices.dimension() != problem.dimension) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("private Frank-Wolfe: vertices of {} numbers, and a model of {}", vertices.dimension(),
                             problem.dimension)};
  }
  if (Status agrees = check_domain(vertices, problem.domain); !agrees) return agrees.error();
  if (!problem.regulariser.is_none()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("private Frank-Wolfe: silos choose by their losses alone: expected no regulariser, got {}",
                             problem.regulariser.name())};
  }
  const std::uint64_t candidates =
      saturating_product(settings.extent().rounds, static_cast<std::uint64_t>(vertices.count()));
  if (candidates > kCandidatesMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("private Frank-Wolfe: {} choices among {} vertices: a run has at most {} candidates",
                             settings.extent().rounds, vertices.count(), kCandidatesMax)};
  }
  Result<FrankWolfeIterate> iterate = FrankWolfeIterate::create(vertices, settings.iterates, problem.start());
  if (!iterate) return iterate.error();
  return std::unique_ptr<PrivateFrankWolfe>(new PrivateFrankWolfe(problem.point_type, *std::move(iterate)));
}

planning::Schedule PrivateFrankWolfe::schedule(const PrivateFrankWolfeSettings& settings, const GradientShape& shape) {
  return {{shape.selection(settings.vertices), settings.extent().rounds}};
}

Step PrivateFrankWolfe::current() const {
  return iterate_.finished() ? finished(candidate()) : ask_gradient(round(), candidate());
}

Result<Step> PrivateFrankWolfe::advance(const folds::Gathered& gathered) {
  const auto* tally = std::get_if<folds::Tally>(&gathered.value);
  if (gathered.round.value != round() || iterate_.finished() || tally == nullptr) {
    return Error{ErrorCode::Internal,
                 fmt::format("private Frank-Wolfe stands at round {}, was told {} of round {}", round(),
                             tally == nullptr ? "a mean" : "votes", gathered.round.value)};
  }
  if (Status moved = iterate_.advance(tally->votes); !moved) return moved.error();
  return current();
}

Eigen::VectorXd PrivateFrankWolfe::candidate() const {
  Eigen::VectorXd out = iterate_.point();
  queries::round_to(point_type_, out);
  return out;
}

void PrivateFrankWolfe::save(ByteWriter& state) const {
  state.u64(iterate_.at());
  save_vectors(state, {&iterate_.point()});
}

Status PrivateFrankWolfe::restore(ByteReader& state) {
  std::uint64_t at = 0;
  if (Status read = restore_count(state, iterate_.iterates(), at); !read) return read;
  Eigen::VectorXd point = iterate_.point();
  if (Status read = restore_vectors(state, {&point}); !read) return read;
  Result<FrankWolfeIterate> restored =
      FrankWolfeIterate::create(iterate_.vertices(), iterate_.iterates(), std::move(point), at);
  if (!restored) return Error{ErrorCode::Malformed, restored.error().message};
  iterate_ = *std::move(restored);
  return {};
}

}  // namespace undertone::algorithms
