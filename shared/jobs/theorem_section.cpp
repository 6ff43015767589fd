#include "shared/jobs/theorem_section.hpp"

#include <algorithm>

namespace undertone::jobs {
namespace {

using theorems::TheoremName;

constexpr double kConstantMin = 1e-9;  // so that products and quotients of a few stay far inside a double
constexpr double kConstantMax = 1e9;

TheoremName parse_name(config::Section& section) {
  const std::vector<TheoremName> names = theorems::theorem_names();
  std::vector<std::string_view> texts;
  texts.reserve(names.size());
  for (const TheoremName name : names) texts.push_back(theorems::to_string(name));
  return names[section.one_of("theorem", texts,
                              "instead of kind: chooses the algorithm and its numbers from public constants")];
}

/// Whether a loss has kinks that the theorem is not of, so that an envelope stands for it.
bool needs_envelope(TheoremName name, const TheoremContext& context) {
  return context.kinked && theorems::losses_of(name) != theorems::TheoremLosses::ConvexWithKinks;
}

/// beta: what is proven, or more where the job's author says so. Of a kinked loss it is still to be chosen, or of no
/// meaning.
double parse_smoothness(config::Section& section, TheoremName name, const TheoremContext& context) {
  constexpr double kRounding = 1e-9;  // relative: of a constant that somebody typed
  constexpr const char* kKey = "smoothness";
  if (!section.recording() && context.kinked) {
    if (section.has(kKey)) {
      section.problem(kKey,
                      needs_envelope(name, context)
                          ? "the loss has a kink: the theorem chooses its envelope's, or model.smoothing does, in "
                            "which case that is the smoothness"
                          : "expected none: the loss has a kink, and the theorem takes it as it is");
    }
    return kConstantMin;
  }
  if (!section.has(kKey) && context.proven_smoothness) return *context.proven_smoothness;
  const double typed = section.number(kKey, kConstantMin, kConstantMax,
                                      "with theorem: beta of a record's loss in l2 (default: what the model and the "
                                      "features' public bounds prove, where they do; no less than that)");
  if (!section.recording() && context.proven_smoothness && typed < *context.proven_smoothness * (1.0 - kRounding)) {
    section.problem(kKey, fmt::format("expected at least {}, which is what holds for every record within the public "
                                      "bounds, got {}",
                                      *context.proven_smoothness, typed));
  }
  return typed;
}

/// The envelope f_beta of a kinked loss, chosen by the theorem: beta becomes the smoothness, and what strong convexity
/// the loss has beside the regulariser's becomes the envelope's.
/// @return an error where the theorem has no such form
Status choose_envelope(TheoremName name, const algorithms::Problem& problem, theorems::TheoremFacts& facts) {
  UNDERTONE_TRY(const double chosen, theorems::envelope_smoothness(name, facts, problem));
  if (!(chosen >= kConstantMin && chosen <= kConstantMax))
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("the envelope of the loss would have a beta of {:.3g}, expected one from {} to {}: numbers "
                    "of the job leave no such form",
                    chosen, kConstantMin, kConstantMax)};
  facts.smoothness = chosen;
  const double regulariser = problem.regulariser.strong_convexity(problem.dimension);
  if (const double own = facts.strong_convexity - regulariser; own > 0.0)
    facts.strong_convexity = regulariser + theorems::envelope_strong_convexity(own, chosen);
  return {};
}

/// Why a theorem refused, with a cause that the theorem cannot see.
std::string refusal(const std::string& message, const theorems::TheoremFacts& facts,
                    const algorithms::Problem& problem) {
  if (facts.strong_convexity > 0.0 || problem.regulariser.l2() == 0.0 ||
      message.find("strong convexity mu") == std::string::npos)
    return message;
  return message +
         ": the intercept is not regularised, so that the regulariser's strength is no mu of the whole objective; a "
         "model without an intercept has one, or say strong_convexity";
}

}  // namespace

