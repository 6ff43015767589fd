#include "shared/theorems/theorem_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "shared/theorems/accelerated_parameters.hpp"
#include "shared/theorems/constraint_parameters.hpp"
#include "shared/theorems/heavy_kinks.hpp"
#include "shared/theorems/heavy_tails.hpp"
#include "shared/theorems/minibatch_parameters.hpp"
#include "shared/theorems/mirror_parameters.hpp"
#include "shared/theorems/one_pass_parameters.hpp"
#include "shared/theorems/proximal_parameters.hpp"
#include "shared/theorems/regular_parameters.hpp"
#include "shared/theorems/shuffled_parameters.hpp"

namespace undertone::theorems {
namespace {

/// L sqrt(M)/D and sqrt(d ln(1/delta))/(eps n).
double envelope_scale(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  return facts.lipschitz * std::sqrt(facts.answering) / facts.diameter;
}
double envelope_noise(const TheoremConditions& conditions) {
  return std::sqrt(conditions.dimension() * conditions.log_one()) /
         (conditions.facts().epsilon * conditions.facts().records);
}

Result<double> minibatch_convex_envelope(const TheoremConditions& conditions) {
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  return envelope_scale(conditions) / (1.0 / std::sqrt(conditions.facts().records) + envelope_noise(conditions));
}

Result<double> minibatch_strongly_convex_envelope(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  if (Status fits = conditions.positive("the strong convexity mu", facts.strong_convexity); !fits) return fits.error();
  const double noise = envelope_noise(conditions);
  return facts.strong_convexity * facts.answering / (1.0 / facts.records + noise * noise);
}

Result<double> accelerated_convex_envelope(const TheoremConditions& conditions) {
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const double budget = facts.epsilon * facts.records;
  return envelope_scale(conditions) * budget / std::sqrt(conditions.dimension());
}

Result<double> accelerated_strongly_convex_envelope(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  if (Status fits = conditions.positive("the strong convexity mu", facts.strong_convexity); !fits) return fits.error();
  const double budget = facts.epsilon * facts.records;
  return facts.strong_convexity * facts.answering * budget * budget / conditions.dimension();
}

Result<double> localized_convex_envelope(const TheoremConditions& conditions) {
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  return envelope_scale(conditions) * std::min(std::sqrt(conditions.facts().records), 1.0 / envelope_noise(conditions));
}

/// A choice of one form of a convex objective.
template <Result<TheoremChoice> (*choose)(const TheoremConditions&, ConvexForm), ConvexForm form>
Result<TheoremChoice> in_form(const TheoremConditions& conditions) {
  return choose(conditions, form);
}

/// What a theorem is in mode shuffle: its own number and choice, or why there is none.
struct ShuffledTheorem {
  const char* source = nullptr;
  Result<TheoremChoice> (*choose)(const TheoremConditions&) = nullptr;
  bool reports = false;  // of silos' noised sums that are mixed whole; else of binomial sums
  const char* refusal = "has no shuffled form in the source";
};

constexpr ShuffledTheorem kNotShuffled = {};

struct Theorem {
  TheoremName id;
  std::string_view name;
  const char* source;
  TheoremLosses losses;
  Result<TheoremChoice> (*choose)(const TheoremConditions&);
  ShuffledTheorem shuffled = kNotShuffled;
  Result<double> (*envelope)(const TheoremConditions&) = nullptr;
  bool by_coordinate = false;  // silos select, by gradients whose coordinates are bounded
  bool moments = false;        // of a moment of gradients, by which it chooses the clip
};

/// In the order of `TheoremName`.
constexpr Theorem kTheorems[] = {
    {TheoremName::MinibatchConvex,
     "minibatch_convex",
     "Theorem 34",
     TheoremLosses::Convex,
     choose_minibatch_convex,
     {"Theorem 38", choose_shuffled_minibatch, true},
     minibatch_convex_envelope},
    {TheoremName::MinibatchStronglyConvex,
     "minibatch_strongly_convex",
     "Theorem 34",
     TheoremLosses::Convex,
     choose_minibatch_strongly_convex,
     {"Theorem 38", nullptr, true, "gives strongly convex objectives rounds, but neither a step nor an average"},
     minibatch_strongly_convex_envelope},
    {TheoremName::OnePassConvex,
     "one_pass_convex",
     "Theorem 124",
     TheoremLosses::Convex,
     in_form<choose_one_pass_convex, ConvexForm::Regularised>,
     {"Theorem 39", in_form<choose_one_pass_convex, ConvexForm::Regularised>}},
    {TheoremName::OnePassConvexDirect,
     "one_pass_convex_direct",
     "Theorem 124",
     TheoremLosses::Convex,
     in_form<choose_one_pass_convex, ConvexForm::Direct>,
     {"Theorem 39", in_form<choose_one_pass_convex, ConvexForm::Direct>}},
    {TheoremName::OnePassStronglyConvex,
     "one_pass_strongly_convex",
     "Theorem 124",
     TheoremLosses::Convex,
     choose_one_pass_strongly_convex,
     {"Theorem 39", choose_one_pass_strongly_convex}},
    {TheoremName::AcceleratedConvex, "accelerated_convex", "Theorem 129", TheoremLosses::Convex,
     in_form<choose_accelerated_convex, ConvexForm::Regularised>, kNotShuffled, accelerated_convex_envelope},
    {TheoremName::AcceleratedConvexDirect, "accelerated_convex_direct", "Theorem 129", TheoremLosses::Convex,
     in_form<choose_accelerated_convex, ConvexForm::Direct>, kNotShuffled, accelerated_convex_envelope},
    {TheoremName::AcceleratedStronglyConvex, "accelerated_strongly_convex", "Theorem 129", TheoremLosses::Convex,
     choose_accelerated_strongly_convex, kNotShuffled, accelerated_strongly_convex_envelope},
    {TheoremName::ProximalSgd,
     "proximal_sgd",
     "Theorem 144",
     TheoremLosses::Smooth,
     choose_proximal_sgd,
     {"Theorem 40.2", choose_proximal_sgd}},
    {TheoremName::ProxSvrg,
     "prox_svrg",
     "Theorem 148",
     TheoremLosses::Smooth,
     choose_prox_svrg,
     {"Theorem 42.2", choose_prox_svrg}},
    {TheoremName::Spider,
     "spider",
     "Theorem 149",
     TheoremLosses::Smooth,
     choose_spider,
     {"Theorem 45", choose_shuffled_spider}},
    {TheoremName::SpiderAlternate, "spider_alternate", "Algorithm 25", TheoremLosses::Smooth, choose_spider_alternate},
    {TheoremName::LocalizedConvex, "localized_convex", "federated-core 3.8", TheoremLosses::Convex,
     choose_localized_convex, kNotShuffled, localized_convex_envelope},
    {TheoremName::LocalizedStronglyConvex, "localized_strongly_convex", "federated-core 3.8", TheoremLosses::Convex,
     choose_localized_strongly_convex},
    {TheoremName::ConstrainedMirrorConvex, "constrained_mirror_convex", "constraint-geometry 2.1",
     TheoremLosses::ConvexWithKinks, choose_constrained_mirror_convex},
    {TheoremName::ConstrainedMirrorStronglyConvex, "constrained_mirror_strongly_convex", "constraint-geometry 2.2",
     TheoremLosses::Convex, choose_constrained_mirror_strongly_convex},
    {TheoremName::ConstrainedFrankWolfe, "constrained_frank_wolfe", "constraint-geometry 2.6", TheoremLosses::Convex,
     choose_constrained_frank_wolfe},
    {TheoremName::NoisyMirrorConvex, "noisy_mirror_convex", "Bassily, Guzman and Nandi 2021, Theorem 10",
     TheoremLosses::ConvexWithKinks, choose_noisy_mirror_convex},
    {TheoremName::NoisyFrankWolfeConvex, "noisy_frank_wolfe_convex", "Bassily, Guzman and Nandi 2021, Theorem 12",
     TheoremLosses::Convex, choose_noisy_frank_wolfe_convex},
    {TheoremName::RegularConvex, "regular_convex", "Bassily, Guzman and Nandi 2021, Theorem 9", TheoremLosses::Convex,
     choose_regular_convex},
    {TheoremName::LocalizedMirrorConvex, "localized_mirror_convex", "Asi, Feldman, Koren and Talwar 2021, Theorem 4",
     TheoremLosses::ConvexWithKinks, choose_localized_mirror_convex},
    {TheoremName::StagedMirrorStronglyConvex, "staged_mirror_strongly_convex",
     "Asi, Feldman, Koren and Talwar 2021, Theorem 8", TheoremLosses::ConvexWithKinks,
     choose_staged_mirror_strongly_convex},
    {TheoremName::TreeFrankWolfeConvex, "tree_frank_wolfe_convex",
     "Asi, Feldman, Koren and Talwar 2021, Algorithm 3 of noised vectors", TheoremLosses::Convex,
     choose_tree_frank_wolfe_convex},
    {TheoremName::PolyFrankWolfeConvex, "poly_frank_wolfe_convex",
     "Bassily, Guzman and Nandi 2021, Algorithm 1 of noised vectors", TheoremLosses::Convex,
     choose_poly_frank_wolfe_convex},
    {TheoremName::PrivateTreeFrankWolfeConvex, "private_tree_frank_wolfe_convex",
     "Asi, Feldman, Koren and Talwar 2021, Theorem 7", TheoremLosses::Convex, choose_private_tree_frank_wolfe_convex,
     kNotShuffled, nullptr, true},
    {TheoremName::StagedTreeStronglyConvex, "staged_tree_frank_wolfe_strongly_convex",
     "Asi, Feldman, Koren and Talwar 2021, Theorem 9", TheoremLosses::Convex,
     choose_staged_tree_frank_wolfe_strongly_convex, kNotShuffled, nullptr, true},
    {TheoremName::LpSgdConvex, "lp_sgd_convex", "Bassily, Guzman and Nandi 2021, Proposition 13",
     TheoremLosses::ConvexWithKinks, choose_lp_sgd_convex},
    {TheoremName::HeavyTailedConvex,
     "heavy_tailed_convex",
     "Theorem 59",
     TheoremLosses::Convex,
     choose_heavy_tailed_convex,
     {"Theorem 59 by binomial sums, section 4.1.2", choose_heavy_tailed_convex},
     nullptr,
     false,
     true},
    {TheoremName::HeavyTailedStronglyConvex,
     "heavy_tailed_strongly_convex",
     "Theorem 61",
     TheoremLosses::Convex,
     choose_heavy_tailed_strongly_convex,
     {"Theorem 61 by binomial sums, section 4.1.2", choose_heavy_tailed_strongly_convex},
     nullptr,
     false,
     true},
    {TheoremName::HeavyTailedProximal,
     "heavy_tailed_proximal",
     "Theorem 63",
     TheoremLosses::Smooth,
     choose_heavy_tailed_proximal,
     {"Theorem 63 by binomial sums, section 4.1.2", choose_heavy_tailed_proximal},
     nullptr,
     false,
     true},
    {TheoremName::HeavyTailedLocalized,
     "heavy_tailed_localized",
     "Theorem 50",
     TheoremLosses::ConvexWithKinks,
     choose_heavy_tailed_localized,
     {"Theorem 50 by binomial sums, section 4.1.2", choose_heavy_tailed_localized},
     nullptr,
     false,
     true},
    {TheoremName::HeavyTailedStaged,
     "heavy_tailed_staged",
     "Theorem 56",
     TheoremLosses::ConvexWithKinks,
     choose_heavy_tailed_staged,
     {"Theorem 56 by binomial sums, section 4.1.2", choose_heavy_tailed_staged},
     nullptr,
     false,
     true},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kTheorems); ++i)
    if (static_cast<std::size_t>(kTheorems[i].id) != i) return false;
  return true;
}
static_assert(in_order());

