#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>

/// Replaces the operators of the whole program: whatever C++ code gives back is overwritten first, so that tokens,
/// keys, exact sums, sealed replies and the slots that tell senders apart do not outlive their owners in free memory.

#ifndef __SANITIZE_ADDRESS__  // which has operators of its own, and minds where others free what it gave

namespace {

void wipe_and_free(void* memory) noexcept {
  if (memory == nullptr) return;
  ::explicit_bzero(memory, ::malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  while (true) {
    if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void operator delete(void* memory) noexcept { wipe_and_free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { wipe_and_free(memory); }

#endif
