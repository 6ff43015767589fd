#include "shared/algorithms/algorithm_driver.hpp"

#include <utility>

namespace undertone::algorithms {

const Outcome& AlgorithmDriver::outcome() const {
  const auto* finished = std::get_if<Finished>(&step_);
  UNDERTONE_CHECK(finished != nullptr);
  return finished->outcome;
}

Status AlgorithmDriver::advance(const Answers& answers) {
  const queries::Query* asked = query();
  UNDERTONE_CHECK(asked != nullptr);
  UNDERTONE_TRY(const folds::Gathered gathered, answers(*asked));
  UNDERTONE_TRY(Step next, algorithm_->advance(gathered));
  step_ = std::move(next);
  return {};
}

Result<Outcome> AlgorithmDriver::finish(const Answers& answers, const Watch& watch) {
  while (const queries::Query* asked = query()) {
    const RoundIndex round = asked->round;
    if (Status done = advance(answers); !done) return done.error();
    if (watch) watch(round, *algorithm_);
  }
  return outcome();
}

}  // namespace undertone::algorithms