/// Whether a theorem reckons with the loudest silo in every silo's place: those of sets that are no ball of l2, which
/// stand in a row. The others are generalised by Remark 143, as Theorem 34 is by Theorem 140.
constexpr bool reckons_with_loudest(TheoremName name) {
  return name >= TheoremName::ConstrainedMirrorConvex && name <= TheoremName::LpSgdConvex;
}

const Theorem& theorem_of(TheoremName name) { return kTheorems[static_cast<std::size_t>(name)]; }

/// Whether a theorem says anything of answers that are mixed so.
Status shuffled_form(const Theorem& theorem, const ShuffledAnswers& answers) {
  const ShuffledTheorem& form = theorem.shuffled;
  const auto refuse = [&](std::string_view why) {
    std::string known;
    for (const Theorem& one : kTheorems)
      if (one.shuffled.choose != nullptr)
        known += fmt::format("{}{}{}", known.empty() ? "" : ", ", one.name,
                             one.shuffled.reports ? " (form \"reports\")" : "");
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: {}. Of mode \"shuffle\" are {}",
                             form.source == nullptr ? theorem.source : form.source, why, known)};
  };
  if (form.choose == nullptr) return refuse(form.refusal);
  if (form.reports && !answers.reports)
    return refuse("silos report one noised gradient each, expected privacy.shuffle.form \"reports\"");
  if (!form.reports && answers.reports)
    return refuse("it is of binomial sums, expected privacy.shuffle.form \"shares\", \"counts\" or \"bits\"");
  return {};
}

}  // namespace

