#pragma once

#include <vector>

#include "shared/service/help_texts.hpp"

namespace undertone::lab {

/// What the manual page of `undertone` shows.
[[nodiscard]] std::vector<service::Example> examples();

}  // namespace undertone::lab
