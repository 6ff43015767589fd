#pragma once

#include <string_view>

namespace undertone::report {

/// The order in which people list names: numbers in them by their values, so "step-2" before "step-10" and "step-0.25"
/// before "step-0.5"; everything else by bytes. Strict and total.
[[nodiscard]] bool counts_before(std::string_view a, std::string_view b);

}  // namespace undertone::report
