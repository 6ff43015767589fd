#include "shared/algorithms/mirror/poly_frank_wolfe.hpp"

#include <utility>

#include "shared/algorithms/method_kit.hpp"
#include "shared/algorithms/mirror/frank_wolfe_section.hpp"
#include "shared/algorithms/number.hpp"
#include "shared/algorithms/shared_keys.hpp"
#include "shared/config/section.hpp"

namespace undertone::algorithms {
namespace {

constexpr const char* kPolyFrankWolfe = "recursive Frank-Wolfe";

/// Whether a round asks for a difference: the odd ones do.
bool asks_difference(std::uint64_t round) { return round % 2 == 1; }

}  // namespace

std::string_view PolyFrankWolfeSettings::name() const { return PolyFrankWolfe::kName; }

std::string PolyFrankWolfeSettings::source() const {
  return "recursive stochastic Frank-Wolfe, Algorithm 1 of Bassily, Guzman and Nandi 2021, with noised vectors";
}

MethodNumbers PolyFrankWolfeSettings::numbers() const {
  return {{"rounds", number(rounds)},
          {"step_size", step_size},
          {"smoothness", smoothness},
          {"norm", set.norm_exponent()},
          {"diameter", set.diameter()}};
}

Extent PolyFrankWolfeSettings::extent() const {
  const std::uint64_t all = saturating_sum(saturating_product(rounds, 2), 1);
  return {all, all};
}

MethodTraits PolyFrankWolfeSettings::traits() const { return frank_wolfe_traits(set, smoothness); }

ParsedMethod PolyFrankWolfe::parse(config::Section& section, const Problem& problem) {
  const std::uint64_t rounds = keys::rounds(section);
  const double step_size = keys::step_size(section);
  const double smoothness = parse_needed_smoothness(section);
  return {PolyFrankWolfeSettings{problem, parse_frank_wolfe_set(section, problem), rounds, step_size, smoothness}};
}

Result<std::unique_ptr<PolyFrankWolfe>> PolyFrankWolfe::create(const PolyFrankWolfeSettings& settings) {
  const auto refuse = [](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", kPolyFrankWolfe, what)};
  };
  if (settings.rounds == 0) return refuse("no rounds");
  if (!(settings.step_size > 0.0 && settings.step_size <= 1.0))
    return refuse(fmt::format("a step must be in (0, 1], got {}", settings.step_size));
  if (Status fits = check_frank_wolfe_problem(kPolyFrankWolfe, settings.set, settings.smoothness, settings.problem);
      !fits)
    return fits.error();
  return std::unique_ptr<PolyFrankWolfe>(new PolyFrankWolfe(settings));
}

PolyFrankWolfe::PolyFrankWolfe(const PolyFrankWolfeSettings& settings)
    : settings_(settings),
      iterate_(settings_.problem.start()),
      previous_(iterate_),
      gradient_(Eigen::VectorXd::Zero(settings_.problem.dimension)) {}

planning::Schedule PolyFrankWolfe::schedule(const PolyFrankWolfeSettings& settings, const GradientShape& shape) {
  const Eigen::Index d = settings.problem.dimension;
  const std::uint64_t parts = settings.extent().rounds;
  planning::Schedule out;
  for (std::uint64_t round = 0; round < parts; ++round) {
    releases::Ask ask = asks_difference(round) ? shape.difference(d, settings.smoothness) : shape.gradient(d);
    ask.records.slice = releases::Slice{releases::Slice::Cut::HalfThenEqual, round, parts, shape.parts};
    out.push_back({std::move(ask), 1});
  }
  return out;
}

Step PolyFrankWolfe::current() const {
  if (round_ == settings_.extent().rounds) return finished(iterate_);
  return asks_difference(round_) ? ask_difference(round_, iterate_, previous_) : ask_gradient(round_, iterate_);
}

Result<Step> PolyFrankWolfe::advance(const folds::Gathered& gathered) {
  if (Status told = check_told(kPolyFrankWolfe, round_, settings_.extent().rounds, settings_.problem, gathered); !told)
    return told.error();
  const double eta = settings_.step_size;
  if (round_ == 0)
    gradient_ = gathered.mean();
  else if (asks_difference(round_))
    gradient_ += gathered.mean();
  else
    gradient_ = (1.0 - eta) * gradient_ + eta * gathered.mean();
  if (Status converges = check_converges(kPolyFrankWolfe, round_, settings_.problem, gradient_); !converges)
    return converges.error();
  if (!asks_difference(round_)) {
    previous_ = iterate_;
    iterate_ += eta * (settings_.set.minimiser(gradient_) - iterate_);
    queries::round_to(settings_.problem.point_type, iterate_);
  }
  ++round_;
  return current();
}

void PolyFrankWolfe::save(ByteWriter& state) const {
  state.u64(round_);
  save_vectors(state, {&iterate_, &previous_, &gradient_});
}

Status PolyFrankWolfe::restore(ByteReader& state) {
  if (Status read = restore_count(state, settings_.extent().rounds, round_); !read) return read;
  return restore_vectors(state, {&iterate_, &previous_, &gradient_});
}

}  // namespace undertone::algorithms
