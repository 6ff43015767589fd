#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"
#include "shared/releases/cost.hpp"

namespace undertone::silo {

/// How a ledger says what releases cost. A run keeps the format in which it was reserved, whatever its ledger has come
/// to since.
enum class LedgerFormat : std::uint8_t {
  One = 1,  // Gaussian releases alone, by their shifts squared; listed where sampling is what the charge rests on
  Two = 2   // each law by its name; every charged release is listed
};

/// What the first entry names in place of "2" where the units are not records: all else is as in the second.
inline constexpr const char* kFormatOfUnits = "3";

/// "1" or "2", as entries name it.
[[nodiscard]] const char* to_string(LedgerFormat format);
[[nodiscard]] Result<LedgerFormat> parse_format(std::string_view text);

/// @pre Gaussian where the format is the first
[[nodiscard]] std::string cost_text(const releases::Cost& cost, LedgerFormat format);
/// Its inverse. Only the format's own spelling is read.
[[nodiscard]] Result<releases::Cost> parse_cost(std::string_view text, LedgerFormat format);

}  // namespace undertone::silo
