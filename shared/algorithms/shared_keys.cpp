#include "shared/algorithms/shared_keys.hpp"

#include "shared/config/section.hpp"

namespace undertone::algorithms::keys {

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

std::uint64_t seed(config::Section& section) {
  return static_cast<std::uint64_t>(
      section.integer("seed", 0, INT64_MAX, "public: chooses which iterate is the output"));
}

}  // namespace undertone::algorithms::keys
