#include "shared/algorithms/frank_wolfe/private_tree_frank_wolfe.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/mirror/frank_wolfe_section.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/algorithms/vertices_section.hpp"
#include "shared/config/section.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kPrivateTree = "private Frank-Wolfe on trees";

double risk_of_one(const PrivateTreeFrankWolfeSettings& settings, const planning::Plan& plan) {
  const double across = l1_diameter(settings.vertices);
  const auto count = static_cast<std::size_t>(settings.vertices.count());
  double behind = 0.0;
  double lipschitz = 0.0;
  double records = 1.0;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const auto* selection = std::get_if<mechanisms::PathSelection>(&segment.release.mechanism);
    if (selection == nullptr) continue;
    behind = std::max(behind,
                      selection->draw.expected_loss_max(count) * selection->lattice.unit() * settings.vertices.unit());
    lipschitz = segment.release.ask.path()->nodes.front().bound.value();
    records = static_cast<double>(selection->lattice.nodes().front().records);
  }
  const double reach = 2.0 * settings.smoothness * across / lipschitz;
  double sampling = 1.0;
  double share = 1.0;  // 2^-j
  for (std::uint64_t j = 1; j <= settings.depth; ++j) {
    share *= 0.5;
    const double ratio = std::min(2.0 / share, reach);
    sampling += share * ratio * ratio;
  }
  const double proxy = lipschitz * lipschitz / records * sampling;
  const double coordinates = 2.0 * static_cast<double>(settings.problem.dimension);
  return settings.smoothness * across * across * share + behind +
         across * std::sqrt(2.0 * std::log(coordinates) * proxy);
}

}  // namespace

std::optional<RiskBound> PrivateTreeFrankWolfeSettings::planned_risk(std::span<const WeighedPlan> silos) const {
  double bound = 0.0;
  for (const WeighedPlan& silo : silos) bound += silo.share * risk_of_one(*this, *silo.plan);
  return RiskBound{bound, "excess risk over the population",
                   "Frank-Wolfe on trees, each silo selecting, spec non-euclidean A3"};
}

std::string_view PrivateTreeFrankWolfeSettings::name() const { return PrivateTreeFrankWolfe::kName; }

std::string PrivateTreeFrankWolfeSettings::source() const {
  return "private Frank-Wolfe on binary trees, Algorithm 3 of Asi, Feldman, Koren and Talwar 2021, each silo selecting";
}

MethodNumbers PrivateTreeFrankWolfeSettings::numbers() const {
  const bool sound = depth >= 1 && depth <= PrivateTreeFrankWolfe::kDepthMax;
  return {{"depth", number(depth)},
          {"rounds", number(extent().rounds)},
          {"parts", sound ? number(tree_parts(depth)) : 0.0},
          {"smoothness", smoothness},
          {"vertices", static_cast<double>(vertices.count())},
          {"diameter", l1_diameter(vertices)}};
}

Extent PrivateTreeFrankWolfeSettings::extent() const {
  const std::uint64_t rounds = tree_rounds(depth);
  return {rounds, rounds};
}

ParsedMethod PrivateTreeFrankWolfe::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t depth =
      keys::count(section, "depth",
                  "of tree_frank_wolfe and private_tree_frank_wolfe: T phases, of trees of depth 1 to T; "
                  "2^(T+1) - 2 rounds",
                  kTreeDepthMax);
  const double smoothness = parse_needed_smoothness(section);
  geometry::Vertices vertices =
      parse_vertices(section.object("vertices",
                                    "of the private Frank-Wolfe methods: among which every silo chooses; of "
                                    "the constrained methods, where no domain names the polytope: listed"),
                     problem.dimension);
  return {PrivateTreeFrankWolfeSettings{problem, std::move(vertices), depth, smoothness}};
}

Result<std::unique_ptr<PrivateTreeFrankWolfe>> PrivateTreeFrankWolfe::create(
    const PrivateTreeFrankWolfeSettings& settings) {
  if (settings.depth < 1 || settings.depth > kDepthMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: a depth must be in 1 to {}, got {}", kPrivateTree, kDepthMax, settings.depth)};
  }
  const double shortest = 2.0 * l1_diameter(settings.vertices) * std::ldexp(1.0, -static_cast<int>(settings.depth));
  UNDERTONE_TRY(check_path_problem(kPrivateTree, settings.vertices, settings.smoothness, shortest, settings.problem));
  return std::unique_ptr<PrivateTreeFrankWolfe>(new PrivateTreeFrankWolfe(settings));
}

PrivateTreeFrankWolfe::PrivateTreeFrankWolfe(const PrivateTreeFrankWolfeSettings& settings)
    : settings_(settings),
      iterate_(settings_.problem.start()),
      points_(settings_.depth + 1, Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule PrivateTreeFrankWolfe::schedule(const PrivateTreeFrankWolfeSettings& settings,
                                                   const GradientShape& shape) {
  const SelectingTrees trees{settings.vertices, settings.depth, settings.smoothness, 0, 1, tree_parts(settings.depth)};
  planning::Schedule out;
  for (std::uint64_t round = 0; round < settings.extent().rounds; ++round)
    out.push_back({leaf_selection(trees, round, shape), 1});
  return out;
}

Step PrivateTreeFrankWolfe::current() {
  if (round_ == settings_.extent().rounds) return finished(iterate_);
  points_[tree_leaf(round_).depth] = iterate_;  // of the node that is entered
  std::vector<const Eigen::VectorXd*> points;
  for (const OnPath& node : path_of(round_)) points.push_back(&points_[node.depth]);
  return ask_path(round_, points);
}

Result<Step> PrivateTreeFrankWolfe::advance(const folds::Gathered& gathered) {
  UNDERTONE_TRY(
      step_to_selected(kPrivateTree, gathered, round_, settings_.vertices, tree_step(tree_leaf(round_)), iterate_));
  queries::round_to(settings_.problem.point_type, iterate_);
  ++round_;
  return current();
}

void PrivateTreeFrankWolfe::save(ByteWriter& state) const {
  state.u64(round_);
  save_path(state, iterate_, points_);
}

Status PrivateTreeFrankWolfe::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.extent().rounds, round_); !read) return read;
  return restore_path(state, iterate_, points_);
}

}  // namespace undertone::algorithms
