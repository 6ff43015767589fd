#include "shared/base/large_memory.hpp"

#include <cstdint>
#include <malloc.h>
#include <sys/mman.h>

namespace undertone {

void expect_much(void* begin, std::size_t bytes) noexcept {
  constexpr std::size_t kPage = std::size_t{2} << 20U;
  const std::size_t before = (kPage - reinterpret_cast<std::uintptr_t>(begin) % kPage) % kPage;
  if (bytes < before + kPage) return;
  const std::size_t whole = (bytes - before) / kPage * kPage;
  auto* from = static_cast<char*>(begin) + before;
  (void)::madvise(from, whole, MADV_HUGEPAGE);
}

void keep_large_blocks() noexcept {
  (void)::mallopt(M_MMAP_MAX, 0);
  (void)::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // All threads but the first share an arena: what is kept is kept once, and what one of them freed serves the next.
  (void)::mallopt(M_ARENA_MAX, 2);
}

void give_back_freed_memory() noexcept { (void)::malloc_trim(0); }

}  // namespace undertone
