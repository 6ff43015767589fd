#pragma once

#include "shared/base/result.hpp"

namespace undertone::store {

/// From here on SQLite overwrites whatever memory it gives back: bound values, rows and pages. For the whole process,
/// before anything else of SQLite's.
[[nodiscard]] Status wipe_freed_memory();

}  // namespace undertone::store
