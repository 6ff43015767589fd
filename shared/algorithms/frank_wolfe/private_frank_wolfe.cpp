#include "shared/algorithms/frank_wolfe/private_frank_wolfe.hpp"

#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/vertices_section.hpp"
#include "shared/config/section.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::algorithms {

std::string_view PrivateFrankWolfeSettings::name() const { return PrivateFrankWolfe::kName; }

std::string PrivateFrankWolfeSettings::source() const {
  return fmt::format(
      "private Frank-Wolfe over a polytope: Algorithm 4 of Talwar, Thakurta and Zhang 2014 for one silo, with steps "
      "2/(t+1); {}",
      choice->about());
}

MethodNumbers PrivateFrankWolfeSettings::numbers() const {
  MethodNumbers out = {{"iterates", number(iterates)}, {"vertices", static_cast<double>(vertices.count())}};
  if (const auto radius = vertices.l1_radius()) out.emplace_back("vertices_radius", *radius);
  if (const auto scale = vertices.simplex_scale()) out.emplace_back("vertices_scale", *scale);
  return out;
}

namespace {

const VertexChoice* parse_choice(config::Section& section) {
  std::vector<std::string_view> names;
  for (const VertexChoice* choice : vertex_choices()) names.push_back(choice->name());
  if (!section.has("choice")) return vertex_choices().front();
  return vertex_choices()[section.one_of(
      "choice", names,
      "of private_frank_wolfe: vote (default), every silo's own vertex, chosen within coordinate_bound; vector, the "
      "best for the mean of noised gradients, within clip_norm, which then bounds every coordinate")];
}

}  // namespace

ParsedMethod PrivateFrankWolfe::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t iterates = static_cast<std::uint64_t>(
      section.integer("iterates", 2, static_cast<std::int64_t>(releases::kRoundsMax) + 1,
                      "T: of T-1 steps 2/(t+1), each to a vertex or an extreme point of the domain"));
  geometry::Vertices vertices = parse_vertices(section.object("vertices",
                                                              "of private_frank_wolfe: among which every silo chooses; "
                                                              "of the constrained methods, where no domain names the "
                                                              "polytope: listed"),
                                               problem.dimension);
  return {PrivateFrankWolfeSettings{problem, std::move(vertices), iterates, parse_choice(section)}, 1.0};
}

Result<std::unique_ptr<PrivateFrankWolfe>> PrivateFrankWolfe::create(const PrivateFrankWolfeSettings& settings) {
  const Problem& problem = settings.problem;
  const geometry::Vertices& vertices = settings.vertices;
  if (vertices.dimension() != problem.dimension) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("private Frank-Wolfe: vertices of {} numbers, and a model of {}", vertices.dimension(),
                             problem.dimension)};
  }
  if (Status agrees = check_domain_of(vertices, problem.domain, "private Frank-Wolfe"); !agrees) return agrees.error();
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
  UNDERTONE_TRY(FrankWolfeIterate iterate, FrankWolfeIterate::create(vertices, settings.iterates, problem.start()));
  return std::unique_ptr<PrivateFrankWolfe>(
      new PrivateFrankWolfe(problem.point_type, *settings.choice, std::move(iterate)));
}

planning::Schedule PrivateFrankWolfe::schedule(const PrivateFrankWolfeSettings& settings, const GradientShape& shape) {
  return {{settings.choice->ask(shape, settings.vertices), settings.extent().rounds}};
}

Step PrivateFrankWolfe::current() const {
  return iterate_.finished() ? finished(candidate()) : ask_gradient(round(), candidate());
}

Result<Step> PrivateFrankWolfe::advance(const folds::Gathered& gathered) {
  if (gathered.round.value != round() || iterate_.finished()) {
    return Error{ErrorCode::Internal, fmt::format("private Frank-Wolfe stands at round {}, was told of round {}",
                                                  round(), gathered.round.value)};
  }
  UNDERTONE_TRY(const VertexTally votes, choice_->votes(gathered, iterate_.vertices()));
  if (Status moved = iterate_.advance(votes); !moved) return moved.error();
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
