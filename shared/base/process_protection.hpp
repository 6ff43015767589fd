#pragma once

#include <cstddef>
#include <string>

#include "shared/base/result.hpp"

namespace undertone {

/// Secrets are in memory: no core dump, and no other process of this user looks in. What is written from here on is
/// the owner's alone. Every command of a program that holds secrets begins with it.
/// @return an error where the system did not grant all of it
[[nodiscard]] Status protect_process();

/// The part of it that changes no file's permissions.
[[nodiscard]] Status forbid_dumps();

/// Lets this process hold so many files and connections at once, as far as the system's hard limit goes.
/// @param what_for of the sentence, e.g. "connections_max"
/// @return an error where that is less
[[nodiscard]] Status allow_open_files(std::size_t wanted, const std::string& what_for);

}  // namespace undertone
