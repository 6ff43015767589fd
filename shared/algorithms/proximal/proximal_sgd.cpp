#include "shared/algorithms/proximal/proximal_sgd.hpp"

#include <cmath>

#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"

namespace undertone::algorithms {

std::string_view ProximalSgdSettings::name() const { return ProximalSgd::kName; }

MethodNumbers ProximalSgdSettings::numbers() const { return {{"rounds", number(rounds)}, {"step_size", step_size}}; }

Result<NoiseShifts> ProximalSgdSettings::theorem_noise(const NoiseFacts& facts) const {
  const NoiseConditions conditions("Theorem 144", facts);
  if (Status fits = conditions.some_rounds(rounds); !fits) return fits.error();
  if (Status fits = conditions.epsilon_at_most("8 ln(1/delta)", 8.0 * conditions.log_one()); !fits) return fits.error();
  if (Status fits = conditions.epsilon_at_most("15", 15.0); !fits) return fits.error();
  if (!(facts.delta < 0.5)) return conditions.refuse(fmt::format("delta is {}, which must be below 0.5", facts.delta));
  if (number(rounds) > facts.records)
    return conditions.refuse(
        fmt::format("{} rounds, each with records of its own, of a silo with {} records", rounds, facts.records));
  // 2L/(K sigma), sigma = sqrt(8 ln(1/delta)) L/(eps K).
  return NoiseShifts{{facts.epsilon / std::sqrt(2.0 * conditions.log_one())}, {}};
}

ParsedMethod ProximalSgd::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  return {ProximalSgdSettings{problem, rounds, keys::step_size(section)}};
}

Result<std::unique_ptr<ProximalSgd>> ProximalSgd::create(const ProximalSgdSettings& settings) {
  if (settings.rounds == 0) return Error{ErrorCode::InvalidArgument, "proximal SGD: no rounds"};
  UNDERTONE_TRY(const ProximalDescent descent,
                ProximalDescent::create("proximal SGD", settings.problem, settings.step_size));
  return std::unique_ptr<ProximalSgd>(new ProximalSgd(settings, descent));
}

planning::Schedule ProximalSgd::schedule(const ProximalSgdSettings& settings, const GradientShape& shape) {
  planning::Schedule out;
  for (std::uint64_t r = 0; r < settings.rounds; ++r) {
    const releases::Slice part{releases::Slice::Cut::Equal, r, settings.rounds};
    out.push_back({shape.gradient(settings.problem.dimension, part), 1});
  }
  return out;
}

Step ProximalSgd::current() const {
  return round_ < settings_.rounds ? ask_gradient(round_, iterate_) : finished(iterate_);
}

Result<Step> ProximalSgd::advance(const folds::Gathered& gathered) {
  if (Status told = check_told("proximal SGD", round_, settings_.rounds, settings_.problem, gathered); !told)
    return told.error();
  if (Status done = descent_.step(round_, settings_.problem, gathered.mean(), iterate_); !done) return done.error();
  ++round_;
  return current();
}

void ProximalSgd::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&iterate_});
}

Status ProximalSgd::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.rounds, round_); !read) return read;
  return restore_vectors(state, {&iterate_});
}

}  // namespace undertone::algorithms
