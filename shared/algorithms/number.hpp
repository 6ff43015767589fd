#pragma once

#include <cstdint>

namespace undertone::algorithms {

/// A count, where a formula wants a real number.
constexpr double number(std::uint64_t count) { return static_cast<double>(count); }

}  // namespace undertone::algorithms
