#include "shared/algorithms/mirror/noisy_frank_wolfe.hpp"

#include <cmath>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/mirror/frank_wolfe_section.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"

namespace undertone::algorithms {
std::string_view NoisyFrankWolfeSettings::name() const { return NoisyFrankWolfe::kName; }

std::string NoisyFrankWolfeSettings::source() const {
  return "noisy stochastic Frank-Wolfe, Algorithm 3 of Bassily, Guzman and Nandi 2021, with Gaussian noise";
}

MethodNumbers NoisyFrankWolfeSettings::numbers() const {
  return {{"rounds", number(rounds)},
          {"step_size", step_size},
          {"smoothness", smoothness},
          {"norm", set.norm_exponent()},
          {"diameter", set.diameter()}};
}

MethodTraits NoisyFrankWolfeSettings::traits() const { return frank_wolfe_traits(set, smoothness); }

Result<NoiseShifts> NoisyFrankWolfeSettings::theorem_noise(const NoiseFacts& facts) const {
  const NoiseConditions conditions("Algorithm 3 of Bassily, Guzman and Nandi 2021", facts);
  if (Status fits = conditions.some_rounds(rounds); !fits) return fits.error();
  // sqrt(kappa) s/sigma for s = 4L/n and for s = 4 beta D eta/sqrt n.
  const double shift = facts.epsilon / std::sqrt(2.0 * conditions.log_one());
  return NoiseShifts{{shift}, shift};
}

ParsedMethod NoisyFrankWolfe::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const double smoothness = parse_needed_smoothness(section);
  const geometry::FrankWolfeSet set = parse_frank_wolfe_set(section, problem);
  return {NoisyFrankWolfeSettings{problem, set, rounds, step_size, smoothness}};
}

Result<std::unique_ptr<NoisyFrankWolfe>> NoisyFrankWolfe::create(const NoisyFrankWolfeSettings& settings) {
  const auto refuse = [](std::string what) { return Error{ErrorCode::InvalidArgument, std::move(what)}; };
  if (settings.rounds == 0) return refuse("noisy Frank-Wolfe: no rounds");
  if (!(settings.step_size > 0.0 && settings.step_size <= 1.0))
    return refuse(fmt::format("noisy Frank-Wolfe: a step must be in (0, 1], got {}", settings.step_size));
  if (Status fits = check_frank_wolfe_problem("noisy Frank-Wolfe", settings.set, settings.smoothness, settings.problem);
      !fits)
    return fits.error();
  return std::unique_ptr<NoisyFrankWolfe>(new NoisyFrankWolfe(settings));
}

NoisyFrankWolfe::NoisyFrankWolfe(const NoisyFrankWolfeSettings& settings)
    : settings_(settings),
      iterate_(settings_.problem.start()),
      previous_(iterate_),
      gradient_(Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule NoisyFrankWolfe::schedule(const NoisyFrankWolfeSettings& settings, const GradientShape& shape) {
  using Cut = releases::Slice::Cut;
  const Eigen::Index d = settings.problem.dimension;
  const std::uint64_t parts = settings.rounds + 1;
  planning::Schedule out = {{shape.gradient(d, releases::Slice{Cut::HalfThenEqual, 0, parts}), 1}};
  for (std::uint64_t t = 1; t < parts; ++t) {
    releases::Ask ask = shape.difference(d, settings.smoothness);
    ask.records.slice = releases::Slice{Cut::HalfThenEqual, t, parts};
    out.push_back({std::move(ask), 1});
  }
  return out;
}

Step NoisyFrankWolfe::current() const {
  if (round_ > settings_.rounds) return finished(iterate_);
  return round_ == 0 ? ask_gradient(0, iterate_) : ask_difference(round_, iterate_, previous_);
}

Result<Step> NoisyFrankWolfe::advance(const folds::Gathered& gathered) {
  if (Status told = check_told("noisy Frank-Wolfe", round_, settings_.rounds + 1, settings_.problem, gathered); !told)
    return told.error();
  gradient_ += gathered.mean();
  if (Status converges = check_converges("noisy Frank-Wolfe", round_, settings_.problem, gradient_); !converges)
    return converges.error();
  previous_ = iterate_;
  iterate_ += settings_.step_size * (settings_.set.minimiser(gradient_) - iterate_);
  queries::round_to(settings_.problem.point_type, iterate_);
  ++round_;
  return current();
}

void NoisyFrankWolfe::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&iterate_, &previous_, &gradient_});
}

Status NoisyFrankWolfe::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds + 1, round_); !read) return read;
  return restore_vectors(state, {&iterate_, &previous_, &gradient_});
}

}  // namespace undertone::algorithms
