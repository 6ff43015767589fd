#pragma once

#include <variant>

#include "shared/releases/ask.hpp"

namespace undertone::releases {

/// Whether an answer is drawn by rejection, so that how long it takes depends on records: of selections, and of what a
/// silo selects on its own way.
[[nodiscard]] inline bool time_depends_on_records(const Ask& ask) noexcept {
  return ask.selects() || std::holds_alternative<LocalChoicesMap>(ask.map);
}

/// Whether each record's numbers go through exponentials and error functions, which take less time of zeros.
[[nodiscard]] inline bool bends_numbers(const Ask& ask) noexcept {
  if (const auto* map = std::get_if<FeaturesMap>(&ask.map)) {
    const auto* cut = std::get_if<statistics::CutMomentsMap>(&map->features);
    return cut != nullptr && cut->influence == Influence::Smooth;
  }
  const auto* influence = std::get_if<InfluenceBound>(&ask.bound);
  return influence != nullptr && influence->influence() == Influence::Smooth;
}

/// Whether policies take such an answer with a release interval alone.
[[nodiscard]] inline bool needs_interval(const Ask& ask) noexcept {
  return time_depends_on_records(ask) || bends_numbers(ask);
}

}  // namespace undertone::releases
