#pragma once

#include <cstdint>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::releases {

/// What is protected: a data set may differ from its neighbour in one of these.
enum class Unit : std::uint8_t { Record = 1 };

/// "record"
[[nodiscard]] std::string_view to_string(Unit unit) noexcept;
/// Its inverse. @return an error that says what was expected
[[nodiscard]] Result<Unit> parse_unit(std::string_view text);

}  // namespace undertone::releases
