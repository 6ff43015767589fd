#include "shared/jobs/theorem_section.hpp"

#include "shared/base/overloaded.hpp"

namespace undertone::jobs {
namespace {

using theorems::TheoremName;

constexpr double kNumberMin = 1e-9;  // so that products and quotients of a few stay far inside a double
constexpr double kNumberMax = 1e9;

constexpr std::initializer_list<std::pair<const char*, TheoremName>> kTheorems = {
    {"minibatch_convex", TheoremName::MinibatchConvex},
    {"minibatch_strongly_convex", TheoremName::MinibatchStronglyConvex},
    {"one_pass_convex", TheoremName::OnePassConvex},
    {"one_pass_convex_direct", TheoremName::OnePassConvexDirect},
    {"one_pass_strongly_convex", TheoremName::OnePassStronglyConvex},
    {"accelerated_convex", TheoremName::AcceleratedConvex},
    {"accelerated_convex_direct", TheoremName::AcceleratedConvexDirect},
    {"accelerated_strongly_convex", TheoremName::AcceleratedStronglyConvex},
    {"proximal_sgd", TheoremName::ProximalSgd},
    {"prox_svrg", TheoremName::ProxSvrg},
    {"spider", TheoremName::Spider},
    {"spider_alternate", TheoremName::SpiderAlternate},
    {"localized_convex", TheoremName::LocalizedConvex},
    {"localized_strongly_convex", TheoremName::LocalizedStronglyConvex}};

void set_seed(algorithms::AlgorithmSettings& settings, std::uint64_t seed) {
  std::visit(Overloaded{[&](algorithms::ProxSvrgSettings& s) { s.seed = seed; },
                        [&](algorithms::SpiderSettings& s) { s.seed = seed; },
                        [&](algorithms::SpiderAlternateSettings& s) { s.seed = seed; }, [](auto&) {}},
             settings);
}

}  // namespace

std::optional<theorems::TheoremChoice> parse_theorem(config::Section& section, const algorithms::Problem& problem,
                                                     theorems::TheoremFacts facts, theorems::PlannedNoise noise) {
  const auto name = section.choice<TheoremName>(
      "theorem", kTheorems, "instead of kind: chooses the algorithm and its numbers from public constants");
  facts.smoothness =
      section.number("smoothness", kNumberMin, kNumberMax, "with theorem: beta of a record's loss, from public bounds");
  const auto optional = [&](const char* key, double otherwise, const char* about) {
    return section.has(key) ? section.number(key, 0.0, kNumberMax, about) : otherwise;
  };
  const auto at_least = [&](const char* key, double value) {
    if (value != 0.0 && value < kNumberMin)
      section.problem(key, fmt::format("expected 0 or at least {}, got {}", kNumberMin, value));
  };
  facts.strong_convexity =
      optional("strong_convexity", problem.regulariser.strong_convexity(problem.dimension),
               "with theorem: mu of the whole objective, or its proximal-PL constant (default: the regulariser's)");
  const char* about_gap = "with theorem: at least F(w_0) - min F (default: clip norm x diameter, where there is one)";
  if (facts.diameter > 0.0) {
    facts.gap = optional("gap", facts.lipschitz * facts.diameter, about_gap);
  } else {
    facts.gap = section.number("gap", kNumberMin, kNumberMax, about_gap);
    facts.diameter = 1.0;  // of no meaning: a theorem that uses it refuses a domain without one
  }
  facts.heterogeneity =
      optional("heterogeneity", 0.0, "with theorem: bound on the mean over silos of |grad F_i - grad F|^2 (default 0)");
  facts.gradient_variance =
      optional("gradient_variance", facts.lipschitz * facts.lipschitz,
               "with theorem: bound on the variance of a record's gradient (default: clip norm squared)");
  facts.answering = optional("answering", facts.silos, "with theorem: silos that answer a round (default: the cohort)");
  at_least("strong_convexity", facts.strong_convexity);
  at_least("gap", facts.gap);
  const std::uint64_t seed =
      section.has("seed") ? static_cast<std::uint64_t>(section.integer("seed", 0, INT64_MAX, "public")) : 0;
  if (section.recording()) return std::nullopt;
  Result<theorems::TheoremChoice> choice = theorems::choose_by_theorem(name, facts, problem, noise);
  if (!choice) {
    section.problem("theorem", choice.error().message);
    return std::nullopt;
  }
  set_seed(choice->settings, seed);
  return *std::move(choice);
}

}  // namespace undertone::jobs