std::optional<theorems::TheoremChoice> parse_theorem(config::Section& section, const algorithms::Problem& problem,
                                                     const TheoremContext& context) {
  const TheoremName name = parse_name(section);
  theorems::TheoremFacts facts = context.facts;
  facts.smoothness = parse_smoothness(section, name, context);
  const auto optional = [&](const char* key, double otherwise, const char* about) {
    return section.has(key) ? section.number(key, 0.0, kConstantMax, about) : otherwise;
  };
  bool in_range = true;
  const auto at_least = [&](const char* key, double value) {
    if (value == 0.0 || value >= kConstantMin) return;
    section.problem(key, fmt::format("expected 0 or at least {}, got {}", kConstantMin, value));
    in_range = false;
  };
  facts.strong_convexity = optional(
      "strong_convexity", problem.regulariser.strong_convexity(problem.dimension),
      "with theorem: mu of the whole objective in l2, or its proximal-PL constant (default: the regulariser's)");
  const char* about_gap =
      "with theorem: at least F(w_0) - min F (default: clip norm, or the moment's bound, x diameter, where there is "
      "one; the "
      "proven L where that is longer)";
  // Where the job does not say how long a record's gradient is, its clip norm or the moment's bound stands for it.
  const double length =
      facts.moment ? facts.oracle(static_cast<double>(problem.dimension)).of_norms().bound : facts.lipschitz;
  if (facts.diameter > 0.0) {
    facts.gap = optional("gap", std::max(length, context.proven_lipschitz.value_or(0.0)) * facts.diameter, about_gap);
  } else {
    facts.gap = section.number("gap", kConstantMin, kConstantMax, about_gap);
    facts.diameter = 1.0;  // of no meaning: a theorem that uses it refuses a domain without one
  }
  facts.gradient_variance = optional("gradient_variance", length * length,
                                     "with theorem: bound on the variance of a record's gradient (default: the square "
                                     "of the clip norm, or of the moment's "
                                     "bound)");
  facts.answering = optional("answering", facts.silos, "with theorem: silos that answer a round (default: the cohort)");
  facts.heterogeneity_assumed = !section.has("heterogeneity");
  facts.heterogeneity = optional("heterogeneity", 0.0,
                                 "with theorem: bound on the mean over silos of |grad F_i - grad F|^2 (default 0, "
                                 "where all silos answer; required with an `answering` below the cohort)");
  if (!section.recording() && facts.heterogeneity_assumed && facts.answering < facts.silos) {
    section.problem("heterogeneity",
                    fmt::format("missing: {} of {} silos answer a round, and what they differ by is part of its "
                                "variance; 0 says that they are alike",
                                facts.answering, facts.silos));
  }
  at_least("strong_convexity", facts.strong_convexity);
  at_least("gap", facts.gap);
  if (section.has("seed")) facts.seed = static_cast<std::uint64_t>(section.integer("seed", 0, INT64_MAX, "public"));
  if (section.recording() || !in_range) return std::nullopt;
  if (!context.refusal.empty()) {
    section.problem("theorem", context.refusal);
    return std::nullopt;
  }
  if (facts.moment && !theorems::takes_moments(name)) {
    std::string takers;
    for (const theorems::TheoremName one : theorems::theorem_names())
      if (theorems::takes_moments(one))
        takers += fmt::format("{}{}", takers.empty() ? "" : ", ", theorems::to_string(one));
    section.problem("theorem", fmt::format("expected one of {} beside privacy.moments: {} is of gradients that are "
                                           "clipped, expected privacy.clip_norm",
                                           takers, theorems::to_string(name)));
    return std::nullopt;
  }
  if (!facts.moment && theorems::takes_moments(name)) {
    section.problem("theorem", "expected privacy.moments in place of clip_norm: the theorem chooses the clip by them");
    return std::nullopt;
  }
  if (context.by_coordinate && !theorems::bounds_coordinates(name)) {
    section.problem("theorem",
                    "theorems are of gradients that are clipped: expected privacy.clip_norm in place of "
                    "coordinate_bound");
    return std::nullopt;
  }
  const bool envelope = needs_envelope(name, context);
  if (envelope) {
    if (Status chosen = choose_envelope(name, problem, facts); !chosen) {
      section.problem("theorem", refusal(chosen.error().message, facts, problem));
      return std::nullopt;
    }
  }
  Result<theorems::TheoremChoice> choice = theorems::choose_by_theorem(name, facts, problem, context.noise);
  if (!choice) {
    section.problem("theorem", refusal(choice.error().message, facts, problem));
    return std::nullopt;
  }
  if (envelope) {
    choice->envelope = facts.smoothness;
    choice->reasons.push_back({"smoothing", facts.smoothness,
                               fmt::format("beta of the Moreau envelope, which is at most L^2/(2 beta) = {:.4g} below "
                                           "the loss",
                                           choice->envelope_gap())});
  }
  return *std::move(choice);
}

}  // namespace undertone::jobs
