#pragma once

#include "shared/pages/page_files.hpp"

namespace undertone::pages {

/// The files of the owner's desk.
[[nodiscard]] std::span<const PageFile> desk_files();

}  // namespace undertone::pages
