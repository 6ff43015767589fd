#pragma once

#include <cstddef>

namespace undertone {

/// Asks the system to back fresh memory with large pages: a model's vector then costs tens of page faults, not tens of
/// thousands. A hint, and only for what is large.
/// @param begin of memory that was allocated and not yet written
void expect_much(void* begin, std::size_t bytes) noexcept;

/// For programs in which every round needs blocks as large as the last one's: freed blocks stay with the process for
/// the next round, which is then spared their page faults. Call first in `main`.
void keep_large_blocks() noexcept;

/// Gives what was freed back to the system, where it lies in whole pages. Takes milliseconds for each hundred MiB:
/// after much was freed that no round needs again.
void give_back_freed_memory() noexcept;

}  // namespace undertone
