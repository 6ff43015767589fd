#pragma once

#include <cstdint>
#include <string>

namespace undertone::service {

/// Seconds since 1970, as the operating system says. Hosts and owners' commands alone read it: whatever needs the time
/// is given it, or a function such as this one.
[[nodiscard]] std::int64_t wall_clock();

/// Such as 2026-11-23T12:28:00Z.
/// @param seconds since 1970, in years of four digits
[[nodiscard]] std::string utc_time(std::int64_t seconds);

/// Such as 2026-11-23 12:28 UTC, for people.
[[nodiscard]] std::string utc_minute(std::int64_t seconds);

}  // namespace undertone::service
