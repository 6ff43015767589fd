#include "shared/algorithms/frank_wolfe/staged_tree_frank_wolfe.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/mirror/frank_wolfe_section.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kStagedTree = "staged Frank-Wolfe on trees";

Error staged_tree_refusal(const std::string& what) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", kStagedTree, what)};
}

/// Points go as far from the start as all radii together.
double way_of_stages(const std::vector<TreeStage>& stages) {
  return std::accumulate(stages.begin(), stages.end(), 0.0,
                         [](double sum, const TreeStage& stage) { return sum + stage.radius; });
}

}  // namespace

TreeStageTiling tile_tree_stages(const std::vector<TreeStage>& stages) {
  constexpr double kGrain = 4.0;  // parts of the finest trees' own part
  double most = 0.0;              // parts of a first block that would have one unit to each part of the finest trees
  for (std::size_t i = 0; i < stages.size(); ++i)
    most = std::max(most, std::ldexp(number(tree_parts(stages[i].depth)), -static_cast<int>(i)));
  TreeStageTiling out;
  std::uint64_t common = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const double wanted = std::ldexp(kGrain * most, static_cast<int>(i)) / number(tree_parts(stages[i].depth));
    out.units.push_back(static_cast<std::uint64_t>(std::max(1.0, std::round(wanted))));
    common = std::gcd(common, out.units.back());
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    out.units[i] /= common;
    out.first.push_back(out.parts);
    out.parts += out.units[i] * tree_parts(stages[i].depth);
  }
  return out;
}

std::string_view StagedTreeFrankWolfeSettings::name() const { return StagedTreeFrankWolfe::kName; }

std::string StagedTreeFrankWolfeSettings::source() const {
  return "private Frank-Wolfe on binary trees in stages, Section 5 of Asi, Feldman, Koren and Talwar 2021, each silo "
         "selecting";
}

MethodNumbers StagedTreeFrankWolfeSettings::numbers() const {
  const bool sound = !stages.empty() && stages.size() <= kTreeStagesMax &&
                     std::all_of(stages.begin(), stages.end(), [](const TreeStage& stage) {
                       return stage.depth >= 1 && stage.depth <= kStageDepthMax;
                     });
  return {{"stages", number(stages.size())},
          {"rounds", number(extent().rounds)},
          {"parts", sound ? number(tile_tree_stages(stages).parts) : 0.0},
          {"smoothness", smoothness},
          {"radius of the last stage", stages.empty() ? 0.0 : stages.back().radius}};
}

Extent StagedTreeFrankWolfeSettings::extent() const {
  std::uint64_t rounds = 0;
  for (const TreeStage& stage : stages) rounds += tree_rounds(stage.depth);
  return {rounds, rounds};
}

ParsedMethod StagedTreeFrankWolfe::parse(config::Section& section, const Problem& problem) {
  StagedTreeFrankWolfeSettings settings{problem};
  settings.smoothness = parse_needed_smoothness(section);
  for (config::Section& one :
       section.objects("stages", 1, kTreeStagesMax,
                       "of staged_tree_frank_wolfe: each reads a block of twice the records of the one before")) {
    TreeStage stage;
    stage.depth = keys::count(one, "depth", "of staged_tree_frank_wolfe: phases of the stage's trees", kStageDepthMax);
    stage.radius = one.number("radius", 0.0, geometry::kParameterMax,
                              "of staged_tree_frank_wolfe: how far in l1 the stage may move", true);
    one.finish();
    settings.stages.push_back(stage);
  }
  return {settings};
}

