#include "shared/algorithms/mirror/tree_frank_wolfe.hpp"

#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/mirror/frank_wolfe_section.hpp"
#include "shared/algorithms/mirror/frank_wolfe_tree.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kTreeFrankWolfe = "tree Frank-Wolfe";

}  // namespace

std::string_view TreeFrankWolfeSettings::name() const { return TreeFrankWolfe::kName; }

std::string TreeFrankWolfeSettings::source() const {
  return "Frank-Wolfe on binary trees, Algorithm 3 of Asi, Feldman, Koren and Talwar 2021, with noised vectors";
}

MethodNumbers TreeFrankWolfeSettings::numbers() const {
  return {{"depth", number(depth)},
          {"rounds", number(extent().rounds)},
          {"parts", depth < 1 || depth > TreeFrankWolfe::kDepthMax ? 0.0 : number(tree_parts(depth))},
          {"smoothness", smoothness},
          {"norm", set.norm_exponent()},
          {"diameter", set.diameter()}};
}

Extent TreeFrankWolfeSettings::extent() const {
  const std::uint64_t rounds = tree_rounds(depth);
  return {rounds, rounds};
}

MethodTraits TreeFrankWolfeSettings::traits() const { return frank_wolfe_traits(set, smoothness); }

ParsedMethod TreeFrankWolfe::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t depth = keys::count(
      section, "depth", "of tree_frank_wolfe: T phases, of trees of depth 1 to T; 2^(T+1) - 2 rounds", kDepthMax);
  const double smoothness = parse_needed_smoothness(section);
  return {TreeFrankWolfeSettings{problem, parse_frank_wolfe_set(section, problem), depth, smoothness}};
}

Result<std::unique_ptr<TreeFrankWolfe>> TreeFrankWolfe::create(const TreeFrankWolfeSettings& settings) {
  if (settings.depth < 1 || settings.depth > kDepthMax) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: a depth must be in 1 to {}, got {}", kTreeFrankWolfe, kDepthMax, settings.depth)};
  }
  if (Status fits = check_frank_wolfe_problem(kTreeFrankWolfe, settings.set, settings.smoothness, settings.problem);
      !fits)
    return fits.error();
  return std::unique_ptr<TreeFrankWolfe>(new TreeFrankWolfe(settings));
}

TreeFrankWolfe::TreeFrankWolfe(const TreeFrankWolfeSettings& settings)
    : settings_(settings),
      iterate_(settings_.problem.start()),
      points_(settings_.depth + 1, Eigen::VectorXd::Zero(settings_.problem.dimension)),
      estimates_(points_) {}

planning::Schedule TreeFrankWolfe::schedule(const TreeFrankWolfeSettings& settings, const GradientShape& shape) {
  planning::Schedule out;
  for (std::uint64_t round = 0; round < settings.extent().rounds; ++round) {
    releases::Ask ask = tree_leaf(round).depth == 0 ? shape.gradient(settings.problem.dimension)
                                                    : shape.difference(settings.problem.dimension, settings.smoothness);
    ask.records.slice = tree_slice(settings.depth, round, shape.parts);
    out.push_back({std::move(ask), 1});
  }
  return out;
}

Step TreeFrankWolfe::current() const {
  if (round_ == settings_.extent().rounds) return finished(iterate_);
  const TreeLeaf leaf = tree_leaf(round_);
  return leaf.depth == 0 ? ask_gradient(round_, iterate_) : ask_difference(round_, iterate_, points_[leaf.depth - 1]);
}

Result<Step> TreeFrankWolfe::advance(const folds::Gathered& gathered) {
  if (Status told = check_told(kTreeFrankWolfe, round_, settings_.extent().rounds, settings_.problem, gathered); !told)
    return told.error();
  const TreeLeaf leaf = tree_leaf(round_);
  Eigen::VectorXd estimate = gathered.mean();
  if (leaf.depth > 0) estimate += estimates_[leaf.depth - 1];
  if (Status converges = check_converges(kTreeFrankWolfe, round_, settings_.problem, estimate); !converges)
    return converges.error();
  for (std::uint64_t i = leaf.depth; i <= leaf.phase; ++i) {
    points_[i] = iterate_;
    estimates_[i] = estimate;
  }
  iterate_ += tree_step(leaf) * (settings_.set.minimiser(estimate) - iterate_);
  queries::round_to(settings_.problem.point_type, iterate_);
  ++round_;
  return current();
}

void TreeFrankWolfe::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&iterate_});
  for (std::size_t i = 0; i < points_.size(); ++i) save_vectors(state, {&points_[i], &estimates_[i]});
}

Status TreeFrankWolfe::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.extent().rounds, round_); !read) return read;
  if (Status read = restore_vectors(state, {&iterate_}); !read) return read;
  for (std::size_t i = 0; i < points_.size(); ++i)
    if (Status read = restore_vectors(state, {&points_[i], &estimates_[i]}); !read) return read;
  return {};
}

}  // namespace undertone::algorithms
