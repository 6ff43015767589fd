#include "shared/algorithms/sgd/scaffold.hpp"

#include <algorithm>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {

std::string_view ScaffoldSettings::name() const { return Scaffold::kName; }

MethodNumbers ScaffoldSettings::numbers() const {
  return {{"rounds", number(rounds)},
          {"step_size", step_size},
          {"local_steps", number(steps)},
          {"local_batch", number(records)}};
}

MethodTraits ScaffoldSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.takes_subgradients = true;
  traits.local_steps = steps;
  traits.step_records = records;
  traits.simulated_only = true;
  return traits;
}

ParsedMethod Scaffold::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const std::uint64_t steps = keys::local_steps(section);
  return {ScaffoldSettings{problem, rounds, steps, step_size, keys::local_batch(section, 1)}};
}

Result<std::unique_ptr<Scaffold>> Scaffold::create(const ScaffoldSettings& settings) {
  const auto refuse = [](std::string what) {
    return Error{ErrorCode::InvalidArgument, "SCAFFOLD: " + std::move(what)};
  };
  if (settings.rounds == 0 || settings.steps == 0 || settings.records == 0 || settings.problem.silos == 0) {
    return refuse(fmt::format("expected rounds, steps, records of a step and silos, got {}, {}, {} and {}",
                              settings.rounds, settings.steps, settings.records, settings.problem.silos));
  }
  if (Status step = geometry::check_positive("the step size of SCAFFOLD", settings.step_size); !step)
    return step.error();
  if (!settings.problem.regulariser.is_none()) {
    return refuse(fmt::format("silos step along their losses alone: expected no regulariser, got {}",
                              settings.problem.regulariser.name()));
  }
  return std::unique_ptr<Scaffold>(new Scaffold(settings));
}

planning::Schedule Scaffold::schedule(const ScaffoldSettings& settings, const GradientShape& shape) {
  releases::LocalSteps steps{settings.steps, settings.step_size};
  steps.records = settings.records;
  steps.controlled = true;
  return {{shape.local_run(settings.problem.dimension, steps), settings.rounds}};
}

Step Scaffold::current() const {
  if (round_ == settings_.rounds) return finished(iterate_);
  Eigen::VectorXd point(2 * iterate_.size());
  point << iterate_, control_;
  return queries::Query{RoundIndex{round_}, queries::ControlledRunQuestion{std::move(point)}};
}

Result<Step> Scaffold::advance(const folds::Gathered& gathered) {
  if (Status told = check_told("SCAFFOLD", round_, settings_.rounds, settings_.problem, gathered); !told)
    return told.error();
  const Eigen::VectorXd& mean = gathered.mean();
  if (Status converges = check_converges("SCAFFOLD", round_, settings_.problem, mean); !converges)
    return converges.error();
  const double share =
      std::min(1.0, static_cast<double>(gathered.replies) / static_cast<double>(settings_.problem.silos));
  control_ += share * ((iterate_ - mean) / (number(settings_.steps) * settings_.step_size) - control_);
  if (Status converges = check_converges("SCAFFOLD", round_, settings_.problem, control_); !converges)
    return converges.error();
  queries::round_to(settings_.problem.point_type, control_);
  iterate_ = mean;
  settings_.problem.settle(iterate_);
  ++round_;
  return current();
}

void Scaffold::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&iterate_, &control_});
}

Status Scaffold::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  return restore_vectors(state, {&iterate_, &control_});
}

}  // namespace undertone::algorithms
