#include "shared/algorithms/sgd/local_sgd.hpp"

#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {

Result<std::unique_ptr<LocalSgd>> LocalSgd::create(const LocalSgdSettings& settings) {
  if (settings.rounds == 0 || settings.steps == 0) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("local SGD: expected rounds and steps, got {} and {}", settings.rounds, settings.steps)};
  }
  if (Status step = geometry::check_positive("the step size of local SGD", settings.step_size); !step)
    return step.error();
  if (!settings.problem.regulariser.is_none()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("local SGD: silos step along their losses alone: expected no regulariser, got {}",
                             settings.problem.regulariser.name())};
  }
  return std::unique_ptr<LocalSgd>(new LocalSgd(settings));
}

planning::Schedule LocalSgd::schedule(const LocalSgdSettings& settings, const GradientShape& shape) {
  return {{shape.local_run(settings.problem.dimension, {settings.steps, settings.step_size}), settings.rounds}};
}

Step LocalSgd::current() const {
  if (round_ == settings_.rounds) {
    Outcome outcome;
    outcome.vectors["weights"] = candidate();
    return Finished{std::move(outcome)};
  }
  return queries::Query{RoundIndex{round_}, queries::LocalRunQuestion{iterate_}};
}

Result<Step> LocalSgd::advance(const folds::Gathered& gathered) {
  if (gathered.round.value != round_ || round_ == settings_.rounds || !settings_.problem.fits(gathered))
    return out_of_step("local SGD", round_, gathered);
  iterate_ = gathered.mean;
  if (!settings_.problem.representable(iterate_))
    return Error{ErrorCode::Internal, fmt::format("local SGD diverged in round {}: a smaller step is needed", round_)};
  settings_.problem.settle(iterate_);
  ++round_;
  return current();
}

void LocalSgd::save(ByteWriter& state) const {
  state.u64(round_);
  save_vector(state, iterate_);
}

Status LocalSgd::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  return restore_vector(state, iterate_);
}

}  // namespace undertone::algorithms
