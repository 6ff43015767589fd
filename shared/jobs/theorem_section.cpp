#include "shared/jobs/theorem_section.hpp"

namespace undertone::jobs {
namespace {

using theorems::TheoremName;

constexpr double kConstantMin = 1e-9;  // so that products and quotients of a few stay far inside a double
constexpr double kConstantMax = 1e9;

TheoremName parse_name(config::Section& section) {
  const std::vector<TheoremName> names = theorems::theorem_names();
  std::vector<std::string_view> texts;
  for (const TheoremName name : names) texts.push_back(theorems::to_string(name));
  return names[section.one_of("theorem", texts,
                              "instead of kind: chooses the algorithm and its numbers from public constants")];
}

}  // namespace

std::optional<theorems::TheoremChoice> parse_theorem(config::Section& section, const algorithms::Problem& problem,
                                                     theorems::TheoremFacts facts, theorems::PlannedNoise noise) {
  const TheoremName name = parse_name(section);
  facts.smoothness = section.number("smoothness", kConstantMin, kConstantMax,
                                    "with theorem: beta of a record's loss, from public bounds");
  const auto optional = [&](const char* key, double otherwise, const char* about) {
    return section.has(key) ? section.number(key, 0.0, kConstantMax, about) : otherwise;
  };
  const auto at_least = [&](const char* key, double value) {
    if (value != 0.0 && value < kConstantMin)
      section.problem(key, fmt::format("expected 0 or at least {}, got {}", kConstantMin, value));
  };
  facts.strong_convexity =
      optional("strong_convexity", problem.regulariser.strong_convexity(problem.dimension),
               "with theorem: mu of the whole objective, or its proximal-PL constant (default: the regulariser's)");
  const char* about_gap = "with theorem: at least F(w_0) - min F (default: clip norm x diameter, where there is one)";
  if (facts.diameter > 0.0) {
    facts.gap = optional("gap", facts.lipschitz * facts.diameter, about_gap);
  } else {
    facts.gap = section.number("gap", kConstantMin, kConstantMax, about_gap);
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
  if (section.has("seed")) facts.seed = static_cast<std::uint64_t>(section.integer("seed", 0, INT64_MAX, "public"));
  if (section.recording()) return std::nullopt;
  Result<theorems::TheoremChoice> choice = theorems::choose_by_theorem(name, facts, problem, noise);
  if (!choice) {
    section.problem("theorem", choice.error().message);
    return std::nullopt;
  }
  return *std::move(choice);
}

}  // namespace undertone::jobs
