#include "shared/algorithms/frank_wolfe/private_frank_wolfe.hpp"

#include <algorithm>
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

Extent PrivateFrankWolfeSettings::extent() const {
  const std::uint64_t steps = iterates == 0 ? 0 : iterates - 1;
  const std::uint64_t rounds = saturating_product(steps, choice->rounds());
  return {rounds, choice->rounds() == 1 ? 1 : rounds};
}

namespace {

const VertexChoice* parse_choice(config::Section& section) {
  std::vector<std::string_view> names;
  for (const VertexChoice* choice : vertex_choices()) names.push_back(choice->name());
  if (!section.has("choice")) return vertex_choices().front();
  return vertex_choices()[section.one_of(
      "choice", names,
      "of private_frank_wolfe: vote (default), every silo's own vertex, chosen within coordinate_bound; vector, the "
      "best for the mean of noised gradients, within clip_norm, which then bounds every coordinate; scores, the best "
      "for the mean of all vertices' noised scores; nominate, the best so of those that silos vote for, in two "
      "rounds")];
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
  const std::uint64_t stages = settings.choice->rounds();
  constexpr std::uint64_t kEntriesMax = 4000;  // of a schedule that alternates
  if (stages > 1 && settings.extent().rounds > kEntriesMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("private Frank-Wolfe: {} steps of {} rounds, at most {} rounds of different kinds are "
                             "planned",
                             settings.iterates - 1, stages, kEntriesMax)};
  }
  return std::unique_ptr<PrivateFrankWolfe>(new PrivateFrankWolfe(settings, std::move(iterate)));
}

PrivateFrankWolfe::PrivateFrankWolfe(const PrivateFrankWolfeSettings& settings, FrankWolfeIterate iterate)
    : point_type_(settings.problem.point_type),
      choice_(settings.choice),
      silos_(settings.problem.silos),
      iterate_(std::move(iterate)),
      nominated_(choice_->candidates(iterate_.vertices())) {}

std::size_t PrivateFrankWolfe::asked_about() const {
  return std::min<std::size_t>(silos_, static_cast<std::size_t>(iterate_.vertices().count()));
}

planning::Schedule PrivateFrankWolfe::schedule(const PrivateFrankWolfeSettings& settings, const GradientShape& shape) {
  const auto ask = [&](std::uint64_t round) {
    return settings.choice->ask(shape, settings.vertices, round, settings.problem.silos);
  };
  const std::uint64_t stages = settings.choice->rounds();
  if (stages == 1) return {{ask(0), settings.extent().rounds}};
  planning::Schedule out;
  for (std::uint64_t step = 1; step < settings.iterates; ++step)
    for (std::uint64_t round = 0; round < stages; ++round) out.push_back({ask(round), 1});
  return out;
}

Step PrivateFrankWolfe::current() const {
  if (iterate_.finished()) return finished(candidate());
  return queries::Query{RoundIndex{round()}, choice_->question(candidate(), nominated_, of_step_)};
}

Result<Step> PrivateFrankWolfe::advance(const folds::Gathered& gathered) {
  if (gathered.round.value != round() || iterate_.finished()) {
    return Error{ErrorCode::Internal, fmt::format("private Frank-Wolfe stands at round {}, was told of round {}",
                                                  round(), gathered.round.value)};
  }
  UNDERTONE_TRY(const VertexTally votes, choice_->votes(gathered, iterate_.vertices(), nominated_, of_step_));
  if (of_step_ + 1 < choice_->rounds()) {
    // In the order of their numbers, the first again where silos agreed: what is asked has one size.
    if (votes.empty()) return Error{ErrorCode::Internal, "private Frank-Wolfe: nobody nominated a vertex"};
    nominated_.clear();
    for (const auto& [vertex, weight] : votes)
      if (nominated_.size() < asked_about()) nominated_.push_back(vertex);
    nominated_.resize(asked_about(), nominated_.front());
    ++of_step_;
    return current();
  }
  if (Status moved = iterate_.advance(votes); !moved) return moved.error();
  of_step_ = 0;
  nominated_ = choice_->candidates(iterate_.vertices());
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
  if (choice_->rounds() == 1) return;
  state.u64(of_step_);
  if (of_step_ > 0)
    for (const Eigen::Index vertex : nominated_) state.u64(static_cast<std::uint64_t>(vertex));
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
  if (choice_->rounds() == 1) return {};
  UNDERTONE_TRY(restore_count(state, choice_->rounds() - 1, of_step_));
  nominated_ = choice_->candidates(iterate_.vertices());
  if (of_step_ == 0) return {};
  nominated_.assign(asked_about(), 0);
  for (Eigen::Index& vertex : nominated_) {
    std::uint64_t saved = 0;
    UNDERTONE_TRY(restore_count(state, static_cast<std::uint64_t>(iterate_.vertices().count()) - 1, saved));
    vertex = static_cast<Eigen::Index>(saved);
  }
  return {};
}

}  // namespace undertone::algorithms
