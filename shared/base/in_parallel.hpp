#pragma once

#include <cstddef>
#include <functional>

namespace undertone {

/// Does work(0), ..., work(workers - 1) at the same time, the first of them on this thread, and waits for all. Where a
/// thread cannot be started, its part is done here. What one of them throws is thrown here once all are over, and a
/// Containment of this thread holds in all of them.
/// @param workers at least one
void in_parallel(std::size_t workers, const std::function<void(std::size_t worker)>& work);

}  // namespace undertone
