#pragma once

#include "shared/pages/page_files.hpp"

namespace undertone::pages {

/// The files of the coordinator's console.
[[nodiscard]] std::span<const PageFile> console_files();

}  // namespace undertone::pages