std::vector<TheoremName> theorem_names() {
  std::vector<TheoremName> names;
  for (const Theorem& theorem : kTheorems) names.push_back(theorem.id);
  return names;
}

std::string_view to_string(TheoremName name) noexcept { return theorem_of(name).name; }

TheoremLosses losses_of(TheoremName name) noexcept { return theorem_of(name).losses; }

bool takes_moments(TheoremName name) noexcept { return theorem_of(name).moments; }

bool bounds_coordinates(TheoremName name) noexcept { return theorem_of(name).by_coordinate; }

Result<TheoremChoice> choose_by_theorem(TheoremName name, const TheoremFacts& facts, const algorithms::Problem& problem,
                                        PlannedNoise noise) {
  const Theorem& theorem = theorem_of(name);
  if (facts.shuffled)
    if (Status fits = shuffled_form(theorem, *facts.shuffled); !fits) return fits.error();
  UNDERTONE_TRY(
      const TheoremConditions conditions,
      TheoremConditions::create(facts.shuffled ? theorem.shuffled.source : theorem.source, facts, problem, noise));
  Result<TheoremChoice> choice = facts.shuffled ? theorem.shuffled.choose(conditions) : theorem.choose(conditions);
  if (!choice) return choice;
  choice->losses = theorem.losses;
  if (!facts.members.empty() && choice->source == conditions.source()) {
    if (reckons_with_loudest(name)) {
      choice->reasons.push_back({"n", facts.records,
                                 fmt::format("the least over silos, as epsilon {} and delta {} are: {} has no form for "
                                             "silos that differ",
                                             facts.epsilon, facts.delta, choice->source)});
    } else {
      choice->reasons.push_back(
          {"n", facts.records,
           fmt::format("the least over silos, of which parts and draws are; noise and eps n are means over the {} "
                       "loudest silos",
                       facts.answering)});
      choice->source += ", Remark 143";
    }
  }
  return choice;
}

Result<double> envelope_smoothness(TheoremName name, const TheoremFacts& facts, const algorithms::Problem& problem) {
  const Theorem& theorem = theorem_of(name);
  TheoremFacts without_smoothness = facts;
  without_smoothness.smoothness = 1.0;
  UNDERTONE_TRY(const TheoremConditions conditions,
                TheoremConditions::create(theorem.source, without_smoothness, problem, PlannedNoise::Accountant));
  if (theorem.envelope != nullptr) return theorem.envelope(conditions);
  return conditions.refuse(fmt::format("{} has no form for losses that are not smooth", theorem.name));
}

double envelope_strong_convexity(double strong_convexity, double smoothness) {
  UNDERTONE_CHECK(strong_convexity > 0.0 && smoothness > 0.0);
  return strong_convexity * smoothness / (strong_convexity + smoothness);
}

}  // namespace undertone::theorems
