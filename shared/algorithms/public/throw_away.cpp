#include "shared/algorithms/public/throw_away.hpp"

#include "shared/algorithms/method_kit.hpp"

namespace undertone::algorithms {

std::string_view ThrowAwaySettings::name() const { return ThrowAway::kName; }

std::string ThrowAwaySettings::source() const { return "public records alone, Theorems 21 and 23"; }

MethodTraits ThrowAwaySettings::traits() const {
  MethodTraits traits;
  traits.shuffled = false;
  traits.public_records_alone = true;
  return traits;
}

ParsedMethod ThrowAway::parse(config::Section& /*no key*/, const Problem& problem) {
  return {ThrowAwaySettings{problem}};
}

Result<std::unique_ptr<ThrowAway>> ThrowAway::create(const ThrowAwaySettings& settings) {
  return std::unique_ptr<ThrowAway>(new ThrowAway(settings.problem.start()));
}

planning::Schedule ThrowAway::schedule(const ThrowAwaySettings& /*settings*/, const GradientShape& /*shape*/) {
  return {};
}

Step ThrowAway::start() { return finished(model_); }

Result<Step> ThrowAway::advance(const folds::Gathered& gathered) {
  return Error{ErrorCode::Internal,
               fmt::format("throw_away asks nothing, and was told of round {}", gathered.round.value)};
}

void ThrowAway::save(ByteWriter& state) const { save_vectors(state, {&model_}); }

Status ThrowAway::restore(ByteReader& state) { return restore_vectors(state, {&model_}); }

}  // namespace undertone::algorithms
