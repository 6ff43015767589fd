#pragma once

#include <string_view>

namespace undertone::service {

/// Undertone's version, as CMake's project() says it: three numbers.
[[nodiscard]] std::string_view version() noexcept;

}  // namespace undertone::service
