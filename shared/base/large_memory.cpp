#include "shared/base/large_memory.hpp"

#include <cstdint>
#include <malloc.h>
#include <sys/mman.h>

namespace undertone {

void expect_much(const void* begin, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kPage = std::uintptr_t{2} << 20U;
  const auto from = (reinterpret_cast<std::uintptr_t>(begin) + kPage - 1) / kPage * kPage;
  const auto to = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / kPage * kPage;
  if (from < to) (void)::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

void keep_large_blocks() noexcept {
  (void)::mallopt(M_MMAP_MAX, 0);
  (void)::mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace undertone
