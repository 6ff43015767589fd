#include "shared/theorems/shuffled_parameters.hpp"

#include <algorithm>
#include <cmath>

#include "shared/algorithms/number.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"

namespace undertone::theorems {

Result<TheoremChoice> choose_shuffled_minibatch(const TheoremConditions& conditions) {
  const TheoremFacts& facts = conditions.facts();
  if (Status fits = conditions.bounded_domain(); !fits) return fits.error();
  if (Status fits = conditions.epsilon_at_most("ln(2/delta)", conditions.log_two()); !fits) return fits.error();
  const double d = conditions.dimension();
  const double n = facts.records;
  const double silos = facts.answering;
  const double beta = facts.smoothness + conditions.problem().regulariser.l2();
  const double budget = facts.epsilon * n;  // eps n
  const double smooth =
      beta * facts.diameter / facts.lipschitz * std::min(std::sqrt(n * silos), budget * silos / std::sqrt(d));
  UNDERTONE_TRY(
      const std::uint64_t rounds,
      conditions.whole_rounds(std::max({budget * budget * silos, std::min(n, budget * budget * silos / d), smooth})));
  const double r = algorithms::number(rounds);
  const double least = 16.0 * std::log(18.0 * r * silos / facts.delta);
  if (silos < least)
    return conditions.refuse(
        fmt::format("{} silos answer a round of {}, which must be at least 16 ln(18 R M/delta) = {}", silos, r, least));
  const double logs = std::log(r * silos / facts.delta) * std::log(r / facts.delta) * conditions.log_one();
  const double step = std::min(1.0 / beta, facts.diameter * std::sqrt(silos) / (facts.lipschitz * r) *
                                               std::min(std::sqrt(n), budget * silos / std::sqrt(d * silos * logs)));

  TheoremChoice choice =
      conditions.begin(kExcessRisk, algorithms::MinibatchSgdSettings{conditions.problem(), rounds, step, {}});
  choice.draw_fraction = conditions.fraction_of(1.0);
  choice.reasons.push_back(
      {"rounds", r, "max{n^2 M eps^2, 1, min{n, eps^2 n^2 M/d}, (beta D/L) min{sqrt(nM), eps n M/sqrt d}}"});
  choice.reasons.push_back({"step_size", step,
                            "min{1/beta, (D sqrt(M)/(L R)) min{sqrt n, eps n M/sqrt(d M ln(RM/delta) ln(R/delta) "
                            "ln(1/delta))}}"});
  choice.reasons.push_back({"batch", 1.0, "1: a report is of one record"});
  choice.rate =
      facts.lipschitz * facts.diameter * (1.0 / std::sqrt(n * silos) + 1.0 / std::sqrt(conditions.shuffled_records()));
  return conditions.finish(std::move(choice));
}

}  // namespace undertone::theorems
