#pragma once

#include "shared/base/result.hpp"

namespace undertone {

/// Secrets are in memory: no core dump, and no other process of this user looks in. What is written from here on is
/// the owner's alone. Every command of a program that holds secrets begins with it.
/// @return an error where the system did not grant all of it
[[nodiscard]] Status protect_process();

}  // namespace undertone
