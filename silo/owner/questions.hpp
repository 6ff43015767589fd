#pragma once

#include <optional>

#include "silo/owner/owner_commands.hpp"

/// What owners are asked on their terminal.
namespace undertone::silo {

/// Whether the owner says yes, or said so beforehand. Without a terminal it is no, and what to give instead is said.
[[nodiscard]] bool confirmed(const OwnerOptions& options, const char* question);

/// The share of a new data set's records that is kept for evaluation. @param given by the command line
/// @return what was given, else what the owner types, else 0 where there is no terminal; nothing for what is no share
[[nodiscard]] std::optional<double> holdout_fraction(const std::optional<double>& given);

}  // namespace undertone::silo
