#pragma once

#include <cstdlib>

namespace undertone::tests {

/// Whether `UNDERTONE_TESTS_WHOLE` asks for all of a test.
[[nodiscard]] inline bool whole() { return std::getenv("UNDERTONE_TESTS_WHOLE") != nullptr; }

/// How often a test repeats what one more time would find, too. Continuous integration has few minutes, and seeds are
/// fixed, so that fewer repetitions raise no false alarm: they only find a fault that shows in a share p of the
/// repetitions with probability 1 - (1 - p)^few in place of 1 - (1 - p)^all. `UNDERTONE_TESTS_WHOLE=1` runs all.
template <class Count>
[[nodiscard]] Count repetitions(Count few, Count all) {
  return whole() ? all : few;
}

}  // namespace undertone::tests
