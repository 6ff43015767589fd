#include "shared/theorems/theorem_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "shared/algorithms/number.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/theorems/accelerated_parameters.hpp"
#include "shared/theorems/proximal_parameters.hpp"
#include "shared/theorems/shuffled_parameters.hpp"

namespace undertone::theorems {
namespace {

Status minibatch_conditions(const TheoremConditions& conditions) {
  if (Status fits = conditions.bounded_domain(); !fits) return fits;
  return conditions.epsilon_at_most("2 ln(2/delta)", 2.0 * conditions.log_two());
}

/// What both minibatch theorems say of the batch. @param rounds of the run
void explain_minibatch(const TheoremConditions& conditions, double batch, TheoremChoice& choice) {
  choice.draw_fraction = conditions.fraction_of(batch);
  choice.reasons.push_back({"batch", batch,
                            conditions.noise() == PlannedNoise::Printed ? "ceil(eps n/(4 sqrt(2 R ln(2/delta)))), of n"
                                                                        : "n: as many draws as records"});
}

/// max{M'/Xi, M/xi_max} of silos that differ, at R rounds: xi_i = ln(2.5R/delta_i) ln(2/delta_i)/(n_i eps_i)^2, Xi the
/// mean of the M largest, M' = M since as many answer as are planned with. Source: Theorem 140.
double unequal_precision(const TheoremFacts& facts, double rounds) {
  std::vector<double> xi;
  for (const SiloTarget& silo : facts.members)
    xi.push_back(std::log(2.5 * rounds / silo.delta) * std::log(2.0 / silo.delta) /
                 std::pow(silo.records * silo.epsilon, 2.0));
  std::sort(xi.begin(), xi.end(), std::greater<>());
  const auto largest =
      static_cast<std::size_t>(std::clamp(std::ceil(facts.answering), 1.0, static_cast<double>(xi.size())));
  const double mean = std::accumulate(xi.begin(), xi.begin() + static_cast<std::ptrdiff_t>(largest), 0.0) /
                      static_cast<double>(largest);
  return facts.answering / mean;  // the mean is at most the largest
}

/// Silos that differ: Theorem 140, with q = min{n M, max{M'/Xi, M/xi_max}/d} and n the least,
///   R = the least with R >= (beta D/L) sqrt q + q, which falls as R grows,
///   eta = min{1/beta, (D/(L sqrt R)) min(1, sqrt(nM/R), sqrt(max{M'/Xi, M/xi_max}/(dR)))}.
Result<TheoremChoice> minibatch_convex_unequal(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  const double d = conditions.dimension();
  const double beta = facts.smoothness + conditions.problem().regulariser.l2();
  const double sampled = facts.records * facts.answering;
  const double scale = facts.diameter / facts.lipschitz;
  const auto asked = [&](double rounds) {
    const double q = std::min(sampled, unequal_precision(facts, rounds) / d);
    return beta * scale * std::sqrt(q) + q;
  };
  const Result<std::uint64_t> most = conditions.whole_rounds(asked(1.0));
  if (!most) return most.error();
  std::uint64_t rounds = *most;  // serves: what is asked for falls
  for (std::uint64_t low = 0; rounds - low > 1;) {
    const std::uint64_t middle = low + (rounds - low) / 2;
    (algorithms::number(middle) >= asked(algorithms::number(middle)) ? rounds : low) = middle;
  }
  const double r = algorithms::number(rounds);
  const double precision = unequal_precision(facts, r);
  const double step = std::min(
      1.0 / beta, scale / std::sqrt(r) * std::min({1.0, std::sqrt(sampled / r), std::sqrt(precision / (d * r))}));
  TheoremChoice choice =
      conditions.begin(kExcessRisk, algorithms::MinibatchSgdSettings{conditions.problem(), rounds, step, {}});
  choice.source = "Theorem 140";
  choice.reasons.push_back({"rounds", r, "(beta D/L) sqrt q + q, q = min{nM, max{M'/Xi, M/xi_max}/d}, n the least"});
  choice.reasons.push_back(
      {"step_size", step, "min{1/beta, (D/(L sqrt R)) min(1, sqrt(nM/R), sqrt(max{M'/Xi, M/xi_max}/(dR)))}"});
  choice.reasons.push_back({"M'/Xi", precision, "xi_i = ln(2.5R/delta_i) ln(2/delta_i)/(n_i eps_i)^2 of every silo"});
  explain_minibatch(conditions, conditions.batch(rounds), choice);
  choice.rate = facts.lipschitz * facts.diameter * (1.0 / std::sqrt(sampled) + std::sqrt(d / precision));
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> minibatch_convex(const TheoremConditions& conditions) {
  if (Status fits = minibatch_conditions(conditions); !fits) return fits.error();
  if (!conditions.facts().members.empty()) return minibatch_convex_unequal(conditions);
  const TheoremFacts& facts = conditions.facts();
  const double d = conditions.dimension();
  const double beta = facts.smoothness + conditions.problem().regulariser.l2();
  const double lipschitz = facts.lipschitz;
  const double diameter = facts.diameter;
  const double answering = facts.answering;
  const double budget = facts.epsilon * facts.records;  // eps n
  const double sampled = facts.records * answering;     // nM
  const double smooth =
      beta * diameter * std::sqrt(answering) / lipschitz * std::min(std::sqrt(facts.records), budget / std::sqrt(d));
  const Result<std::uint64_t> rounds =
      conditions.whole_rounds(smooth + std::min(sampled, budget * budget * answering / d));
  if (!rounds) return rounds.error();
  const double r = algorithms::number(*rounds);
  const double step =
      std::min(1.0 / beta, diameter / (lipschitz * std::sqrt(r)) *
                               std::min({1.0, budget * std::sqrt(answering / (r * d)), std::sqrt(sampled / r)}));
  const double batch = conditions.batch(*rounds);
  const Result<double> noise = conditions.noise_variance(*rounds, facts.records, batch);
  if (!noise) return noise.error();

  const algorithms::MinibatchSgdSettings settings{conditions.problem(), *rounds, step, {}};
  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.reasons.push_back({"rounds", r, "(beta D sqrt(M)/L) min{sqrt n, eps n/sqrt d} + min{nM, eps^2 n^2 M/d}"});
  choice.reasons.push_back(
      {"step_size", step, "min{1/beta, (D/(L sqrt R)) min(1, eps n sqrt(M)/sqrt(R d), sqrt(nM/R))}"});
  explain_minibatch(conditions, batch, choice);
  const Result<releases::ClipNorm> clip = releases::ClipNorm::create(lipschitz);
  if (!clip) return clip.error();
  choice.bound = algorithms::MinibatchSgd::predicted_excess_risk(settings, *clip, *noise);
  choice.rate = lipschitz * diameter * (1.0 / std::sqrt(sampled) + 1.0 / std::sqrt(conditions.private_records()));
  return conditions.finish(std::move(choice));
}

Result<TheoremChoice> minibatch_strongly_convex(const TheoremConditions& conditions) {
  if (Status fits = minibatch_conditions(conditions); !fits) return fits.error();
  const TheoremFacts& facts = conditions.facts();
  const double beta = facts.smoothness + conditions.problem().regulariser.l2();
  const double mu = facts.strong_convexity;
  if (Status fits = conditions.strongly_convex(beta); !fits) return fits.error();
  const double d = conditions.dimension();
  const double squared_lipschitz = facts.lipschitz * facts.lipschitz;
  const double squared_diameter = facts.diameter * facts.diameter;
  const double sampled = facts.records * facts.answering;
  const double private_term = std::pow(facts.epsilon * facts.records, 2.0) * facts.answering / d;
  const double log = log_at_least_one(beta * squared_diameter * mu * private_term / squared_lipschitz);
  const Result<std::uint64_t> rounds =
      conditions.whole_rounds(std::max(2.0 * beta / mu * log, std::min(sampled, private_term)));
  if (!rounds) return rounds.error();
  const double r = algorithms::number(*rounds);
  const double batch = conditions.batch(*rounds);
  const Result<double> noise = conditions.noise_variance(*rounds, facts.records, batch);
  if (!noise) return noise.error();
  const double signal = mu * mu * squared_diameter * r * r / (d * *noise + squared_lipschitz);
  const double step = std::min(1.0 / (2.0 * beta), std::log(std::max(2.0, signal)) / (mu * r));

  const algorithms::MinibatchSgdSettings settings{
      conditions.problem(), *rounds, step, {algorithms::Averaging::Kind::Geometric, 1.0 - mu * step}};
  TheoremChoice choice = conditions.begin(kExcessRisk, settings);
  choice.reasons.push_back(
      {"rounds", r, "max{(2 beta/mu) ln(beta D^2 mu M eps^2 n^2/(d L^2)), min(Mn, M eps^2 n^2/d)}"});
  choice.reasons.push_back({"step_size", step, "min{1/(2 beta), ln(max{2, mu^2 D^2 R^2/(d sigma^2/M + L^2)})/(mu R)}"});
  choice.reasons.push_back({"averaging ratio", 1.0 - mu * step, "gamma_{r-1}/gamma_r = 1 - mu eta"});
  explain_minibatch(conditions, batch, choice);
  choice.rate = squared_lipschitz / mu * (1.0 / sampled + 1.0 / conditions.private_records());
  const Result<releases::ClipNorm> clip = releases::ClipNorm::create(facts.lipschitz);
  if (!clip) return clip.error();
  choice.bound = algorithms::MinibatchSgd::predicted_excess_risk(settings, *clip, *noise);
  return conditions.finish(std::move(choice));
}

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
};

/// In the order of `TheoremName`.
constexpr Theorem kTheorems[] = {
    {TheoremName::MinibatchConvex,
     "minibatch_convex",
     "Theorem 34",
     TheoremLosses::Convex,
     minibatch_convex,
     {"Theorem 38", choose_shuffled_minibatch, true},
     minibatch_convex_envelope},
    {TheoremName::MinibatchStronglyConvex,
     "minibatch_strongly_convex",
     "Theorem 34",
     TheoremLosses::Convex,
     minibatch_strongly_convex,
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
     {"Theorem 42.2", nullptr, false,
      "takes its anchors for subsampled, which read all records, and its restarts for less than they cost"}},
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
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kTheorems); ++i)
    if (static_cast<std::size_t>(kTheorems[i].id) != i) return false;
  return true;
}
static_assert(in_order());

