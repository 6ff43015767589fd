#include "shared/algorithms/sgd/local_sgd.hpp"

#include <cmath>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {

std::string_view LocalSgdSettings::name() const {
  if (proximal > 0.0) return LocalSgd::kFedProxName;
  return records > 1 ? LocalSgd::kMinibatchName : LocalSgd::kName;
}

std::string LocalSgdSettings::source() const {
  if (proximal > 0.0) return "FedProx (Li et al. 2020, Algorithm 2), each step noised";
  return records > 1 ? "minibatch SGD with local steps (Woodworth et al. 2020), each step noised"
                     : "ISRL-DP local SGD (B.1.10)";
}

MethodNumbers LocalSgdSettings::numbers() const {
  MethodNumbers out = {{"rounds", number(rounds)}, {"step_size", step_size}, {"local_steps", number(steps)}};
  if (name() != LocalSgd::kName) out.emplace_back("local_batch", number(records));
  if (proximal > 0.0) out.emplace_back("proximal", proximal);
  return out;
}

MethodTraits LocalSgdSettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.takes_subgradients = true;
  traits.local_steps = steps;
  traits.step_records = records;
  return traits;
}

Result<NoiseShifts> LocalSgdSettings::experiment_noise(const NoiseFacts& facts) const {
  if (records != 1) {
    return NoiseConditions("the noise of local SGD", facts)
        .refuse(fmt::format("it is of steps of one record, of several there is none, got {}", records));
  }
  UNDERTONE_TRY(const double shift, experiment_local_shift(number(rounds), number(steps),
                                                           {facts.records, 1.0, facts.epsilon, facts.delta}));
  return NoiseShifts{{shift}, {}};
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
  return {LocalSgdSettings{problem, rounds, keys::local_steps(section), step_size}};
}

ParsedMethod LocalSgd::parse_minibatch(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const std::uint64_t steps = keys::local_steps(section);
  return {LocalSgdSettings{problem, rounds, steps, step_size, keys::local_batch(section, 2)}};
}

ParsedMethod LocalSgd::parse_fedprox(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const std::uint64_t steps = keys::local_steps(section);
  const std::uint32_t records = keys::local_batch(section, 1);
  const double proximal = section.number(
      "proximal", 0.0, keys::kNumberMax,
      "lambda of fedprox: each step also goes back by step_size x lambda of its way from where the round began", true);
  return {LocalSgdSettings{problem, rounds, steps, step_size, records, proximal}};
}

Result<std::unique_ptr<LocalSgd>> LocalSgd::create(const LocalSgdSettings& settings) {
  const auto refuse = [](std::string what) {
    return Error{ErrorCode::InvalidArgument, "local SGD: " + std::move(what)};
  };
  if (settings.rounds == 0 || settings.steps == 0)
    return refuse(fmt::format("expected rounds and steps, got {} and {}", settings.rounds, settings.steps));
  if (settings.records == 0) return refuse("expected a record or more in a step, got 0");
  if (Status step = geometry::check_positive("the step size of local SGD", settings.step_size); !step)
    return step.error();
  if (!(settings.proximal >= 0.0 && settings.proximal * settings.step_size <= 1.0)) {
    return refuse(fmt::format("expected a proximal weight from 0 to 1/step_size = {}, got {}", 1.0 / settings.step_size,
                              settings.proximal));
  }
  if (!settings.problem.regulariser.is_none()) {
    return refuse(fmt::format("silos step along their losses alone: expected no regulariser, got {}",
                              settings.problem.regulariser.name()));
  }
  return std::unique_ptr<LocalSgd>(new LocalSgd(settings));
}

planning::Schedule LocalSgd::schedule(const LocalSgdSettings& settings, const GradientShape& shape) {
  releases::LocalSteps steps{settings.steps, settings.step_size};
  steps.records = settings.records;
  steps.proximal = settings.proximal;
  return {{shape.local_run(settings.problem.dimension, steps), settings.rounds}};
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
