#include "shared/algorithms/shared_keys.hpp"

#include "shared/config/section.hpp"

namespace undertone::algorithms::keys {
namespace {

constexpr std::uint64_t kLocalStepsMax = 100'000;
constexpr std::int64_t kLocalBatchMax = 1'000'000;

}  // namespace

std::uint64_t count(config::Section& section, const char* key, const char* about, std::uint64_t most) {
  return static_cast<std::uint64_t>(section.integer(key, 1, static_cast<std::int64_t>(most), about));
}

std::uint64_t rounds(config::Section& section) { return count(section, "rounds", "R: steps"); }

double step_size(config::Section& section) { return section.number("step_size", 0.0, kNumberMax, "eta", true); }

double draw_fraction(config::Section& section) {
  return section.number("draw_fraction", 0.0, 1.0,
                        "of the records that a round reads (of prox_svrg: that a difference reads), drawn afresh "
                        "without replacement; 1 is all",
                        true);
}

std::optional<double> smoothness(config::Section& section) {
  if (!section.has("smoothness")) return std::nullopt;
  return section.number("smoothness", 0.0, kNumberMax,
                        "a public beta: differences are clipped to beta times the distance of their points (default: "
                        "to twice the clip norm)",
                        true);
}

std::uint64_t local_steps(config::Section& section) {
  return count(section, "local_steps",
               "K of local runs: a silo's own steps in a round, of one record each unless local_batch says otherwise",
               kLocalStepsMax);
}

std::uint32_t local_batch(config::Section& section, std::uint32_t least) {
  if (least == 1 && !section.has("local_batch")) return 1;
  return static_cast<std::uint32_t>(
      section.integer("local_batch", least, kLocalBatchMax,
                      "of local_minibatch_sgd (at least 2), fedprox and scaffold: records of one local step, drawn "
                      "afresh (default 1, of local_minibatch_sgd none)"));
}

std::vector<config::Section> phases(config::Section& section) {
  return section.objects("phases", 1, kPhasesMax,
                         "of localized_accelerated_sgd and localized_mirror_descent: phase i reads a part of n/2^i "
                         "records");
}

double phase_radius(config::Section& phase) {
  return phase.number("radius", 0.0, kNumberMax,
                      "how far from its starting point (default, of localized_accelerated_sgd alone: all of the "
                      "domain)",
                      true);
}

std::uint64_t seed(config::Section& section) {
  return static_cast<std::uint64_t>(
      section.integer("seed", 0, INT64_MAX, "public: chooses which iterate is the output"));
}

StepSchedule step_schedule(config::Section& section) {
  using Kind = StepSchedule::Kind;
  if (!section.has("schedule")) return {};
  return {section.choice<Kind>(
      "schedule",
      {{"constant", Kind::Constant},
       {"inverse_sqrt", Kind::InverseSqrt},
       {"inverse_time", Kind::InverseTime},
       {"cosine", Kind::Cosine}},
      "of noisy_minibatch_sgd and dp_fermi: step_size times 1, 1/sqrt(r+1), 1/(r+1) or (1 + cos(pi r/R))/2 "
      "in round r = 0 .. R-1 (default constant)")};
}

ServerOptimiser server_optimiser(config::Section& section) {
  using Kind = ServerOptimiser::Kind;
  if (!section.has("server")) return {};
  config::Section server = section.object(
      "server", "of noisy_minibatch_sgd and dp_fermi: what the coordinator steps along (default: the mean gradient)");
  constexpr double kDecayMax = 0.999999;
  ServerOptimiser out;
  out.kind = server.choice<Kind>("kind", {{"none", Kind::None}, {"momentum", Kind::Momentum}, {"adam", Kind::Adam}},
                                 "the mean gradient, or what it leaves of earlier ones");
  if (out.kind == Kind::Momentum || server.recording())
    out.beta = server.number("beta", 0.0, kDecayMax, "of momentum: m <- beta m + g");
  if (out.kind == Kind::Adam || server.recording()) {
    out.beta = server.number("beta1", 0.0, kDecayMax, "of adam: of the mean of gradients");
    out.beta2 = server.number("beta2", 0.0, kDecayMax, "of adam: of the mean of their squares");
    out.epsilon = server.number("epsilon", 0.0, 1e9, "of adam: added to the root", true);
  }
  server.finish();
  return out;
}

}  // namespace undertone::algorithms::keys
