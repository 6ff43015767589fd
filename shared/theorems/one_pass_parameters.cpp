#include "shared/theorems/one_pass_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "shared/accounting/renyi.hpp"
#include "shared/algorithms/frank_wolfe/private_tree_frank_wolfe.hpp"
#include "shared/algorithms/frank_wolfe/staged_tree_frank_wolfe.hpp"
#include "shared/algorithms/mirror/one_pass_bounds.hpp"
#include "shared/algorithms/number.hpp"

namespace undertone::theorems {
namespace {

using algorithms::OnePassFacts;
using algorithms::PolyFrankWolfeSettings;
using algorithms::PrivateTreeFrankWolfeSettings;
using algorithms::TreeFrankWolfe;
using algorithms::TreeFrankWolfeSettings;

/// Of W: a job's schedule has at most 4,000 entries, of which there are 2W + 1.
constexpr std::uint64_t kPolyRoundsMax = 1'999;
constexpr const char* kNoPrintedSelections =
    "the printed scale rests on a shuffling of the tree's nodes, of which there are too few, and is no more than an "
    "order";
constexpr const char* kNoPrintedVectors = "the source prints scales of selections, and none of vectors";

struct OnePassSetup {
  geometry::FrankWolfeSet set;
  double smoothness = 0.0;  // from l_1 to l_inf, or no less
  double diameter = 0.0;    // in l_1
  double shift = 0.0;       // of one release, of the silo with the least of each fact
};

/// @param printed what the source's own noise is of, and why it is refused
Result<OnePassSetup> one_pass_setup(const TheoremConditions& conditions, std::string_view printed) {
  using Set = geometry::FrankWolfeSet::Set;
  if (conditions.noise() == PlannedNoise::Printed)
    return conditions.refuse(fmt::format("{}: expected the accountant's noise", printed));
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const algorithms::Problem& problem = conditions.problem();
  const auto* ball = std::get_if<geometry::L1Ball>(&problem.domain.set());
  const auto* simplex = std::get_if<geometry::Simplex>(&problem.domain.set());
  if (ball == nullptr && simplex == nullptr)
    return conditions.refuse(
        fmt::format("the domain is {}, expected l1_ball or simplex, the sets of l_1", problem.domain.name()));
  UNDERTONE_TRY(const geometry::FrankWolfeSet set,
                geometry::FrankWolfeSet::create(ball != nullptr ? Set(*ball) : Set(*simplex), 1.0, problem.dimension));
  if (Status fits = conditions.positive("the set's diameter", set.diameter()); !fits) return fits.error();
  UNDERTONE_TRY(const double shift, shift_of_each(facts.epsilon, facts.delta, 1.0));
  const double smoothness = facts.smoothness_l1 > 0.0 ? facts.smoothness_l1 : facts.smoothness;
  return OnePassSetup{set, smoothness, set.diameter(), shift};
}

/// Of a first gradient over so many of the least silo's records.
OnePassFacts first_gradient(const TheoremConditions& conditions, const OnePassSetup& setup, double records) {
  const TheoremFacts& facts = conditions.facts();
  const double stddev = 2.0 * facts.lipschitz / (records * setup.shift);
  return {facts.lipschitz, conditions.dimension() * stddev * stddev / facts.answering, records * facts.answering};
}

/// b(T); 0 where there are fewer records than parts.
double root_records(double records, std::uint64_t depth) {
  return std::ldexp(std::floor(records / algorithms::number(algorithms::tree_parts(depth))), static_cast<int>(depth));
}

/// The T in 1 .. `deepest` with the least risk, of those whose leaves have one of so many records.
template <class RiskOf>
Result<std::uint64_t> best_depth(const TheoremConditions& conditions, double records, std::uint64_t deepest,
                                 RiskOf risk_of) {
  std::optional<double> least;
  std::uint64_t best = 0;
  for (std::uint64_t depth = 1; depth <= deepest && root_records(records, depth) > 0.0; ++depth) {
    const double risk = risk_of(depth);
    if (least && risk >= *least) continue;
    least = risk;
    best = depth;
  }
  if (best > 0) return best;
  return conditions.refuse(fmt::format("n = {} records, expected at least {}, the parts of a tree of depth 1", records,
                                       algorithms::tree_parts(1)));
}

void explain_one_pass(const OnePassSetup& setup, double records, const TheoremConditions& conditions,
                      TheoremChoice& choice) {
  choice.reasons.push_back({"b", records, "records of the first gradient, of the silo with the fewest"});
  choice.reasons.push_back({"smoothness", setup.smoothness,
                            conditions.facts().smoothness_l1 > 0.0 ? "beta from l_1 to l_inf, as public bounds prove it"
                                                                   : "beta in l2, and no less than from l_1 to l_inf"});
  choice.reasons.push_back({"D", setup.diameter, "the set's diameter in l_1"});
}

/// The bound of silos that are alike and all answer.
template <class Settings>
void set_bound(const TheoremConditions& conditions, const Settings& settings, const OnePassFacts& first,
               TheoremChoice& choice) {
  const TheoremFacts& facts = conditions.facts();
  if (facts.answering != facts.silos || facts.heterogeneity != 0.0) return;
  const auto bound_at = [settings, first](double variance) {
    return algorithms::one_pass_risk(settings, {first.lipschitz, variance, first.records})->bound;
  };
  choice.bound = bound_at(first.noise_variance);
  choice.bound_at = bound_at;
}

/// D (L + beta D).
double one_pass_scale(const TheoremConditions& conditions, const OnePassSetup& setup) {
  return setup.diameter * (conditions.facts().lipschitz + setup.smoothness * setup.diameter);
}

/// sqrt(ln d/(n M)) and sqrt(d ln d ln(1/delta))/(n eps sqrt M).
double sampling_rate(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  return std::sqrt(log_at_least_one(conditions.dimension()) / (facts.records * facts.answering));
}
double privacy_rate(const TheoremConditions& conditions) {
  return std::sqrt(log_at_least_one(conditions.dimension()) / conditions.private_records());
}

/// B(T) of selecting trees, as the theorems print it.
class SelectingBound {
 public:
  /// @param vertices m
  static Result<SelectingBound> create(const TheoremConditions& conditions, const OnePassSetup& setup,
                                       Eigen::Index vertices) {
    const TheoremFacts& facts = conditions.facts();
    UNDERTONE_TRY(const auto epsilon, releases::Epsilon::create(facts.epsilon));
    UNDERTONE_TRY(const auto delta, releases::Delta::create(facts.delta));
    return SelectingBound(facts.lipschitz, setup.smoothness, std::sqrt(accounting::rho_for_closed(epsilon, delta)),
                          std::log(static_cast<double>(vertices)), std::log(2.0 * conditions.dimension()));
  }
  /// s_T. @param across D @param root b
  [[nodiscard]] double scale(double across, double root, std::uint64_t depth) const {
    return across * std::exp2(0.5 * algorithms::number(depth)) / (root * concentrated_) *
           std::max(lipschitz_ / std::sqrt(2.0), smoothness_ * across);
  }
  [[nodiscard]] double at(double across, double records, std::uint64_t depth) const {
    const double root = root_records(records, depth);
    const double moved = smoothness_ * across;
    return moved * across / std::exp2(algorithms::number(depth)) + scale(across, root, depth) * log_vertices_ +
           across * (lipschitz_ + moved) * std::sqrt(2.0 * log_coordinates_ / root);
  }
  [[nodiscard]] double log_vertices() const noexcept { return log_vertices_; }

