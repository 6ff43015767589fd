#include "shared/algorithms/sgd/local_sgd.hpp"

#include <cmath>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {
namespace {

constexpr std::uint64_t kLocalStepsMax = 100'000;

}  // namespace

std::string_view LocalSgdSettings::name() const { return LocalSgd::kName; }

MethodNumbers LocalSgdSettings::numbers() const {
  return {{"rounds", number(rounds)}, {"step_size", step_size}, {"local_steps", number(steps)}};
}

MethodTraits LocalSgdSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.takes_subgradients = true;
  traits.local_steps = steps;
  return traits;
}

Result<NoiseShifts> LocalSgdSettings::experiment_noise(const NoiseFacts& facts) const {
  const Result<double> shift =
      experiment_local_shift(number(rounds), number(steps), {facts.records, 1.0, facts.epsilon, facts.delta});
  if (!shift) return shift.error();
  return NoiseShifts{{*shift}, {}};
}

Result<double> experiment_local_shift(double rounds, double steps, const NoiseFacts& facts) {
  const NoiseConditions conditions("the noise of local SGD", facts);
  if (Status fits = conditions.plausible(); !fits) return fits.error();
  if (!(rounds >= 1.0 && steps >= 1.0 && std::isfinite(rounds * steps)))
    return conditions.refuse(fmt::format("{} rounds of {} steps, expected at least one of each", rounds, steps));
  if (facts.drawn != 1.0) return conditions.refuse(fmt::format("a step reads 1 record, {} are drawn", facts.drawn));
  return facts.records * facts.epsilon / std::sqrt(2.0 * rounds * steps * conditions.log_one());
}

ParsedMethod LocalSgd::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const std::uint64_t steps = keys::count(
      section, "local_steps", "K of local_sgd: a silo's own steps in a round, of one record each", kLocalStepsMax);
  return {LocalSgdSettings{problem, rounds, steps, step_size}};
}

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
  if (round_ == settings_.rounds) return finished(iterate_);
  return queries::Query{RoundIndex{round_}, queries::LocalRunQuestion{iterate_}};
}

Result<Step> LocalSgd::advance(const folds::Gathered& gathered) {
  if (Status told = check_told("local SGD", round_, settings_.rounds, settings_.problem, gathered); !told)
    return told.error();
  iterate_ = gathered.mean();
  if (Status converges = check_converges("local SGD", round_, settings_.problem, iterate_); !converges)
    return converges.error();
  settings_.problem.settle(iterate_);
  ++round_;
  return current();
}

void LocalSgd::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&iterate_});
}

Status LocalSgd::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  return restore_vectors(state, {&iterate_});
}

}  // namespace undertone::algorithms