const Theorem& theorem_of(TheoremName name) { return kTheorems[static_cast<std::size_t>(name)]; }

/// Whether a theorem says anything of answers that are mixed so.
Status shuffled_form(const Theorem& theorem, const ShuffledAnswers& answers) {
  const ShuffledTheorem& form = theorem.shuffled;
  const auto refuse = [&](std::string_view why) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: {}. Of mode \"shuffle\" are minibatch_convex (form \"reports\"), one_pass_convex, "
                             "one_pass_convex_direct, one_pass_strongly_convex, proximal_sgd and spider",
                             form.source == nullptr ? theorem.source : form.source, why)};
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

Result<TheoremChoice> choose_by_theorem(TheoremName name, const TheoremFacts& facts, const algorithms::Problem& problem,
                                        PlannedNoise noise) {
  const Theorem& theorem = theorem_of(name);
  if (facts.shuffled)
    if (Status fits = shuffled_form(theorem, *facts.shuffled); !fits) return fits.error();
  const Result<TheoremConditions> conditions =
      TheoremConditions::create(facts.shuffled ? theorem.shuffled.source : theorem.source, facts, problem, noise);
  if (!conditions) return conditions.error();
  Result<TheoremChoice> choice = facts.shuffled ? theorem.shuffled.choose(*conditions) : theorem.choose(*conditions);
  if (choice) choice->losses = theorem.losses;
  return choice;
}

Result<double> envelope_smoothness(TheoremName name, const TheoremFacts& facts, const algorithms::Problem& problem) {
  const Theorem& theorem = theorem_of(name);
  TheoremFacts without_smoothness = facts;
  without_smoothness.smoothness = 1.0;
  const Result<TheoremConditions> conditions =
      TheoremConditions::create(theorem.source, without_smoothness, problem, PlannedNoise::Accountant);
  if (!conditions) return conditions.error();
  if (theorem.envelope != nullptr) return theorem.envelope(*conditions);
  return conditions->refuse(fmt::format("{} has no form for losses that are not smooth", theorem.name));
}

double envelope_strong_convexity(double strong_convexity, double smoothness) {
  UNDERTONE_CHECK(strong_convexity > 0.0 && smoothness > 0.0);
  return strong_convexity * smoothness / (strong_convexity + smoothness);
}

}  // namespace undertone::theorems