Result<std::unique_ptr<StagedTreeFrankWolfe>> StagedTreeFrankWolfe::create(
    const StagedTreeFrankWolfeSettings& settings) {
  if (settings.stages.empty() || settings.stages.size() > kTreeStagesMax)
    return staged_tree_refusal(fmt::format("from 1 to {} stages, got {}", kTreeStagesMax, settings.stages.size()));
  UNDERTONE_TRY(geometry::check_positive(fmt::format("the smoothness of {}", kStagedTree), settings.smoothness));
  if (!settings.problem.regulariser.is_none()) {
    return staged_tree_refusal(fmt::format("silos choose by their losses alone: expected no regulariser, got {}",
                                           settings.problem.regulariser.name()));
  }
  std::vector<geometry::Vertices> vertices;
  for (const TreeStage& stage : settings.stages) {
    if (stage.depth < 1 || stage.depth > kStageDepthMax)
      return staged_tree_refusal(fmt::format("a depth must be in 1 to {}, got {}", kStageDepthMax, stage.depth));
    UNDERTONE_TRY(const geometry::Vertices ball,
                  geometry::Vertices::of_l1_ball(settings.problem.dimension, stage.radius));
    vertices.push_back(ball);
    const double shortest = 2.0 * l1_diameter(vertices.back()) * std::ldexp(1.0, -static_cast<int>(stage.depth));
    UNDERTONE_TRY(check_shortest_difference(kStagedTree, settings.smoothness, shortest));
  }
  if (!(way_of_stages(settings.stages) <= geometry::kParameterMax))
    return staged_tree_refusal(fmt::format("the radii add up to {}, expected {} at most",
                                           way_of_stages(settings.stages), geometry::kParameterMax));
  return std::unique_ptr<StagedTreeFrankWolfe>(new StagedTreeFrankWolfe(settings, std::move(vertices)));
}

StagedTreeFrankWolfe::StagedTreeFrankWolfe(const StagedTreeFrankWolfeSettings& settings,
                                           std::vector<geometry::Vertices> vertices)
    : settings_(settings),
      vertices_(std::move(vertices)),
      centre_(settings_.problem.start()),
      iterate_(centre_),
      points_(kStageDepthMax + 1, Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule StagedTreeFrankWolfe::schedule(const StagedTreeFrankWolfeSettings& settings,
                                                  const GradientShape& shape) {
  const TreeStageTiling tiling = tile_tree_stages(settings.stages);
  planning::Schedule out;
  for (std::size_t i = 0; i < settings.stages.size(); ++i) {
    const TreeStage& stage = settings.stages[i];
    const SelectingTrees trees{geometry::Vertices::of_l1_ball(settings.problem.dimension, stage.radius).value(),
                               stage.depth,
                               settings.smoothness,
                               tiling.first[i],
                               tiling.units[i],
                               tiling.parts};
    for (std::uint64_t round = 0; round < tree_rounds(stage.depth); ++round)
      out.push_back({leaf_selection(trees, round, shape), 1});
  }
  return out;
}

StagedTreeFrankWolfe::At StagedTreeFrankWolfe::at(std::uint64_t round) const {
  At out{0, round};
  while (out.round >= tree_rounds(settings_.stages[out.stage].depth)) {
    out.round -= tree_rounds(settings_.stages[out.stage].depth);
    ++out.stage;
    UNDERTONE_CHECK(out.stage < settings_.stages.size());
  }
  return out;
}

Step StagedTreeFrankWolfe::current() {
  if (round_ == settings_.extent().rounds) return finished(candidate());
  const At now = at(round_);
  if (now.round == 0) centre_ = iterate_;
  points_[tree_leaf(now.round).depth] = iterate_;  // of the node that is entered
  std::vector<const Eigen::VectorXd*> points;
  for (const OnPath& node : path_of(now.round)) points.push_back(&points_[node.depth]);
  return ask_path(round_, points);
}

Result<Step> StagedTreeFrankWolfe::advance(const folds::Gathered& gathered) {
  UNDERTONE_CHECK(round_ < settings_.extent().rounds);
  const At now = at(round_);
  Eigen::VectorXd moved = iterate_ - centre_;
  UNDERTONE_TRY(
      step_to_selected(kStagedTree, gathered, round_, vertices_[now.stage], tree_step(tree_leaf(now.round)), moved));
  iterate_ = centre_ + moved;
  queries::round_to(settings_.problem.point_type, iterate_);
  ++round_;
  return current();
}

Eigen::VectorXd StagedTreeFrankWolfe::candidate() const {
  Eigen::VectorXd out = iterate_;
  settings_.problem.settle(out);
  return out;
}

void StagedTreeFrankWolfe::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&centre_});
  save_path(state, iterate_, points_);
}

Status StagedTreeFrankWolfe::restore(ByteReader& state) {
  UNDERTONE_TRY(restore_count(state, settings_.extent().rounds, round_));
  UNDERTONE_TRY(restore_vectors(state, {&centre_}));
  return restore_path(state, iterate_, points_);
}

}  // namespace undertone::algorithms
