#pragma once

#include <variant>

#include "shared/releases/ask.hpp"

namespace undertone::releases {

/// Whether an answer is drawn by rejection, so that how long it takes depends on records: of selections, and of what a
/// silo selects on its own way.
[[nodiscard]] inline bool time_depends_on_records(const Ask& ask) noexcept {
  return ask.selects() || std::holds_alternative<LocalChoicesMap>(ask.map);
}

}  // namespace undertone::releases