 private:
  SelectingBound(double lipschitz, double smoothness, double concentrated, double log_vertices, double log_coordinates)
      : lipschitz_(lipschitz),
        smoothness_(smoothness),
        concentrated_(concentrated),
        log_vertices_(log_vertices),
        log_coordinates_(log_coordinates) {}
  double lipschitz_;
  double smoothness_;
  double concentrated_;  // sqrt w
  double log_vertices_;
  double log_coordinates_;
};

/// The vertices of the set that a domain is. @pre the domain is one of `one_pass_setup`
Result<geometry::Vertices> vertices_of(const algorithms::Problem& problem) {
  if (const auto* ball = std::get_if<geometry::L1Ball>(&problem.domain.set()))
    return geometry::Vertices::of_l1_ball(problem.dimension, ball->radius);
  return geometry::Vertices::of_simplex(problem.dimension, std::get<geometry::Simplex>(problem.domain.set()).scale);
}

}  // namespace

Result<TheoremChoice> choose_tree_frank_wolfe_convex(const TheoremConditions& conditions) {
  UNDERTONE_TRY(const OnePassSetup setup, one_pass_setup(conditions, kNoPrintedVectors));
  const double n = conditions.facts().records;
  TreeFrankWolfeSettings settings{conditions.problem(), setup.set, 1, setup.smoothness};
  const auto risk_of = [&, tried = settings](std::uint64_t depth) mutable {
    tried.depth = depth;
    return algorithms::one_pass_risk(tried, first_gradient(conditions, setup, root_records(n, depth)))->bound;
  };
  UNDERTONE_TRY(settings.depth, best_depth(conditions, n, TreeFrankWolfe::kDepthMax, risk_of));
  const double root = root_records(n, settings.depth);
  TheoremChoice choice = conditions.begin(kPopulationRisk, settings);
  choice.reasons.push_back({"depth", algorithms::number(settings.depth), "T, the least point of the bound, 1 to 10"});
  explain_one_pass(setup, root, conditions, choice);
  set_bound(conditions, settings, first_gradient(conditions, setup, root), choice);
  choice.rate = one_pass_scale(conditions, setup) * (sampling_rate(conditions) + privacy_rate(conditions)) +
                setup.smoothness * setup.diameter * setup.diameter / std::exp2(algorithms::number(settings.depth));
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_poly_frank_wolfe_convex(const TheoremConditions& conditions) {
  UNDERTONE_TRY(const OnePassSetup setup, one_pass_setup(conditions, kNoPrintedVectors));
  const double n = conditions.facts().records;
  const double half = std::floor(n / 2.0);
  constexpr double kLeast = 8.0;
  if (n < kLeast) return conditions.refuse(fmt::format("n = {} records, expected at least {}", n, kLeast));
  PolyFrankWolfeSettings settings{conditions.problem(), setup.set, 1, 1.0, setup.smoothness};
  // As if the first gradient had no more records than all parts of the other half together.
  const auto first_of = [&](std::uint64_t rounds) {
    const double parts = 2.0 * algorithms::number(rounds);
    return first_gradient(conditions, setup, std::min(half, parts * std::floor((n - half) / parts)));
  };
  const auto set_rounds = [&](std::uint64_t rounds) {
    settings.rounds = rounds;
    settings.step_size = std::log(algorithms::number(rounds)) / algorithms::number(rounds);
  };
  const auto most =
      static_cast<std::uint64_t>(std::min(algorithms::number(kPolyRoundsMax), std::floor((n - half) / 2.0)));
  std::uint64_t best = 2;
  double least = HUGE_VAL;
  for (std::uint64_t rounds = 2; rounds <= most; rounds += std::max<std::uint64_t>(1, rounds / 16)) {
    set_rounds(rounds);
    const double risk = algorithms::one_pass_risk(settings, first_of(rounds))->bound;
    if (risk >= least) continue;
    least = risk;
    best = rounds;
  }
  set_rounds(best);
  const double rounds = algorithms::number(best);
  TheoremChoice choice = conditions.begin(kPopulationRisk, settings);
  choice.reasons.push_back({"rounds", rounds, "W, the least point of the bound within 2, n/4 and 1999"});
  choice.reasons.push_back({"step_size", settings.step_size, "ln W/W"});
  explain_one_pass(setup, half, conditions, choice);
  set_bound(conditions, settings, first_of(best), choice);
  choice.rate =
      one_pass_scale(conditions, setup) * (sampling_rate(conditions) + std::sqrt(rounds) * privacy_rate(conditions)) +
      setup.smoothness * setup.diameter * setup.diameter * settings.step_size;
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_private_tree_frank_wolfe_convex(const TheoremConditions& conditions) {
  UNDERTONE_TRY(const OnePassSetup setup, one_pass_setup(conditions, kNoPrintedSelections));
  const TheoremFacts& facts = conditions.facts();
  const Result<geometry::Vertices> vertices = vertices_of(conditions.problem());
  if (!vertices) return conditions.refuse(vertices.error().message);
  UNDERTONE_TRY(const SelectingBound bound, SelectingBound::create(conditions, setup, vertices->count()));
  const auto risk_of = [&](std::uint64_t depth) { return bound.at(setup.diameter, facts.records, depth); };
  PrivateTreeFrankWolfeSettings settings{conditions.problem(), *vertices, 1, setup.smoothness};
  UNDERTONE_TRY(settings.depth,
                best_depth(conditions, facts.records, algorithms::PrivateTreeFrankWolfe::kDepthMax, risk_of));
  const double root = root_records(facts.records, settings.depth);
  TheoremChoice choice = conditions.begin(kPopulationRisk, settings);
  choice.reasons.push_back({"depth", algorithms::number(settings.depth), "T, the least point of B(T), 1 to 8"});
  choice.reasons.push_back(
      {"B(T)", risk_of(settings.depth), "beta D^2/2^T + s_T ln m + D (L + beta D) sqrt(2 ln(2d)/b), of one silo"});
  choice.reasons.push_back({"s_T", bound.scale(setup.diameter, root, settings.depth),
                            "D 2^(T/2) max{L/sqrt 2, beta D}/(b sqrt w), w the rho of (epsilon, delta)"});
  explain_one_pass(setup, root, conditions, choice);
  const double log_records = log_at_least_one(facts.records);
  choice.rate =
      one_pass_scale(conditions, setup) * std::sqrt(log_at_least_one(conditions.dimension()) / facts.records) *
          log_records +
      std::pow(std::sqrt(setup.smoothness * conditions.log_one()) *
                   (facts.lipschitz + setup.smoothness * setup.diameter) * setup.diameter * setup.diameter *
                   std::max(1.0, bound.log_vertices()) * log_records * log_records / (facts.records * facts.epsilon),
               2.0 / 3.0);
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> choose_staged_tree_frank_wolfe_strongly_convex(const TheoremConditions& conditions) {
  UNDERTONE_TRY(const OnePassSetup setup, one_pass_setup(conditions, kNoPrintedSelections));
  const TheoremFacts& facts = conditions.facts();
  if (Status fits = conditions.positive("the strong convexity mu", facts.strong_convexity); !fits) return fits.error();
  const auto* ball = std::get_if<geometry::L1Ball>(&conditions.problem().domain.set());
  if (ball == nullptr)
    return conditions.refuse(
        fmt::format("the domain is {}, expected l1_ball: its stages are of balls about where they "
                    "begin",
                    conditions.problem().domain.name()));
  const double whole = ball->radius + conditions.problem().start().lpNorm<1>();  // from the start to any point
  const double lambda = facts.strong_convexity / conditions.dimension();
  UNDERTONE_TRY(const SelectingBound bound,
                SelectingBound::create(conditions, setup, 2 * conditions.problem().dimension));
  const double n = facts.records;
  const auto most = static_cast<std::size_t>(std::max(1.0, std::ceil(std::log2(std::max(2.0, std::log2(n))))));
  struct Run {
    std::vector<algorithms::TreeStage> stages;
    double bound = HUGE_VAL;
  };
  Run best;
  for (std::size_t count = 1; count <= std::min(most, algorithms::kTreeStagesMax); ++count) {
    Run run;
    double radius = whole;
    double records = n / (std::exp2(algorithms::number(count)) - 1.0);
    for (std::size_t i = 0; i < count; ++i, records *= 2.0) {
      const auto risk_of = [&](std::uint64_t depth) { return bound.at(2.0 * radius, records, depth); };
      const Result<std::uint64_t> depth = best_depth(conditions, records, algorithms::kStageDepthMax, risk_of);
      if (!depth && count == 1) return depth.error();
      if (!depth) break;
      run.stages.push_back({*depth, radius});
      run.bound = risk_of(*depth);
      radius = std::min(radius, std::sqrt(2.0 * run.bound / lambda));
    }
    const bool fits = run.stages.size() == count &&
                      algorithms::number(algorithms::tile_tree_stages(run.stages).parts) <= n;  // a record for each
    if (fits && run.bound < best.bound) best = std::move(run);
  }
  if (best.stages.empty()) return conditions.refuse(fmt::format("n = {} records are too few for its parts", n));
  const algorithms::StagedTreeFrankWolfeSettings settings{conditions.problem(), best.stages, setup.smoothness};
  const algorithms::TreeStage& last = best.stages.back();
  const double records = n * std::exp2(algorithms::number(best.stages.size()) - 1.0) /
                         (std::exp2(algorithms::number(best.stages.size())) - 1.0);
  TheoremChoice choice = conditions.begin(kPopulationRisk, settings);
  choice.reasons.push_back({"stages", algorithms::number(best.stages.size()),
                            "k, the least point of the last stage's B(T), 1 to ceil(log2 log2 n)"});
  choice.reasons.push_back({"lambda", lambda, "mu/d: of the objective in l_1, mu its in l2"});
  choice.reasons.push_back(
      {"radius of the last stage", last.radius, "min{D_i, sqrt(2 B/lambda)}, B of the stage before, in the mean"});
  choice.reasons.push_back(
      {"B(T) of the last stage", best.bound,
       "beta D^2/2^T + s_T ln m + D (L + beta D) sqrt(2 ln(2d)/b), D twice its radius, of one silo"});
  explain_one_pass(setup, root_records(records, last.depth), conditions, choice);
  const double log_squared = std::pow(log_at_least_one(n), 2);
  const double longest = facts.lipschitz + setup.smoothness * setup.diameter;
  choice.rate = longest * longest / lambda *
                (log_at_least_one(conditions.dimension()) * log_squared / n +
                 std::pow(std::sqrt(conditions.log_one()) * std::max(1.0, bound.log_vertices()) * log_squared /
                              (n * facts.epsilon),
                          4.0 / 3.0));
  return conditions.finish(std::move(choice));
}

}  // namespace undertone::theorems
