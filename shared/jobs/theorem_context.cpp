#include "shared/jobs/theorem_context.hpp"

#include <algorithm>
#include <utility>

namespace undertone::jobs {
namespace {

/// A loss with a kink that nothing smooths.
bool is_kinked(const models::Model& model) { return model.linear() != nullptr && !model.is_smooth(); }

}  // namespace

theorems::TheoremFacts facts_of(const std::vector<CohortMember>& cohort, const algorithms::Problem& problem,
                                double bound, const std::optional<Shuffle>& shuffle) {
  theorems::TheoremFacts facts;
  facts.silos = static_cast<double>(cohort.size());
  facts.lipschitz = bound;
  if (problem.dimension > 0) facts.diameter = problem.domain.diameter(problem.dimension).value_or(0.0);
  bool alike = true;
  for (const CohortMember& member : cohort) {
    const theorems::SiloTarget silo{static_cast<double>(member.facts.records), member.facts.epsilon().value(),
                                    member.facts.delta()};
    if (!facts.members.empty()) {
      const theorems::SiloTarget& first = facts.members.front();
      alike = alike && silo.records == first.records && silo.epsilon == first.epsilon && silo.delta == first.delta;
    }
    facts.members.push_back(silo);
    const auto least = [](double known, double other) { return known == 0.0 ? other : std::min(known, other); };
    facts.records = least(facts.records, silo.records);
    facts.epsilon = least(facts.epsilon, silo.epsilon);
    facts.delta = least(facts.delta, silo.delta);
  }
  if (alike) facts.members.clear();
  if (shuffle)
    facts.shuffled =
        theorems::ShuffledAnswers{static_cast<double>(shuffle->honest_min), shuffle->form == Shuffle::Form::Reports};
  return facts;
}

TheoremContext context_of(theorems::TheoremFacts facts, theorems::PlannedNoise noise, const models::Model& model,
                          const data::Schema& schema, bool projected) {
  TheoremContext out{std::move(facts), noise};
  out.kinked = is_kinked(model);
  if (projected) return out;
  const models::Model::Constants constants = model.constants(record_norm(model, schema));
  out.proven_smoothness = constants.smoothness;
  out.proven_lipschitz = constants.lipschitz;
  // From l_1 to l_inf a linear model's loss curves by the largest product of two features, which are within [-1, 1].
  if (model.linear() != nullptr) out.facts.smoothness_l1 = model.constants(1.0).smoothness.value_or(0.0);
  return out;
}

models::Model smoothed(const models::LinearModel& linear, double smoothing) {
  // Of a kinked loss, which takes any smoothing that a theorem chooses.
  return models::LinearModel(linear.linear_loss().smoothed(smoothing).value(), linear.features(), linear.intercept());
}

}  // namespace undertone::jobs
